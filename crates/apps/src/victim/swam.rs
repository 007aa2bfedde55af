//! What: kills, of the apps that may be killed, the one that starts anew fastest.
//! Why: a kill costs its user a cold start; where many apps may go, a cheap start hurts least.
//! Source: SWAM ("SWAM: Revisiting Swap and OOMK for Improving Application Responsiveness on Mobile Devices", MobiCom 2023): its
//! out-of-memory killer ends the processes with the lowest initialisation costs.
//! Deviations: written after the paper's abstract; the cost is the app's processor time of a cold start, known beforehand, not
//! measured on the way. SWAM's adaptive swap and its cleaner of shared objects are not here.
//! Weakness: never looks at how soon an app comes back, nor at how much memory it frees.

use super::Candidate;
use swaplab_vocab::AppId;

pub fn choose(candidates: &[Candidate]) -> Option<AppId> {
    candidates.iter().min_by_key(|c| c.cold_ns).map(|c| c.app)
}
