//! What a policy may see of pages, and the one thing it may do to them: release.

use serde::{Deserialize, Serialize};
use swaplab_vocab::{prefetch, Class, Op, PageId};

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

    /// By [`Pages::cost_class`]: what it costs to lose a page that is used again.
    pub fn refault(&self) -> [u64; 4] {
        let [swap, file] = [Backing::Swap, Backing::File].map(|b| [self.read(b), self.read(b) + self.write(b)]);
        [swap[0], swap[1], file[0], file[1]]
    }
}

/// State of every page, one byte each, and the free frames. Policies read it; the runner owns it.
pub struct Pages {
    state: Vec<u8>,
    /// The state of a page after its release, by the one before.
    after: [u8; 256],
    /// Pages released, by their state before.
    gone: [u64; 256],
    free: usize,
    /// Which they were, for a runner that has something to do for each.
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

use bits::{COPIED, DIRTY, RESIDENT, TOUCHED};
/// Where the two bits of a page's class stand.
pub const CLASS_SHIFT: u32 = 3;
const CLASS_MASK: u8 = 3 << CLASS_SHIFT;

/// The state of a page after a reference, by its operation and the state before.
static USED: [[u8; 256]; 3] = {
    let mut used = [[0; 256]; 3];
    let mut state = 0;
    while state < 256 {
        let before = state as u8;
        let private = before & CLASS_MASK == (Class::File as u8) << CLASS_SHIFT;
        (used[Op::Read as usize][state], used[Op::Fetch as usize][state]) = (before, before);
        used[Op::Write as usize][state] = before | DIRTY | if private { COPIED } else { 0 };
        state += 1;
    }
    used
};

impl Pages {
    /// For a runner that drains [`take_released`](Pages::take_released) and deals with what each page's state asks for.
    pub fn new(classes: impl Iterator<Item = Class>) -> Pages {
        let state = classes.map(|c| (c as u8) << CLASS_SHIFT).collect();
        let after = std::array::from_fn(|state| state as u8 & !RESIDENT);
        Pages { state, after, gone: [0; 256], free: 0, released: Vec::new(), listing: true }
    }

    /// For a runner that has [`free`](Pages::free) count its frames.
    pub fn with_frames(self, frames: usize) -> Pages {
        Pages { free: frames, ..self }
    }

    /// For a runner to which the number of pages released in each state says everything; `after` is their state from then on.
    pub fn counting(self, after: [u8; 256]) -> Pages {
        Pages { after, listing: false, ..self }
    }

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

    // The rest is for runners.

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

    #[inline]
    pub fn set(&mut self, page: PageId, bits: u8) {
        self.state[page as usize] |= bits;
    }

    #[inline]
    pub fn clear(&mut self, page: PageId, bits: u8) {
        self.state[page as usize] &= !bits;
    }

    /// A reference to `page`: a write makes it dirty, and anonymous from now on if it is a private file page. By a table: which
    /// references write is no pattern that a processor could foresee.
    #[inline]
    pub fn used(&mut self, page: PageId, op: Op) {
        let state = &mut self.state[page as usize];
        *state = USED[op as usize][*state as usize];
    }

    pub fn set_class(&mut self, page: PageId, class: Class) {
        let state = &mut self.state[page as usize];
        *state = *state & !CLASS_MASK | (class as u8) << CLASS_SHIFT;
    }

    /// Take one page that a policy released since the last call; the runner drains these after `reclaim` and `insert`.
    #[inline]
    pub fn take_released(&mut self) -> Option<PageId> {
        self.released.pop()
    }

    /// Frames without a page.
    #[inline]
    pub fn free(&self) -> usize {
        self.free
    }

    /// The page is in a frame from now on.
    #[inline]
    pub fn enter(&mut self, page: PageId) {
        self.state[page as usize] |= RESIDENT | TOUCHED;
        self.free -= 1;
    }

    /// The page ceases to exist, in memory or not; its state keeps only `bits`.
    pub fn vanish(&mut self, page: PageId, bits: u8) {
        self.free += usize::from(self.is_resident(page));
        self.state[page as usize] &= bits;
    }

    /// Pages released so far, by the state they were in.
    pub fn gone(&self) -> &[u64; 256] {
        &self.gone
    }
}
