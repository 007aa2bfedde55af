//! What: evicts the page that was referenced longest ago.
//! Why: the yardstick; its faults fall with memory, never rise (stack inclusion), so one pass gives every size.
//! Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970.
//! Deviations: none.
//! Weakness: a loop a little larger than memory misses every time; no kernel can afford a list move an access.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

const QUEUE: Queue = Queue(0);

pub struct LruPolicy {
    /// The page used longest ago at the front.
    queues: Queues,
}

impl Describe for LruPolicy {
    const ENTRY: Entry = Entry {
        key: "lru",
        what: "least recently used",
        source: "Mattson et al. 1970",
        parameters: &[],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<LruPolicy> {
        Ok(LruPolicy { queues: Queues::new(setup.pages) })
    }
}

impl Policy for LruPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.queues.prefetch(page);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.queues.move_to(QUEUE, page);
    }

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
