//! Wrappers of the system calls that the pager needs. They are made by rustix without the C
//! library: in the preloaded library, the C library's `mmap` is intercepted, and a pager that
//! called it would manage its own memory.

pub mod full_size;
pub mod memory;
pub mod own;
pub mod pagemap;
pub mod sparse;
pub mod uffd;
pub mod zeroed;

/// The page size in bytes. The pager does not start on machines with another one.
pub const PAGE: usize = 4096;

/// The `f_type` that `statfs` reports for a tmpfs.
pub const TMPFS: i64 = 0x0102_1994;

/// A requirement of the pager that is not met. Displayed on one line: what is missing, and the
/// reason or remedy.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Missing {
    pub what: &'static str,
    pub why: String,
}

impl Missing {
    pub fn new(what: &'static str, why: impl Into<String>) -> Missing {
        Missing { what, why: why.into() }
    }
}
