//! Swap schemes: where a victim goes and how it returns. A scheme selects the slot and the medium,
//! and whether a fault copies the page or maps it in place. It emits [`Transfer`]s, which
//! simulators price with `device` and the pager performs on real pages.
//!
//! A new scheme is one file in this folder and one line in [`registry`].

pub mod admission;
mod area;
pub mod cache;
pub mod compress;
mod content;
mod entry;
mod plain;
mod recompress;
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

/// Index of a page-sized slot on a medium.
pub type Slot = u32;

/// The result of a swap-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The content was written by the emitted transfers.
    Written,
    /// Swap already had the content: nothing was written.
    Unchanged,
    /// The page had no content: the next fault is zero-filled.
    Dropped,
    /// There is no room and nothing has changed. The page has to stay in memory, or its owner has
    /// to be killed.
    Full,
}

/// The result of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The content was copied into a frame. `kept`: swap has a copy too, so the page is clean;
    /// otherwise memory has the only copy.
    Copied { kept: bool },
    /// The page was mapped read-only in place and needs no frame. A write to it faults again.
    MappedInPlace,
    /// The page has no content: it gets a zeroed frame.
    ZeroFilled,
}

/// The space that a scheme takes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Number of pages with content in swap.
    pub pages: u64,
    /// DRAM for content, such as a compressed pool or a RAM disk.
    pub dram_bytes: u64,
    /// DRAM for the scheme's own tables.
    pub metadata_bytes: u64,
    pub nvm_bytes: u64,
    pub flash_bytes: u64,
}

/// A swap scheme. Its runner (the replay engine, the simulated phone, the pager) calls, for
/// anonymous pages,
/// - [`swap_out`](Scheme::swap_out) when a page leaves its frame,
/// - [`fault`](Scheme::fault) at a reference to a page that is in no frame, unless it is a read of
///   a page mapped in place,
/// - [`discard`](Scheme::discard) when the content is discarded (unmap, exit), wherever it is.
///
/// Each call appends its transfers to `out` in the order in which they happen. The runner charges
/// or performs them and clears `out`.
pub trait Scheme: Send {
    /// Swap out `page`, which leaves its frame. `dirty`: it was written since it was brought in, so
    /// any copy in swap is stale.
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored;

    /// Serve a reference `op` to `page`, which is in no frame.
    fn fault(&mut self, page: PageId, op: Op, out: &mut Transfers) -> Served;

    /// Discard the content of `page`.
    fn discard(&mut self, page: PageId);

    /// Make `heir` another owner of the content that `page` has in swap, as a fork does. The last
    /// owner to leave frees it.
    fn share(&mut self, page: PageId, heir: PageId);

    /// Reserve adjacent slots for the swap-outs of the `count` pages from `first` on, which follow.
    /// Returns false if there are none. A reservation ends with the next one.
    fn reserve_run(&mut self, _first: PageId, _count: u32) -> bool {
        false
    }

    /// Whether the `count` pages from `first` on are in the slots of such a run.
    fn is_run(&self, _first: PageId, _count: u32) -> bool {
        false
    }

    /// Set up content for `page` in swap from before the run (`--first-touch charged`). Returns
    /// false if there is no room.
    fn adopt(&mut self, page: PageId) -> bool;

    /// Do background work that is due at `now`, such as write-back or a new daily budget. The
    /// runner may call it at any interval.
    fn tick(&mut self, _now: Nanos, _out: &mut Transfers) {}

    /// Whether the scheme has a cache below pages of files too, in a runner with [`Setup::files`].
    fn caches_files(&self) -> bool {
        false
    }

    /// The clean file page `page` leaves memory.
    fn file_left(&mut self, _page: PageId, _out: &mut Transfers) {}

    /// Read the file pages of `window`, which are in no frame and follow one another.
    fn read_files(&mut self, _window: &[PageId], _out: &mut Transfers) {}

    fn usage(&self) -> Usage;

    /// Named figures of the scheme for the result. Every call returns the same names.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Check the scheme's invariants. The contract suite calls this after each step.
    fn check(&self) -> std::result::Result<(), String>;
}
