//! The state that the program's threads and the pager thread share.

use crate::stats::Stats;
use crate::world::World;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard};

pub(crate) struct Shared {
    pub world: Mutex<World>,
    pub stats: &'static Stats,
    pub stop: AtomicBool,
    /// A copy of the world's `exhausted` that can be read without the lock.
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
    pub fn lock(&self) -> MutexGuard<'_, World> {
        // A panic under the lock is a bug in the pager. There is no better state to continue with.
        self.world.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Lock the world, for the pager thread; `None` after about 20 ms. The holder of the lock may
    /// wait for a page that only the pager thread can resolve, such as a page of its stack, so the
    /// pager must not wait forever.
    pub fn lock_soon(&self) -> Option<MutexGuard<'_, World>> {
        for _ in 0..500 {
            match self.world.try_lock() {
                Ok(world) => return Some(world),
                Err(std::sync::TryLockError::Poisoned(e)) => return Some(e.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_micros(40)),
            }
        }
        None
    }
}
