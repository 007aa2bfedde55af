//! What: a FIFO list whose hand walks from the oldest page to the newest. It spares pages that were
//! used and clears their marks; a spared page keeps its place.
//! Why: as little work per hit as CLOCK, and new pages that are not used again leave before old
//! useful ones.
//! Source: Zhang et al., "SIEVE is simpler than LRU", NSDI 2024, algorithm 1.
//! Deviations: none.
//! Weakness: no ghosts, so in a loop larger than memory the first pages stay; slow to follow a
//! change of working set.

use crate::containers::links::{Links, List};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{prefetch, Op, PageId, Params, Result};

const QUEUE: List = List(0);

pub struct SievePolicy {
    links: Links,
    /// By page: whether it was used since it was brought in or the hand last passed.
    used: Vec<u8>,
    /// The page under the hand; `None` is the oldest page.
    hand: Option<PageId>,
    scanned: u64,
}

impl Describe for SievePolicy {
    const ENTRY: Entry = Entry {
        key: "sieve",
        what: "a FIFO whose hand spares used pages in place",
        source: "Zhang et al. 2024, algorithm 1",
        parameters: &[],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, _: &Params) -> Result<SievePolicy> {
        Ok(SievePolicy { links: Links::new(setup.pages, 1), used: vec![0; setup.pages], hand: None, scanned: 0 })
    }
}

impl Policy for SievePolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        prefetch(&self.used, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.used[page as usize] = 1;
    }

    #[inline(always)]
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        let mut at = self.hand;
        while let Some(page) = at.or_else(|| self.links.back(QUEUE)) {
            self.scanned += 1;
            at = self.links.before(page);
            if std::mem::take(&mut self.used[page as usize]) == 0 {
                self.hand = at;
                self.links.remove(QUEUE, page);
                pages.release(page);
                return;
            }
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.used[page as usize] = 0;
        self.links.push_front(QUEUE, page);
    }

    fn forget(&mut self, page: PageId) {
        if self.links.contains(page) {
            if self.hand == Some(page) {
                self.hand = self.links.before(page);
            }
            self.links.remove(QUEUE, page);
        }
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.links.check(QUEUE)?;
        crate::check_residency(pages, self.links.iter(QUEUE))?;
        match self.hand {
            Some(page) if !self.links.contains(page) => Err(format!("the hand is at page {page}, which is not queued")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_spared_page_keeps_its_place_and_the_hand_goes_on() {
        let mut sieve = Plain::new("sieve", 10, 3);
        // Oldest first: 1 (used), 2, 3. The hand spares 1, evicts 2 and stops at 3.
        assert_eq!(sieve.faults(&[1, 2, 3, 1, 4]), 4);
        assert_eq!(sieve.resident(), [1, 3, 4]);
        // The hand continues at 3 although 1 is older and no longer marked; then 4; after the
        // newest page it wraps to 1.
        assert_eq!(sieve.faults(&[5]), 1);
        assert_eq!(sieve.resident(), [1, 4, 5]);
        assert_eq!(sieve.faults(&[4, 5, 6]), 1);
        assert_eq!(sieve.resident(), [4, 5, 6]);
        assert_eq!(sieve.scanned(), 2 + 1 + 3);
    }
}
