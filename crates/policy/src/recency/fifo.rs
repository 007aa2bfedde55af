//! What: evicts the page that was brought in longest ago.
//! Why: the simplest policy; needs no information about references.
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.
//! Deviations: none.
//! Weakness: evicts hot pages as readily as cold ones; more memory can cause more faults (Belady's
//! anomaly).

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

const QUEUE: Queue = Queue(0);

pub struct FifoPolicy {
    queues: Queues,
}

impl Describe for FifoPolicy {
    const ENTRY: Entry =
        Entry { key: "fifo", what: "first in, first out", source: "Belady 1966", parameters: &[], info: Info::online(Signal::FaultOnly) };

    fn build(setup: &Setup, _: &Params) -> Result<FifoPolicy> {
        Ok(FifoPolicy { queues: Queues::new(setup.pages) })
    }
}

impl Policy for FifoPolicy {
    #[inline]
    fn touch(&mut self, _: PageId, _: Op, _: &PageView) {}

    #[inline(always)]
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if let Some(victim) = self.queues.pop(QUEUE) {
            pages.release(victim);
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.queues.push(QUEUE, page);
    }

    fn forget(&mut self, page: PageId) {
        self.queues.remove(page);
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.queues.check()?;
        crate::check_residency(pages, self.queues.iter(QUEUE))
    }
}
