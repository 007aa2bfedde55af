//! Fork handlers of a managed process: no eviction runs during a fork. The parent then continues to evict; the child never does.

use crate::own;
use crate::state::{pager, READY};
use libc::{c_int, c_void};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use swaplab_pager::ForkGuard;

type Handler = Option<unsafe extern "C" fn()>;

/// Register the fork handlers, once, and before all handlers of the program.
///
/// The C library calls what is to run before a fork in reverse order. An allocator locks its heap there, and a thread that holds this lock
/// may be waiting for the world's in `mmap`. So the world must be locked last.
pub fn register() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::AcqRel) {
        // SAFETY: functions without arguments, which this library has until the process ends.
        unsafe { register_next(Some(before_fork), Some(in_parent), Some(in_child), std::ptr::null_mut()) };
    }
}

/// # Safety
/// As for the C library's function.
unsafe fn register_next(before: Handler, parent: Handler, child: Handler, library: *mut c_void) -> c_int {
    let function = next!(c"__register_atfork", unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int);
    // SAFETY: guaranteed by the caller.
    unsafe { function(before, parent, child, library) }
}

/// The function of the C library to which `pthread_atfork` passes its arguments. An allocator in the program's file may call it before
/// this library has started.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn __register_atfork(before: Handler, parent: Handler, child: Handler, library: *mut c_void) -> c_int {
    register();
    // SAFETY: guaranteed by the caller.
    unsafe { register_next(before, parent, child, library) }
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
