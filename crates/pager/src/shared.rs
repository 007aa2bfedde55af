//! What the program's threads and the pager thread share.

use crate::stats::Stats;
use crate::world::World;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard};

pub(crate) struct Shared {
    pub world: Mutex<World>,
    pub stats: &'static Stats,
    pub stop: AtomicBool,
    /// As in the world, for who has no lock.
    pub exhausted: AtomicBool,
    /// Somebody wants a census now; the pager counts up `census_done` to this.
    pub census_wanted: AtomicU64,
    pub census_done: AtomicU64,
    /// System calls by which the program has given up rights: the pager thread gives them up, too.
    pub rights: Mutex<Vec<RightsCall>>,
}

/// The number of a system call, and its arguments.
pub type RightsCall = (libc::c_long, [libc::c_long; 3]);

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, World> {
        // A panic under the lock is a bug in the pager; the state it left is still the best there is.
        self.world.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The pager's own way to the lock: not for ever. A thread may hold it and wait for a page that only the pager can
    /// give (its stack, if that is managed memory); then the page goes first.
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
