//! What came of a design's runs: the figures of each seed, and the row of the document that they make together.

mod detail;
mod interval;
mod launches;
mod outcome;
mod quantiles;
mod row;
mod tables;
mod timeline;

pub use outcome::Outcome;
pub use row::row;
pub use tables::Tables;
