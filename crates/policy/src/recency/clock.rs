//! What: a ring of pages and a hand; the hand clears reference bits until it meets a page whose bit
//! is 0, and evicts it.
//! Why: approximates LRU with what a kernel has: one bit per page that the hardware sets.
//! Source: Corbató, "A paging experiment with the Multics system", 1968; n bits as in GCLOCK
//! (Smith, 1978).
//! Deviations: none. A new page starts with its bit at `init`; a page is evicted before the new one
//! enters.
//! Weakness: knows neither ages beyond one turn of the hand, nor the cost of a refault.

use crate::containers::ring::Ring;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{prefetch, Kind, Op, PageId, Parameter, Params, Result};

/// Distance, in entries, at which the counts of pages are prefetched ahead of the hand.
const AHEAD: usize = 12;
/// This bit of a counter is set while its page is in the ring.
const QUEUED: u8 = 128;

pub struct ClockPolicy {
    /// The hand is at the front; a page that it spares moves to the end.
    ring: Ring,
    /// By page in the ring: [`QUEUED`] plus the references since the hand last passed, at most
    /// `highest`.
    count: Vec<u8>,
    highest: u8,
    init: u8,
    scanned: u64,
}

impl Describe for ClockPolicy {
    const ENTRY: Entry = Entry {
        key: "clock",
        what: "second chance: a ring with reference bits",
        source: "Corbató 1968",
        parameters: &[
            Parameter::new("bits", Kind::Integer { low: 1, high: 7 }, "1", "bits of the reference counter, 1 to 7"),
            Parameter::new("init", Kind::Integer { low: 0, high: 127 }, "0", "counter of a new page"),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<ClockPolicy> {
        let highest = (1u8 << params.integer("bits")) - 1 + QUEUED;
        let init = params.integer("init");
        if init > u64::from(highest - QUEUED) {
            return Err(params.bad("init", &format!("a whole number from 0 to {}, as its bits allow", highest - QUEUED)));
        }
        let init = init as u8 + QUEUED;
        Ok(ClockPolicy { ring: Ring::new(setup.pages), count: vec![0; setup.pages], highest, init, scanned: 0 })
    }
}

impl Policy for ClockPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        prefetch(&self.count, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        let count = &mut self.count[page as usize];
        *count = count.saturating_add(1).min(self.highest);
    }

    #[inline(always)]
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while let Some(page) = self.ring.pop() {
            self.scanned += 1;
            let soon = self.ring.coming(AHEAD);
            self.prefetch(soon);
            pages.prefetch(soon);
            let count = &mut self.count[page as usize];
            if *count == QUEUED {
                *count = 0;
                return pages.release(page);
            }
            *count -= 1;
            self.ring.push(page);
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.count[page as usize] = self.init;
        self.ring.push(page);
    }

    fn forget(&mut self, page: PageId) {
        if std::mem::take(&mut self.count[page as usize]) != 0 {
            self.ring.forget(page);
        }
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        crate::check_residency(pages, self.ring.iter())?;
        match (0..pages.len() as PageId).find(|p| match self.count[*p as usize] {
            0 => pages.is_resident(*p),
            count => !pages.is_resident(*p) || !(QUEUED..=self.highest).contains(&count),
        }) {
            Some(page) => Err(format!("page {page} counts {:#x}", self.count[page as usize])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn the_hand_spares_what_was_used_and_new_pages_come_just_behind_it() {
        let mut clock = Plain::new("clock", 10, 3);
        // The hand spares 1, evicts 2 and stops at 3.
        assert_eq!(clock.faults(&[1, 2, 3, 1, 4]), 4);
        assert_eq!(clock.resident(), [1, 3, 4]);
        // 3 is evicted, then 1, whose bit the hand has cleared; 4 is behind the hand.
        assert_eq!(clock.faults(&[5, 6]), 2);
        assert_eq!(clock.resident(), [4, 5, 6]);
        assert_eq!(clock.scanned(), 2 + 1 + 1);
    }
}
