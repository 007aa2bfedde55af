//! The registry of low-memory killers, one line each.

use super::Info;
use swaplab_vocab::Registry;

pub static KILLERS: Registry<Info> = Registry {
    kind: "killer",
    entries: &[
        // The first one is the default of a machine.
        &super::minfree::ENTRY,
        &super::lmkd::ENTRY,
        &super::when_swap_full::ENTRY,
        &super::off::ENTRY,
    ],
};
