//! Models of apps: what an app of one kind takes, the kinds that come along, and the papers' workloads made of them.

pub mod kinds;
mod models;
mod size;

pub use models::{AppModels, Shared, MOST_SHARED};
pub use size::AppSize;

/// The preset that `workload.apps` names: every value is assumed, for phones of 2014.
pub const ASSUMED: &str = "assumed-2014";
