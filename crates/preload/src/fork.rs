//! Fork handlers of a managed process: no eviction runs during a fork. The parent then continues to evict; the child never does.

use crate::own;
use crate::state::{pager, READY};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;
use swaplab_pager::ForkGuard;

/// Register the fork handlers.
pub fn register() {
    // SAFETY: functions without state, registered once, before the program's own handlers.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

/// The guard of the fork in progress. Only the forking thread uses it, while it holds `OWN`'s lock and, by the guard, the world's.
struct Fork(UnsafeCell<Option<ForkGuard<'static>>>);
// SAFETY: the cell is only accessed while `OWN` is locked.
unsafe impl Sync for Fork {}
static FORK: Fork = Fork(UnsafeCell::new(None));

unsafe extern "C" fn before_fork() {
    let guard = pager().map(|p| p.before_fork());
    own::OWN.lock();
    // SAFETY: this thread has the lock that guards the cell.
    unsafe { *FORK.0.get() = guard };
}

/// Take the guard out of the cell, and unlock the heap.
fn take_guard() -> Option<ForkGuard<'static>> {
    // SAFETY: as in `before_fork`.
    let guard = unsafe { (*FORK.0.get()).take() };
    own::OWN.unlock();
    guard
}

unsafe extern "C" fn in_parent() {
    if let (Some(guard), Some(pager)) = (take_guard(), pager()) {
        pager.after_fork_in_parent(guard);
    }
}

unsafe extern "C" fn in_child() {
    READY.store(true, Ordering::Release); // Another thread may have been starting the pager when this one forked.
    if let (Some(guard), Some(pager)) = (take_guard(), pager()) {
        pager.after_fork_in_child(guard);
    }
}
