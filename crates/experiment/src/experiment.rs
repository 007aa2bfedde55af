//! The experiment file: `[machine]`, `[[design]]`, `[workload]`, `[run]`, `[vary]`.

use crate::design::Design;
use crate::machine::Machine;
use crate::run::Run;
use crate::vary::Vary;
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{Result, World, WORLDS};

/// An experiment: designs of swap, the machine and the workload that they run on, the worlds that
/// run them, and the varied keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// The name in reports; by default, the name of the file.
    pub name: String,
    /// The question of the experiment, in a sentence.
    pub about: String,
    pub machine: Machine,
    pub design: Vec<Design>,
    pub workload: Workload,
    pub run: Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vary: Option<Vary>,
}

impl Experiment {
    /// The worlds that run the experiment, in order of the file.
    pub fn worlds(&self) -> Result<Vec<World>> {
        self.run.on.iter().map(|key| Ok(WORLDS.entry(key)?.info.world)).collect()
    }

    /// The number of seeds in a world.
    pub fn seeds(&self, world: World) -> u64 {
        self.run.seeds.unwrap_or(match world {
            World::Replay | World::Memory => 1,
            World::Phone => 8,
            World::Vm => 5,
            World::Kernel => 3,
        })
    }

    /// The design with this name.
    pub fn design(&self, name: &str) -> Option<&Design> {
        self.design.iter().find(|design| design.name == name)
    }

    /// The JSON schema of the experiment file, for editors and for the generated classes.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Experiment).to_value()
    }
}
