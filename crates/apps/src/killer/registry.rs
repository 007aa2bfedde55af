//! Every low-memory killer, a line each.

use super::Info;
use swaplab_vocab::Registry;

pub static KILLERS: Registry<Info> = Registry {
    kind: "killer",
    entries: &[
        // A machine that names none has the first.
        &super::minfree::ENTRY,
        &super::lmkd::ENTRY,
        &super::when_swap_full::ENTRY,
        &super::off::ENTRY,
    ],
};
