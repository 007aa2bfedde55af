//! What a scheme has moved or computed, for its runner to price or to perform.

use crate::Slot;
use serde::Serialize;
use swaplab_vocab::PageId;

/// A kind of place for content outside a page's own frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// A RAM disk: plain DRAM.
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

/// A compressor.
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

/// Processor work beside the transfer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// One request through the block layer and the driver (a RAM disk pays it too: the "fake I/O path").
    BlockRequest,
    /// A page copied by loads and stores.
    Copy,
    /// A page table entry set to where the page lies.
    Map,
    /// What any page that comes back costs beside its transfer: its slot is found and freed, a frame is allocated and charged.
    SwapIn,
    Compress(Algorithm),
    Decompress(Algorithm),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// `continues`: adjacent to the transfer before it, so that both are one request.
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

/// One step, and the page it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub page: PageId,
    pub step: Step,
}

/// What a call to a scheme has caused.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    pub steps: Vec<Transfer>,
    /// Pages read along with the one that was asked for (readahead). Each gets a frame, clean; one that the runner has no
    /// frame for it hands back by `swap_out(page, false, ..)`.
    pub ahead: Vec<PageId>,
    /// Pages in memory whose slots were given up to make room: they must be written when they leave.
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
