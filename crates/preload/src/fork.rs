//! Fork handlers of a managed process: no eviction runs during a fork. The parent then continues to
//! evict; the child does if it starts a pager thread of its own.

use crate::state::{pager, serve_all, watch_child, KEPT_STACK};
use crate::{own, selector};
use libc::{c_int, c_void};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use swaplab_pager::ForkGuard;

type Handler = Option<unsafe extern "C" fn()>;

/// Register the fork handlers, once, and before all handlers of the program.
///
/// The C library calls what is to run before a fork in reverse order. An allocator locks its heap
/// there, and a thread that holds this lock may be waiting for that of managed memory in `mmap`. So
/// managed memory must be locked last.
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

/// The function of the C library to which `pthread_atfork` passes its arguments. An allocator in
/// the program's file may call it before this library has started.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn __register_atfork(before: Handler, parent: Handler, child: Handler, library: *mut c_void) -> c_int {
    register();
    // SAFETY: guaranteed by the caller.
    unsafe { register_next(before, parent, child, library) }
}

/// The guard of the fork in progress. Only the forking thread uses it, while it holds `OWN`'s lock
/// and, by the guard, that of managed memory.
struct Fork(UnsafeCell<Option<ForkGuard<'static>>>);
// SAFETY: the cell is only accessed while `OWN` is locked.
unsafe impl Sync for Fork {}
static FORK: Fork = Fork(UnsafeCell::new(None));

/// What runs before a fork, in the forking thread.
///
/// # Safety
/// The fork follows, and then [`in_parent`] and [`in_child`], in this thread and in its copy.
pub unsafe extern "C" fn before_fork() {
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

/// What runs after a fork in the parent, also after one that failed.
///
/// # Safety
/// This thread has called [`before_fork`].
pub unsafe extern "C" fn in_parent() {
    if let (Some(guard), Some(pager)) = (take_guard(), pager()) {
        pager.after_fork_in_parent(guard);
    }
}

/// What runs after a fork in the child.
///
/// # Safety
/// This thread is the copy of one that has called [`before_fork`].
pub unsafe extern "C" fn in_child() {
    // Another thread may have been starting the pager when this one forked.
    serve_all();
    if let (Some(guard), Some(pager)) = (take_guard(), pager()) {
        pager.after_fork_in_child(guard);
        watch_child(pager);
    }
    // The kernel switches dispatch off in a child.
    if selector::is_on() {
        selector::switch_on();
    }
}

/// [`in_child`] of a fork that is not the C library's `fork`, which alone takes back the stacks of
/// the parent's threads. So none is kept for the pager thread.
///
/// # Safety
/// As for [`in_child`].
pub unsafe fn in_other_child() {
    KEPT_STACK.store(false, Ordering::Relaxed);
    // SAFETY: guaranteed by the caller.
    unsafe { in_child() }
}

type Start = extern "C" fn(*mut c_void) -> c_int;
type Clone = unsafe extern "C" fn(Start, *mut c_void, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;

/// What a child starts with. The child has a copy of it, at the same address.
struct Child {
    start: Start,
    argument: *mut c_void,
}

extern "C" fn start_child(child: *mut c_void) -> c_int {
    // SAFETY: the child's copy of what `clone` passed; this process is the child of the thread that
    // called `before_fork`.
    unsafe {
        in_other_child();
        let child = &*child.cast::<Child>();
        (child.start)(child.argument)
    }
}

/// The C library's `clone`, with all of its optional arguments. A child that gets a copy of the
/// memory is forked. The C library does not run the fork handlers for it.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn clone(
    start: Start,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent_id: *mut c_void,
    tls: *mut c_void,
    child_id: *mut c_void,
) -> c_int {
    let function = next!(c"clone", Clone);
    // SAFETY: guaranteed by the caller; the handlers run around the fork, in this thread.
    unsafe {
        if flags & libc::CLONE_VM != 0 || pager().is_none() {
            return function(start, stack, flags, argument, parent_id, tls, child_id);
        }
        let mut child = Child { start, argument };
        before_fork();
        let id = function(start_child, stack, flags, (&raw mut child).cast(), parent_id, tls, child_id);
        in_parent();
        id
    }
}
