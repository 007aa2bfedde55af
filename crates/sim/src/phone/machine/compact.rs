//! App compaction on the simulated phone: an app's memory, and pages that are made cold or
//! released. Deviation from AOSP: a page made cold enters the page policy's order anew, where
//! `MADV_COLD` moves it to the head of the inactive list.

use super::frames::Frames;
use super::Machine;
use crate::phone::user::apps::Apps;
use swaplab_apps::compaction::{Advice, Compact, Throttles, Usage};
use swaplab_policy::bits;
use swaplab_vocab::{AppId, Op, PageId};

impl Machine {
    /// Compact a cached app. `last` is its memory after its last compaction; returns that of this
    /// one, or `last` if there is none.
    pub fn compact(&mut self, app: AppId, kinds: Compact, throttles: &Throttles, last: Option<Usage>) -> Option<Usage> {
        let usage = |of: &Machine| usage(app, &of.frames, &of.apps, of.record.page_bytes);
        let (anon, file) = kinds.advice(throttles, &usage(self), last.as_ref(), self.swap.free_share());
        if (anon, file) == (Advice::Nothing, Advice::Nothing) {
            return last;
        }
        let pages = self.apps.layout.of(app).clone();
        // Without swap the kernel does not page out anonymous pages.
        if self.swap.exists {
            pages.anon.for_each(|page| self.follow(anon, page));
        }
        pages.file.for_each(|page| self.follow(file, page));
        Some(usage(self))
    }

    fn follow(&mut self, advice: Advice, page: PageId) {
        if advice == Advice::Nothing || !self.frames.pages.is_resident(page) {
            return;
        }
        match advice {
            Advice::PageOut => self.frames.release(page),
            _ => self.frames.make_cold(page),
        }
        self.write_back_released();
    }
}

/// The memory of `app` now.
fn usage(app: AppId, frames: &Frames, apps: &Apps, page_bytes: u64) -> Usage {
    let (own, pages) = (apps.layout.of(app), &frames.pages);
    let kb = |pages: usize| pages as u64 * page_bytes / 1024;
    let resident = |range: std::ops::Range<PageId>| kb(range.filter(|page| pages.is_resident(*page)).count());
    let swapped = |page: &PageId| !pages.is_resident(*page) && pages.bits(*page) & bits::SLOT != 0;
    Usage {
        anon_kb: resident(own.anon.clone()),
        file_kb: resident(own.file.clone()),
        swap_kb: kb(own.anon.clone().filter(swapped).count()),
    }
}

impl Frames {
    /// Have the resident `page` enter the policy's order anew, as a page that was read once.
    fn make_cold(&mut self, page: PageId) {
        self.policy.forget(page);
        self.pages.clear(page, bits::TOUCHED);
        self.policy.insert(page, Op::Read, &mut self.pages);
    }

    /// Release the resident `page` for eviction.
    fn release(&mut self, page: PageId) {
        self.policy.forget(page);
        self.pages.release(page);
    }
}
