//! App compaction: which pages of a cached app are reclaimed before memory is low.
//!
//! Source: AOSP services/core/java/com/android/server/am/CachedAppOptimizer.java at commit 022ad4a
//! (the same values up to Android 15): `COMPACT_DOWNGRADE_FREE_SWAP_THRESHOLD`,
//! `DEFAULT_COMPACT_FULL_RSS_THROTTLE_KB`, `DEFAULT_COMPACT_FULL_DELTA_RSS_THROTTLE_KB`; and
//! com_android_server_am_CachedAppOptimizer.cpp: `MADV_PAGEOUT` for private anonymous mappings,
//! `MADV_COLD` for private mappings of files.
//! Deviations: the throttles by time (10 s from one full compaction to the next) are left out, as
//! no app is cached twice so soon; a page made cold enters the page policy's order anew, where
//! `MADV_COLD` moves it to the head of the inactive list.

use super::frames::Frames;
use crate::phone::user::apps::Apps;
use swaplab_policy::bits;
use swaplab_vocab::{AppId, Op, PageId};

/// `COMPACT_DOWNGRADE_FREE_SWAP_THRESHOLD`: with a lower share of free swap, only file pages are
/// compacted.
const LEAST_FREE_SWAP: f64 = 0.2;
/// `DEFAULT_COMPACT_FULL_RSS_THROTTLE_KB`: an app with fewer anonymous pages in memory is passed
/// over.
const LEAST_ANON_KB: u64 = 12_000;
/// `DEFAULT_COMPACT_FULL_DELTA_RSS_THROTTLE_KB`: an app whose memory has changed by no more since
/// its last compaction is passed over.
const LEAST_CHANGE_KB: u64 = 8_000;

/// An app's own pages by where they are, in kB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub anon_kb: u64,
    pub file_kb: u64,
    pub swap_kb: u64,
}

/// The pages of an app that compaction treats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Anonymous pages are paged out, and file pages made cold.
    All,
    /// File pages are made cold.
    File,
    Nothing,
}

/// The action for an app with this memory, which had `last` after its last compaction. `free_swap`:
/// the share of swap that is free.
pub fn action(now: &Usage, last: Option<&Usage>, free_swap: f64) -> Action {
    if free_swap < LEAST_FREE_SWAP {
        return Action::File;
    }
    let change =
        |last: &Usage| now.anon_kb.abs_diff(last.anon_kb) + now.file_kb.abs_diff(last.file_kb) + now.swap_kb.abs_diff(last.swap_kb);
    match now.anon_kb < LEAST_ANON_KB || last.is_some_and(|last| change(last) <= LEAST_CHANGE_KB) {
        true => Action::Nothing,
        false => Action::All,
    }
}

/// The memory of `app` now.
pub fn usage(app: AppId, frames: &Frames, apps: &Apps, page_bytes: u64) -> Usage {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An app with 12,000 kB of anonymous pages is compacted, one with 11,999 is not. After a
    /// compaction that left 1,000 kB in memory and 11,000 in swap, 5,000 more kB of anonymous and
    /// 3,000 of file pages are too little: 8,000 kB of change.
    #[test]
    fn the_rules_of_compaction_by_hand() {
        let usage = |anon_kb, file_kb, swap_kb| Usage { anon_kb, file_kb, swap_kb };
        let first = |anon_kb, free_swap| action(&usage(anon_kb, 9_000, 0), None, free_swap);
        assert_eq!([11_999, 12_000].map(|anon_kb| first(anon_kb, 1.0)), [Action::Nothing, Action::All]);
        assert_eq!([first(90_000, 0.2), first(90_000, 0.19), first(1, 0.19)], [Action::All, Action::File, Action::File]);
        let last = usage(10_000, 1_000, 11_000);
        let again = |anon_kb, file_kb| action(&usage(anon_kb, file_kb, 11_000), Some(&last), 0.5);
        assert_eq!([again(15_000, 4_000), again(15_000, 4_001)], [Action::Nothing, Action::All]);
    }
}
