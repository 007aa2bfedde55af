//! What: new pages pass through a FIFO. A page that faults while it has a ghost entry was evicted
//! too soon and enters a second FIFO, which gives victims only when the first is not above its
//! share.
//! Why: the pager on real memory sees only faults: no access to a page in DRAM, no reference bit. A
//! fault soon after an eviction is the only sign that a page is in use. Under Direct Read only
//! writes bring a page to DRAM, so the second queue collects the pages that are written repeatedly,
//! and pages that are only read stay in NVM.
//! Source: 2Q (Johnson and Shasha, VLDB 1994) without its LRU; refault distance as in Linux
//! mm/workingset.c (Weiner, 2012).
//! Deviations: from 2Q: the second queue is a FIFO, and pages that leave it get ghost entries too.
//! Weakness: a page must be evicted once before it can enter the second queue; a page there that
//! went cold stays for a full turn.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

const NEW: List = List(0);
const KEPT: List = List(1);
const GHOST: List = List(2);
/// The page faulted while it had a ghost entry and is about to enter the second queue.
const RECALLED: List = List(3);

pub struct RefaultPolicy {
    lists: Lists,
    shares: [f64; 2],
    new: usize,
    ghosts: usize,
}

impl Describe for RefaultPolicy {
    const ENTRY: Entry = Entry {
        key: "refault",
        what: "two FIFOs: pages that come back soon after eviction are kept longer",
        source: "2Q with faults alone; Linux workingset.c",
        parameters: &[
            Parameter::new("new", Kind::Number { low: 0.0, high: 1.0 }, "0.1", "share of memory that new pages keep"),
            Parameter::new("ghosts", Kind::Number { low: 0.0, high: 8.0 }, "1", "names remembered, as a share of memory"),
        ],
        info: Info::online(Signal::FaultOnly),
    };

    fn build(setup: &Setup, params: &Params) -> Result<RefaultPolicy> {
        let shares = [params.number("new"), params.number("ghosts")];
        let mut policy = RefaultPolicy { lists: Lists::new(setup.pages, 4), shares, new: 0, ghosts: 0 };
        policy.resize(setup.frames);
        Ok(policy)
    }
}

impl Policy for RefaultPolicy {
    #[inline]
    fn touch(&mut self, _: PageId, _: Op, _: &PageView) {}

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.lists.is_in(GHOST, page) {
            self.lists.move_to_front(RECALLED, page);
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        let from = if self.lists.len(NEW) > self.new || self.lists.is_empty(KEPT) { NEW } else { KEPT };
        if let Some(victim) = self.lists.back(from) {
            pages.release(victim);
            self.lists.move_to_front(GHOST, victim);
            self.lists.trim(GHOST, self.ghosts);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        let to = if self.lists.is_in(RECALLED, page) { KEPT } else { NEW };
        if to == KEPT {
            self.lists.move_to_front(KEPT, page);
        } else {
            self.lists.push_front(NEW, page);
        }
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.new = (frames as f64 * self.shares[0]) as usize;
        self.ghosts = (frames as f64 * self.shares[1]) as usize;
        self.lists.trim(GHOST, self.ghosts);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        [("new", NEW), ("kept", KEPT), ("ghosts", GHOST)].map(|(name, list)| (name, self.lists.len(list) as f64)).into()
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        if self.lists.len(GHOST) > self.ghosts {
            return Err(format!("{} ghosts, at most {}", self.lists.len(GHOST), self.ghosts));
        }
        crate::check_residency(pages, self.lists.iter(NEW).chain(self.lists.iter(KEPT)))
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_page_that_comes_back_is_kept() {
        // 4 frames, 4 ghost entries; a tenth of 4 rounds to no frame, so new pages are evicted
        // first.
        let mut refault = Plain::new("refault", 10, 4);
        // The policy does not see accesses to resident pages, so 1 is still the first victim.
        assert_eq!(refault.faults(&[1, 2, 3, 4, 1, 5]), 5);
        assert_eq!(refault.resident(), [2, 3, 4, 5]);
        // 1 refaults soon after its eviction and is kept; 2 is evicted for it.
        assert_eq!(refault.faults(&[1]), 1);
        assert_eq!(refault.gauges(), [("new", 3.0), ("kept", 1.0), ("ghosts", 1.0)]);
        // New pages now replace each other.
        assert_eq!(refault.faults(&[6, 7, 8, 9, 1]), 4);
    }
}
