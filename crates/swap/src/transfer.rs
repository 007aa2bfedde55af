//! Transfers and processor work that a scheme emits and its runner prices or performs.

use crate::Slot;
use serde::Serialize;
use swaplab_vocab::PageId;

/// A medium for content outside a page's own frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// DRAM as a RAM disk.
    Dram,
    /// A pool of compressed pages in DRAM.
    Pool,
    /// Non-volatile memory on the memory bus.
    Nvm,
    Flash,
    SdCard,
}

impl Medium {
    pub const ALL: [Medium; 5] = [Medium::Dram, Medium::Pool, Medium::Nvm, Medium::Flash, Medium::SdCard];

    pub fn name(self) -> &'static str {
        ["dram", "pool", "nvm", "flash", "sd-card"][self as usize]
    }
}

/// A compression algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    LzoRle,
    Lz4,
    Zstd,
}

impl Algorithm {
    pub const NAMES: [&'static str; 3] = ["lzo-rle", "lz4", "zstd"];
    pub const ALL: [Algorithm; 3] = [Algorithm::LzoRle, Algorithm::Lz4, Algorithm::Zstd];

    pub fn name(self) -> &'static str {
        Algorithm::NAMES[self as usize]
    }
}

/// Processor work in addition to the transfer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// One request through the block layer and the driver. A RAM disk has this cost too (the "fake
    /// I/O path").
    BlockRequest,
    /// A page copied by loads and stores.
    Copy,
    /// Setting a page-table entry to the place of the page.
    Map,
    /// The work of any swap-in: finding and freeing the slot, allocating and charging a frame.
    SwapIn,
    Compress(Algorithm),
    Decompress(Algorithm),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `continues`: part of the request of the previous transfer. The slots of a readahead window
    /// are read by one request, even if there are holes between them.
    Read {
        medium: Medium,
        slot: Slot,
        bytes: u32,
        continues: bool,
    },
    Write {
        medium: Medium,
        slot: Slot,
        bytes: u32,
        continues: bool,
    },
    Cpu(Work),
}

/// One step and its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub page: PageId,
    pub step: Step,
}

/// The effects of calls to a scheme.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    pub steps: Vec<Transfer>,
    /// Pages that readahead has read. Each gets a frame and is clean. If the runner has no frame
    /// for a page, it returns the page by `swap_out(page, false, ..)`.
    pub ahead: Vec<PageId>,
    /// Resident pages whose slots were freed to make room. They must be written when they are
    /// evicted.
    pub given_up: Vec<PageId>,
}

impl Transfers {
    pub fn clear(&mut self) {
        self.steps.clear();
        self.ahead.clear();
        self.given_up.clear();
    }

    pub(crate) fn cpu(&mut self, page: PageId, work: Work) {
        self.steps.push(Transfer { page, step: Step::Cpu(work) });
    }

    pub(crate) fn read(&mut self, page: PageId, medium: Medium, slot: Slot, bytes: u32) {
        self.steps.push(Transfer { page, step: Step::Read { medium, slot, bytes, continues: false } });
    }

    pub(crate) fn write(&mut self, page: PageId, medium: Medium, slot: Slot, bytes: u32) {
        self.steps.push(Transfer { page, step: Step::Write { medium, slot, bytes, continues: false } });
    }
}
