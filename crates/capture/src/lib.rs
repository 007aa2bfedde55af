//! Page traces of running programs.
//!
//! A method (the QEMU plugin in `plugin`, or `lackey`) reports the program's references and mapping
//! changes to a [`Recorder`]. The recorder drops hits of the filter or of the simulated caches and
//! passes the rest to a [`Sink`]. The sink of the plugin is a ring in memory shared with the front
//! end, so that no event is lost when the program crashes. `front` writes the events of the ring,
//! or of lackey, to a `.slt`.

mod cache;
mod front;
mod lackey;
mod maps;
mod pages;
mod plugin;
mod probe;
mod qemu;
mod recent;
mod recorder;
mod ring;
mod stream;
mod syscall;

pub use cache::CacheSizes;
pub use front::{record_lackey, record_ring, Label, Recorded, Request, Shared};
pub use recorder::Limits;
pub use ring::Ring;
