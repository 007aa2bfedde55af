//! The world `replay`: makes points from experiments and rows from their results. All designs and
//! experiments with the same trace and the same way of reading it are replayed in one pass over the
//! trace.

use super::plan::{FindPolicy, Plan};
use super::run::{replay, Options, PointResult};
use super::{mean, row};
use std::path::Path;
use swaplab_experiment::document::WorldResult;
use swaplab_experiment::{Experiment, Mapping, Reading};
use swaplab_trace::import;
use swaplab_trace::source::Progress;
use swaplab_vocab::Result;

/// Plans with the same trace and the same way of reading it.
struct Pass<'a> {
    trace: &'a str,
    reading: &'a Reading,
    mapping: Mapping,
    /// Positions in the list of plans.
    plans: Vec<usize>,
}

/// Replay every design of every experiment on `jobs` threads (0: one per core). The experiments
/// must have no varied keys. Rows are in the order of experiments and designs; the caller fills in
/// their `point`.
pub fn rows(experiments: &[Experiment], find_policy: FindPolicy, jobs: usize, progress: Progress) -> Result<WorldResult> {
    let designs = experiments.iter().flat_map(|experiment| experiment.design.iter().map(move |design| (experiment, design)));
    let plans = designs.map(|(experiment, design)| Plan::new(experiment, design, find_policy)).collect::<Result<Vec<_>>>()?;
    let mut result = WorldResult::default();
    let mut rows: Vec<_> = plans.iter().map(|_| None).collect();
    for pass in passes(&plans) {
        let trace = import::open(Path::new(pass.trace), &pass.reading.options()?, progress)?;
        let specs = pass.plans.iter().map(|at| plans[*at].specs(&trace)).collect::<Result<Vec<_>>>()?;
        let outcomes = replay(&trace, &specs.concat(), &Options { mapping: pass.mapping, jobs }, progress)?;
        let mut outcomes = outcomes.into_iter();
        for (at, specs) in pass.plans.iter().zip(&specs) {
            let plan = &plans[*at];
            let of_seeds: Vec<PointResult> = outcomes.by_ref().take(specs.len()).collect();
            plan.warning(&trace, &mut result.warnings);
            let of_seeds = specs.iter().zip(of_seeds).map(|(spec, outcome)| row::row(plan, &trace, spec, outcome));
            rows[*at] = Some(mean::over_seeds(of_seeds.collect()));
        }
    }
    result.rows = rows.into_iter().map(|row| row.expect("every plan is in a pass")).collect();
    Ok(result)
}

/// Group plans into passes, in the order of the first plan of each.
fn passes<'a>(plans: &[Plan<'a>]) -> Vec<Pass<'a>> {
    let mut passes: Vec<Pass> = Vec::new();
    for (at, plan) in plans.iter().enumerate() {
        let (workload, mapping) = (&plan.experiment.workload, plan.experiment.run.replay.mapping);
        let (trace, reading) = (workload.trace.as_deref().expect("an experiment without a trace is refused"), &workload.reading);
        let shares = |pass: &&mut Pass| pass.trace == trace && pass.reading == reading && pass.mapping == mapping;
        match passes.iter_mut().find(shares) {
            Some(pass) => pass.plans.push(at),
            None => passes.push(Pass { trace, reading, mapping, plans: vec![at] }),
        }
    }
    passes
}
