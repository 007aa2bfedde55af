//! Trace-driven replay: every policy at every size in one pass over the trace.

mod bound;
mod engine;
mod resolve;
mod run;
mod signal;
mod stack;
mod swap;
mod times;

pub use engine::{Counts, FirstTouch, Times};
pub(crate) use resolve::{Resolved, Resolver};
pub use run::{replay, Mapping, Options, Outcome, PointSpec, Sample};
pub use signal::Delivery;
pub use stack::{lru_curve, LruCurve};
pub use swap::{SwapSide, SwapSpec};
