//! The kernel calls a pager lives on, each wrapped once. They are raw system calls (rustix's own, no libc in between):
//! in a preloaded library libc's `mmap` is ours, and a pager that called it would manage its own memory.

pub mod memory;
pub mod pagemap;
pub mod sparse;
pub mod uffd;

/// Base page; the pager refuses machines with another one.
pub const PAGE: usize = 4096;

/// What `statfs` says of a tmpfs.
pub const TMPFS: i64 = 0x0102_1994;

/// Something the pager needs and this machine does not give. One line: what is missing, and what to set.
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
