//! Interposes functions for signals and threads while system calls are dispatched: no handler and
//! no mask may block SIGSYS, and dispatch is switched on in each new thread.

use crate::dispatch::{Action, ACTION, PROGRAM_ACTION};
use crate::selector::{is_on, switch_on};
use libc::{c_int, c_void, pthread_attr_t, pthread_t, sigset_t};

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let function = next!(c"sigaction", unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    if !is_on() {
        // SAFETY: guaranteed by the caller.
        return unsafe { function(signal, new, old) };
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        if signal == libc::SIGSYS {
            let before = *PROGRAM_ACTION.0.get();
            if !new.is_null() {
                *PROGRAM_ACTION.0.get() = Action { handler: (*new).sa_sigaction, flags: (*new).sa_flags as usize, ..ACTION };
            }
            if !old.is_null() {
                *old = std::mem::zeroed();
                ((*old).sa_sigaction, (*old).sa_flags) = (before.handler, before.flags as c_int);
            }
            return 0;
        }
        if new.is_null() {
            return function(signal, new, old);
        }
        let mut changed = *new;
        libc::sigdelset(&mut changed.sa_mask, libc::SIGSYS);
        function(signal, &changed, old)
    }
}

/// Interposes older functions that set a handler. The C library's do not call `sigaction` by name,
/// so they would replace the handler of dispatched system calls.
macro_rules! handlers {
    ($($name:ident: $text:literal, $flags:expr;)*) => {$(
        /// # Safety
        /// As for the C library's function.
        #[no_mangle]
        pub unsafe extern "C" fn $name(signal: c_int, handler: usize) -> usize {
            if signal == libc::SIGSYS && is_on() {
                // SAFETY: as for `PROGRAM_ACTION` in `sigaction`.
                let before = unsafe { PROGRAM_ACTION.0.get().replace(Action { handler, flags: $flags as usize, ..ACTION }) };
                return before.handler;
            }
            let function = next!($text, unsafe extern "C" fn(c_int, usize) -> usize);
            // SAFETY: guaranteed by the caller.
            unsafe { function(signal, handler) }
        }
    )*};
}

handlers! {
    signal: c"signal", libc::SA_RESTART;
    bsd_signal: c"bsd_signal", libc::SA_RESTART;
    ssignal: c"ssignal", libc::SA_RESTART;
    sysv_signal: c"sysv_signal", libc::SA_RESETHAND | libc::SA_NODEFER;
    __sysv_signal: c"__sysv_signal", libc::SA_RESETHAND | libc::SA_NODEFER;
}

/// The set without SIGSYS, in `copy`; the set itself if it is null or system calls are not
/// dispatched.
fn without_sigsys(set: *const sigset_t, copy: &mut sigset_t) -> *const sigset_t {
    if set.is_null() || !is_on() {
        return set;
    }
    // SAFETY: the caller's set.
    unsafe {
        *copy = *set;
        libc::sigdelset(copy, libc::SIGSYS);
    }
    copy
}

/// Interposes C functions that set the signal mask.
macro_rules! masks {
    ($($name:ident: $text:literal;)*) => {$(
        /// # Safety
        /// As for the C library's function.
        #[no_mangle]
        pub unsafe extern "C" fn $name(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
            // SAFETY: all zeros is a valid set.
            let mut copy = unsafe { std::mem::zeroed() };
            let set = if how == libc::SIG_UNBLOCK { set } else { without_sigsys(set, &mut copy) };
            let function = next!($text, unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int);
            // SAFETY: guaranteed by the caller.
            unsafe { function(how, set, old) }
        }
    )*};
}

masks! {
    pthread_sigmask: c"pthread_sigmask";
    sigprocmask: c"sigprocmask";
}

/// What a thread runs: `R` is a pointer with `pthread_create` and an integer with `thrd_create`.
type Routine<R> = extern "C" fn(*mut c_void) -> R;
type Pointer = *mut c_void;

/// Create a thread by `create`. Dispatch is switched on in it before `routine` runs.
///
/// # Safety
/// `create` either creates a thread that calls its routine with its argument once, or returns
/// another value than 0.
unsafe fn create_dispatched<R>(routine: Routine<R>, argument: Pointer, create: impl FnOnce(Routine<R>, Pointer) -> c_int) -> c_int {
    crate::state::run_before_a_thread();
    if !is_on() || !crate::state::uses_program_heap() {
        return create(routine, argument);
    }
    extern "C" fn begin<R>(start: Pointer) -> R {
        // SAFETY: boxed below, for this thread only.
        let (routine, argument) = *unsafe { Box::from_raw(start as *mut (Routine<R>, Pointer)) };
        switch_on();
        routine(argument)
    }
    let start = Box::into_raw(Box::new((routine, argument)));
    let result = create(begin::<R>, start.cast());
    if result != 0 {
        // SAFETY: no thread was created that could use it.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}

/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine<Pointer>,
    argument: Pointer,
) -> c_int {
    type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Routine<Pointer>, Pointer) -> c_int;
    let create = next!(c"pthread_create", Create);
    // SAFETY: guaranteed by the caller.
    unsafe { create_dispatched(routine, argument, |routine, argument| create(thread, attributes, routine, argument)) }
}

/// The C library's does not call `pthread_create` by name.
///
/// # Safety
/// As for the C library's function.
#[no_mangle]
pub unsafe extern "C" fn thrd_create(thread: *mut pthread_t, routine: Routine<c_int>, argument: Pointer) -> c_int {
    type Create = unsafe extern "C" fn(*mut pthread_t, Routine<c_int>, Pointer) -> c_int;
    let create = next!(c"thrd_create", Create);
    // SAFETY: guaranteed by the caller.
    unsafe { create_dispatched(routine, argument, |routine, argument| create(thread, routine, argument)) }
}
