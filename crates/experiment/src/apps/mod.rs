//! Models of apps: memory and times of an app of a kind, the included kinds, and the papers'
//! workloads.

pub mod kinds;
mod models;
mod size;
mod writes;

pub use models::{AppModels, Shared, MOST_SHARED};
pub use size::AppSize;
pub use writes::FileWrites;

/// The preset for `workload.apps`. All of its values are assumed, for phones of 2014.
pub const ASSUMED: &str = "assumed-2014";
