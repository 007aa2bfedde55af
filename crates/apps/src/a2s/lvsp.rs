//! What: lifetime-aware victim selection: an inactive page may go out if one of its owners comes back soon on average.
//! Why: pages of apps that are killed before they return were written for nothing.
//! Source: A2S (Kim et al. 2017), Section 4.2, Algorithm 1; docs/papers/a2s.md.
//! Deviations: none; an app with fewer launches than T_launched is skipped (the algorithm; the text says "more than").
//! Weakness: an app's past average says little of an app that is used in bursts.

use crate::{History, Owner};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lvsp {
    pub t_reuse: f64,
    pub t_launched: u64,
    /// Whether the average is weighted by the number of gaps between launches instead of the number of launches.
    pub strict: bool,
}

impl Lvsp {
    pub fn allows(&self, owners: &[Owner], history: &History) -> bool {
        owners.iter().any(|owner| match owner {
            // Distance 0, before the launches are looked at.
            Owner::System => 0.0 < self.t_reuse,
            Owner::App(app) => history.launches(*app) >= self.t_launched && history.current_average(*app, self.strict) < self.t_reuse,
        })
    }
}
