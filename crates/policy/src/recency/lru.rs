//! What: evicts the page that was referenced longest ago.
//! Why: the reference policy. Its faults never rise with memory (stack inclusion), so one pass over
//! a trace gives every size.
//! Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal
//! 9(2), 1970.
//! Deviations: none.
//! Weakness: every reference of a loop slightly larger than memory misses; no kernel can afford a
//! list move per access.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

const QUEUE: Queue = Queue(0);

pub struct LruPolicy {
    /// One queue, with the least recently used page at the front.
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
