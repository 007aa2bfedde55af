//! What: lifetime-aware victim selection: an inactive page may be swapped out if one of its owners
//! is launched again soon on average.
//! Why: writes of pages are wasted if their app is killed before its next launch.
//! Source: A2S (Kim et al. 2017), Section 4.2, Algorithm 1; docs/papers/a2s.md.
//! Deviations: none. The paper gives two rules for an app with exactly T_launched launches: the
//! text swaps out pages of apps with more than T_launched launches, Algorithm 1 with at least
//! T_launched. This is the algorithm's.
//! Weakness: the past average is a poor predictor for an app that is used in bursts.

use crate::{History, Owner};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lvsp {
    pub t_reuse: f64,
    pub t_launched: u64,
    /// Whether the average is weighted by the number of gaps between launches instead of the number
    /// of launches.
    pub strict: bool,
}

impl Lvsp {
    pub fn allows(&self, owners: &[Owner], history: &History) -> bool {
        owners.iter().any(|owner| match owner {
            // The system has distance 0, whatever its number of launches.
            Owner::System => 0.0 < self.t_reuse,
            Owner::App(app) => history.launches(*app) >= self.t_launched && history.current_average(*app, self.strict) < self.t_reuse,
        })
    }
}
