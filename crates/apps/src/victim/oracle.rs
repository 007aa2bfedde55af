//! What: kills the app whose next launch is furthest away.
//! Why: an upper bound on the resumes that a better choice of victims can gain.
//! Source: Belady's rule for pages ("A study of replacement algorithms for a virtual-storage
//! computer", 1966), applied to apps.
//! Deviations: apps differ in size, so this is a heuristic, not an optimum. It also selects apps
//! over the limit of cached apps.
//! Weakness: needs the future.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    candidates.iter().rev().max_by_key(|c| c.next_launch.unwrap_or(u64::MAX)).map(|c| c.app)
}
