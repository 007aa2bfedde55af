//! What: kills the app with the highest `oom_score_adj`, the least recently used one among equals.
//! Why: what Android does.
//! Source: Android's low-memory killer (drivers/staging/android/lowmemorykiller.c; lmkd).
//! Deviations: the kernel's driver takes the largest of equals.
//! Weakness: the app that was used longest ago is not the one that comes back last.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    // Of equals `max_by_key` takes the last.
    candidates.iter().rev().max_by_key(|c| c.adjustment).map(|c| c.app)
}
