//! The state that the program's threads and the pager thread share.

use crate::managed::ManagedMemory;
use crate::stats::Stats;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

pub(crate) struct Shared {
    pub managed: Mutex<ManagedMemory>,
    /// The process's counters. A forked child gets new ones.
    stats: AtomicPtr<Stats>,
    pub stop: AtomicBool,
    /// A copy of managed memory's `exhausted` that can be read without the lock.
    pub exhausted: AtomicBool,
    /// Number of requested censuses, and of those that were taken. The pager thread takes one if
    /// they differ.
    pub census_wanted: AtomicU64,
    pub census_done: AtomicU64,
    /// System calls by which the program has changed its credentials, for the pager thread to
    /// repeat.
    pub rights: Mutex<Vec<RightsCall>>,
}

/// A system call: its number and arguments.
pub type RightsCall = (libc::c_long, [libc::c_long; 3]);

impl Shared {
    pub fn new(managed: ManagedMemory) -> Shared {
        let stats = managed.stats;
        Shared {
            managed: Mutex::new(managed),
            stats: AtomicPtr::new(std::ptr::from_ref(stats).cast_mut()),
            stop: AtomicBool::new(false),
            exhausted: AtomicBool::new(false),
            census_wanted: AtomicU64::new(0),
            census_done: AtomicU64::new(0),
            rights: Mutex::new(Vec::new()),
        }
    }

    pub fn stats(&self) -> &'static Stats {
        // SAFETY: a reference to counters that exist as long as the process, of which only shared
        // references are made.
        unsafe { &*self.stats.load(Ordering::Acquire) }
    }

    /// Begin with new counters, in a forked child without a pager thread.
    pub fn begin_anew(&self, stats: &'static Stats) {
        self.stats.store(std::ptr::from_ref(stats).cast_mut(), Ordering::Release);
        self.stop.store(false, Ordering::Relaxed);
        self.exhausted.store(false, Ordering::Relaxed);
        self.census_wanted.store(0, Ordering::Relaxed);
        self.census_done.store(0, Ordering::Relaxed);
    }

    pub fn lock(&self) -> MutexGuard<'_, ManagedMemory> {
        // A panic under the lock is a bug in the pager. There is no better state to continue with.
        self.managed.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Lock managed memory, for the pager thread; `None` after about 20 ms. The holder of the lock
    /// may wait for a page that only the pager thread can resolve, such as a page of its stack, so
    /// the pager must not wait forever.
    pub fn lock_soon(&self) -> Option<MutexGuard<'_, ManagedMemory>> {
        for _ in 0..500 {
            match self.managed.try_lock() {
                Ok(managed) => return Some(managed),
                Err(std::sync::TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_micros(40)),
            }
        }
        None
    }
}
