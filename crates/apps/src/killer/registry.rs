//! Every low-memory killer, a line each; a machine that names none has the first.

use super::Info;
use swaplab_vocab::Registry;

pub static KILLERS: Registry<Info> =
    Registry { kind: "killer", entries: &[&super::minfree::ENTRY, &super::lmkd::ENTRY, &super::when_swap_full::ENTRY, &super::off::ENTRY] };
