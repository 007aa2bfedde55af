//! Where a victim goes and how it returns. A scheme decides: which slot, which medium, copied or mapped where it lies. It
//! emits what has to move as [`Transfer`]s; `device` prices them in the simulators, and the pager performs them on real pages.
//!
//! A new scheme is one file in this folder and one line in [`registry`].

pub mod admission;
mod area;
pub mod cache;
pub mod compress;
mod content;
mod entry;
mod plain;
mod registry;
mod slots;
mod spill;
mod store;
mod transfer;
pub mod zsmalloc;

mod flash;
mod none;
mod nvm_cache;
mod nvm_copy;
mod nvm_direct;
mod ramdisk;
mod sd_card;
mod tiered;
mod zram;
mod zswap;

pub use content::{Compressibility, Content};
pub use entry::{Entry, Info, Reservation, Setup};
pub use registry::{SchemeSpec, SCHEMES};
pub use slots::Slots;
pub use transfer::{Algorithm, Medium, Step, Transfer, Transfers, Work};

use serde::Serialize;
use swaplab_vocab::{Nanos, Op, PageId};

/// Number of a page-sized place in a medium.
pub type Slot = u32;

/// What became of a page that leaves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Its content was moved, as the transfers say.
    Written,
    /// Swap still holds its content: nothing moved.
    Unchanged,
    /// It never had content: the next fault is zero-filled.
    Dropped,
    /// There is no room. Nothing changed; the page has to stay, or its owner has to go.
    Full,
}

/// How a fault was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Its content was brought into a frame. `kept`: swap holds it too, so the page is clean; if not, memory has the only copy.
    Copied { kept: bool },
    /// Mapped read-only where it lies: it needs no frame. A write to it is another fault.
    MappedInPlace,
    /// It has no content: a fresh page of zeros in a frame.
    ZeroFilled,
}

/// What a scheme holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Pages whose content it holds.
    pub pages: u64,
    /// DRAM for contents: a compressed pool, a RAM disk.
    pub dram_bytes: u64,
    /// DRAM for its own tables.
    pub metadata_bytes: u64,
    pub nvm_bytes: u64,
    pub flash_bytes: u64,
}

/// A swap scheme. Its runner (the replay engine, the simulated phone, the pager) calls, for anonymous pages,
/// - [`swap_out`](Scheme::swap_out) when a page leaves its frame,
/// - [`fault`](Scheme::fault) at a reference to a page that is in no frame, unless it is a read of a page mapped in place,
/// - [`discard`](Scheme::discard) when the content is given up (unmap, exit), wherever it is.
///
/// The runner clears `out` when it has charged or performed what is in it; transfers are in the order in which they happen.
pub trait Scheme: Send {
    /// `page` leaves its frame. `dirty`: written since it was brought in, so that any copy in swap is stale.
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored;

    /// `page` is in no frame and is referenced by `op`.
    fn fault(&mut self, page: PageId, op: Op, out: &mut Transfers) -> Served;

    /// The content of `page` is given up.
    fn discard(&mut self, page: PageId);

    /// After a fork: `heir` owns the content that `page` has in swap, too. It is freed when its last owner lets go.
    fn share(&mut self, page: PageId, heir: PageId);

    /// Swap holds content for `page` from before the run (`--first-touch charged`). False if there is no room.
    fn adopt(&mut self, page: PageId) -> bool;

    /// Time has come to `now`: background work such as a daily budget. The runner calls it as often as it likes.
    fn tick(&mut self, _now: Nanos, _out: &mut Transfers) {}

    fn usage(&self) -> Usage;

    /// Named figures of its own for the result; the same names at every call.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Check every invariant of its own; used by the contract suite after each step.
    fn check(&self) -> std::result::Result<(), String>;
}
