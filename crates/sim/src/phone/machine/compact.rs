//! App compaction on the simulated phone: an app's memory, and pages that are made cold or
//! released. Deviation from AOSP: a page made cold enters the page policy's order anew, where
//! `MADV_COLD` moves it to the head of the inactive list.

use super::frames::Frames;
use crate::phone::user::apps::Apps;
use swaplab_apps::compaction::Usage;
use swaplab_policy::bits;
use swaplab_vocab::{AppId, Op, PageId};

/// The memory of `app` now.
pub fn usage(app: AppId, frames: &Frames, apps: &Apps, page_bytes: u64) -> Usage {
    let (own, pages) = (apps.layout.of(app), &frames.pages);
    let kb = |pages: usize| pages as u64 * page_bytes / 1024;
    Usage {
        anon_kb: kb(pages.resident_in(own.anon.clone())),
        file_kb: kb(pages.resident_in(own.file.clone())),
        swap_kb: kb(pages.count(own.anon.clone(), |state| state & (bits::RESIDENT | bits::SLOT) == bits::SLOT)),
    }
}

impl Frames {
    /// Make the resident `page` enter the policy's order anew, as a page that was read once.
    pub fn make_cold(&mut self, page: PageId) {
        self.policy.forget(page);
        self.pages.clear(page, bits::TOUCHED);
        self.policy.insert(page, Op::Read, &mut self.pages);
    }

    /// Release the resident `page` for eviction.
    pub fn release(&mut self, page: PageId) {
        self.policy.forget(page);
        self.pages.release(page);
    }
}
