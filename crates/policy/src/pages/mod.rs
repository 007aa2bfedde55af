//! What a policy may see of pages, and the one thing it may do to them: release. What their runner may do is in [`residency`].

mod residency;

pub use residency::Residency;

use serde::{Deserialize, Serialize};
use swaplab_vocab::{prefetch, Class, PageId};

/// Where a page's content goes when it leaves memory, as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    Swap = 0,
    File = 1,
}

/// Time of one page operation, in nanoseconds, by [`Backing`]: what cost-aware policies weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    pub swap_read_ns: u64,
    pub swap_write_ns: u64,
    pub file_read_ns: u64,
    pub file_write_ns: u64,
}

impl Costs {
    #[inline]
    pub fn read(&self, backing: Backing) -> u64 {
        [self.swap_read_ns, self.file_read_ns][backing as usize]
    }

    #[inline]
    pub fn write(&self, backing: Backing) -> u64 {
        [self.swap_write_ns, self.file_write_ns][backing as usize]
    }

    /// By [`PageView::cost_class`]: what it costs to lose a page that is used again.
    pub fn refault(&self) -> [u64; 4] {
        let [swap, file] = [Backing::Swap, Backing::File].map(|b| [self.read(b), self.read(b) + self.write(b)]);
        [swap[0], swap[1], file[0], file[1]]
    }
}

/// State of every page, one byte each, as a policy sees it: read-only but for [`release`](PageView::release). The runner owns it as a
/// [`Residency`], and nobody else can make one.
pub struct PageView {
    state: Vec<u8>,
    /// The state of a page after its release, by the one before.
    after: [u8; 256],
    /// Pages released, by their state before.
    gone: [u64; 256],
    /// Frames without a page, as far as the runner has them counted; below zero once it let a page in that found none.
    free: isize,
    /// Which pages were released, for a runner that has something to do for each.
    released: Vec<PageId>,
    listing: bool,
}

/// The state bits of a page, for runners.
pub mod bits {
    /// In a frame of memory.
    pub const RESIDENT: u8 = 1;
    /// Written since it was brought in.
    pub const DIRTY: u8 = 2;
    /// Its swap slot holds content that a fault must read.
    pub const SLOT: u8 = 4;
    /// A private file page that was written: anonymous from then on.
    pub const COPIED: u8 = 32;
    /// Mapped where it lies in byte-addressable swap (Direct Read): readable without a frame.
    pub const MAPPED: u8 = 64;
    /// Referenced at least once.
    pub const TOUCHED: u8 = 128;

    /// Where a page in this state belongs: swap for anonymous pages and for private file pages already written.
    #[inline]
    pub const fn backing(state: u8) -> super::Backing {
        // Both bits are looked at, so that there is no branch.
        if (state & super::CLASS_MASK == 0) | (state & COPIED != 0) {
            super::Backing::Swap
        } else {
            super::Backing::File
        }
    }
}

use bits::{DIRTY, RESIDENT};
/// Where the two bits of a page's class stand.
pub const CLASS_SHIFT: u32 = 3;
const CLASS_MASK: u8 = 3 << CLASS_SHIFT;

impl PageView {
    #[inline]
    #[allow(clippy::len_without_is_empty)] // a trace without pages is refused at import
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Have the state of `page` brought near.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        prefetch(&self.state, page as usize);
    }

    #[inline]
    pub fn is_resident(&self, page: PageId) -> bool {
        self.state[page as usize] & RESIDENT != 0
    }

    /// How many pages from `first` on, of `most`, are resident in a row.
    pub fn resident_run(&self, first: PageId, most: usize) -> usize {
        // All states of a chunk are looked at, which takes a few instructions for all of them.
        const CHUNK: usize = 32;
        let states = &self.state[first as usize..][..most];
        let whole = states.chunks_exact(CHUNK).take_while(|chunk| chunk.iter().fold(RESIDENT, |all, state| all & state) != 0).count();
        let rest = states[whole * CHUNK..].iter().take_while(|state| **state & RESIDENT != 0).count();
        whole * CHUNK + rest
    }

    #[inline]
    pub fn is_dirty(&self, page: PageId) -> bool {
        self.state[page as usize] & DIRTY != 0
    }

    /// The class its mapping gives it.
    #[inline]
    pub fn class(&self, page: PageId) -> Class {
        match (self.state[page as usize] & CLASS_MASK) >> CLASS_SHIFT {
            0 => Class::Anonymous,
            1 => Class::File,
            _ => Class::Shared,
        }
    }

    /// Where it would go or come from now.
    #[inline]
    pub fn backing(&self, page: PageId) -> Backing {
        bits::backing(self.state[page as usize])
    }

    /// What losing the page costs depends on this alone: 0 clean in swap, 1 dirty in swap, 2 clean in a file, 3 dirty in a file.
    #[inline]
    pub fn cost_class(&self, page: PageId) -> usize {
        2 * self.backing(page) as usize + usize::from(self.is_dirty(page))
    }

    /// A policy's decision: `page` leaves memory. What that costs is the runner's business.
    #[inline]
    pub fn release(&mut self, page: PageId) {
        debug_assert!(self.is_resident(page), "page {page} released but not resident");
        let state = &mut self.state[page as usize];
        self.gone[*state as usize] += 1;
        *state = self.after[*state as usize];
        self.free += 1;
        if self.listing {
            self.released.push(page);
        }
    }

    /// Frames without a page, where the runner has them counted.
    #[inline]
    pub fn free(&self) -> usize {
        self.free.max(0) as usize
    }

    /// The state bits of every page.
    #[inline]
    pub fn states(&self) -> &[u8] {
        &self.state
    }

    /// The state bits of one page.
    #[inline]
    pub fn bits(&self, page: PageId) -> u8 {
        self.state[page as usize]
    }
}
