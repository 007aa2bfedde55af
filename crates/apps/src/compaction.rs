//! App compaction: which pages of a cached app are reclaimed before memory is low.
//!
//! Source: AOSP services/core/java/com/android/server/am/CachedAppOptimizer.java at commit 022ad4a
//! (the same values up to Android 15): `COMPACT_DOWNGRADE_FREE_SWAP_THRESHOLD`,
//! `DEFAULT_COMPACT_FULL_RSS_THROTTLE_KB`, `DEFAULT_COMPACT_FULL_DELTA_RSS_THROTTLE_KB`; and
//! com_android_server_am_CachedAppOptimizer.cpp: `MADV_PAGEOUT` for private anonymous mappings,
//! `MADV_COLD` for mappings of files.
//! Deviation: the throttles by time (10 s from one full compaction to the next) are left out, as no
//! app is cached twice so soon.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `COMPACT_DOWNGRADE_FREE_SWAP_THRESHOLD`: with a lower share of free swap, only file pages are
/// compacted.
const LEAST_FREE_SWAP: f64 = 0.2;

/// Which pages of a cached app are paged out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compact {
    /// None.
    #[default]
    Off,
    /// Its file pages.
    File,
    /// Its anonymous pages.
    Anon,
    /// Both.
    Full,
    /// By the rules of AOSP's `CachedAppOptimizer`: anonymous pages are paged out and file pages
    /// made cold; only the latter while less than 20 % of swap is free. An app with few anonymous
    /// pages, or few changes, is passed over.
    Aosp,
}

/// The limits below which AOSP's rules pass over an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttles {
    /// Least anonymous memory of an app, in kB.
    pub full_rss_kb: u64,
    /// An app is passed over if its memory has changed by no more than this since its last
    /// compaction, in kB.
    pub full_delta_rss_kb: u64,
}

impl Default for Throttles {
    /// AOSP's values.
    fn default() -> Throttles {
        Throttles { full_rss_kb: 12_000, full_delta_rss_kb: 8_000 }
    }
}

/// An app's own pages by where they are, in kB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub anon_kb: u64,
    pub file_kb: u64,
    pub swap_kb: u64,
}

/// What compaction does to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    Nothing,
    /// They are the next to be reclaimed (`MADV_COLD`).
    Cold,
    /// They are reclaimed now (`MADV_PAGEOUT`).
    PageOut,
}

impl Compact {
    /// The advice for an app's anonymous pages and for its file pages. `now`: its memory; `last`:
    /// its memory after its last compaction; `free_swap`: the share of swap that is free.
    pub fn advice(self, throttles: &Throttles, now: &Usage, last: Option<&Usage>, free_swap: f64) -> (Advice, Advice) {
        match self {
            Compact::Off => (Advice::Nothing, Advice::Nothing),
            Compact::File => (Advice::Nothing, Advice::PageOut),
            Compact::Anon => (Advice::PageOut, Advice::Nothing),
            Compact::Full => (Advice::PageOut, Advice::PageOut),
            Compact::Aosp if free_swap < LEAST_FREE_SWAP => (Advice::Nothing, Advice::Cold),
            Compact::Aosp if throttles.passes_over(now, last) => (Advice::Nothing, Advice::Nothing),
            Compact::Aosp => (Advice::PageOut, Advice::Cold),
        }
    }
}

impl Throttles {
    fn passes_over(&self, now: &Usage, last: Option<&Usage>) -> bool {
        let change =
            |last: &Usage| now.anon_kb.abs_diff(last.anon_kb) + now.file_kb.abs_diff(last.file_kb) + now.swap_kb.abs_diff(last.swap_kb);
        now.anon_kb < self.full_rss_kb || last.is_some_and(|last| change(last) <= self.full_delta_rss_kb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: (Advice, Advice) = (Advice::Nothing, Advice::Nothing);
    const FILE: (Advice, Advice) = (Advice::Nothing, Advice::Cold);
    const ALL: (Advice, Advice) = (Advice::PageOut, Advice::Cold);

    /// An app with 12,000 kB of anonymous pages is compacted, one with 11,999 is not. After a
    /// compaction that left 1,000 kB in memory and 11,000 in swap, 5,000 more kB of anonymous and
    /// 3,000 of file pages are too little a change: 8,000 kB.
    #[test]
    fn the_rules_of_compaction_by_hand() {
        let usage = |anon_kb, file_kb, swap_kb| Usage { anon_kb, file_kb, swap_kb };
        let advice = |now, last, free_swap| Compact::Aosp.advice(&Throttles::default(), &now, last, free_swap);
        let first = |anon_kb, free_swap| advice(usage(anon_kb, 9_000, 0), None, free_swap);
        assert_eq!([11_999, 12_000].map(|anon_kb| first(anon_kb, 1.0)), [NOTHING, ALL]);
        assert_eq!([first(90_000, 0.2), first(90_000, 0.19), first(1, 0.19)], [ALL, FILE, FILE]);
        let last = usage(10_000, 1_000, 11_000);
        let again = |anon_kb, file_kb, swap_kb| advice(usage(anon_kb, file_kb, swap_kb), Some(&last), 0.5);
        assert_eq!([again(15_000, 4_000, 11_000), again(15_000, 4_001, 11_000)], [NOTHING, ALL]);
        // What has left swap or entered it changes the app's memory as well.
        assert_eq!([again(15_000, 1_000, 14_000), again(15_000, 1_000, 7_999)], [NOTHING, ALL]);
    }

    #[test]
    fn other_kinds_page_out_without_conditions() {
        let advice = |kind: Compact| kind.advice(&Throttles::default(), &Usage::default(), None, 0.0);
        let out = Advice::PageOut;
        let expected = [NOTHING, (Advice::Nothing, out), (out, Advice::Nothing), (out, out)];
        assert_eq!([Compact::Off, Compact::File, Compact::Anon, Compact::Full].map(advice), expected);
    }
}
