//! A policy's view of pages: it may read their state and release them. The runner's side is in
//! [`residency`].

mod residency;

pub use residency::Residency;

use serde::{Deserialize, Serialize};
use std::ops::Range;
use swaplab_vocab::{prefetch, Class, PageId};

/// Where the content of a page would be written if it were evicted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    Swap = 0,
    File = 1,
}

/// Time of one page operation by [`Backing`], in nanoseconds. Cost-aware policies use it.
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

    /// The cost of evicting a page that is used again, by [`PageView::cost_class`].
    pub fn refault(&self) -> [u64; 4] {
        let [swap, file] = [Backing::Swap, Backing::File].map(|b| [self.read(b), self.read(b) + self.write(b)]);
        [swap[0], swap[1], file[0], file[1]]
    }
}

/// The state of every page, one byte each, as a policy sees it: read-only except for
/// [`release`](PageView::release). Only a runner's [`Residency`] can create one.
pub struct PageView {
    state: Vec<u8>,
    /// The state of a page after its release, indexed by its state before.
    after: [u8; 256],
    /// Number of released pages, indexed by their state before.
    released_counts: [u64; 256],
    /// Free frames, if the runner has this type count them. Negative after the runner has admitted
    /// a page without a free frame.
    free: isize,
    /// The released pages, recorded if `listing` is set, for a runner that handles each of them.
    released: Vec<PageId>,
    listing: bool,
}

/// The state bits of a page, for runners.
pub mod bits {
    /// Resident: in a page frame.
    pub const RESIDENT: u8 = 1;
    /// Written since the page was brought in.
    pub const DIRTY: u8 = 2;
    /// The page's swap slot has content that a fault must read.
    pub const SLOT: u8 = 4;
    /// A private file page that was written, which makes it anonymous.
    pub const COPIED: u8 = 32;
    /// Mapped where it lies in byte-addressable swap (Direct Read): readable without a frame.
    pub const MAPPED: u8 = 64;
    /// Referenced at least once.
    pub const TOUCHED: u8 = 128;

    /// The backing of a page in this state: swap for anonymous pages and for written private file
    /// pages.
    #[inline]
    pub const fn backing(state: u8) -> super::Backing {
        // Both conditions are evaluated (`|`, not `||`) to avoid a branch.
        if (state & super::CLASS_MASK == 0) | (state & COPIED != 0) {
            super::Backing::Swap
        } else {
            super::Backing::File
        }
    }
}

use bits::{DIRTY, RESIDENT};
/// Position of the two class bits in the state.
pub const CLASS_SHIFT: u32 = 3;
const CLASS_MASK: u8 = 3 << CLASS_SHIFT;

/// [`bits::backing`] of every state. Policies ask for it several times a fault, and computing it
/// takes eight instructions.
static BACKING: [Backing; 256] = {
    let mut backing = [Backing::Swap; 256];
    let mut state = 0;
    while state < 256 {
        backing[state] = bits::backing(state as u8);
        state += 1;
    }
    backing
};

impl PageView {
    #[inline]
    #[allow(clippy::len_without_is_empty)] // a trace without pages is refused at import
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Prefetch the state of `page` into the processor's cache.
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
        if states.first().is_none_or(|state| state & RESIDENT == 0) {
            return 0;
        }
        let whole = states.chunks_exact(CHUNK).take_while(|chunk| chunk.iter().fold(RESIDENT, |all, state| all & state) != 0).count();
        let rest = states[whole * CHUNK..].iter().take_while(|state| **state & RESIDENT != 0).count();
        whole * CHUNK + rest
    }

    /// Number of pages in `range` whose state bits meet a condition.
    pub fn count(&self, range: Range<PageId>, meets: impl Fn(u8) -> bool) -> usize {
        self.state[range.start as usize..range.end as usize].iter().filter(|state| meets(**state)).count()
    }

    /// Number of resident pages in `range`.
    pub fn resident_in(&self, range: Range<PageId>) -> usize {
        self.count(range, |state| state & RESIDENT != 0)
    }

    #[inline]
    pub fn is_dirty(&self, page: PageId) -> bool {
        self.state[page as usize] & DIRTY != 0
    }

    /// The class of the page's mapping.
    #[inline]
    pub fn class(&self, page: PageId) -> Class {
        match (self.state[page as usize] & CLASS_MASK) >> CLASS_SHIFT {
            0 => Class::Anonymous,
            1 => Class::File,
            _ => Class::Shared,
        }
    }

    /// Where the page would be written to, or read from, now.
    #[inline]
    pub fn backing(&self, page: PageId) -> Backing {
        BACKING[self.state[page as usize] as usize]
    }

    /// The class that determines the cost of evicting the page: 0 clean in swap, 1 dirty in swap, 2
    /// clean in a file, 3 dirty in a file.
    #[inline]
    pub fn cost_class(&self, page: PageId) -> usize {
        2 * self.backing(page) as usize + usize::from(self.is_dirty(page))
    }

    /// Release `page`: it leaves memory. The runner accounts for the cost.
    #[inline]
    pub fn release(&mut self, page: PageId) {
        debug_assert!(self.is_resident(page), "page {page} released but not resident");
        let state = &mut self.state[page as usize];
        self.released_counts[*state as usize] += 1;
        *state = self.after[*state as usize];
        self.free += 1;
        if self.listing {
            self.released.push(page);
        }
    }

    /// Release `page`, which the policy took back while it was written: its frame can be free.
    pub fn release_written(&mut self, page: PageId) {
        debug_assert!(!self.is_resident(page), "page {page} was written, but is resident");
        self.released.push(page);
    }

    /// Number of free frames, if the runner has this type count them.
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
