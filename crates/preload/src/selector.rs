//! Whether this process's own system calls are dispatched, and this thread's. [`dispatch`](crate::dispatch) says what becomes of them.

use crate::raw;
use libc::c_int;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// Addresses from which system calls are left alone: from the C library to the loader, ourselves between them.
static FROM: AtomicUsize = AtomicUsize::new(0);
static TO: AtomicUsize = AtomicUsize::new(0);
static ON: AtomicBool = AtomicBool::new(false);

const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

thread_local! {
    /// The kernel reads it at each system call of this thread.
    static SELECTOR: AtomicU8 = const { AtomicU8::new(ALLOW) };
}

/// Whether the process's system calls are dispatched.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Have the process's system calls dispatched, but those from addresses between `from` and `to`: this thread's, and those of every
/// thread that switches itself on.
pub fn switch_on_outside(from: usize, to: usize) {
    FROM.store(from, Ordering::Relaxed);
    TO.store(to, Ordering::Relaxed);
    if switch_on() {
        ON.store(true, Ordering::Release);
    }
}

/// Have this thread's own system calls dispatched. A new thread and a forked child have none.
pub fn switch_on() -> bool {
    const SET_SYSCALL_USER_DISPATCH: c_int = 59;
    let (from, to) = (FROM.load(Ordering::Relaxed), TO.load(Ordering::Relaxed));
    SELECTOR.with(|selector| {
        selector.store(BLOCK, Ordering::Relaxed);
        // SAFETY: the selector lives as long as the thread.
        unsafe { raw::call(libc::SYS_prctl, &[SET_SYSCALL_USER_DISPATCH as usize, 1, from, to - from, selector.as_ptr() as usize]) == 0 }
    })
}

/// This thread's next system calls are not dispatched, until it calls [`resume`].
pub fn pause() {
    SELECTOR.with(|selector| selector.store(ALLOW, Ordering::Relaxed));
}

/// Calls of the memory functions are where a thread that has cloned comes back under dispatch.
#[inline]
pub fn resume() {
    if is_on() {
        SELECTOR.with(|selector| selector.store(BLOCK, Ordering::Relaxed));
    }
}
