//! The worlds in which an experiment can run.

use crate::spec::{Entry, Registry};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// Replay of a page trace with simulated policy and scheme.
    Replay,
    /// App launches on the simulated phone.
    Phone,
    /// Real programs whose memory the pager manages.
    Memory,
    /// A real kernel: control group, swap devices.
    Kernel,
    /// A Linux kernel under virtual time.
    Vm,
}

impl World {
    pub const ALL: [World; 5] = [World::Replay, World::Phone, World::Memory, World::Kernel, World::Vm];
    /// The worlds that run swaplab's own models.
    pub const SIMULATED: [World; 2] = [World::Replay, World::Phone];

    pub fn name(self) -> &'static str {
        ["replay", "phone", "memory", "kernel", "vm"][self as usize]
    }
}

/// Properties of a world in the registry.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    pub world: World,
}

macro_rules! worlds {
    ($($world:ident $key:literal $what:literal,)*) => {
        /// The registry of worlds. `worlds.rs` of the crate experiment defines what each accepts.
        pub const WORLDS: Registry<Info> = Registry {
            kind: "world",
            entries: &[$(&Entry { key: $key, what: $what, source: "", parameters: &[], info: Info { world: World::$world } },)*],
        };
    };
}

worlds! {
    Replay "replay" "replay of a page trace with simulated policies and schemes",
    Phone "phone" "app launches on a simulated phone, with the same policies and schemes",
    Memory "memory" "real programs, whose memory the pager manages",
    Kernel "kernel" "real programs in a control group of a real kernel, with its own swap",
    Vm "vm" "swaplab-app programs on a Linux kernel under virtual time",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_entries_agree() {
        assert_eq!(WORLDS.keys().collect::<Vec<_>>(), World::ALL.map(World::name));
        assert!(WORLDS.iter().zip(World::ALL).all(|(entry, world)| entry.info.world == world));
    }
}
