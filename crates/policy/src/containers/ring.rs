//! A queue of pages for policies whose pages leave at the front alone: popped ones may go to the end again. A page that
//! leaves from the middle ([`forget`](Ring::forget)) is only counted, in four bits of its own; its entry is dropped when it comes to
//! the front. So nothing is kept by page until a page is forgotten, and a turn of the hand reads entries in the order they lie in.

use swaplab_vocab::{prefetch, PageId};

pub struct Ring {
    /// A power of two of entries.
    entries: Vec<PageId>,
    /// Positions of the first entry and behind the last one; both only grow, and wrap around the entries.
    head: usize,
    tail: usize,
    /// Entries of forgotten pages, in all and by page. A page's stale entries lie before its live one, since new ones go to the end.
    stale: usize,
    stale_of: Vec<u8>,
    pages: usize,
}

/// Stale entries of a page that four bits count.
const MOST_STALE: u8 = 15;
/// Entries at the start.
const FEWEST: usize = 64;
/// Entries by which the front is looked ahead of, where there are stale ones.
const AHEAD: usize = 12;

/// Where the count of a page stands in the byte that it shares with its neighbour.
#[inline]
fn shift(page: PageId) -> u32 {
    4 * (page & 1)
}

/// Whether the first entry of a page is a stale one, which is then no longer counted.
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

    /// Pages queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail - self.head - self.stale
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Put a page at the end; it must not be queued.
    #[inline]
    pub fn push(&mut self, page: PageId) {
        if self.tail - self.head == self.entries.len() {
            self.make_room();
        }
        let mask = self.entries.len() - 1;
        self.entries[self.tail & mask] = page;
        self.tail += 1;
    }

    /// Take the page at the front.
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

    /// The page `n` entries behind the front, or one that was there once: for looking ahead, not for decisions.
    #[inline]
    pub fn coming(&self, n: usize) -> PageId {
        self.entries[(self.head + n) & (self.entries.len() - 1)]
    }

    /// A queued page leaves, wherever it stands.
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

    /// Make sure that one more stale entry of a page can be counted.
    #[cold]
    #[inline(never)]
    fn make_countable(&mut self) {
        self.stale_of.resize(self.pages.div_ceil(2), 0);
        self.drop_all_stale(self.entries.len());
    }

    /// Drop every stale entry; the ring doubles if more than half of it would still be taken.
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

    /// Front to end.
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
