//! What: evicts the page that was brought in longest ago.
//! Why: the least a policy can do; needs no reference information at all.
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966.
//! Deviations: none.
//! Weakness: throws out hot pages as readily as cold ones; more memory can mean more faults (Belady's anomaly).

use crate::links::{Links, List};
use crate::{Describe, Info, Pages, Params, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Result};

const QUEUE: List = List(0);

pub struct FifoPolicy {
    links: Links,
}

impl Describe for FifoPolicy {
    const INFO: Info = Info {
        key: "fifo",
        what: "first in, first out",
        source: "Belady 1966",
        signal: Signal::FaultOnly,
        offline: false,
        parameters: &[],
    };

    fn build(setup: &Setup, _: &Params) -> Result<FifoPolicy> {
        Ok(FifoPolicy { links: Links::new(setup.pages, 1) })
    }
}

impl Policy for FifoPolicy {
    #[inline]
    fn touch(&mut self, _: PageId, _: Op, _: &Pages) {}

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut Pages) {
        if let Some(victim) = self.links.pop_back(QUEUE) {
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut Pages) {
        self.links.push_front(QUEUE, page);
    }

    fn forget(&mut self, page: PageId) {
        if self.links.contains(page) {
            self.links.remove(QUEUE, page);
        }
    }

    fn check(&self, pages: &Pages) -> std::result::Result<(), String> {
        self.links.check(QUEUE)?;
        crate::check_residency(pages, self.links.iter(QUEUE))
    }
}
