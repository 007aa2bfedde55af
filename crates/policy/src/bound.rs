//! `opt-cost`: a key that stands where policies stand and is none. No choice of victims reaches it in general (which pages stay is chosen
//! anew for each level of cost), so it has no residency; `sim`'s replay computes it from the whole trace (`replay/bound.rs`).

use crate::{Info, Signal};

/// What `swaplab list policies` says of it.
pub const OPT_COST: Info = Info {
    key: "opt-cost",
    what: "no policy: a lower bound on the I/O time of every policy (docs/models/opt-cost.md)",
    source: "ours; Belady 1966 by levels of cost, greedy by Faigle and Nawijn 1995",
    signal: Signal::Exact,
    offline: true,
    parameters: &[],
};
