//! The experiment file: `[machine]`, `[[design]]`, `[workload]`, `[run]`, `[vary]`.

use crate::design::{crossed, Design};
use crate::machine::Machine;
use crate::run::Run;
use crate::vary::Vary;
use crate::workload::Workload;
use crate::worlds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{BadInput, Result, World, WORLDS};

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

    /// Designs crossed and named, worlds filled in. Idempotent.
    pub(crate) fn resolved(mut self, place: &str) -> Result<Experiment> {
        self.design = crossed(place, &self.design)?;
        if self.run.on.is_empty() {
            self.run.on = vec![worlds::default_for(place, &self.workload)?.name().into()];
        }
        Ok(self)
    }

    /// The experiment, if its values can be meant. What a single world cannot run is told by [`worlds::refusal`].
    pub(crate) fn checked(self, place: &str) -> Result<Experiment> {
        for (number, key) in self.run.on.iter().enumerate() {
            WORLDS.entry(key).map_err(|e| e.within(&format!("{place}: run.on")))?;
            if self.run.on[..number].contains(key) {
                return Err(BadInput::new(format!("{place}: run.on"), format!("'{key}' twice"), "each world once"));
            }
        }
        if self.run.seeds.is_some_and(|seeds| !(1..=10_000).contains(&seeds)) {
            return Err(BadInput::new(format!("{place}: run.seeds"), self.run.seeds.unwrap_or(0).to_string(), "1 to 10000"));
        }
        crate::check::values(&self).map_err(|e| e.within(place))?;
        Ok(self)
    }

    /// JSON schema of the experiment file, for editors and for the generated classes.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Experiment).to_value()
    }
}
