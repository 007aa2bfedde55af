//! Bounds on what policies can reach. A replay takes one wherever it takes a policy's key; no choice of victims reaches it in general, so it
//! has no residency: `sim` computes it from the whole trace (`replay/bound.rs`).

use serde::Serialize;
use swaplab_vocab::{Entry, Registry};

/// What the registry knows of a bound beside its key.
#[derive(Debug, Serialize)]
pub struct Bound {}

static OPT_COST: Entry<Bound> = Entry {
    key: "opt-cost",
    what: "a lower bound on the I/O time of every policy (docs/models/opt-cost.md)",
    source: "ours; Belady 1966 by levels of cost, greedy by Faigle and Nawijn 1995",
    parameters: &[],
    info: Bound {},
};

pub const BOUNDS: Registry<Bound> = Registry { kind: "bound", entries: &[&OPT_COST] };
