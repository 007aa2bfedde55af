//! The types of the C interface, version 1. `include/swaplab_policy.h` declares the same types in
//! C. A library exports one symbol, `swaplab_policies`, a function without arguments that returns a
//! pointer to [`Exports`]. Everything that is reached from there lives as long as the library,
//! which is never unloaded. [`VERSION`] is incremented by any change to the layout or the meaning
//! of these types.

use std::ffi::c_void;

pub const VERSION: u32 = 1;
/// The exported function, of type [`ExportFn`].
pub const SYMBOL: &str = "swaplab_policies";
pub type ExportFn = unsafe extern "C" fn() -> *const Exports;

/// A text in UTF-8 that is not terminated by a zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub start: *const u8,
    pub length: usize,
}

// SAFETY: a text that threads share is a constant of a library; any other text is used in one call,
// on one thread.
unsafe impl Sync for Text {}

impl Text {
    pub const fn of(text: &str) -> Text {
        Text { start: text.as_ptr(), length: text.len() }
    }

    /// The bytes of the text.
    ///
    /// # Safety
    /// `start` points to `length` bytes that do not change during `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: guaranteed by the caller; the address of an empty text may be null.
        unsafe {
            if self.length == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(self.start, self.length)
            }
        }
    }
}

/// The policies that a library exports. The runner reads `version` first, and the other fields only
/// if it is [`VERSION`].
#[repr(C)]
pub struct Exports {
    pub version: u32,
    pub count: usize,
    pub policies: *const PolicyTable,
}

// SAFETY: the value is a constant of a library.
unsafe impl Sync for Exports {}

/// One policy. The argument `state` of its functions is what `build` returned. No panic or
/// exception may leave a function: it is caught and reported by `Host::fail`.
#[repr(C)]
pub struct PolicyTable {
    pub key: Text,
    pub what: Text,
    pub source: Text,
    /// The signal that the policy needs: 0 every access, 1 a reference bit, 2 faults only.
    pub signal: u32,
    pub parameters: *const Parameter,
    pub parameter_count: usize,
    /// Build a policy and return its state; null after a call of `Host::fail`. `values` has one
    /// text for each parameter, in the order of `parameters`.
    pub build: unsafe extern "C" fn(setup: *const Setup, values: *const Text, host: *mut Host) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(state: *mut c_void),
    /// The page was referenced and is in memory. `op`: 0 read, 1 write, 2 instruction fetch.
    pub touch: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page is not in memory and is about to be brought in.
    pub miss: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// Release at least one page. `page` is the page that needs the frame, [`NO_PAGE`] if there is
    /// none.
    pub reclaim: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page has been brought into memory.
    pub insert: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page no longer exists. It may have been in memory or not.
    pub forget: unsafe extern "C" fn(state: *mut c_void, page: u32, host: *mut Host),
}

// SAFETY: the value is a constant of a library.
unsafe impl Sync for PolicyTable {}

pub const NO_PAGE: u32 = u32::MAX;

#[repr(C)]
pub struct Parameter {
    pub name: Text,
    pub default: Text,
    pub meaning: Text,
}

/// The environment that a policy is built for. Page numbers are below `pages`. Times are in
/// nanoseconds per page.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub pages: usize,
    pub frames: usize,
    pub swap_read_ns: u64,
    pub swap_write_ns: u64,
    pub file_read_ns: u64,
    pub file_write_ns: u64,
    pub seed: u64,
}

/// The runner's functions and data for a policy, valid during one call.
#[repr(C)]
pub struct Host {
    /// Data of the runner, which policies do not use.
    pub context: *mut c_void,
    /// One byte per page, with the bits of [`state`]. A release may change this pointer.
    pub states: *const u8,
    pub pages: usize,
    /// Remove the page from memory. Allowed in `reclaim` and `insert`, for a page that is in
    /// memory.
    pub release: unsafe extern "C" fn(host: *mut Host, page: u32),
    /// Report that the policy cannot continue. The replay ends with the message `why`.
    pub fail: unsafe extern "C" fn(host: *mut Host, why: Text),
}

/// Bits of a page's state. The bits 4, 64 and 128 are used by the runner. A policy ignores them, as
/// they may be set and their meaning may change.
pub mod state {
    pub const RESIDENT: u8 = 1;
    /// The page was written since it was brought into memory.
    pub const DIRTY: u8 = 2;
    /// Two bits: 0 anonymous, 1 private mapping of a file, 2 shared mapping of a file.
    pub const CLASS: u8 = 3 << CLASS_SHIFT;
    pub const CLASS_SHIFT: u32 = 3;
    /// The page is a private file page that was written, so it is anonymous from then on.
    pub const COPIED: u8 = 32;
}
