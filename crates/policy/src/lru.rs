//! What: evicts the page that was referenced longest ago.
//! Why: the yardstick; its faults fall with memory, never rise (stack inclusion), so one pass gives every size.
//! Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
//! Deviations: none.
//! Weakness: a loop a little larger than memory misses every time; no kernel can afford a list move an access.

use crate::links::{Links, List};
use crate::{Describe, Info, Pages, Params, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Result};

const LRU: List = List(0);

pub struct LruPolicy {
    links: Links,
}

impl Describe for LruPolicy {
    const INFO: Info = Info {
        key: "lru",
        what: "least recently used",
        source: "Mattson et al. 1970",
        signal: Signal::Exact,
        offline: false,
        parameters: &[],
    };

    fn build(setup: &Setup, _: &Params) -> Result<LruPolicy> {
        Ok(LruPolicy { links: Links::new(setup.pages, 1) })
    }
}

impl Policy for LruPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &Pages) {
        self.links.move_to_front(LRU, page);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut Pages) {
        if let Some(victim) = self.links.pop_back(LRU) {
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut Pages) {
        self.links.push_front(LRU, page);
    }

    fn forget(&mut self, page: PageId) {
        if self.links.contains(page) {
            self.links.remove(LRU, page);
        }
    }

    fn check(&self, pages: &Pages) -> std::result::Result<(), String> {
        self.links.check(LRU)?;
        crate::check_residency(pages, self.links.iter(LRU))
    }
}
