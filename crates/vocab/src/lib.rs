//! The words every swaplab crate shares. Nothing here has behaviour worth a test of its own beyond its conversions:
//! a page, an access, the class of a page, units, sizes, and the one shape of an input error.

mod access;
mod error;
mod prefetch;
mod size;
mod suggest;
mod units;

pub use access::{Access, Class, Op, PageId, MAX_PAGES};
pub use error::{BadInput, Result};
pub use prefetch::prefetch;
pub use size::{Memory, PAGE_SIZE};
pub use suggest::{nearest, unknown_key};
pub use units::{Nanos, Picojoules};

/// An app (or process) that owns pages: an index into a trace's app table.
pub type AppId = u16;
