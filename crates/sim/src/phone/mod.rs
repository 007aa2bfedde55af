//! The simulated phone: apps are launched, resumed and killed on a machine with frames, a page policy, a swap scheme and devices.
//! Discrete and deterministic: the same experiment gives the same bytes on any number of threads.
//!
//! `spec` resolves an experiment, `user` knows apps and launches, `machine` knows memory, `run` lets one use the other, `result` makes
//! the document's rows. Imports go in that order alone.

mod machine;
mod result;
mod run;
mod spec;
#[cfg(test)]
mod tests;
mod user;

use rayon::prelude::*;
use result::{row, Outcome, Tables};
use spec::Spec;
use std::path::Path;
use swaplab_experiment::document::WorldResult;
use swaplab_experiment::Experiment;
use swaplab_trace::source::Progress;
use swaplab_vocab::{BadInput, Result};

/// A row of the document for each design of `experiment`, whose paths are resolved; nothing of it varies. Each design runs with every seed
/// on `jobs` threads (0: one a core). With `folder`, all launches, stays in swap, kills and samples besides, as CSV tables in it. `progress`
/// hears of designs done and designs in all.
pub fn rows(experiment: &Experiment, jobs: usize, progress: Progress, folder: Option<&Path>) -> Result<WorldResult> {
    let spec = Spec::of(experiment)?;
    let mut tables = folder.map(Tables::create).transpose()?;
    let seeds: Vec<u64> = (spec.first_seed..).take(spec.sequences.each.len()).collect();
    // Runs of a generator differ in how many apps they launch; the longest list names them all.
    let apps = spec.sequences.each.iter().map(|sequence| &sequence.apps).max_by_key(|apps| apps.len()).cloned().unwrap_or_default();
    let pool = crate::threads::pool(jobs, seeds.len())?;
    let mut rows = Vec::new();
    for (done, design) in spec.designs.iter().enumerate() {
        let name = &design.written.name;
        if !progress(done as u64, spec.designs.len() as u64) {
            return Err(BadInput::Interrupted { place: format!("phone: design '{name}'") });
        }
        let run_seed = |(seed, sequence): (&u64, &spec::Sequence)| {
            let (machine, counted_from_ns) = run::run(&spec, design, sequence, *seed)?;
            Ok(Outcome::new(machine, counted_from_ns, *seed))
        };
        let runs = pool.install(|| seeds.par_iter().zip(&spec.sequences.each).map(run_seed).collect::<Result<Vec<_>>>())?;
        tables.as_mut().map_or(Ok(()), |tables| tables.write(name, &runs, &apps))?;
        rows.push(row(experiment, &spec, design, &runs, &apps));
    }
    tables.map_or(Ok(()), Tables::finish)?;
    let calm = rows.iter().all(|row| row.phone.as_ref().is_some_and(|detail| !detail.memory_was_tight));
    let warning = "phone: memory was never tight, so that no design had anything to do; take less machine.dram or more apps";
    Ok(WorldResult { rows, warnings: calm.then(|| warning.to_string()).into_iter().collect() })
}
