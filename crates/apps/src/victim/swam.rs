//! What: kills the app with the shortest cold start among those that may be killed.
//! Why: a kill causes a cold start at the next launch of the app, so a short cold start costs the
//! user least.
//! Source: SWAM ("SWAM: Revisiting Swap and OOMK for Improving Application Responsiveness on Mobile
//! Devices", MobiCom 2023): its out-of-memory killer ends the processes with the lowest
//! initialization costs.
//! Deviations: written after the paper's abstract; the cost is the processor time of the app's cold
//! start, which is given instead of measured. SWAM's adaptive swap and its cleaner of shared
//! objects are not implemented.
//! Weakness: ignores how soon an app is launched again and how much memory its end frees.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    candidates.iter().min_by_key(|c| c.cold_ns).map(|c| c.app)
}
