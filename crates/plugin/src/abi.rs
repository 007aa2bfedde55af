//! The C interface itself, version 1; `include/swaplab_policy.h` says the same to a C compiler. A
//! library exports one symbol, `swaplab_policies`, a function without arguments that returns
//! [`Exports`]. All that it points to lives as long as the library, which is never unloaded. Any
//! change to the layout or to the meaning of these types raises [`VERSION`].

use std::ffi::c_void;

pub const VERSION: u32 = 1;
/// The exported function, of type [`ExportFn`].
pub const SYMBOL: &str = "swaplab_policies";
pub type ExportFn = unsafe extern "C" fn() -> *const Exports;

/// UTF-8, not terminated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub start: *const u8,
    pub length: usize,
}

// SAFETY: a text that is shared between threads is a constant of a library; the others live for one
// call on one thread.
unsafe impl Sync for Text {}

impl Text {
    pub const fn of(text: &str) -> Text {
        Text { start: text.as_ptr(), length: text.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `start` points to `length` bytes that nobody changes for as long as `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the caller's promise; an empty text may have no address.
        unsafe {
            if self.length == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(self.start, self.length)
            }
        }
    }
}

/// The policies that a library exports. `version` is read first; the rest only if it is
/// [`VERSION`].
#[repr(C)]
pub struct Exports {
    pub version: u32,
    pub count: usize,
    pub policies: *const PolicyTable,
}

// SAFETY: a constant.
unsafe impl Sync for Exports {}

/// One policy. Functions take its state (what `build` returned) and must not let a panic or
/// exception out: they call `Host::fail`.
#[repr(C)]
pub struct PolicyTable {
    pub key: Text,
    pub what: Text,
    pub source: Text,
    /// 0 exact, 1 reference bit, 2 faults only.
    pub signal: u32,
    pub parameters: *const Parameter,
    pub parameter_count: usize,
    /// A new policy; null after `Host::fail`. `values`: one text for each parameter, in their
    /// order.
    pub build: unsafe extern "C" fn(setup: *const Setup, values: *const Text, host: *mut Host) -> *mut c_void,
    pub destroy: unsafe extern "C" fn(state: *mut c_void),
    /// A reference to a page in memory. `op`: 0 read, 1 write, 2 instruction fetch.
    pub touch: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page is not in memory and is about to be brought in.
    pub miss: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// Release at least one page. `page` is the one that needs the frame; [`NO_PAGE`]: none does.
    pub reclaim: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page is in memory now.
    pub insert: unsafe extern "C" fn(state: *mut c_void, page: u32, op: u32, host: *mut Host),
    /// The page no longer exists, in memory or not.
    pub forget: unsafe extern "C" fn(state: *mut c_void, page: u32, host: *mut Host),
}

// SAFETY: a constant.
unsafe impl Sync for PolicyTable {}

pub const NO_PAGE: u32 = u32::MAX;

#[repr(C)]
pub struct Parameter {
    pub name: Text,
    pub default: Text,
    pub meaning: Text,
}

/// What a policy is built for. Pages are numbered below `pages`; times are nanoseconds for one
/// page.
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

/// The runner, for the length of one call.
#[repr(C)]
pub struct Host {
    /// The runner's own.
    pub context: *mut c_void,
    /// One byte per page, see [`state`]. Read the pointer again after each release.
    pub states: *const u8,
    pub pages: usize,
    /// The page leaves memory: allowed in `reclaim` and `insert`, for a page that is there.
    pub release: unsafe extern "C" fn(host: *mut Host, page: u32),
    /// The policy can't go on; the replay ends with `why`.
    pub fail: unsafe extern "C" fn(host: *mut Host, why: Text),
}

/// Bits of a page's state. The bits 4, 64 and 128 are used by the runner. A policy ignores them, as
/// they may be set and their meaning may change.
pub mod state {
    pub const RESIDENT: u8 = 1;
    /// Written since it was brought in.
    pub const DIRTY: u8 = 2;
    /// Two bits: 0 anonymous, 1 private mapping of a file, 2 shared mapping of a file.
    pub const CLASS: u8 = 3 << CLASS_SHIFT;
    pub const CLASS_SHIFT: u32 = 3;
    /// A private file page that was written: anonymous from then on.
    pub const COPIED: u8 = 32;
}
