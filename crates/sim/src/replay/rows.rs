//! The world `replay`: experiments into points, and what came out at them into rows. All designs and experiments that share a trace and
//! how it is read are replayed in one pass over it.

use super::run::{replay, Options, Outcome, PointSpec};
use super::signal::Delivery;
use super::swap::SwapSpec;
use super::{mean, row};
use crate::ledger::Prices;
use std::path::Path;
use std::sync::Arc;
use swaplab_device::Device;
use swaplab_experiment::document::WorldResult;
use swaplab_experiment::worlds::refusal;
use swaplab_experiment::{Design, Experiment, FirstTouch, Mapping, Reading};
use swaplab_policy::{Costs, PolicySpec};
use swaplab_swap::SchemeSpec;
use swaplab_trace::source::Progress;
use swaplab_trace::{import, Trace};
use swaplab_vocab::{BadInput, Result, Spec, World};

/// Finds the policy of a spec: one of the registry, or one in a file.
pub type FindPolicy<'a> = &'a dyn Fn(&Spec) -> Result<PolicySpec>;

/// A design of an experiment, checked as far as that needs no trace.
pub(super) struct Plan<'a> {
    pub experiment: &'a Experiment,
    pub design: &'a Design,
    /// The design's point, but for what pages cost, once for each seed.
    spec: PointSpec,
    swap_device: Device,
    file_device: Device,
}

/// Plans that share a trace and how it is read.
struct Pass<'a> {
    trace: &'a str,
    reading: &'a Reading,
    mapping: Mapping,
    /// Positions in the list of plans.
    plans: Vec<usize>,
}

/// Replay every design of every experiment, `jobs` threads at a time (0: one a core). Nothing may be varied in the experiments. Rows
/// come in the order of experiments and designs; who varies fills `point` in.
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
            let of_seeds: Vec<Outcome> = outcomes.by_ref().take(specs.len()).collect();
            plan.warning(&trace, &mut result.warnings);
            let of_seeds = specs.iter().zip(of_seeds).map(|(spec, outcome)| row::row(plan, &trace, spec, outcome));
            rows[*at] = Some(mean::over_seeds(of_seeds.collect()));
        }
    }
    result.rows = rows.into_iter().map(|row| row.expect("every plan is in a pass")).collect();
    Ok(result)
}

/// Plans by pass, in the order in which the traces are first named.
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

impl<'a> Plan<'a> {
    fn new(experiment: &'a Experiment, design: &'a Design, find_policy: FindPolicy) -> Result<Plan<'a>> {
        let place = format!("design '{}'", design.name);
        if let Some(reason) = refusal(World::Replay, experiment, design) {
            let (found, expected) = reason.split_once("; expected ").unwrap_or((&reason, "a design that replay runs"));
            return Err(BadInput::new(place, found, expected));
        }
        let (machine, run) = (&experiment.machine, &experiment.run.replay);
        let swap = match machine.scheme_of(design) {
            Some(spec) => Some(SwapSpec {
                scheme: SchemeSpec::of(&spec).map_err(|e| e.within(&place))?,
                prices: Arc::new(Prices::new(&machine.devices).map_err(|e| e.within("machine.devices"))?),
                seconds: run.length.as_ref().map(|length| length.seconds()),
            }),
            None => None,
        };
        // Swap that costs what a device says holds the whole footprint when a trace begins; a scheme starts empty.
        let default = if swap.is_some() { FirstTouch::ZeroFill } else { FirstTouch::Charged };
        let spec = PointSpec {
            policy: find_policy(&machine.policy_of(design)).map_err(|e| e.within(&place))?,
            memory: machine.dram.as_ref().expect("an experiment without memory is refused").memory(),
            swap,
            costs: Costs { swap_read_ns: 0, swap_write_ns: 0, file_read_ns: 0, file_write_ns: 0 },
            first_touch: run.first_touch.unwrap_or(default),
            delivery: Delivery::parse(&run.signal)?,
            seed: experiment.run.seed,
        };
        let device = |key: &str, name: &str| swaplab_device::load(name).map_err(|e| e.within(key));
        let swap_device = device("run.replay.swap_device", &run.swap_device)?;
        Ok(Plan { experiment, design, spec, swap_device, file_device: device("machine.devices.flash", &machine.devices.flash)? })
    }

    /// The point at each seed, its pages those of `trace`.
    fn specs(&self, trace: &Trace) -> Result<Vec<PointSpec>> {
        let (experiment, page) = (self.experiment, trace.page_size);
        let size = &experiment.machine.page_size;
        // 4 KiB is the default, and says nothing of a trace of other pages.
        if ![4096, page].contains(&size.bytes(0)) {
            return Err(BadInput::new("machine.page_size", size.text(), format!("{page} bytes, the size of the trace's pages")));
        }
        let (swap, file) = (&self.swap_device, &self.file_device);
        let costs = Costs {
            swap_read_ns: swap.read_time(page).0,
            swap_write_ns: swap.write_time(page).0,
            file_read_ns: file.read_time(page).0,
            file_write_ns: file.write_time(page).0,
        };
        let seeds = experiment.seeds(World::Replay);
        Ok((0..seeds).map(|seed| PointSpec { seed: experiment.run.seed + seed, costs, ..self.spec.clone() }).collect())
    }

    /// Add what a reader must know of this design's memory, once for all that share it.
    fn warning(&self, trace: &Trace, warnings: &mut Vec<String>) {
        let footprint = trace.pages() as u64;
        if let Ok(frames) = self.spec.memory.pages(trace.page_size, footprint) {
            let warning =
                format!("machine.dram = {} is more than the footprint of {footprint} pages: nothing is ever evicted", self.spec.memory);
            if frames > footprint && !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
}
