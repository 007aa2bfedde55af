//! What: pages with a low inter-reference recency (LIR) have nearly all frames; the others (HIR)
//! pass through a short queue. A stack in order of last use includes ghost entries of evicted
//! pages. When a HIR page on the stack is used again, its reuse distance is smaller than the
//! recency of the oldest LIR page: the two then swap roles.
//! Why: ranks pages by the distance between their last two uses, a better predictor than recency in
//! loops and scans.
//! Source: Jiang and Zhang, "LIRS: an efficient low inter-reference recency set replacement
//! policy", SIGMETRICS 2002.
//! Deviations: there are at most `names` times as many ghost entries as frames (the paper has no
//! limit); the oldest is dropped first.
//! Weakness: a stack move per reference; pruning is bursty; LIR pages that are no longer used leave
//! slowly.

use crate::containers::links::{Links, List};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// The list of `stack`, in order of last use.
const STACK: List = List(0);
/// A list of `queues`: resident HIR pages, the next victim at the back.
const QUEUE: List = List(0);
/// A list of `queues`: ghost entries, that is, HIR pages on the stack that are not resident.
const NAMES: List = List(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// None of the other states. Such a page is on the stack only while a fault on its ghost entry
    /// is handled, until it is inserted.
    Unknown,
    Lir,
    /// Resident, in QUEUE, and possibly on the stack.
    Hir,
    /// Not resident, in NAMES, on the stack.
    Name,
}

/// The status of every page, two bits each, so that a page takes 16.25 bytes in all.
struct Statuses(Vec<u8>);

impl Statuses {
    fn of(&self, page: PageId) -> Status {
        [Status::Unknown, Status::Lir, Status::Hir, Status::Name][(self.0[page as usize / 4] >> (2 * (page % 4)) & 3) as usize]
    }

    fn set(&mut self, page: PageId, status: Status) {
        let (four, at) = (&mut self.0[page as usize / 4], 2 * (page % 4));
        *four = *four & !(3 << at) | (status as u8) << at;
    }
}

pub struct LirsPolicy {
    stack: Links,
    queues: Links,
    statuses: Statuses,
    shares: [f64; 2],
    lir: usize,
    most_lir: usize,
    most_names: usize,
}

impl Describe for LirsPolicy {
    const ENTRY: Entry = Entry {
        key: "lirs",
        what: "low inter-reference recency set",
        source: "Jiang and Zhang 2002",
        parameters: &[
            Parameter::new(
                "hir",
                Kind::Number { low: 0.0, high: 1.0 },
                "0.01",
                "frames for HIR pages, as a share of memory (at least one)",
            ),
            Parameter::new("names", Kind::Number { low: 0.0, high: 1e6 }, "3", "names of evicted pages at most, in multiples of memory"),
        ],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, params: &Params) -> Result<LirsPolicy> {
        let mut policy = LirsPolicy {
            stack: Links::new(setup.pages, 1),
            queues: Links::new(setup.pages, 2),
            statuses: Statuses(vec![0; setup.pages.div_ceil(4)]),
            shares: [params.number("hir"), params.number("names")],
            lir: 0,
            most_lir: 0,
            most_names: 0,
        };
        policy.resize(setup.frames);
        Ok(policy)
    }
}

impl LirsPolicy {
    fn is(&self, page: PageId, status: Status) -> bool {
        self.statuses.of(page) == status
    }

    fn raise(&mut self, page: PageId) {
        if self.stack.contains(page) {
            self.stack.move_to_front(STACK, page);
        } else {
            self.stack.push_front(STACK, page);
        }
    }

    /// Remove HIR pages from the bottom of the stack until a LIR page is at the bottom.
    fn prune(&mut self) {
        while let Some(page) = self.stack.back(STACK).filter(|p| !self.is(*p, Status::Lir)) {
            self.leave_stack(page);
        }
    }

    /// Remove a page that is not LIR from the stack. If it is a ghost entry, forget it.
    fn leave_stack(&mut self, page: PageId) {
        self.stack.remove(STACK, page);
        if self.is(page, Status::Name) {
            self.queues.remove(NAMES, page);
        }
        if !self.is(page, Status::Hir) {
            self.statuses.set(page, Status::Unknown);
        }
    }

    /// Turn the least recently used LIR pages into HIR pages until at most `most` pages are LIR.
    fn demote(&mut self, most: usize) {
        while self.lir > most {
            self.prune();
            let bottom = self.stack.pop_back(STACK).expect("every LIR page is on the stack");
            self.statuses.set(bottom, Status::Hir);
            self.queues.push_front(QUEUE, bottom);
            self.lir -= 1;
        }
        self.prune();
    }

    fn trim(&mut self) {
        while self.queues.len(NAMES) > self.most_names {
            let oldest = self.queues.back(NAMES).expect("the list is not empty");
            self.leave_stack(oldest);
        }
    }

    fn become_lir(&mut self, page: PageId) {
        self.statuses.set(page, Status::Lir);
        self.lir += 1;
        self.raise(page);
        self.demote(self.most_lir);
    }
}

impl Policy for LirsPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.is(page, Status::Lir) {
            let bottom = self.stack.back(STACK) == Some(page);
            self.stack.move_to_front(STACK, page);
            if bottom {
                self.prune();
            }
        } else if self.stack.contains(page) {
            self.queues.remove(QUEUE, page);
            self.become_lir(page);
        } else {
            self.stack.push_front(STACK, page);
            self.queues.move_to_front(QUEUE, page);
            self.prune();
        }
    }

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.is(page, Status::Name) {
            self.queues.remove(NAMES, page);
            self.statuses.set(page, Status::Unknown);
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if self.queues.is_empty(QUEUE) {
            self.demote(self.lir.saturating_sub(1));
        }
        let Some(victim) = self.queues.pop_back(QUEUE) else { return };
        if self.stack.contains(victim) {
            self.statuses.set(victim, Status::Name);
            self.queues.push_front(NAMES, victim);
            self.trim();
        } else {
            self.statuses.set(victim, Status::Unknown);
        }
        pages.release(victim);
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        if self.stack.contains(page) || self.lir < self.most_lir {
            return self.become_lir(page);
        }
        self.statuses.set(page, Status::Hir);
        self.raise(page);
        self.queues.push_front(QUEUE, page);
        self.prune();
    }

    fn forget(&mut self, page: PageId) {
        match self.statuses.of(page) {
            Status::Lir => self.lir -= 1,
            Status::Hir => self.queues.remove(QUEUE, page),
            Status::Name => self.queues.remove(NAMES, page),
            Status::Unknown => {}
        }
        if self.stack.contains(page) {
            self.stack.remove(STACK, page);
        }
        self.statuses.set(page, Status::Unknown);
        self.prune();
    }

    fn resize(&mut self, frames: usize) {
        let hir = ((frames as f64 * self.shares[0]) as usize).clamp(1, frames);
        self.most_lir = frames - hir;
        self.most_names = (frames as f64 * self.shares[1]) as usize;
        self.demote(self.most_lir);
        self.trim();
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("lir", self.lir as f64), ("stack", self.stack.len(STACK) as f64), ("names", self.queues.len(NAMES) as f64)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.stack.check(STACK)?;
        self.queues.check(QUEUE)?;
        self.queues.check(NAMES)?;
        let lir = || self.stack.iter(STACK).filter(|p| self.is(*p, Status::Lir));
        crate::check_residency(pages, lir().chain(self.queues.iter(QUEUE)))?;
        if let Some(page) = self.queues.iter(NAMES).find(|p| !self.is(*p, Status::Name) || !self.stack.contains(*p)) {
            return Err(format!("the ghost entry of page {page} has status {:?}", self.statuses.of(page)));
        }
        if lir().count() != self.lir || self.lir > self.most_lir || self.queues.len(NAMES) > self.most_names {
            return Err(format!("{} LIR pages, but the counter is {}, at most {}", lir().count(), self.lir, self.most_lir));
        }
        match self.stack.back(STACK) {
            Some(page) if !self.is(page, Status::Lir) => Err(format!("{:?} at the bottom of the stack", self.statuses.of(page))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_page_that_comes_back_soon_takes_the_place_of_the_oldest() {
        let mut lirs = Plain::new("lirs", 10, 3); // two LIR pages, one frame for the others
        assert_eq!(lirs.faults(&[1, 2, 3]), 3);
        assert_eq!(lirs.gauges(), [("lir", 2.0), ("stack", 3.0), ("names", 0.0)]);
        // 4 takes the frame of 3, whose ghost entry stays on the stack.
        assert_eq!(lirs.faults(&[4]), 1);
        assert_eq!(lirs.resident(), [1, 2, 4]);
        // 3 returns with a reuse distance smaller than the recency of 1, and becomes LIR. 4 was
        // evicted; 1 is the next victim.
        assert_eq!(lirs.faults(&[3]), 1);
        assert_eq!(lirs.resident(), [1, 2, 3]);
        assert_eq!(lirs.faults(&[5]), 1);
        assert_eq!(lirs.resident(), [2, 3, 5]);
    }

    #[test]
    fn a_loop_one_page_larger_than_memory_keeps_most_of_it() {
        let trace: Vec<u32> = (0..600).map(|i| i % 6).collect();
        assert_eq!(Plain::new("lru", 6, 5).faults(&trace), 600);
        // Four pages are LIR and stay; the other two alternate in the last frame.
        assert_eq!(Plain::new("lirs", 6, 5).faults(&trace), 4 + 200);
    }
}
