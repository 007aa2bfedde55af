//! Resolves an experiment as written into the one that is run.

use crate::check;
use crate::design::crossed;
use crate::experiment::Experiment;
use crate::worlds;
use swaplab_vocab::{BadInput, Result, WORLDS};

impl Experiment {
    /// Cross and name designs, and fill in the worlds. Idempotent.
    pub(crate) fn resolved(mut self, place: &str) -> Result<Experiment> {
        self.design = crossed(place, &self.design)?;
        if self.run.on.is_empty() {
            self.run.on = vec![worlds::default_for(place, &self.workload)?.name().into()];
        }
        Ok(self)
    }

    /// Check the values of the experiment. [`worlds::refusal`] checks what a single world cannot
    /// run.
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
        check::values(&self).map_err(|e| e.within(place))?;
        Ok(self)
    }
}
