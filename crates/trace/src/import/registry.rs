//! The registry of importable formats, one line each.

use super::Info;
use swaplab_vocab::Registry;

/// The formats, in the order in which they are tried on a source of unknown format.
pub static FORMATS: Registry<Info> = Registry {
    kind: "format",
    entries: &[
        &super::csv::FORMAT,
        &super::launches::FORMAT,
        &super::memory_samples::FORMAT,
        &super::pgcsv::FORMAT,
        &super::oslab::FORMAT,
        &super::lackey::FORMAT,
        &super::block_csv::FORMAT,
        // Both are kernel trace text; an event's name tells them apart.
        &super::damon::FORMAT,
        &super::ftrace_block::FORMAT,
        &super::perfetto::FORMAT,
        &super::oracle_general::FORMAT,
    ],
};
