//! Trace-driven replay: every policy at every memory size in one pass over the trace.

mod bound;
mod engine;
mod mean;
mod plan;
mod resolve;
mod row;
mod rows;
mod run;
mod signal;
mod stack;
mod swap;
mod times;

pub use engine::{Counts, Times};
pub use plan::FindPolicy;
pub(crate) use resolve::{Resolved, Resolver};
pub use rows::rows;
pub use run::{replay, Options, PointResult, PointSpec, Subject};
pub use signal::Delivery;
pub use stack::{lru_curve, LruCurve};
pub use swap::{Moves, SwapSide, SwapSpec};
