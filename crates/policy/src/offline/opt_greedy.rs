//! What: evicts the page whose stay saves the least I/O time per reference: its refault cost
//! divided by the distance to its next use.
//! Why: `opt` minimizes faults. When a dirty page costs six times a clean one, minimal I/O time
//! needs other victims.
//! Source: ours; the rule is the greedy of weighted interval packing (Bar-Noy et al., "A unified
//! approach to approximating resource allocation and scheduling", J. ACM 48(5), 2001), applied to
//! the choice of victims.
//! Deviations: a heuristic, not the optimum. Its I/O time is attainable, so the minimum lies
//! between the lower bound `opt-cost` and this. The next use of a dirty page is assumed to write it
//! again. A page without a next use is worth nothing if it is clean, and the cost of its write if
//! it is dirty, because it need not be written when it stays to the end.
//! Weakness: needs the future; greedy; takes a read of a dirty page for a write.

use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use std::collections::BinaryHeap;
use std::sync::Arc;
use swaplab_vocab::{BadInput, Op, PageId, Params, Result};

/// The `next_use` of a page that is not resident. Reference 0 is never a next use, so its index can
/// serve as this value.
const OUT: u32 = 0;

pub struct OptGreedyPolicy {
    future: Arc<[u32]>,
    /// Number of references so far: calls of `touch` and `insert`.
    now: usize,
    next_use: Vec<u32>,
    /// Future uses with their pages by cost class, the furthest on top. An entry is stale if the
    /// page's next use or class has changed.
    ahead: [BinaryHeap<(u32, PageId)>; 4],
    cost: [u64; 4],
    write: [u64; 4],
    frames: usize,
}

impl Describe for OptGreedyPolicy {
    const ENTRY: Entry = Entry {
        key: "opt-greedy",
        what: "with the future known: least refault cost for the way to the next use (no bound: what can be reached)",
        source: "ours; greedy of weighted interval packing, Bar-Noy et al. 2001",
        parameters: &[],
        info: Info::offline(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<OptGreedyPolicy> {
        let future = setup.future.clone().ok_or_else(|| BadInput::new("opt-greedy", "no future", "a runner that knows the whole trace"))?;
        let cost = setup.costs.refault();
        let write = [0, cost[1] - cost[0], 0, cost[3] - cost[2]];
        let ahead = std::array::from_fn(|_| BinaryHeap::new());
        Ok(OptGreedyPolicy { future, now: 0, next_use: vec![OUT; setup.pages], ahead, cost, write, frames: setup.frames })
    }
}

impl OptGreedyPolicy {
    #[inline]
    fn reference(&mut self, page: PageId, pages: &PageView) {
        let next = self.future[self.now];
        self.now += 1;
        self.next_use[page as usize] = next;
        let class = pages.cost_class(page);
        let ahead = &mut self.ahead[class];
        ahead.push((next, page));
        if ahead.len() > 2 * self.frames + 64 {
            let next_use = &self.next_use;
            ahead.retain(|(next, page)| next_use[*page as usize] == *next && pages.cost_class(*page) == class);
        }
    }

    /// The page of a class whose next use is furthest, and the I/O time per reference that keeping
    /// it until then saves.
    fn candidate(&mut self, class: usize, pages: &PageView) -> Option<(f64, PageId)> {
        while let Some(&(next, page)) = self.ahead[class].peek() {
            if self.next_use[page as usize] == next && pages.cost_class(page) == class {
                let (saved, until) =
                    if next == u32::MAX { (self.write[class], self.future.len()) } else { (self.cost[class], next as usize) };
                return Some((saved as f64 / (until + 1 - self.now.min(until)) as f64, page));
            }
            self.ahead[class].pop();
        }
        None
    }
}

impl Policy for OptGreedyPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        self.reference(page, pages);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        let candidates: [Option<(f64, PageId)>; 4] = std::array::from_fn(|class| self.candidate(class, pages));
        if let Some((_, victim)) = candidates.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0)) {
            self.next_use[victim as usize] = OUT;
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.reference(page, pages);
    }

    fn forget(&mut self, page: PageId) {
        self.next_use[page as usize] = OUT;
    }

    fn resize(&mut self, frames: usize) {
        self.frames = frames;
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        match (0..pages.len() as PageId).find(|p| pages.is_resident(*p) != (self.next_use[*p as usize] != OUT)) {
            Some(page) => Err(format!("page {page} is resident: {}, which does not agree with its next use", pages.is_resident(page))),
            None => Ok(()),
        }
    }
}
