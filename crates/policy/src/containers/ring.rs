//! A queue for policies that take pages from the front and may append them to the end again.
//! [`forget`](Ring::forget) removes a page from the middle: it increments the page's count of stale
//! entries, and `pop` drops a stale entry when it reaches the front. The counts take four bits per
//! page and are allocated at the first `forget`. A turn of the hand reads entries in memory order.

use swaplab_vocab::{prefetch, PageId};

pub struct Ring {
    /// The ring buffer; its length is a power of two.
    entries: Vec<PageId>,
    /// Positions of the first entry and of the end. Both only grow; the index in `entries` is the
    /// position modulo its length.
    head: usize,
    tail: usize,
    /// Number of stale entries, in total and by page. The stale entries of a page lie before its
    /// live one, since `push` appends.
    stale: usize,
    stale_of: Vec<u8>,
    pages: usize,
}

/// The highest number of stale entries of a page: four bits hold it.
const MOST_STALE: u8 = 15;
/// Initial capacity.
const FEWEST: usize = 64;
/// Distance, in entries, at which counts of stale entries are prefetched ahead of the front.
const AHEAD: usize = 12;

/// Shift of a page's four-bit count within the byte that two neighboring pages share.
#[inline]
fn shift(page: PageId) -> u32 {
    4 * (page & 1)
}

/// Returns whether the first entry of a page is stale. If so, decrements the page's count.
#[inline]
fn take_stale(stale_of: &mut [u8], page: PageId) -> bool {
    match stale_of.get_mut(page as usize / 2) {
        Some(two) if *two >> shift(page) & MOST_STALE != 0 => {
            *two -= 1 << shift(page);
            true
        }
        _ => false,
    }
}

impl Ring {
    pub fn new(pages: usize) -> Ring {
        Ring { entries: vec![0; FEWEST], head: 0, tail: 0, stale: 0, stale_of: Vec::new(), pages }
    }

    /// Number of queued pages.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail - self.head - self.stale
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Append a page, which must not be queued.
    #[inline]
    pub fn push(&mut self, page: PageId) {
        if self.tail - self.head == self.entries.len() {
            self.make_room();
        }
        let mask = self.entries.len() - 1;
        self.entries[self.tail & mask] = page;
        self.tail += 1;
    }

    /// Remove and return the page at the front.
    #[inline]
    pub fn pop(&mut self) -> Option<PageId> {
        if self.stale != 0 {
            self.drop_stale();
        }
        if self.head == self.tail {
            return None;
        }
        let page = self.entries[self.head & (self.entries.len() - 1)];
        self.head += 1;
        Some(page)
    }

    /// The page `n` entries behind the front, as a hint for prefetching. The entry may be stale, so
    /// nothing may be decided by it.
    #[inline]
    pub fn coming(&self, n: usize) -> PageId {
        self.entries[(self.head + n) & (self.entries.len() - 1)]
    }

    /// Prefetch the entry `n` entries behind the front.
    #[inline]
    pub fn prefetch(&self, n: usize) {
        prefetch(&self.entries, (self.head + n) & (self.entries.len() - 1));
    }

    /// Remove a queued page from any position.
    #[inline]
    pub fn forget(&mut self, page: PageId) {
        if self.stale_of.get(page as usize / 2).is_none_or(|two| two >> shift(page) & MOST_STALE == MOST_STALE) {
            self.make_countable();
        }
        self.stale_of[page as usize / 2] += 1 << shift(page);
        self.stale += 1;
    }

    /// Drop the stale entries at the front.
    #[inline]
    fn drop_stale(&mut self) {
        while self.head != self.tail {
            prefetch(&self.stale_of, self.coming(AHEAD) as usize / 2);
            let page = self.entries[self.head & (self.entries.len() - 1)];
            if !take_stale(&mut self.stale_of, page) {
                return;
            }
            self.stale -= 1;
            self.head += 1;
        }
    }

    /// Ensure that the count of a page can be incremented.
    #[cold]
    #[inline(never)]
    fn make_countable(&mut self) {
        self.stale_of.resize(self.pages.div_ceil(2), 0);
        self.drop_all_stale(self.entries.len());
    }

    /// Drop all stale entries. The ring doubles if live entries still take more than half of it.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let double = self.len() > self.entries.len() / 2;
        self.drop_all_stale(self.entries.len() << usize::from(double));
    }

    fn drop_all_stale(&mut self, room: usize) {
        let mut live = Vec::with_capacity(room);
        let mask = self.entries.len() - 1;
        for entry in (self.head..self.tail).map(|at| self.entries[at & mask]) {
            if !take_stale(&mut self.stale_of, entry) {
                live.push(entry);
            }
        }
        (self.head, self.tail, self.stale) = (0, live.len(), 0);
        live.resize(room, 0);
        self.entries = live;
    }

    /// The queued pages, from front to end.
    pub fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        let mut stale = self.stale_of.clone();
        let entries = (self.head..self.tail).map(|at| self.entries[at & (self.entries.len() - 1)]);
        entries.filter(move |page| !take_stale(&mut stale, *page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn a_page_may_leave_more_often_than_four_bits_count() {
        let mut ring = Ring::new(3);
        ring.push(1);
        for _ in 0..1000 {
            ring.push(2);
            ring.forget(2);
        }
        ring.push(2);
        assert_eq!((ring.len(), ring.iter().collect::<Vec<_>>()), (2, vec![1, 2]));
        assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Some(1), Some(2), None]);
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_deque(steps in prop::collection::vec((0u32..90, 0u8..9), 0..2000)) {
            let mut ring = Ring::new(90);
            let mut model = VecDeque::new();
            for (page, step) in steps {
                match step {
                    0..=4 if !model.contains(&page) => { ring.push(page); model.push_back(page); }
                    5 if model.contains(&page) => { ring.forget(page); model.retain(|p| *p != page); }
                    6 => prop_assert_eq!(ring.pop(), model.pop_front()),
                    7 => if let Some(spared) = ring.pop() {
                        prop_assert_eq!(Some(spared), model.pop_front());
                        ring.push(spared);
                        model.push_back(spared);
                    },
                    _ => {}
                }
                prop_assert_eq!(ring.len(), model.len());
            }
            prop_assert_eq!(&ring.iter().collect::<VecDeque<_>>(), &model);
        }
    }
}
