//! The results of a design's runs: the figures of each seed, the document's row and the tables.

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
