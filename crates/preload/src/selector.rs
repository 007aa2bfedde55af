//! Switches syscall user dispatch on and off, for the process and for each thread.
//! [`dispatch`](crate::dispatch) handles the calls.

use crate::raw;
use libc::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// The address range whose system calls are not dispatched: from the C library to the loader, with
/// this library between them.
static FROM: AtomicUsize = AtomicUsize::new(0);
static TO: AtomicUsize = AtomicUsize::new(0);
static ON: AtomicBool = AtomicBool::new(false);

const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

thread_local! {
    /// The kernel reads this at each system call of the thread: `ALLOW` or `BLOCK`.
    static SELECTOR: AtomicU8 = const { AtomicU8::new(ALLOW) };
}

/// Whether the process's system calls are dispatched.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Switch dispatch on for this thread and for every thread that calls [`switch_on`]. System calls
/// from addresses between `from` and `to` are not dispatched.
pub fn switch_on_outside(from: usize, to: usize) {
    FROM.store(from, Ordering::Relaxed);
    TO.store(to, Ordering::Relaxed);
    if switch_on() {
        ON.store(true, Ordering::Release);
    }
}

/// Switch dispatch on for this thread. New threads and forked children start without dispatch.
/// Returns whether it succeeded.
pub fn switch_on() -> bool {
    const SET_SYSCALL_USER_DISPATCH: c_int = 59;
    let (from, to) = (FROM.load(Ordering::Relaxed), TO.load(Ordering::Relaxed));
    SELECTOR.with(|selector| {
        selector.store(BLOCK, Ordering::Relaxed);
        // SAFETY: the selector exists as long as the thread.
        unsafe { raw::call(libc::SYS_prctl, &[SET_SYSCALL_USER_DISPATCH as usize, 1, from, to - from, selector.as_ptr() as usize]) == 0 }
    })
}

/// Suspend dispatch for this thread, until it calls [`resume`].
pub fn pause() {
    SELECTOR.with(|selector| selector.store(ALLOW, Ordering::Relaxed));
}

/// Resume dispatch for this thread. The memory functions call this, for threads that were paused to
/// clone.
///
/// Never call this while managed memory is locked. This library finds a thread-local variable
/// through a table that the C library allocates for each new thread with the program's malloc, so
/// the table is managed memory. If it is out, its access waits for the pager thread, and that
/// thread would wait for the lock.
#[inline]
pub fn resume() {
    if is_on() {
        SELECTOR.with(|selector| selector.store(BLOCK, Ordering::Relaxed));
    }
}
