//! The experiment file: `[machine]`, `[[design]]`, `[workload]`, `[run]`, `[vary]`.

use crate::design::Design;
use crate::machine::Machine;
use crate::run::Run;
use crate::vary::Vary;
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{Result, World, WORLDS};

/// One experiment: designs of swap, the machine and the workload that they run on, where they run, and what is varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// What reports call it; by default the file's name.
    pub name: String,
    /// What it asks, in a sentence.
    pub about: String,
    pub machine: Machine,
    pub design: Vec<Design>,
    pub workload: Workload,
    pub run: Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vary: Option<Vary>,
}

impl Experiment {
    /// The worlds that it runs in, in the order of the file.
    pub fn worlds(&self) -> Result<Vec<World>> {
        self.run.on.iter().map(|key| Ok(WORLDS.entry(key)?.info.world)).collect()
    }

    /// Runs with different seeds in one world.
    pub fn seeds(&self, world: World) -> u64 {
        self.run.seeds.unwrap_or(match world {
            World::Replay | World::Memory => 1,
            World::Phone => 8,
            World::Vm => 5,
            World::Kernel => 3,
        })
    }

    /// The design of this name.
    pub fn design(&self, name: &str) -> Option<&Design> {
        self.design.iter().find(|design| design.name == name)
    }

    /// JSON schema of the experiment file, for editors and for the generated classes.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Experiment).to_value()
    }
}
