//! What: LIRS's idea on a single clock. Pages are hot or cold. A cold page starts a test period
//! when it is brought in; if it is evicted within that period, a ghost entry stays on the clock
//! until the period ends. A page used in its test period becomes hot. One hand evicts cold pages,
//! one turns hot pages cold, one ends test periods. The share of cold pages adapts to the outcomes
//! of tests.
//! Why: separates small from large reuse distances by reference bits alone, so that loops do not
//! flood memory.
//! Source: Jiang, Chen and Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement",
//! USENIX ATC 2005, section 4.
//! Deviations: all pages start cold, from the first one on.
//! Weakness: three hands and a moving target are hard to reason about; ignores the costs of pages.

use crate::containers::links::{Links, List};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

/// The clock as a list. HAND_hot is at the back; a page that it passes moves to the front, where
/// new pages enter too.
const CLOCK: List = List(0);

const REFERENCED: u8 = 1;
const RESIDENT: u8 = 2;
const HOT: u8 = 4;
const ON_TEST: u8 = 8;
/// The page faulted in its test period and is about to be inserted as a hot page.
const RECALLED: u8 = 16;

/// Indices of HAND_cold and HAND_test in `hands`.
const COLD: usize = 0;
const TEST: usize = 1;

pub struct ClockProPolicy {
    links: Links,
    state: Vec<u8>,
    /// The next pages of HAND_cold and HAND_test; `None` is the position of HAND_hot.
    hands: [Option<PageId>; 2],
    frames: usize,
    /// Target number of frames for cold pages.
    cold_target: usize,
    hot: usize,
    /// Number of ghost entries: pages on the clock that are not resident.
    ghosts: usize,
    scanned: u64,
}

impl Describe for ClockProPolicy {
    const ENTRY: Entry = Entry {
        key: "clock-pro",
        what: "hot and cold pages on one clock with three hands",
        source: "Jiang, Chen and Zhang 2005, section 4",
        parameters: &[],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, _: &Params) -> Result<ClockProPolicy> {
        Ok(ClockProPolicy {
            links: Links::new(setup.pages, 1),
            state: vec![0; setup.pages],
            hands: [None; 2],
            frames: setup.frames,
            cold_target: 1,
            hot: 0,
            ghosts: 0,
            scanned: 0,
        })
    }
}

impl ClockProPolicy {
    /// Return the page under a hand, and advance the hand.
    fn next(&mut self, hand: usize) -> Option<PageId> {
        let page = self.hands[hand].or_else(|| self.links.back(CLOCK))?;
        self.hands[hand] = self.links.before(page);
        self.scanned += 1;
        Some(page)
    }

    /// Remove a page from the clock. Hands at this page advance.
    fn remove(&mut self, page: PageId) {
        for hand in self.hands.iter_mut().filter(|hand| **hand == Some(page)) {
            *hand = self.links.before(page);
        }
        self.links.remove(CLOCK, page);
    }

    /// Move a page to the front of the clock, where new pages enter.
    fn move_to_front(&mut self, page: PageId) {
        self.remove(page);
        self.links.push_front(CLOCK, page);
    }

    /// End the test period of a page that was not used in it, if it is in one: fewer frames for
    /// cold pages.
    fn end_test(&mut self, page: PageId) {
        let state = &mut self.state[page as usize];
        if *state & ON_TEST == 0 {
            return;
        }
        *state &= !ON_TEST;
        self.cold_target = (self.cold_target - 1).max(1);
        if *state & RESIDENT == 0 {
            self.ghosts -= 1;
            self.remove(page);
        }
    }

    /// Note that a cold page was used in its test period: more frames for cold pages.
    fn passed_test(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.frames);
    }

    /// Advance HAND_hot until the number of hot pages is within its target. It turns unused hot
    /// pages cold and ends test periods.
    fn cool_down(&mut self) {
        while self.hot > self.frames - self.cold_target {
            let page = self.links.back(CLOCK).expect("a hot page is on the clock");
            self.scanned += 1;
            self.links.move_to_front(CLOCK, page);
            let state = &mut self.state[page as usize];
            if *state & HOT == 0 {
                self.end_test(page);
            } else if *state & REFERENCED != 0 {
                *state &= !REFERENCED;
            } else {
                *state &= !HOT;
                self.hot -= 1;
            }
        }
    }

    /// Advance HAND_test until there are at most as many ghost entries as frames. It ends test
    /// periods.
    fn end_tests(&mut self) {
        while self.ghosts > self.frames {
            let page = self.next(TEST).expect("ghost entries are on the clock");
            if self.state[page as usize] & HOT == 0 {
                self.end_test(page);
            }
        }
    }
}

impl Policy for ClockProPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.state[page as usize] |= REFERENCED;
    }

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.state[page as usize] & ON_TEST != 0 {
            self.ghosts -= 1;
            self.remove(page);
            self.state[page as usize] = RECALLED;
            self.passed_test();
        }
    }

    /// Advance HAND_cold to a cold page that was not used, and evict it.
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while let Some(page) = self.next(COLD) {
            let state = &mut self.state[page as usize];
            if *state & (RESIDENT | HOT) != RESIDENT {
                continue;
            }
            if *state & REFERENCED == 0 {
                *state &= !RESIDENT;
                if *state & ON_TEST != 0 {
                    self.ghosts += 1;
                } else {
                    self.remove(page);
                }
                pages.release(page);
                return self.end_tests();
            }
            *state &= !REFERENCED;
            if *state & ON_TEST != 0 {
                *state = *state & !ON_TEST | HOT;
                self.hot += 1;
                self.passed_test();
            } else {
                *state |= ON_TEST;
            }
            self.move_to_front(page);
            self.cool_down();
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        let state = &mut self.state[page as usize];
        let hot = *state & RECALLED != 0;
        *state = RESIDENT | if hot { HOT } else { ON_TEST };
        self.hot += usize::from(hot);
        self.links.push_front(CLOCK, page);
        self.cool_down();
    }

    fn forget(&mut self, page: PageId) {
        let state = std::mem::take(&mut self.state[page as usize]);
        if self.links.contains(page) {
            self.hot -= usize::from(state & HOT != 0);
            self.ghosts -= usize::from(state & RESIDENT == 0);
            self.remove(page);
        }
    }

    fn resize(&mut self, frames: usize) {
        self.frames = frames;
        self.cold_target = self.cold_target.min(frames);
        self.cool_down();
        self.end_tests();
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("hot", self.hot as f64), ("cold_target", self.cold_target as f64), ("names", self.ghosts as f64)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.links.check(CLOCK)?;
        let is = |page: PageId, bits: u8| self.state[page as usize] & bits == bits;
        crate::check_residency(pages, self.links.iter(CLOCK).filter(|p| is(*p, RESIDENT)))?;
        let hot = self.links.iter(CLOCK).filter(|p| is(*p, HOT)).count();
        let ghosts = self.links.iter(CLOCK).filter(|p| !is(*p, RESIDENT)).count();
        if (hot, ghosts) != (self.hot, self.ghosts) || hot > self.frames - self.cold_target || ghosts > self.frames {
            return Err(format!("{hot} hot pages and {ghosts} ghost entries, but the counters are {} and {}", self.hot, self.ghosts));
        }
        if let Some(page) = self.links.iter(CLOCK).find(|p| is(*p, HOT | ON_TEST) || !(is(*p, RESIDENT) || is(*p, ON_TEST))) {
            return Err(format!("page {page} in state {:#x}", self.state[page as usize]));
        }
        match self.hands.iter().flatten().find(|p| !self.links.contains(**p)) {
            Some(page) => Err(format!("a hand stands at page {page}, which is not on the clock")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_page_used_during_its_test_becomes_hot_even_after_it_left() {
        let mut clock = Plain::new("clock-pro", 10, 3);
        // All pages are cold and in their test periods; 4 evicts 1, whose ghost entry stays.
        assert_eq!(clock.faults(&[1, 2, 3, 4]), 4);
        assert_eq!(clock.resident(), [2, 3, 4]);
        assert_eq!(clock.gauges(), [("hot", 0.0), ("cold_target", 1.0), ("names", 1.0)]);
        // 1 returns in its test period and is hot. 2 was evicted; cold pages get one more frame.
        assert_eq!(clock.faults(&[1]), 1);
        assert_eq!(clock.resident(), [1, 3, 4]);
        assert_eq!(clock.gauges(), [("hot", 1.0), ("cold_target", 2.0), ("names", 1.0)]);
        // A stream of new pages does not evict the hot page.
        assert_eq!(clock.faults(&[5, 6, 7, 8, 1]), 4);
    }

    /// HAND_cold makes 1 and 2 hot, with two and three frames for cold pages. That leaves no frame
    /// for hot ones: HAND_hot ends the test period of 3, which takes one frame from the cold pages,
    /// and makes 1 cold. 3 is evicted without a ghost entry. Then 1 is used outside of a test
    /// period: it begins one, and 4 is evicted in its test period.
    #[test]
    fn a_cold_page_used_outside_of_a_test_period_begins_one_and_stays_cold() {
        let mut clock = Plain::new("clock-pro", 10, 3);
        assert_eq!(clock.faults(&[1, 2, 3, 1, 2, 4]), 4);
        assert_eq!(clock.resident(), [1, 2, 4]);
        assert_eq!(clock.gauges(), [("hot", 1.0), ("cold_target", 2.0), ("names", 0.0)]);
        assert_eq!(clock.faults(&[1, 5]), 1);
        assert_eq!(clock.resident(), [1, 2, 5]);
        assert_eq!(clock.gauges(), [("hot", 1.0), ("cold_target", 2.0), ("names", 1.0)]);
    }
}
