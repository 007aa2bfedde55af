//! Page traces of running programs.
//!
//! A method (the QEMU plugin in `plugin`, or `lackey`) tells a [`Recorder`] what the program touches, maps and unmaps. The
//! recorder drops what the filter or the simulated caches hold, and gives the rest to a [`Sink`]: the plugin's sink is a ring
//! in memory that it shares with the front end (so nothing is lost when the program crashes), and `front` turns what comes
//! out of the ring, or straight out of lackey, into a `.slt`.

mod cache;
mod front;
mod lackey;
mod maps;
mod plugin;
mod probe;
mod qemu;
mod recent;
mod recorder;
mod ring;
mod stream;
mod syscall;

pub use cache::CacheSizes;
pub use front::{record_lackey, record_ring, Label, Outcome, Request, Shared};
pub use recorder::Limits;
pub use ring::Ring;
