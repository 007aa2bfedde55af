//! What: new pages pass through a FIFO (A1in). A page that faults after leaving it, while it has a
//! ghost entry in the queue A1out, enters an LRU list (Am).
//! Why: a page used in a single burst never displaces pages that are used repeatedly.
//! Source: Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement
//! algorithm", VLDB 1994, full version; Kin and Kout as recommended there.
//! Deviations: none. Below 4 frames, where Kin is 0, A1in still admits pages (libCacheSim refuses
//! them).
//! Weakness: two sizes to choose; a page must fault twice before it can enter Am.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

const A1IN: Queue = Queue(0);
const A1OUT: Queue = Queue(1);
const AM: Queue = Queue(2);
/// The page faulted while it had a ghost entry in A1out and is about to enter Am.
const RECALLED: Queue = Queue(3);

pub struct TwoQPolicy {
    queues: Queues,
    shares: [f64; 2],
    kin: usize,
    kout: usize,
}

impl Describe for TwoQPolicy {
    const ENTRY: Entry = Entry {
        key: "two-q",
        what: "2Q: a FIFO for new pages, LRU for those that come back",
        source: "Johnson and Shasha 1994",
        parameters: &[
            Parameter::new("in", Kind::Number { low: 0.0, high: 1.0 }, "0.25", "size of A1in, as a share of memory"),
            Parameter::new("out", Kind::Number { low: 0.0, high: 8.0 }, "0.5", "names in A1out, as a share of memory"),
        ],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, params: &Params) -> Result<TwoQPolicy> {
        let shares = [params.number("in"), params.number("out")];
        let mut policy = TwoQPolicy { queues: Queues::new(setup.pages), shares, kin: 0, kout: 0 };
        policy.resize(setup.frames);
        Ok(policy)
    }
}

impl Policy for TwoQPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.queues.prefetch(page);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.queues.is_in(AM, page) {
            self.queues.move_to(AM, page);
        }
    }

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.queues.is_in(A1OUT, page) {
            self.queues.move_to(RECALLED, page);
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if self.queues.len(A1IN) > self.kin || self.queues.is_empty(AM) {
            let Some(victim) = self.queues.pop(A1IN) else { return };
            self.queues.push(A1OUT, victim);
            self.queues.trim(A1OUT, self.kout);
            pages.release(victim);
        } else if let Some(victim) = self.queues.pop(AM) {
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        if self.queues.is_in(RECALLED, page) {
            self.queues.move_to(AM, page);
        } else {
            self.queues.push(A1IN, page);
        }
    }

    fn forget(&mut self, page: PageId) {
        self.queues.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        [self.kin, self.kout] = self.shares.map(|share| (frames as f64 * share) as usize);
        self.queues.trim(A1OUT, self.kout);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("a1in", self.queues.len(A1IN) as f64), ("am", self.queues.len(AM) as f64), ("a1out", self.queues.len(A1OUT) as f64)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.queues.check()?;
        crate::check_residency(pages, [A1IN, AM].iter().flat_map(|l| self.queues.iter(*l)))?;
        match self.queues.len(A1OUT) {
            names if names > self.kout => Err(format!("{names} ghost entries in A1out, at most {}", self.kout)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_page_enters_the_main_list_at_its_second_fault() {
        // Kin 1, Kout 2.
        let mut two_q = Plain::new("two-q", 10, 4);
        // A hit in A1in moves nothing: 1 is still the first to leave.
        assert_eq!(two_q.faults(&[1, 2, 3, 4, 1, 5]), 5);
        assert_eq!(two_q.resident(), [2, 3, 4, 5]);
        // 1 has a ghost entry: it enters Am, and 2 leaves A1in for it.
        assert_eq!(two_q.faults(&[1]), 1);
        assert_eq!(two_q.gauges(), [("a1in", 3.0), ("am", 1.0), ("a1out", 1.0)]);
        // New pages now replace each other, never 1.
        assert_eq!(two_q.faults(&[6, 7, 8, 9, 1]), 4);
    }
}
