//! What: evicts the page that saves the least I/O time a frame and reference: the cost of losing it over the way to its next use.
//! Why: `opt` minimises faults; where a dirty page costs six times a clean one, the least I/O time asks for another victim.
//! Source: ours; the rule is the greedy of weighted interval packing (Bar-Noy et al., "A unified approach to approximating
//! resource allocation and scheduling", J. ACM 48(5), 2001), seen from the evicting side.
//! Deviations: a heuristic, not the optimum: what it reaches can be reached, so the least I/O time lies between the bound
//! `opt-cost` and this. The next use of a dirty page is taken
//! to write it again; a page without a next use is worth nothing clean, and dirty what its write saves if it stays to the end.
//! Weakness: needs the future; greedy; takes a read of a dirty page for a write.

use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use std::collections::BinaryHeap;
use std::sync::Arc;
use swaplab_vocab::{BadInput, Op, PageId, Params, Result};

/// The next use of a page that is not in memory. No use is ever ahead of the first reference, so 0 is free for it.
const OUT: u32 = 0;

pub struct OptGreedyPolicy {
    future: Arc<[u32]>,
    /// References seen so far: each is one touch or one insert.
    now: usize,
    next_use: Vec<u32>,
    /// Uses to come by cost class, the furthest on top. An entry is stale if the page's next use or class has changed.
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

    /// The page of a class that is needed last, and what keeping it saves for each reference until then.
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
            Some(page) => Err(format!("page {page} is resident: {}, and its next use says otherwise", pages.is_resident(page))),
            None => Ok(()),
        }
    }
}
