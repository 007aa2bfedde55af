//! A fork of a process that is paged: the pager stands still meanwhile, and goes on in both.

use crate::own;
use crate::state::{pager, READY};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;
use swaplab_pager::ForkGuard;

/// Have every fork from now on go by the functions below.
pub fn register() {
    // SAFETY: plain functions, registered once, before the program's own.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

/// The guard of the fork under way: taken, used and given back by the thread that forks, while it holds the world's lock.
struct Fork(UnsafeCell<Option<ForkGuard<'static>>>);
// SAFETY: see above.
unsafe impl Sync for Fork {}
static FORK: Fork = Fork(UnsafeCell::new(None));

unsafe extern "C" fn before_fork() {
    let guard = pager().map(|p| p.before_fork());
    own::OWN.lock();
    // SAFETY: this thread has the lock that guards the cell.
    unsafe { *FORK.0.get() = guard };
}

fn taken() -> Option<ForkGuard<'static>> {
    // SAFETY: as in `before_fork`.
    let guard = unsafe { (*FORK.0.get()).take() };
    own::OWN.unlock();
    guard
}

unsafe extern "C" fn in_parent() {
    if let (Some(guard), Some(pager)) = (taken(), pager()) {
        pager.after_fork_in_parent(guard);
    }
}

unsafe extern "C" fn in_child() {
    READY.store(true, Ordering::Release); // another thread may have been starting the pager
    if let (Some(guard), Some(pager)) = (taken(), pager()) {
        pager.after_fork_in_child(guard);
    }
}
