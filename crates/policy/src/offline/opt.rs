//! What: evicts the page whose next reference lies furthest ahead.
//! Why: no demand-paging policy has fewer faults, so it is the lower bound with which others are
//! compared.
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.
//! Deviations: none. Among pages that are never referenced again, the one with the highest number
//! is evicted.
//! Weakness: needs the future; minimizes the number of faults, not their cost (see the bound
//! `opt-cost`). It does not know when a page is unmapped: a reference to the page's number after a
//! later mapping looks like a reference to the same page.

use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use std::collections::BinaryHeap;
use std::sync::Arc;
use swaplab_vocab::{BadInput, Op, PageId, Params, Result};

/// The `next_use` of a page that is not resident. Reference 0 is never a next use, so its index can
/// serve as this value.
const OUT: u32 = 0;

pub struct OptPolicy {
    future: Arc<[u32]>,
    /// Number of references so far: calls of `touch` and `insert`.
    now: usize,
    next_use: Vec<u32>,
    /// Future uses with their pages, the furthest on top. An entry that differs from the page's
    /// `next_use` is stale.
    ahead: BinaryHeap<(u32, PageId)>,
    frames: usize,
}

impl Describe for OptPolicy {
    const ENTRY: Entry = Entry {
        key: "opt",
        what: "Belady's optimum: furthest next use",
        source: "Belady 1966",
        parameters: &[],
        info: Info::offline(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<OptPolicy> {
        let future = setup.future.clone().ok_or_else(|| BadInput::new("opt", "no future", "a runner that knows the whole trace"))?;
        Ok(OptPolicy { future, now: 0, next_use: vec![OUT; setup.pages], ahead: BinaryHeap::new(), frames: setup.frames })
    }
}

impl OptPolicy {
    #[inline]
    fn reference(&mut self, page: PageId) {
        let next = self.future[self.now];
        self.now += 1;
        self.next_use[page as usize] = next;
        self.ahead.push((next, page));
        if self.ahead.len() > 2 * self.frames + 64 {
            let next_use = &self.next_use;
            self.ahead.retain(|(next, page)| next_use[*page as usize] == *next);
        }
    }
}

impl Policy for OptPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.reference(page);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while let Some((next, page)) = self.ahead.pop() {
            if self.next_use[page as usize] == next {
                self.next_use[page as usize] = OUT;
                pages.release(page);
                return;
            }
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.reference(page);
    }

    fn forget(&mut self, page: PageId) {
        self.next_use[page as usize] = OUT;
    }

    fn resize(&mut self, frames: usize) {
        self.frames = frames;
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        crate::check_residency(pages, (0..pages.len() as PageId).filter(|p| self.next_use[*p as usize] != OUT))?;
        match (0..pages.len() as PageId).find(|p| {
            let next = self.next_use[*p as usize];
            next != OUT && !self.ahead.iter().any(|entry| *entry == (next, *p))
        }) {
            Some(page) => Err(format!("the next use of page {page} is not in the heap")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn the_page_used_furthest_ahead_is_evicted() {
        let trace = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        let mut opt = Plain::with_future("opt", 6, 3, &trace);
        assert_eq!(opt.faults(&trace[..4]), 4); // 3 is needed later than 1 and 2
        assert_eq!(opt.resident(), [1, 2, 4]);
        assert_eq!(opt.faults(&trace[4..7]), 1); // 4 is needed later than 1 and 2
        assert_eq!(opt.resident(), [1, 2, 5]);
        assert_eq!(opt.faults(&trace[7..]), 2); // 3 and 4; 5 stays
    }
}
