//! The simulated phone: apps are launched, resumed and killed on a machine with frames, a page policy, a swap scheme and devices.
//! Discrete and deterministic: the same experiment gives the same bytes on any number of threads.

mod app_models;
mod background;
mod fault;
mod foresight;
mod hotness;
mod interval;
pub mod kinds;
mod layout;
mod machine;
mod outcome;
mod plan;
mod prepage;
mod proactive;
mod published;
mod queue;
mod reclaim;
pub mod record;
mod run;
mod shared;
pub mod spec;
mod tables;
#[cfg(test)]
mod tests;
mod views;

pub use outcome::Outcome;
pub use spec::{Sim, SimScheme};

use rayon::prelude::*;
use serde_json::{json, Value};
use swaplab_trace::import::{open, Options};
use swaplab_trace::launches::{read, Launch};
use swaplab_trace::source::Progress;
use swaplab_trace::synth;
use swaplab_vocab::{BadInput, Result};

/// What the user does, and the apps' names by id.
#[derive(Clone)]
pub struct Sequence {
    pub launches: Vec<Launch>,
    pub apps: Vec<String>,
}

/// The launches that `text` names, for each seed: a generator's draws, or one trace for all.
fn sequences(text: &str, seeds: &[u64]) -> Result<Vec<Sequence>> {
    let path = std::path::Path::new(text);
    if path.is_file() {
        let trace = open(path, &Options::default(), &mut |_, _| true)?;
        if trace.meta.launches == 0 {
            return Err(BadInput::new(text, "no launch in it", "a trace of launches"));
        }
        let apps = trace.meta.apps.iter().map(|app| app.name.clone()).collect();
        return Ok(vec![Sequence { launches: read(&trace)?, apps }; seeds.len()]);
    }
    let ns = |s: f64| (s * 1e9).round() as u64;
    let spec = synth::Spec::parse(text).map_err(|e| e.within("sim.launches"))?;
    let of_seed = |seed: &u64| {
        let steps = spec.steps(*seed);
        let apps = (0..steps.iter().map(|s| s.rank + 1).max().unwrap_or(0)).map(|rank| format!("app{}", rank + 1)).collect();
        let launch = |s: &synth::Step| Launch { at_ns: ns(s.at_s), app: s.rank as u16, foreground_ns: ns(s.foreground_s) };
        Sequence { launches: steps.iter().map(launch).collect(), apps }
    };
    Ok(seeds.iter().map(of_seed).collect())
}

/// Gets a scheme with its runs in the order of seeds, and the apps' names by id.
pub type Each<'a> = &'a mut dyn FnMut(&SimScheme, Vec<Outcome>, &[String]) -> Result<()>;

/// Run every scheme with every seed, from `first_seed` on, on `jobs` threads; `each` gets a scheme's runs, in the order of seeds, and
/// may keep them: a large one has some hundred thousand rows. `progress` hears of schemes done and schemes in all.
pub fn play(sim: &Sim, first_seed: u64, jobs: usize, progress: Progress, each: Each) -> Result<()> {
    sim.check("experiment")?;
    let seeds: Vec<u64> = (first_seed..first_seed + sim.seeds).collect();
    let sequences = sequences(&sim.launches, &seeds)?;
    for sequence in &sequences {
        sim.apps.describe(sequence.launches.iter().map(|launch| sequence.apps[usize::from(launch.app)].as_str()))?;
    }
    // Runs of a generator differ in how many apps they launch; the longest list names them all.
    let apps = sequences.iter().map(|one| &one.apps).max_by_key(|apps| apps.len()).cloned().unwrap_or_default();
    let pool = crate::threads::pool(jobs, seeds.len())?;
    for (done, scheme) in sim.schemes.iter().enumerate() {
        if !progress(done as u64, sim.schemes.len() as u64) {
            return Err(BadInput::Interrupted { place: format!("sim: scheme '{}'", scheme.name) });
        }
        let one = |(seed, of): (&u64, &Sequence)| run::run(sim, scheme, of, *seed);
        let runs = pool.install(|| seeds.par_iter().zip(&sequences).map(one).collect::<Result<Vec<_>>>())?;
        each(scheme, runs, &apps)?;
    }
    Ok(())
}

/// The document of `swaplab sim --json`; with `folder`, all rows besides, as CSV tables in it.
pub fn simulate(sim: &Sim, first_seed: u64, jobs: usize, progress: Progress, folder: Option<&std::path::Path>) -> Result<Value> {
    let mut rows = Vec::new();
    let mut tables = folder.map(tables::Tables::create).transpose()?;
    let generated = !std::path::Path::new(&sim.launches).is_file();
    play(sim, first_seed, jobs, progress, &mut |scheme, runs, apps| {
        let mut row = outcome::document(scheme, &runs, generated);
        views::add(&mut row, &runs, apps, &sim.phone);
        rows.push(row);
        tables.as_mut().map_or(Ok(()), |tables| tables.write(scheme, &runs, apps))
    })?;
    tables.map_or(Ok(()), tables::Tables::finish)?;
    Ok(json!({
        "schema": 1, "kind": "simulated", "experiment": {"seed": first_seed, "sim": sim},
        // READING 004: independent draws are A2S' own assumption.
        "premise_built": generated, "schemes": rows,
    }))
}
