//! What: every page holds a credit: what it would cost to bring it back (and to write it out, if dirty) when it was last used,
//! on top of the credit of the page evicted last. The page with the least credit goes.
//! Why: the simplest rule that weighs recency against cost; k-competitive, as LRU is where all costs are equal.
//! Source: Young, "The k-server dual and loose competitiveness for paging", Algorithmica 11, 1994; Cao and Irani, USITS 1997.
//! Deviations: the cost is the read by backing, plus the write if the page is dirty, as of its last use. There are only four such
//! costs, so four LRU lists, each in order of credit, replace the priority queue. Equal credits: the cheaper page goes.
//! Weakness: takes a dirty page to be written again as surely as any page is used again; needs every access.

use crate::links::List;
use crate::lists::Lists;
use crate::{Describe, Info, Pages, Params, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Result};

pub struct GreedyDualPolicy {
    /// By backing and dirtiness; the least recently used page of each is at the back.
    lists: Lists,
    /// Credit of the page at its last use, in nanoseconds.
    credit: Vec<u64>,
    /// What a page of each list costs.
    cost: [u64; 4],
    /// Lists from the cheapest to the dearest.
    order: [usize; 4],
    /// Credit of the page evicted last.
    floor: u64,
}

impl Describe for GreedyDualPolicy {
    const INFO: Info = Info {
        key: "greedy-dual",
        what: "least recently used, weighed by the cost of a refault",
        source: "Young 1994",
        signal: Signal::Exact,
        offline: false,
        parameters: &[],
    };

    fn build(setup: &Setup, _: &Params) -> Result<GreedyDualPolicy> {
        let cost = setup.costs.refault();
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|l| cost[*l]);
        Ok(GreedyDualPolicy { lists: Lists::new(setup.pages, 4), credit: vec![0; setup.pages], cost, order, floor: 0 })
    }
}

impl Policy for GreedyDualPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, pages: &Pages) {
        let list = pages.cost_class(page);
        self.credit[page as usize] = self.floor + self.cost[list];
        self.lists.move_to_front(List(list), page);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut Pages) {
        let tails = self.order.iter().filter_map(|l| self.lists.back(List(*l)));
        if let Some(victim) = tails.min_by_key(|p| self.credit[*p as usize]) {
            self.floor = self.credit[victim as usize];
            self.lists.remove(victim);
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut Pages) {
        let list = pages.cost_class(page);
        self.credit[page as usize] = self.floor + self.cost[list];
        self.lists.push_front(List(list), page);
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn check(&self, pages: &Pages) -> std::result::Result<(), String> {
        self.lists.check()?;
        for list in (0..4).map(List) {
            let mut least = u64::MAX;
            for page in self.lists.iter(list) {
                let credit = self.credit[page as usize];
                if !pages.is_resident(page) || credit > least || credit < self.floor {
                    return Err(format!("page {page} of list {} with credit {credit} above {}", list.0, self.floor));
                }
                least = credit;
            }
        }
        Ok(())
    }
}
