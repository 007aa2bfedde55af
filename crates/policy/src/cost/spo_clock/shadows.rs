//! The shadows of the regions: the pages that left each ring, oldest first, up to a limit.
//!
//! A page beyond the limit at the end of a fault is overdue. Overdue pages stay queued until it
//! matters whether a page is in the shadow, and are then dropped in one loop. Dropped at the end of
//! each fault, they cost two branches that no processor foresees. A page that is hit leaves a stale
//! entry behind; since stale entries are counted by page, the loop needs no branch to recognize
//! one.

use super::balance::{Balance, Region};
use super::state::{side, FILE, IN_SHADOW, SHADOWED};
use swaplab_vocab::{prefetch, PageId};

/// Distance, in entries, at which what is kept of the oldest pages is prefetched.
const AHEAD: usize = 12;
/// Distance at which the entries are prefetched: a processor does not foresee the next lines of so
/// many shadows.
const FAR_AHEAD: usize = 64;
/// Initial capacity.
const FEWEST: usize = 64;
/// The highest number of stale entries of a page in a shadow: four bits hold it.
const MOST_STALE: u8 = 15;

struct Shadow {
    /// The ring buffer; its length is a power of two.
    entries: Vec<PageId>,
    /// Positions of the first entry and of the end. Both only grow; the index in `entries` is the
    /// position modulo its length.
    head: usize,
    tail: usize,
    /// Queued pages, the overdue ones too, minus the limit.
    excess: i64,
    limit: i64,
    /// The pages at the front that are overdue.
    overdue: i64,
    /// The fault at whose start `overdue` was last brought up to date.
    settled: u64,
}

pub struct Shadows {
    /// The state of every queued page says that it is in this shadow.
    shadows: [Shadow; 4],
    /// Faults so far. What a shadow exceeds its limit by during a fault is overdue only from the
    /// end of that fault.
    faults: u64,
    /// Stale entries of each page, by backing: four bits for each side. They lie before its live
    /// entry, since `push` appends.
    stale: [Vec<u8>; 2],
}

/// One stale entry of a page in the shadow of a region, in the counts of that page.
#[inline]
fn one_stale(region: Region) -> u8 {
    [1, 16][side(region)]
}

/// Returns whether the first entry of a page is stale. If so, decrements the page's count.
#[inline(always)]
fn take_stale(stale: &mut [u8], page: PageId, one: u8) -> bool {
    let counts = &mut stale[page as usize];
    let is_stale = *counts & (one * MOST_STALE) != 0;
    *counts -= if is_stale { one } else { 0 };
    is_stale
}

impl Shadows {
    pub fn new(pages: usize, balance: &Balance) -> Shadows {
        let shadow = |_| Shadow { entries: vec![0; FEWEST], head: 0, tail: 0, excess: 0, overdue: 0, limit: 0, settled: 0 };
        let stale = [vec![0; pages], vec![0; pages]];
        let mut shadows = Shadows { shadows: std::array::from_fn(shadow), stale, faults: 0 };
        shadows.set_limits(balance);
        shadows
    }

    /// Number of pages in the shadow of a region.
    pub fn len(&self, region: Region) -> usize {
        let shadow = &self.shadows[region];
        (shadow.limit + shadow.excess - shadow.due(self.faults)) as usize
    }

    /// The sizes of the regions have changed. Pages beyond the new limits are overdue from the next
    /// [`end_fault`](Self::end_fault).
    pub fn set_limits(&mut self, balance: &Balance) {
        for (region, shadow) in self.shadows.iter_mut().enumerate() {
            shadow.settle(self.faults);
            let limit = balance.shadow_size(region) as i64;
            shadow.excess += shadow.limit - limit;
            shadow.limit = limit;
        }
    }

    /// Prefetch what a shadow hit of the page changes. Only for anonymous pages, to save an
    /// instruction a reference.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        prefetch(&self.stale[0], page as usize);
    }

    /// Append a page, whose state says so already.
    #[inline(always)]
    pub fn push(&mut self, region: Region, page: PageId, state: &mut [u8]) {
        let shadow = &mut self.shadows[region];
        shadow.settle(self.faults);
        if shadow.tail - shadow.head == shadow.entries.len() {
            self.make_room(region, state);
        }
        let shadow = &mut self.shadows[region];
        let mask = shadow.entries.len() - 1;
        shadow.entries[shadow.tail & mask] = page;
        shadow.tail += 1;
        shadow.excess += 1;
    }

    /// Remove a page from the shadow of a region, unless it is overdue there. Returns whether it
    /// was in the shadow.
    #[inline]
    pub fn remove(&mut self, region: Region, page: PageId, state: &mut [u8]) -> bool {
        self.shadows[region].settle(self.faults);
        self.drop_overdue(region, state);
        let all = (SHADOWED | FILE) << side(region);
        if state[page as usize] & all != IN_SHADOW[region] {
            return false;
        }
        state[page as usize] &= !all;
        let one = one_stale(region);
        let full = one * MOST_STALE;
        if self.stale[region / 2][page as usize] & full == full {
            self.drop_stale(region, self.shadows[region].entries.len());
        }
        self.stale[region / 2][page as usize] += one;
        self.shadows[region].excess -= 1;
        true
    }

    /// The pages beyond the limits are overdue from now on.
    #[inline]
    pub fn end_fault(&mut self) {
        self.faults += 1;
    }

    #[inline]
    fn drop_overdue(&mut self, region: Region, state: &mut [u8]) {
        let (one, bits) = (one_stale(region), (SHADOWED | FILE) << side(region));
        let (shadow, stale) = (&mut self.shadows[region], &mut self.stale[region / 2][..]);
        let (entries, mut head, mut count) = (&shadow.entries[..], shadow.head, shadow.overdue);
        let mask = entries.len() - 1;
        while count > 0 {
            let page = entries[head & mask];
            let soon = entries[(head + AHEAD) & mask] as usize;
            prefetch(state, soon);
            prefetch(stale, soon);
            prefetch(entries, (head + FAR_AHEAD) & mask);
            let live = !take_stale(stale, page, one);
            state[page as usize] &= !if live { bits } else { 0 };
            count -= i64::from(live);
            head += 1;
        }
        shadow.head = head;
        shadow.excess -= shadow.overdue;
        shadow.overdue = 0;
    }

    /// Drop overdue and stale entries. The buffer doubles if live entries still take more than half
    /// of it.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, region: Region, state: &mut [u8]) {
        self.drop_overdue(region, state);
        let (live, capacity) = (self.queued(region).len(), self.shadows[region].entries.len());
        self.drop_stale(region, capacity << usize::from(live > capacity / 2));
    }

    #[cold]
    #[inline(never)]
    fn drop_stale(&mut self, region: Region, capacity: usize) {
        let mut entries = self.queued(region);
        for page in self.shadows[region].iter() {
            self.stale[region / 2][page as usize] &= !(one_stale(region) * MOST_STALE);
        }
        let tail = entries.len();
        entries.resize(capacity, 0);
        let shadow = &mut self.shadows[region];
        (shadow.entries, shadow.head, shadow.tail) = (entries, 0, tail);
    }

    /// The queued pages of a region, the overdue ones too.
    pub fn queued(&self, region: Region) -> Vec<PageId> {
        let mut stale = self.stale[region / 2].clone();
        self.shadows[region].iter().filter(|page| !take_stale(&mut stale, *page, one_stale(region))).collect()
    }

    pub fn check(&self, balance: &Balance) -> Result<(), String> {
        for region in 0..4 {
            let (queued, len) = (self.queued(region).len(), self.len(region));
            if len > balance.shadow_size(region) || len + self.shadows[region].due(self.faults) as usize != queued {
                return Err(format!("the shadow of region {region} holds {len} of {queued} pages"));
            }
        }
        Ok(())
    }
}

impl Shadow {
    /// The pages at the front that are overdue, `faults` after the start.
    #[inline]
    fn due(&self, faults: u64) -> i64 {
        let excess = if self.settled == faults { 0 } else { self.excess };
        self.overdue.max(excess)
    }

    /// Bring `overdue` up to date. To be called before anything else changes in a fault.
    #[inline]
    fn settle(&mut self, faults: u64) {
        self.overdue = self.due(faults);
        self.settled = faults;
    }

    fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        (self.head..self.tail).map(|at| self.entries[at & (self.entries.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::spo_clock::Shrink;
    use crate::Costs;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Against shadows that are trimmed at the end of each fault, as the paper's are.
        #[test]
        fn overdue_pages_are_gone_for_whoever_asks(steps in prop::collection::vec((0u32..60, 0usize..4, 0u8..9), 0..3000)) {
            let costs = Costs { swap_read_ns: 1, swap_write_ns: 5, file_read_ns: 2, file_write_ns: 3 };
            let mut balance = Balance::new(40, 4, &costs, 1, Shrink::RoundRobin);
            let (mut shadows, mut state) = (Shadows::new(60, &balance), [0u8; 60]);
            let mut model = [(); 4].map(|()| VecDeque::new());
            for (page, region, step) in steps {
                let other = region ^ 2;
                match step {
                    0..=4 if !model[region].contains(&page) && !model[other].contains(&page) => {
                        // an overdue page is dropped, as a policy does when a page enters a ring
                        shadows.remove(other, page, &mut state);
                        shadows.remove(region, page, &mut state);
                        state[page as usize] |= IN_SHADOW[region];
                        shadows.push(region, page, &mut state);
                        model[region].push_back(page);
                    }
                    5 => {
                        let was_there = model[region].contains(&page);
                        model[region].retain(|p| *p != page);
                        prop_assert_eq!(shadows.remove(region, page, &mut state), was_there);
                    }
                    6 if balance.shadow_hit(region) => shadows.set_limits(&balance),
                    7 | 8 => {
                        for (region, pages) in model.iter_mut().enumerate() {
                            pages.drain(..pages.len().saturating_sub(balance.shadow_size(region)));
                        }
                        shadows.end_fault();
                        prop_assert_eq!(shadows.check(&balance), Ok(()));
                        prop_assert_eq!([0, 1, 2, 3].map(|r| shadows.len(r)), std::array::from_fn(|r| model[r].len()));
                    }
                    _ => {}
                }
            }
        }
    }
}
