//! Lower bounds on a replay's cost. A replay accepts the key of a bound wherever it accepts the key of a policy. In general no choice
//! of victims attains a bound, so a bound is not a policy: `sim` computes it from the whole trace (`replay/bound.rs`).

use serde::Serialize;
use swaplab_vocab::{Entry, Registry};

/// Properties of a bound in the registry, in addition to its key. There are none today.
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
