//! The C library's functions about signals and threads, where system calls are dispatched: no handler and no mask may keep SIGSYS away, and
//! each new thread is dispatched, too.

use crate::dispatch::{Action, ACTION, WANTED};
use crate::selector::{is_on, switch_on};
use libc::{c_int, c_void, pthread_attr_t, pthread_t, sigset_t};
use std::sync::atomic::Ordering;

/// # Safety
/// As C's.
#[no_mangle]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let function = next!(c"sigaction", unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    if !is_on() {
        // SAFETY: by the caller's promise.
        return unsafe { function(signal, new, old) };
    }
    // SAFETY: by the caller's promise.
    unsafe {
        if signal == libc::SIGSYS {
            let before = *WANTED.0.get();
            if !new.is_null() {
                *WANTED.0.get() = Action { handler: (*new).sa_sigaction, flags: (*new).sa_flags as usize, ..ACTION };
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
        let mut asked = *new;
        libc::sigdelset(&mut asked.sa_mask, libc::SIGSYS);
        function(signal, &asked, old)
    }
}

fn without(set: *const sigset_t, room: &mut sigset_t) -> *const sigset_t {
    if set.is_null() || !is_on() {
        return set;
    }
    // SAFETY: the caller's set.
    unsafe {
        *room = *set;
        libc::sigdelset(room, libc::SIGSYS);
    }
    room
}

macro_rules! masks {
    ($($name:ident: $text:literal;)*) => {$(
        /// # Safety
        /// As C's.
        #[no_mangle]
        pub unsafe extern "C" fn $name(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
            // SAFETY: all zeros is a set.
            let mut room = unsafe { std::mem::zeroed() };
            let set = if how == libc::SIG_UNBLOCK { set } else { without(set, &mut room) };
            let function = next!($text, unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int);
            // SAFETY: by the caller's promise.
            unsafe { function(how, set, old) }
        }
    )*};
}

masks! {
    pthread_sigmask: c"pthread_sigmask";
    sigprocmask: c"sigprocmask";
}

type Routine = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Routine, *mut c_void) -> c_int;

/// # Safety
/// As C's.
#[no_mangle]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let create = next!(c"pthread_create", Create);
    if !is_on() || !crate::state::READY.load(Ordering::Relaxed) {
        // SAFETY: by the caller's promise.
        return unsafe { create(thread, attributes, routine, argument) };
    }
    extern "C" fn begin(given: *mut c_void) -> *mut c_void {
        // SAFETY: boxed below, for this thread.
        let (routine, argument) = *unsafe { Box::from_raw(given as *mut (Routine, *mut c_void)) };
        switch_on();
        routine(argument)
    }
    let given = Box::into_raw(Box::new((routine, argument)));
    // SAFETY: by the caller's promise.
    let result = unsafe { create(thread, attributes, begin, given.cast()) };
    if result != 0 {
        // SAFETY: no thread has it.
        drop(unsafe { Box::from_raw(given) });
    }
    result
}
