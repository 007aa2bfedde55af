//! Policies that know the future: what none that runs can beat.

pub(crate) mod opt;
pub(crate) mod opt_greedy;
