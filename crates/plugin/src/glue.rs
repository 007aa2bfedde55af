//! Adapters from the C interface to the trait [`Policy`]. [`export_policy!`](crate::export_policy)
//! puts them into a library for each policy.

use crate::abi::{Exports, Host, PolicyTable, Setup, Text, NO_PAGE, VERSION};
use crate::{Op, Pages, Params, Policy};
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The message and place of a panic of the policy that this thread runs.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keep the message of a panic instead of printing it, because the runner reports it. Each library
/// has its own panic hook, so this does not affect panics of other code.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|panic| PANIC.with(|kept| *kept.borrow_mut() = Some(panic.to_string())))));
}

impl Exports {
    pub const fn of(policies: &'static [PolicyTable]) -> Exports {
        Exports { version: VERSION, count: policies.len(), policies: policies.as_ptr() }
    }
}

impl PolicyTable {
    pub const fn of<P: Policy>() -> PolicyTable {
        PolicyTable {
            key: Text::of(P::KEY),
            what: Text::of(P::WHAT),
            source: Text::of(P::SOURCE),
            signal: P::SIGNAL as u32,
            parameters: P::PARAMETERS.as_ptr(),
            parameter_count: P::PARAMETERS.len(),
            build: build::<P>,
            destroy: destroy::<P>,
            touch: touch::<P>,
            miss: miss::<P>,
            reclaim: reclaim::<P>,
            insert: insert::<P>,
            forget: forget::<P>,
        }
    }
}

fn op(code: u32) -> Op {
    match code {
        0 => Op::Read,
        1 => Op::Write,
        _ => Op::Fetch,
    }
}

/// Run `call`, and report a panic as the policy's failure, because a panic must not unwind into the
/// runner.
///
/// # Safety
/// `host` is the pointer that the runner passed to this call.
#[inline]
unsafe fn guarded<T>(host: *mut Host, call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(_) => {
            let why = PANIC.with(|kept| kept.borrow_mut().take()).unwrap_or_else(|| "panicked".into());
            // SAFETY: guaranteed by the caller; the text lives until the call returns.
            unsafe { ((*host).fail)(host, Text::of(&why)) };
            None
        }
    }
}

/// # Safety
/// `setup` and `host` are valid during this call, and `values` points to one text per parameter, as
/// [`PolicyTable::build`] requires.
unsafe extern "C" fn build<P: Policy>(setup: *const Setup, values: *const Text, host: *mut Host) -> *mut c_void {
    keep_panics();
    // SAFETY: the runner passes as many values as the table has parameters.
    let values = unsafe {
        if P::PARAMETERS.is_empty() {
            &[]
        } else {
            std::slice::from_raw_parts(values, P::PARAMETERS.len())
        }
    };
    // SAFETY: the runner's pointers are valid during this call.
    match unsafe { guarded(host, || P::build(&*setup, &Params::new(P::PARAMETERS, values))) } {
        Some(Ok(policy)) => Box::into_raw(Box::new(policy)).cast(),
        Some(Err(why)) => {
            // SAFETY: as above.
            unsafe { ((*host).fail)(host, Text::of(&why)) };
            std::ptr::null_mut()
        }
        None => std::ptr::null_mut(),
    }
}

/// # Safety
/// `state` came from `build` and is not used again.
unsafe extern "C" fn destroy<P: Policy>(state: *mut c_void) {
    // SAFETY: guaranteed by the caller. A panic of the destructor cannot be reported, because
    // `destroy` has no host.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(state.cast::<P>()) })));
}

/// # Safety
/// `state` came from `build`, `host` is valid during this call, and no other call uses this state.
/// The functions below have the same requirements.
unsafe extern "C" fn touch<P: Policy>(state: *mut c_void, page: u32, code: u32, host: *mut Host) {
    // SAFETY: guaranteed by the caller.
    unsafe { guarded(host, || (*state.cast::<P>()).touch(page, op(code), &Pages::new(host))) };
}

/// # Safety
/// As `touch`.
unsafe extern "C" fn miss<P: Policy>(state: *mut c_void, page: u32, code: u32, host: *mut Host) {
    // SAFETY: guaranteed by the caller.
    unsafe { guarded(host, || (*state.cast::<P>()).miss(page, op(code), &Pages::new(host))) };
}

/// # Safety
/// As `touch`.
unsafe extern "C" fn reclaim<P: Policy>(state: *mut c_void, page: u32, code: u32, host: *mut Host) {
    let incoming = (page != NO_PAGE).then(|| (page, op(code)));
    // SAFETY: guaranteed by the caller.
    unsafe { guarded(host, || (*state.cast::<P>()).reclaim(incoming, &mut Pages::new(host))) };
}

/// # Safety
/// As `touch`.
unsafe extern "C" fn insert<P: Policy>(state: *mut c_void, page: u32, code: u32, host: *mut Host) {
    // SAFETY: guaranteed by the caller.
    unsafe { guarded(host, || (*state.cast::<P>()).insert(page, op(code), &mut Pages::new(host))) };
}

/// # Safety
/// As `touch`.
unsafe extern "C" fn forget<P: Policy>(state: *mut c_void, page: u32, host: *mut Host) {
    // SAFETY: guaranteed by the caller.
    unsafe { guarded(host, || (*state.cast::<P>()).forget(page)) };
}
