//! Direct Read on real memory: a pager inside the process it pages.
//!
//! Managed memory is private anonymous memory of a program. A resident page is a private DRAM page
//! of the program. An evicted page is a page of an NVM file: on a read the kernel maps it read-only
//! in place (Direct Read), on a write it copies it to DRAM. The pager selects victims by a policy
//! of the `policy` crate, and evicts them without losing a write.
//!
//! [`Region`] pages one range for a program that uses this library; the `preload` crate manages
//! whole programs with a [`Pager`].

mod account;
mod census;
mod config;
mod copying;
mod evict;
mod fork;
mod frames;
mod gate;
mod hold;
mod idle;
pub mod kernel;
mod managed;
mod managed_list;
pub mod medium;
mod pager;
mod priority;
pub mod program;
pub mod record;
mod region;
mod rehome;
pub mod reservations;
mod round;
mod runs;
mod sandbox;
mod shared;
mod signals;
mod sleep;
mod spans;
mod spawn;
mod start;
pub mod stats;
mod store;
mod tether;
mod thread;

pub use account::{look, Account};
pub use config::{parse_scheme, uses_nvm, Config, Place, FLASH_DIRECTORY};
pub use fork::ForkGuard;
pub use frames::accept;
pub use managed::ManagedMemory;
pub use pager::{ManagedGuard, Pager};
pub use region::Region;
pub use runs::PageRange;
pub use spans::{addresses, Attributes};
pub use start::{probe, probe_store, Start};
pub use swaplab_swap::{Algorithm, SchemeSpec};

/// Number of pages that share an NVM home, and the largest eviction window in pages.
pub const CHUNK: usize = 128;

/// Number of pages of an address space.
pub(crate) const PAGES: usize = 1 << 36;

/// Write one line to the program's standard error, without an allocation.
pub fn say(text: &str) {
    for part in ["swaplab: ", text, "\n"] {
        let _ = rustix::io::write(rustix::stdio::stderr(), part.as_bytes());
    }
}

/// Abort the program with a message, because the pager cannot preserve the content of its memory.
pub(crate) fn fatal(text: &str) -> ! {
    say(text);
    std::process::abort()
}
