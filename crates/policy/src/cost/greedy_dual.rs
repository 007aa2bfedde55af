//! What: at each use a page gets a credit: the cost of reading it back (plus the cost of writing it
//! out, if it is dirty) plus the credit of the page evicted last. The page with the lowest credit
//! is evicted.
//! Why: the simplest rule that weighs recency against cost; k-competitive, as LRU is when all costs
//! are equal.
//! Source: Young, "The k-server dual and loose competitiveness for paging", Algorithmica 11, 1994;
//! Cao and Irani, USITS 1997.
//! Deviations: the cost is the read by backing, plus the write if the page is dirty, as of its last
//! use. There are only four such costs, so four LRU lists, each in order of credit, replace the
//! priority queue. Of equal credits, the cheaper page is evicted.
//! Weakness: assumes that a dirty page is as likely to be written again as any page is to be used
//! again; needs every access.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{BadInput, Op, PageId, Params, Result};

pub struct GreedyDualPolicy {
    /// One list per cost class, with the least recently used page at the back.
    lists: Lists,
    /// Credit of the page at its last use, in nanoseconds modulo 2^32. The credit of a resident
    /// page exceeds the floor by at most the highest cost, which is below 2^32, so the difference
    /// is exact.
    credit: Vec<u32>,
    /// Refault cost of a page of each list.
    cost: [u32; 4],
    /// The lists in order of rising cost.
    order: [usize; 4],
    /// Credit of the page evicted last, modulo 2^32 as well.
    floor: u32,
}

impl Describe for GreedyDualPolicy {
    const ENTRY: Entry = Entry {
        key: "greedy-dual",
        what: "least recently used, weighed by the cost of a refault",
        source: "Young 1994",
        parameters: &[],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<GreedyDualPolicy> {
        let costs = setup.costs.refault();
        if let Some(dear) = costs.iter().find(|cost| u32::try_from(**cost).is_err()) {
            return Err(BadInput::new("greedy-dual", format!("a page operation of {dear} ns"), "operations of less than 2^32 ns (4.3 s)"));
        }
        let cost = costs.map(|cost| cost as u32);
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|l| cost[*l]);
        Ok(GreedyDualPolicy { lists: Lists::new(setup.pages, 4), credit: vec![0; setup.pages], cost, order, floor: 0 })
    }
}

impl GreedyDualPolicy {
    /// The page's credit above the floor.
    #[inline]
    fn above(&self, page: PageId) -> u32 {
        self.credit[page as usize].wrapping_sub(self.floor)
    }
}

impl Policy for GreedyDualPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        let list = pages.cost_class(page);
        self.credit[page as usize] = self.floor.wrapping_add(self.cost[list]);
        self.lists.move_to_front(List(list), page);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        let tails = self.order.iter().filter_map(|l| self.lists.back(List(*l)));
        if let Some(victim) = tails.min_by_key(|p| self.above(*p)) {
            self.floor = self.credit[victim as usize];
            self.lists.remove(victim);
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        let list = pages.cost_class(page);
        self.credit[page as usize] = self.floor.wrapping_add(self.cost[list]);
        self.lists.push_front(List(list), page);
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        crate::check_residency(pages, (0..4).map(List).flat_map(|list| self.lists.iter(list)))?;
        for list in (0..4).map(List) {
            let mut least = self.cost[list.0];
            for page in self.lists.iter(list) {
                let above = self.above(page);
                if above > least {
                    return Err(format!("page {page} of list {} with credit {above} above {}", list.0, self.floor));
                }
                least = above;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;
    use proptest::prelude::*;
    use swaplab_vocab::Op;

    proptest! {
        // The most expensive page costs 3.6 s, so credits wrap around at 2^32 every few evictions.
        #[test]
        fn credits_that_pass_32_bits_choose_as_small_ones_do(accesses in prop::collection::vec((0u32..40, any::<bool>()), 0..600), frames in 1usize..12) {
            let (mut cheap, mut dear) = (Plain::new("greedy-dual", 40, frames), Plain::priced("greedy-dual", 40, frames, &[], 15_000).unwrap());
            for (page, write) in accesses {
                let op = if write { Op::Write } else { Op::Read };
                prop_assert_eq!(cheap.access(page, op), dear.access(page, op));
                dear.check().unwrap();
            }
            prop_assert_eq!(cheap.resident(), dear.resident());
        }
    }

    #[test]
    fn operations_beyond_32_bits_are_refused() {
        let error = Plain::priced("greedy-dual", 10, 3, &[], 20_000).err().unwrap().to_string();
        assert!(error.contains("4800000000 ns"), "{error}");
    }
}
