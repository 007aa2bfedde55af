//! The simulated phone: apps are launched, resumed and killed on a machine with frames, a page policy, a swap scheme and devices.
//! Discrete and deterministic: the same experiment gives the same bytes on any number of threads.

mod layout;
mod machine;
mod outcome;
mod reclaim;
pub mod record;
mod run;
pub mod spec;
#[cfg(test)]
mod tests;

pub use outcome::Outcome;
pub use spec::{Sim, SimScheme};

use rayon::prelude::*;
use serde_json::{json, Value};
use swaplab_trace::import::{open, Options};
use swaplab_trace::launches::{read, Launch};
use swaplab_trace::source::Progress;
use swaplab_trace::synth;
use swaplab_vocab::{BadInput, Result};

/// The launches that `text` names, with `seed` if it is a generator.
fn launches(text: &str, seed: u64) -> Result<Vec<Launch>> {
    let path = std::path::Path::new(text);
    if path.is_file() {
        let trace = open(path, &Options::default(), &mut |_, _| true)?;
        if trace.meta.launches == 0 {
            return Err(BadInput::new(text, "no launch in it", "a trace of launches"));
        }
        return read(&trace);
    }
    let ns = |s: f64| (s * 1e9).round() as u64;
    let spec = synth::Spec::parse(text).map_err(|e| e.within("sim.launches"))?;
    Ok(spec.steps(seed).iter().map(|s| Launch { at_ns: ns(s.at_s), app: s.rank as u16, foreground_ns: ns(s.foreground_s) }).collect())
}

/// Run every scheme with every seed, from `first_seed` on, on `jobs` threads; `each` gets a scheme's runs, in the order of seeds, and
/// may keep them: a large one has some hundred thousand rows. `progress` hears of schemes done and schemes in all.
pub fn play(sim: &Sim, first_seed: u64, jobs: usize, progress: Progress, each: &mut dyn FnMut(&SimScheme, Vec<Outcome>)) -> Result<()> {
    sim.check("experiment")?;
    let seeds: Vec<u64> = (first_seed..first_seed + sim.seeds).collect();
    let sequences = seeds.iter().map(|seed| launches(&sim.launches, *seed)).collect::<Result<Vec<_>>>()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| BadInput::new("--jobs", e.to_string(), "threads that this machine can start"))?;
    for (done, scheme) in sim.schemes.iter().enumerate() {
        if !progress(done as u64, sim.schemes.len() as u64) {
            return Err(BadInput::Interrupted { place: format!("sim: scheme '{}'", scheme.name) });
        }
        let one = |(seed, launches): (&u64, &Vec<Launch>)| run::run(sim, scheme, launches, *seed);
        let runs = pool.install(|| seeds.par_iter().zip(&sequences).map(one).collect::<Result<Vec<_>>>())?;
        each(scheme, runs);
    }
    Ok(())
}

/// The document of `swaplab sim --json`.
pub fn simulate(sim: &Sim, first_seed: u64, jobs: usize, progress: Progress) -> Result<Value> {
    let mut rows = Vec::new();
    play(sim, first_seed, jobs, progress, &mut |scheme, runs| rows.push(outcome::document(scheme, &runs)))?;
    let generated = !std::path::Path::new(&sim.launches).is_file();
    Ok(json!({
        "schema": 1, "kind": "simulated", "experiment": {"seed": first_seed, "sim": sim},
        // READING 004: independent draws are A2S' own assumption.
        "premise_built": generated, "schemes": rows,
    }))
}
