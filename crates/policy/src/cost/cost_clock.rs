//! What: each page has a credit, (number of times it was seen in use) x (cost of a refault) +
//! (credit of the page evicted last). The page with the lowest credit is examined: if its reference
//! bit is set it gets a new credit, otherwise it is evicted.
//! Why: an NVM write costs five times a read, a flash write twice. A reference bit, a dirty bit and
//! the faults that the kernel handles anyway suffice to use that difference.
//! `docs/models/cost-clock.md` describes the design, the effect of each part and its weaknesses.
//! Source: ours; GreedyDual (Young 1994) with the frequency of GDSF (Cherkasova, HP Labs 1998-69),
//! carried over to reference bits as CLOCK does it for LRU.
//! Deviations: none. A queue for each cost and count keeps pages in order of credit without a heap.
//! Weakness: a loop larger than memory misses every time, as with LRU; takes every dirty page to be
//! written again.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// The highest use count of a page. Minus one it fits into three bits of the state.
const HIGHEST: u64 = 8;
const SEEN: u8 = 7;
/// The reference bit in `state`.
const REFERENCED: u8 = 8;

pub struct CostClockPolicy {
    /// One queue per cost class and use count, with the lowest credit at the back, followed by the
    /// ghost entries.
    lists: Lists,
    /// The floor at which the page is examined, in nanoseconds modulo 2^32. Only the difference to
    /// the current floor is meaningful.
    credit: Vec<u32>,
    /// Times seen in use minus one (mask `SEEN`), and the reference bit.
    state: Vec<u8>,
    /// Credit of the page evicted last.
    floor: u32,
    cost: [u32; 4],
    highest: u8,
    history: f64,
    /// Maximum number of ghost entries.
    ghosts: usize,
    scanned: u64,
}

impl Describe for CostClockPolicy {
    const ENTRY: Entry = Entry {
        key: "cost-clock",
        what: "CLOCK by credit: how often a page was seen in use, times what its refault costs",
        source: "ours; docs/models/cost-clock.md",
        parameters: &[
            Parameter::new("levels", Kind::Integer { low: 1, high: HIGHEST }, "8", "uses of a page that count, 1 to 8"),
            Parameter::new(
                "history",
                Kind::Number { low: 0.0, high: 8.0 },
                "0.5",
                "evicted pages whose uses are remembered, as a share of memory",
            ),
            Parameter::new(
                "costs",
                Kind::Choice(&["all", "read", "none"]),
                "all",
                "all, read (writes are free) or none (all pages cost the same)",
            ),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<CostClockPolicy> {
        let full = setup.costs.refault();
        let cost = match params.choice("costs") {
            0 => full,
            1 => [full[0], full[0], full[2], full[2]],
            _ => [1; 4],
        };
        let history = params.number("history");
        let levels = params.integer("levels");
        Ok(CostClockPolicy {
            lists: Lists::new(setup.pages, GHOSTS.0 + 1),
            credit: vec![0; setup.pages],
            state: vec![0; setup.pages],
            floor: 0,
            // A credit exceeds the floor by at most HIGHEST times this cost, so differences stay
            // below 2^32.
            cost: cost.map(|c| c.clamp(1, u32::MAX as u64 / HIGHEST) as u32),
            highest: levels as u8 - 1,
            history,
            ghosts: (setup.frames as f64 * history) as usize,
            scanned: 0,
        })
    }
}

const GHOSTS: List = List(4 * HIGHEST as usize);

impl CostClockPolicy {
    /// Increment the page's use count.
    fn count(&mut self, page: PageId) {
        let state = &mut self.state[page as usize];
        *state = (*state & SEEN).min(self.highest.saturating_sub(1)) + self.highest.min(1);
    }

    /// Give a page that is in no queue a new credit, and queue it.
    fn enqueue(&mut self, page: PageId, pages: &PageView) {
        let (seen, class) = (self.state[page as usize] & SEEN, pages.cost_class(page));
        self.credit[page as usize] = self.floor.wrapping_add((seen as u32 + 1) * self.cost[class]);
        self.lists.push_front(List(4 * seen as usize + class), page);
    }

    /// The page's credit above the floor.
    fn left(&self, page: PageId) -> u32 {
        self.credit[page as usize].wrapping_sub(self.floor)
    }
}

impl Policy for CostClockPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.state[page as usize] |= REFERENCED;
    }

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.lists.remove(page) {
            self.count(page);
        } else {
            self.state[page as usize] = 0;
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        loop {
            let tails = (0..GHOSTS.0).filter_map(|l| self.lists.back(List(l)));
            let Some(page) = tails.min_by_key(|p| self.left(*p)) else { return };
            self.scanned += 1;
            if self.state[page as usize] & REFERENCED == 0 {
                self.floor = self.credit[page as usize];
                self.lists.move_to_front(GHOSTS, page);
                self.lists.trim(GHOSTS, self.ghosts);
                pages.release(page);
                return;
            }
            self.lists.remove(page);
            self.count(page);
            self.enqueue(page, pages);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.enqueue(page, pages);
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.ghosts = (frames as f64 * self.history) as usize;
        self.lists.trim(GHOSTS, self.ghosts);
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let resident = |class: usize| (0..HIGHEST as usize).map(|seen| self.lists.len(List(4 * seen + class))).sum::<usize>() as f64;
        let once: usize = (0..4).map(|class| self.lists.len(List(class))).sum();
        vec![
            ("clean_swap", resident(0)),
            ("dirty_swap", resident(1)),
            ("clean_file", resident(2)),
            ("dirty_file", resident(3)),
            ("seen_once", once as f64),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        crate::check_residency(pages, (0..GHOSTS.0).flat_map(|list| self.lists.iter(List(list))))?;
        for list in (0..GHOSTS.0).map(List) {
            let mut least = u32::MAX;
            for page in self.lists.iter(list) {
                let left = self.left(page);
                let most = (1 + list.0 as u32 / 4) * self.cost[list.0 % 4];
                if left > least.min(most) {
                    return Err(format!("page {page} of queue {} has {left} left of {most}, the one before it {least}", list.0));
                }
                least = left;
            }
        }
        match self.lists.iter(GHOSTS).find(|p| pages.is_resident(*p)) {
            Some(page) => Err(format!("page {page} has a ghost entry but is resident")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;
    use swaplab_vocab::Op;

    /// All pages cost 1. Page 0 was used once more than the others, so its credit is 2, and 1
    /// leaves for 2. Each eviction raises the floor to the credit of the victim: 2 leaves at 2, and
    /// 0, whose credit is 2 as well, before 3, whose credit is 3.
    #[test]
    fn a_page_that_was_used_once_more_stays_for_one_more_eviction() {
        let mut run = Plain::new("cost-clock:costs=none,history=0", 5, 2);
        run.faults(&[0, 1, 0]);
        let resident_after = [2, 3, 4].map(|page| (run.faults(&[page]), run.resident()).1);
        assert_eq!(resident_after, [vec![0, 2], vec![0, 3], vec![3, 4]]);
    }

    /// Three anonymous pages, one of them written, and two clean file pages. Page 0 is used again
    /// and is examined first, so that it has been seen twice; page 3 is written and costs most.
    #[test]
    fn resident_pages_are_counted_by_what_a_refault_costs() {
        let mut run = Plain::new("cost-clock", 30, 5);
        run.faults(&[0, 1, 2, 6]);
        run.access(3, Op::Write);
        run.faults(&[0]);
        let counts = |run: &Plain| run.gauges().into_iter().map(|(_, count)| count).collect::<Vec<_>>();
        assert_eq!(counts(&run), [2.0, 1.0, 2.0, 0.0, 5.0]);
        // 0 is seen in use; 6 is evicted for 9.
        assert_eq!((run.faults(&[9]), run.resident()), (1, vec![0, 1, 2, 3, 9]));
        assert_eq!(counts(&run), [2.0, 1.0, 2.0, 0.0, 4.0]);
    }
}
