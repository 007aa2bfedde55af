//! `opt-cost`: a lower bound, accepted by replay wherever a policy's key is. No choice of victims reaches it in general (which pages stay
//! is chosen anew for each level of cost), so it has no residency; `sim`'s replay computes it from the whole trace (`replay/bound.rs`).

use crate::{Entry, Info, Signal};

pub const OPT_COST: Entry = Entry {
    key: "opt-cost",
    what: "no policy: a lower bound on the I/O time of every policy (docs/models/opt-cost.md)",
    source: "ours; Belady 1966 by levels of cost, greedy by Faigle and Nawijn 1995",
    parameters: &[],
    info: Info { bound: true, ..Info::offline(Signal::Exact) },
};
