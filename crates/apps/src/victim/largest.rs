//! What: kills the app with the largest resident set among those with the highest `oom_score_adj`.
//! Why: the rule of the driver that phones up to Android 9 used.
//! Source: Linux 3.4 (MSM), drivers/staging/android/lowmemorykiller.c, `lowmem_shrink`:
//! `get_mm_rss` counts resident anonymous and file pages, so pages in swap do not count; a process
//! without resident pages is passed over.
//! Deviations: of equal apps, the kernel takes the oldest process, this rule the least recently
//! used app. Graphics memory does not count (assumed: drivers map it without the counters of the
//! resident set).
//! Weakness: an app whose pages are in swap looks small, although its end frees swap.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    let resident = candidates.iter().rev().filter(|c| c.resident_pages > 0);
    // `max_by_key` returns the last of equal elements.
    resident.max_by_key(|c| (c.adjustment, c.resident_pages)).map(|c| c.app)
}
