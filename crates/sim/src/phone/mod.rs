//! The simulated phone: apps are launched, resumed and killed on a machine with page frames, a page
//! policy, a swap scheme and devices. The simulation is deterministic: the same experiment gives
//! the same bytes on any number of threads.
//!
//! `spec` resolves an experiment, `user` models apps and launches, `machine` models memory, `run`
//! runs launches on a machine, `result` makes the document's rows. A module imports only from those
//! before it.

mod machine;
mod process;
mod result;
mod run;
mod spec;
#[cfg(test)]
mod tests;
mod user;

use crate::threads::{pool, run_watched};
use rayon::prelude::*;
use result::{row, FinishedRun, Tables};
use spec::Spec;
use std::path::Path;
use swaplab_experiment::document::WorldResult;
use swaplab_experiment::Experiment;
use swaplab_trace::source::Progress;
use swaplab_vocab::{BadInput, Result};

/// Run every design of `experiment` with every seed, on `jobs` threads (0: one per core). Returns a
/// row of the document for each design. The experiment's paths must be resolved, and it must have
/// no varied keys. All launches, stays in swap, kills and samples are written as CSV tables into
/// `folder`, if given. `progress` is called with the number of designs done and of all designs;
/// false cancels.
pub fn rows(experiment: &Experiment, jobs: usize, progress: Progress, folder: Option<&Path>) -> Result<WorldResult> {
    let spec = Spec::of(experiment)?;
    let mut tables = folder.map(Tables::create).transpose()?;
    let seeds: Vec<u64> = (spec.first_seed..).take(spec.sequences.each.len()).collect();
    // The seeds of a generator differ in the number of apps that they launch; the longest list has
    // all names.
    let apps = spec.sequences.each.iter().map(|sequence| &sequence.apps).max_by_key(|apps| apps.len()).cloned().unwrap_or_default();
    let pool = pool(jobs, seeds.len())?;
    let mut rows = Vec::new();
    for (done, design) in spec.designs.iter().enumerate() {
        let name = &design.written.name;
        let mut goes_on = || progress(done as u64, spec.designs.len() as u64);
        if !goes_on() {
            return Err(BadInput::Interrupted { place: format!("phone: design '{name}'") });
        }
        let runs = run_watched(&pool, goes_on, |stop| {
            let run_seed = |(seed, sequence): (&u64, &spec::Sequence)| {
                let (machine, counted_from_ns) = run::run(&spec, design, sequence, *seed, stop)?;
                Ok(FinishedRun::new(machine, counted_from_ns, *seed))
            };
            seeds.par_iter().zip(&spec.sequences.each).map(run_seed).collect::<Result<Vec<_>>>()
        })?;
        tables.as_mut().map_or(Ok(()), |tables| tables.write(name, &runs, &apps))?;
        rows.push(row(experiment, &spec, design, &runs, &apps));
    }
    tables.map_or(Ok(()), Tables::finish)?;
    let calm = rows.iter().all(|row| row.phone.as_ref().is_some_and(|detail| !detail.memory_was_tight));
    // Pages of a cached app may be swapped out although memory suffices: by compaction, or by A2S.
    let swapped = rows.iter().any(|row| row.paging.swap_out_bytes.is_some_and(|bytes| bytes > 0.0));
    let warning = match swapped {
        true => "phone: memory was never tight, so nothing had to be swapped out: what was, costs time and energy for nothing",
        false => "phone: memory was never tight, so no difference between designs is due to swap; reduce machine.dram or add apps",
    };
    Ok(WorldResult { rows, warnings: calm.then(|| warning.to_string()).into_iter().collect() })
}
