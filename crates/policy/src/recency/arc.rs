//! What: two LRU lists, of pages referenced once (T1) and more often (T2), each with ghost entries
//! of its evicted pages (B1, B2). A ghost hit changes the target size `p` of T1 in favor of the
//! list that should have been larger.
//! Why: adapts itself between recency and frequency with constant work per reference.
//! Source: Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003,
//! figure 4.
//! Deviations: `p` is a real number and moves by max(|B2|/|B1|, 1), undivided, as implementations
//! have it. Frames freed by `forget` let a page enter without an eviction; the ghosts are then
//! trimmed at the entry, as when memory shrinks.
//! Weakness: a list move per reference; a scan still replaces all of T1 and B1; ignores dirty bits
//! and costs.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

const T1: Queue = Queue(0);
const T2: Queue = Queue(1);
const B1: Queue = Queue(2);
const B2: Queue = Queue(3);

pub struct ArcPolicy {
    queues: Queues,
    frames: usize,
    /// Target size of T1.
    p: f64,
    /// Whether frames became free through `forget` or `resize`: pages then enter without an
    /// eviction, and ghosts must be trimmed.
    loose: bool,
}

impl Describe for ArcPolicy {
    const ENTRY: Entry = Entry {
        key: "arc",
        what: "adaptive replacement cache",
        source: "Megiddo and Modha 2003, figure 4",
        parameters: &[],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<ArcPolicy> {
        Ok(ArcPolicy { queues: Queues::new(setup.pages), frames: setup.frames, p: 0.0, loose: false })
    }
}

impl ArcPolicy {
    /// The paper's REPLACE: evict from T1 if it is above its target, or at it and the fault is on a
    /// ghost of T2.
    #[inline]
    fn replace(&mut self, ghost_of_t2: bool, pages: &mut PageView) {
        let t1 = self.queues.len(T1);
        let from_t1 = t1 > 0 && (t1 as f64 > self.p || (t1 as f64 == self.p && ghost_of_t2));
        let (from, ghosts) = if from_t1 || self.queues.is_empty(T2) { (T1, B1) } else { (T2, B2) };
        if let Some(victim) = self.queues.pop(from) {
            self.queues.push(ghosts, victim);
            pages.release(victim);
        }
    }

    /// Trim the ghosts so that |L1| = |T1| + |B1| is at most the frames, and all four lists
    /// together at most twice the frames.
    #[inline]
    fn trim(&mut self) {
        self.queues.trim(B1, self.frames.saturating_sub(self.queues.len(T1)));
        let others = self.queues.len(T1) + self.queues.len(T2) + self.queues.len(B1);
        self.queues.trim(B2, (2 * self.frames).saturating_sub(others));
    }
}

impl Policy for ArcPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.queues.prefetch(page);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.queues.move_to(T2, page);
    }

    #[inline]
    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        let (b1, b2) = (self.queues.len(B1) as f64, self.queues.len(B2) as f64);
        if self.queues.is_in(B1, page) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(self.frames as f64);
        } else if self.queues.is_in(B2, page) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
        }
    }

    #[inline]
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let Some((page, _)) = incoming else {
            self.replace(false, pages);
            self.loose = true;
            return self.trim();
        };
        if self.queues.home(page).is_some() {
            return self.replace(self.queues.is_in(B2, page), pages);
        }
        if self.queues.len(T1) + self.queues.len(B1) >= self.frames {
            if self.queues.pop(B1).is_none() {
                // T1 has all frames: its last page is evicted without a ghost entry.
                if let Some(victim) = self.queues.pop(T1) {
                    pages.release(victim);
                }
                return;
            }
        } else if self.queues.len(T1) + self.queues.len(T2) + self.queues.len(B1) + self.queues.len(B2) >= 2 * self.frames {
            self.queues.pop(B2);
        }
        self.replace(false, pages);
    }

    #[inline]
    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        if self.queues.home(page).is_some() {
            self.queues.move_to(T2, page);
        } else {
            self.queues.push(T1, page);
        }
        if self.loose {
            self.trim();
            self.loose = self.queues.len(T1) + self.queues.len(T2) < self.frames;
        }
    }

    fn forget(&mut self, page: PageId) {
        self.loose = true;
        self.queues.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.frames = frames;
        self.p = self.p.min(frames as f64);
        self.loose = true;
        self.trim();
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("t1", self.queues.len(T1) as f64), ("t2", self.queues.len(T2) as f64), ("p", self.p)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.queues.check()?;
        crate::check_residency(pages, [T1, T2].iter().flat_map(|l| self.queues.iter(*l)))?;
        let [t1, t2, b1, b2] = [T1, T2, B1, B2].map(|l| self.queues.len(l));
        // While a smaller memory is being drained, the resident lists alone may exceed it.
        if t1 + t2 <= self.frames && (t1 + b1 > self.frames || t1 + t2 + b1 + b2 > 2 * self.frames) {
            return Err(format!("{} frames but |T1| {t1}, |T2| {t2}, |B1| {b1}, |B2| {b2}", self.frames));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    /// Two ghost hits of T1, of 1 and 2, raise p to 2. The ghost hit of 0, which T2 gave up, lowers
    /// it to 1. Then T1 = {3} is at its target and gives up 3, because the ghost is one of T2.
    #[test]
    fn t1_at_its_target_gives_up_a_page_for_a_ghost_of_t2() {
        let mut arc = Plain::new("arc", 10, 3);
        assert_eq!(arc.faults(&[0, 1, 2, 0, 3, 1, 2]), 6);
        assert_eq!((arc.resident(), arc.gauges()[2]), (vec![1, 2, 3], ("p", 2.0)));
        assert_eq!(arc.faults(&[0]), 1);
        assert_eq!((arc.resident(), arc.gauges()[2]), (vec![0, 1, 2], ("p", 1.0)));
    }

    #[test]
    fn a_ghost_hit_moves_the_target_and_puts_the_page_in_t2() {
        let mut arc = Plain::new("arc", 10, 2);
        // 1 is used twice (T2), then 2 and 3 pass through T1; 2 goes to B1.
        assert_eq!(arc.faults(&[1, 1, 2, 3]), 3);
        assert_eq!(arc.gauges(), [("t1", 1.0), ("t2", 1.0), ("p", 0.0)]);
        // The ghost of 2 raises p to 1, so T1 = {3} is not above its target and T2 gives up 1.
        assert_eq!(arc.faults(&[2]), 1);
        assert_eq!(arc.gauges(), [("t1", 1.0), ("t2", 1.0), ("p", 1.0)]);
        assert_eq!(arc.resident(), [2, 3]);
        // 1 is now a ghost of T2: p falls to 0, T1 gives up 3.
        assert_eq!(arc.faults(&[1]), 1);
        assert_eq!(arc.resident(), [1, 2]);
    }
}
