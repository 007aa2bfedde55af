//! Direct Read on real memory: a pager inside the process it pages.
//!
//! Managed memory is a range of address space. While a page is in DRAM it is the program's private page; evicted, it is a
//! page of an NVM file that the kernel maps read-only where it is read (Direct Read) and copies where it is written. The
//! pager decides which pages leave DRAM, by a policy of the `policy` crate, and moves them without losing a write.
//!
//! [`Region`] pages one range of a program that asks for it; the `preload` crate gives whole programs to a [`Pager`].

mod account;
mod census;
mod config;
mod copying;
mod evict;
mod fork;
mod frames;
mod gate;
mod hold;
pub mod kernel;
pub mod medium;
mod pager;
pub mod program;
pub mod record;
mod region;
mod rehome;
mod rest;
mod runs;
mod shared;
mod shown;
mod signals;
mod spans;
mod start;
pub mod stats;
mod store;
mod tether;
mod thread;
mod world;

pub use account::{look, Account};
pub use config::{parse_scheme, uses_nvm, Config, Place, FLASH_DIRECTORY};
pub use fork::ForkGuard;
pub use frames::accept;
pub use pager::{Held, Pager};
pub use region::Region;
pub use runs::PageRange;
pub use start::{probe, probe_store, Start};
pub use swaplab_swap::{Algorithm, SchemeSpec};
pub use world::World;

/// Pages that get an NVM home together, and the most that one eviction window covers.
pub const CHUNK: usize = 128;

/// Pages that an address space could have.
pub(crate) const PAGES: usize = 1 << 36;

/// One line to the program's standard error, without an allocation.
pub fn say(text: &str) {
    for part in ["swaplab: ", text, "\n"] {
        let _ = rustix::io::write(rustix::stdio::stderr(), part.as_bytes());
    }
}

/// The pager cannot keep its promise that memory is what was written to it: end the program rather than let it go on.
pub(crate) fn fatal(text: &str) -> ! {
    say(text);
    std::process::abort()
}
