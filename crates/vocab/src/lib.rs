//! The words every swaplab crate shares. Nothing here has behaviour worth a test of its own beyond its conversions:
//! a page, an access, the class of a page, units, sizes, the one shape of an input error, and the one form of things with parameters.

mod access;
mod error;
mod prefetch;
mod size;
pub mod spec;
mod suggest;
mod units;
mod world;

pub use access::{Access, Class, Op, PageId, MAX_PAGES};
pub use error::{shown, BadInput, Result};
pub use prefetch::prefetch;
pub use size::{Memory, PAGE_SIZE};
pub use spec::{Entry, Kind, Parameter, Params, Registry, Resolved, Spec, Value};
pub use suggest::{nearest, unknown_key};
pub use units::{rounded, Nanos, Picojoules};
pub use world::{World, WORLDS};

/// An app (or process) that owns pages: an index into a trace's app table.
pub type AppId = u16;
