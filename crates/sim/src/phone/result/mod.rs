//! The results of a design's runs: the figures of each seed, the document's row and the tables.

mod detail;
mod finished_run;
mod interval;
mod launches;
mod quantiles;
mod row;
mod tables;
mod timeline;

pub use finished_run::FinishedRun;
pub use row::row;
pub use tables::Tables;
