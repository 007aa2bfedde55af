//! Lower bounds on a replay's cost. A replay accepts the key of a bound wherever it accepts the key
//! of a policy. In general no choice of victims attains a bound, so a bound is not a policy: `sim`
//! computes it from the whole trace (`replay/bound.rs`).
//!
//! A new bound is a variant of [`Bound`] with its entry here, and a file in `sim`'s `replay/` that
//! the `match` there asks for.

use serde::ser::{Serialize, SerializeMap, Serializer};
use swaplab_vocab::{Entry, Registry};

/// Which bound an entry of the registry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    OptCost,
}

/// A bound has no properties besides its key, description, source and parameters.
impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_map(Some(0))?.end()
    }
}

static OPT_COST: Entry<Bound> = Entry {
    key: "opt-cost",
    what: "a lower bound on the I/O time of every policy (docs/models/opt-cost.md)",
    source: "ours; Belady 1966 by levels of cost, greedy by Faigle and Nawijn 1995",
    parameters: &[],
    info: Bound::OptCost,
};

pub const BOUNDS: Registry<Bound> = Registry { kind: "bound", entries: &[&OPT_COST] };
