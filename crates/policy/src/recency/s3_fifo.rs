//! What: three FIFO queues: a small one for new pages, a main one, and ghost entries of pages
//! evicted from the small one.
//! Why: most new pages are used once. A small queue of a tenth of memory suffices to detect them,
//! and a hit moves nothing.
//! Source: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1.
//! Deviations: until the first eviction, pages that do not fit into the small queue enter the main
//! one directly. Below 20 frames the small queue still admits pages (libCacheSim refuses them, but
//! a fault must be served).
//! Weakness: a page whose second use comes after it left the small queue must fault again; sizes
//! are fixed.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{prefetch, Kind, Op, PageId, Parameter, Params, Result};

const SMALL: Queue = Queue(0);
const MAIN: Queue = Queue(1);
const GHOST: Queue = Queue(2);
/// The page faulted while it had a ghost entry and is about to enter the main queue.
const RECALLED: Queue = Queue(3);
/// Use counts saturate here.
const MOST_USES: u8 = 3;

pub struct S3FifoPolicy {
    queues: Queues,
    uses: Vec<u8>,
    shares: [f64; 2],
    promote: u8,
    frames: usize,
    small: usize,
    ghost: usize,
    evicting: bool,
    scanned: u64,
}

impl Describe for S3FifoPolicy {
    const ENTRY: Entry = Entry {
        key: "s3-fifo",
        what: "three FIFO queues: small, main, ghost",
        source: "Yang et al. 2023, algorithm 1",
        parameters: &[
            Parameter::new("small", Kind::Number { low: 0.0, high: 1.0 }, "0.1", "size of the small queue, as a share of memory"),
            Parameter::new("ghost", Kind::Number { low: 0.0, high: 8.0 }, "0.9", "names in the ghost queue, as a share of memory"),
            Parameter::new(
                "promote",
                Kind::Integer { low: 1, high: MOST_USES as u64 },
                "2",
                "uses that take a page from the small to the main queue, 1 to 3",
            ),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<S3FifoPolicy> {
        let mut policy = S3FifoPolicy {
            queues: Queues::new(setup.pages),
            uses: vec![0; setup.pages],
            shares: [params.number("small"), params.number("ghost")],
            promote: params.integer("promote") as u8,
            frames: 0,
            small: 0,
            ghost: 0,
            evicting: false,
            scanned: 0,
        };
        policy.resize(setup.frames);
        Ok(policy)
    }
}

impl S3FifoPolicy {
    /// Evict from the small queue. Returns false if all of its pages moved to the main queue
    /// instead.
    fn evict_small(&mut self, pages: &mut PageView) -> bool {
        while let Some(page) = self.queues.pop(SMALL) {
            self.scanned += 1;
            if self.uses[page as usize] >= self.promote {
                self.uses[page as usize] = 0;
                self.queues.push(MAIN, page);
            } else {
                self.queues.push(GHOST, page);
                self.queues.trim(GHOST, self.ghost);
                pages.release(page);
                return true;
            }
        }
        false
    }

    fn evict_main(&mut self, pages: &mut PageView) {
        while let Some(page) = self.queues.pop(MAIN) {
            self.scanned += 1;
            let uses = &mut self.uses[page as usize];
            if *uses == 0 {
                pages.release(page);
                return;
            }
            *uses -= 1;
            self.queues.push(MAIN, page);
        }
    }
}

impl Policy for S3FifoPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.queues.prefetch(page);
        prefetch(&self.uses, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        let uses = &mut self.uses[page as usize];
        *uses = (*uses + 1).min(MOST_USES);
    }

    fn miss(&mut self, page: PageId, _: Op, _: &PageView) {
        if self.queues.is_in(GHOST, page) {
            self.queues.move_to(RECALLED, page);
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        self.evicting = true;
        let main_is_over = self.queues.len(MAIN) > self.frames - self.small;
        if main_is_over || !self.evict_small(pages) {
            self.evict_main(pages);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.uses[page as usize] = 0;
        if self.queues.is_in(RECALLED, page) {
            self.queues.move_to(MAIN, page);
        } else if !self.evicting && self.queues.len(SMALL) >= self.small {
            self.queues.push(MAIN, page);
        } else {
            self.queues.push(SMALL, page);
        }
    }

    fn forget(&mut self, page: PageId) {
        self.queues.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.frames = frames;
        [self.small, self.ghost] = self.shares.map(|share| (frames as f64 * share) as usize);
        self.queues.trim(GHOST, self.ghost);
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("small", self.queues.len(SMALL) as f64), ("main", self.queues.len(MAIN) as f64), ("ghost", self.queues.len(GHOST) as f64)]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.queues.check()?;
        crate::check_residency(pages, [SMALL, MAIN].iter().flat_map(|l| self.queues.iter(*l)))?;
        match self.queues.len(GHOST) {
            names if names > self.ghost => Err(format!("{names} ghost entries, at most {}", self.ghost)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn two_uses_or_a_ghost_lead_into_the_main_queue() {
        // Two frames for each queue, two ghost entries.
        let mut s3 = Plain::new("s3-fifo:small=0.5,ghost=0.5", 10, 4);
        // 1 and 2 fill the small queue, 3 and 4 enter the main one; then 1 is used twice, 2 once.
        assert_eq!(s3.faults(&[1, 2, 3, 4, 1, 1, 2]), 4);
        assert_eq!(s3.gauges(), [("small", 2.0), ("main", 2.0), ("ghost", 0.0)]);
        // 5 needs a frame: 1 moves to the main queue, 2 is evicted and gets a ghost entry.
        assert_eq!(s3.faults(&[5]), 1);
        assert_eq!(s3.resident(), [1, 3, 4, 5]);
        assert_eq!(s3.gauges(), [("small", 1.0), ("main", 3.0), ("ghost", 1.0)]);
        // The main queue exceeds its size, so its oldest page 3 is evicted; 2 has a ghost entry and
        // enters the main queue directly.
        assert_eq!(s3.faults(&[2]), 1);
        assert_eq!(s3.resident(), [1, 2, 4, 5]);
        assert_eq!(s3.gauges(), [("small", 1.0), ("main", 3.0), ("ghost", 0.0)]);
    }
}
