//! What: LIRS's idea on one clock. Pages are hot or cold; a cold page is on test after it came in, and its name stays on
//! the clock until the test ends even if it is evicted. Used during its test, it becomes hot. Three hands: one evicts
//! cold pages, one cools hot pages down, one ends tests; the share of cold pages follows how tests turn out.
//! Why: tells a small reuse distance from a large one with nothing but reference bits, so that loops don't flood memory.
//! Source: Jiang, Chen and Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement", USENIX ATC 2005, section 4.
//! Deviations: all pages come in cold, from the first one on.
//! Weakness: three hands and a moving target are hard to reason about; costs of pages don't count.

use crate::containers::links::{Links, List};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

/// The clock as a list: HAND_hot stands at the back; a page that it passes goes to the front, and new pages enter there.
const CLOCK: List = List(0);

const REFERENCED: u8 = 1;
const RESIDENT: u8 = 2;
const HOT: u8 = 4;
const ON_TEST: u8 = 8;
/// Faulted during its test: on its way back in, as a hot page.
const RECALLED: u8 = 16;

/// HAND_cold and HAND_test, by name.
const COLD: usize = 0;
const TEST: usize = 1;

pub struct ClockProPolicy {
    links: Links,
    state: Vec<u8>,
    /// Where HAND_cold and HAND_test go on; none: where HAND_hot stands.
    hands: [Option<PageId>; 2],
    frames: usize,
    /// Frames meant for cold pages.
    cold_target: usize,
    hot: usize,
    /// Pages on the clock that are not in memory.
    names: usize,
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
            names: 0,
            scanned: 0,
        })
    }
}

impl ClockProPolicy {
    /// The page under a hand; the hand moves on.
    fn next(&mut self, hand: usize) -> Option<PageId> {
        let page = self.hands[hand].or_else(|| self.links.back(CLOCK))?;
        self.hands[hand] = self.links.before(page);
        self.scanned += 1;
        Some(page)
    }

    /// Take a page off the clock; hands that stand at it move on.
    fn remove(&mut self, page: PageId) {
        for hand in self.hands.iter_mut().filter(|hand| **hand == Some(page)) {
            *hand = self.links.before(page);
        }
        self.links.remove(CLOCK, page);
    }

    fn lift(&mut self, page: PageId) {
        self.remove(page);
        self.links.push_front(CLOCK, page);
    }

    /// A cold page's test is over, if it was on test, and it was not used: fewer frames for cold pages.
    fn end_test(&mut self, page: PageId) {
        let state = &mut self.state[page as usize];
        if *state & ON_TEST == 0 {
            return;
        }
        *state &= !ON_TEST;
        self.cold_target = (self.cold_target - 1).max(1);
        if *state & RESIDENT == 0 {
            self.names -= 1;
            self.remove(page);
        }
    }

    /// A cold page was used during its test: more frames for cold pages.
    fn passed_test(&mut self) {
        self.cold_target = (self.cold_target + 1).min(self.frames);
    }

    /// HAND_hot cools pages down until no more are hot than should be, and ends the tests it comes by.
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

    /// HAND_test ends tests until the clock holds no more names than there are frames.
    fn end_tests(&mut self) {
        while self.names > self.frames {
            let page = self.next(TEST).expect("names are on the clock");
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
            self.names -= 1;
            self.remove(page);
            self.state[page as usize] = RECALLED;
            self.passed_test();
        }
    }

    /// HAND_cold looks for a cold page that was not used.
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while let Some(page) = self.next(COLD) {
            let state = &mut self.state[page as usize];
            if *state & (RESIDENT | HOT) != RESIDENT {
                continue;
            }
            if *state & REFERENCED == 0 {
                *state &= !RESIDENT;
                if *state & ON_TEST != 0 {
                    self.names += 1;
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
            self.lift(page);
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
            self.names -= usize::from(state & RESIDENT == 0);
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
        vec![("hot", self.hot as f64), ("cold_target", self.cold_target as f64), ("names", self.names as f64)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.links.check(CLOCK)?;
        let is = |page: PageId, bits: u8| self.state[page as usize] & bits == bits;
        crate::check_residency(pages, self.links.iter(CLOCK).filter(|p| is(*p, RESIDENT)))?;
        let hot = self.links.iter(CLOCK).filter(|p| is(*p, HOT)).count();
        let names = self.links.iter(CLOCK).filter(|p| !is(*p, RESIDENT)).count();
        if (hot, names) != (self.hot, self.names) || hot > self.frames - self.cold_target || names > self.frames {
            return Err(format!("{hot} hot pages and {names} names, says {} and {}", self.hot, self.names));
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
        // All cold and on test; 4 evicts 1, whose name stays.
        assert_eq!(clock.faults(&[1, 2, 3, 4]), 4);
        assert_eq!(clock.resident(), [2, 3, 4]);
        assert_eq!(clock.gauges(), [("hot", 0.0), ("cold_target", 1.0), ("names", 1.0)]);
        // Back within its test: hot. 2 made room; cold pages get one more frame.
        assert_eq!(clock.faults(&[1]), 1);
        assert_eq!(clock.resident(), [1, 3, 4]);
        assert_eq!(clock.gauges(), [("hot", 1.0), ("cold_target", 2.0), ("names", 1.0)]);
        // A stream of new pages leaves the hot page alone.
        assert_eq!(clock.faults(&[5, 6, 7, 8, 1]), 4);
    }
}
