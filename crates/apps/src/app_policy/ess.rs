//! What: efficacy-based selective swapping: while N_live >= T_live apps live, no page is swapped
//! out.
//! Why: the more apps are cached, the less another cached app gains; beyond the limit of live apps
//! it gains nothing.
//! Source: A2S (Kim et al. 2017), Section 4.1, Algorithm 1.
//! Deviations: none.
//! Weakness: one threshold for all users and apps; pages of the system are not swapped out either.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ess {
    pub t_live: f64,
}

impl Ess {
    pub fn allows(&self, live: usize) -> bool {
        (live as f64) < self.t_live
    }
}
