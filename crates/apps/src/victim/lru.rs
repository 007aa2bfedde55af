//! What: kills the app with the highest `oom_score_adj`, the least recently used one among equals.
//! Why: Android's rule.
//! Source: Android's low-memory killer (drivers/staging/android/lowmemorykiller.c; lmkd).
//! Deviations: of equal apps, the kernel's driver kills the largest (`largest`).
//! Weakness: the least recently used app is not necessarily the one with the most distant next
//! launch.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    // Of equals `max_by_key` takes the last.
    candidates.iter().rev().max_by_key(|c| c.adjustment).map(|c| c.app)
}
