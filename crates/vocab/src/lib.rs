//! Basic types that all crates of swaplab share: pages, accesses, page classes, units, sizes, input
//! errors, and registries of entries with parameters. Apart from conversions and parsing they have
//! no behavior.

mod access;
mod error;
mod prefetch;
mod size;
pub mod spec;
mod suggest;
mod units;
mod world;

pub use access::{Access, Class, Op, PageId, MAX_PAGES};
pub use error::{cause_of, path_for_message, BadInput, Result};
pub use prefetch::prefetch;
pub use size::{Memory, PAGE_SIZE};
pub use spec::{Entry, Kind, Parameter, Params, Registry, Resolved, Spec, Value};
pub use suggest::{nearest, unknown_key};
pub use units::{rounded, Nanos, Picojoules};
pub use world::{World, WORLDS};

/// An app (or process) that owns pages: an index into a trace's app table.
pub type AppId = u16;
