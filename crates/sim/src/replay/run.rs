//! Replays many points in one pass: every point replays a decoded block while the block is in the
//! processor's cache. Points are independent of each other, so the number of threads does not
//! change a result.

use super::bound::{self, Place};
use super::engine::{Counts, Engine, Times};
use super::resolve::{Resolved, Resolver};
use super::signal::Delivery;
use super::swap::{SwapSide, SwapSpec};
use rayon::prelude::*;
use std::sync::Arc;
use swaplab_experiment::document::GaugeSample;
use swaplab_experiment::{FirstTouch, Mapping};
use swaplab_policy::{AnyPolicy, Bound, Costs, PolicySpec, Setup, BOUNDS};
use swaplab_trace::source::Progress;
use swaplab_trace::{Block, Trace};
use swaplab_vocab::{BadInput, Class, Memory, Result, PAGE_SIZE};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub mapping: Mapping,
    /// Number of threads; 0: one per core.
    pub jobs: usize,
}

/// The subject of a point.
#[derive(Clone)]
pub enum Subject {
    Policy(PolicySpec),
    /// A lower bound of the I/O time of all policies.
    Bound(Bound),
}

impl Subject {
    fn policy(&self) -> Option<&PolicySpec> {
        match self {
            Subject::Policy(policy) => Some(policy),
            Subject::Bound(_) => None,
        }
    }
}

/// A policy, or the lower bound of all policies, at a memory size, with or without a swap scheme.
#[derive(Clone)]
pub struct PointSpec {
    pub subject: Subject,
    pub memory: Memory,
    pub swap: Option<SwapSpec>,
    /// Costs of moving a page. Policies that weigh costs are given them. With a scheme, the swap
    /// costs are those of its medium, but the times of the result are those of its transfers.
    pub costs: Costs,
    pub first_touch: FirstTouch,
    pub delivery: Delivery,
    pub seed: u64,
}

/// The result of one point.
pub struct PointResult {
    pub frames: u64,
    pub counts: Counts,
    pub times: Times,
    /// The swap scheme at the end of the trace, if any.
    pub swap: Option<Box<SwapSide>>,
    /// Whether there are fewer frames than the trace's filter allows. Such a result is not valid.
    pub filter_limited: bool,
    /// Number of pages that the policy scanned; `None` for a bound.
    pub scanned: Option<u64>,
    /// Names of the policy's own figures, and their values over time.
    pub gauges: Vec<&'static str>,
    pub series: Vec<GaugeSample>,
}

struct Point {
    /// The policy's spec, as the place of errors.
    name: String,
    costs: Costs,
    /// Whether the point has a swap scheme.
    swaps: bool,
    frames: u64,
    policy: AnyPolicy,
    engine: Engine,
    series: Vec<GaugeSample>,
    failed: Option<String>,
}

/// The approximate number of samples of gauges in a result.
const SAMPLES: usize = 64;

/// Replay `trace` at every point. `progress` is called with the number of blocks done and of all
/// blocks.
pub fn replay(trace: &Trace, specs: &[PointSpec], options: &Options, progress: Progress) -> Result<Vec<PointResult>> {
    trace.require_references()?;
    let table = trace.page_table()?;
    for spec in specs {
        spec.check(trace)?;
    }
    let policies = specs.iter().filter_map(|spec| spec.subject.policy().map(|policy| (spec, policy)));
    let future = match policies.clone().any(|(_, policy)| policy.entry.info.offline) {
        true => Some(swaplab_trace::export::next_uses(trace)?.into()),
        false => None,
    };
    let mut points = policies.map(|(spec, policy)| Point::new(trace, spec, policy, &table.classes, &future)).collect::<Result<Vec<_>>>()?;
    // One task more than there are points: it reads the next block.
    let pool = crate::threads::pool(options.jobs, points.len() + 1)?;
    let mut resolver = Resolver::new(table, options.mapping);
    let mut read = |number: usize, block: &mut Block, out: &mut Resolved| -> Result<()> {
        trace.read_block(number, block)?;
        resolver.resolve(block, out);
        Ok(())
    };
    let (mut block, mut current, mut next) = (Block::default(), Resolved::default(), Resolved::default());
    let blocks = if points.is_empty() { 0 } else { trace.blocks() };
    if blocks > 0 {
        read(0, &mut block, &mut current)?;
    }
    for number in 0..blocks {
        trace.report_block(number, progress)?;
        let sample = number % blocks.div_ceil(SAMPLES) == 0;
        let step = |point: &mut Point| point.advance(&current, sample);
        let ahead = if pool.current_num_threads() > 1 {
            let read_next = || if number + 1 < blocks { read(number + 1, &mut block, &mut next) } else { Ok(()) };
            pool.install(|| rayon::join(read_next, || points.par_iter_mut().for_each(step))).0
        } else {
            points.iter_mut().for_each(step);
            if number + 1 < blocks {
                read(number + 1, &mut block, &mut next)
            } else {
                Ok(())
            }
        };
        ahead?;
        if let Some(point) = points.iter().find(|p| p.failed.is_some()) {
            let expected = match point.swaps {
                _ if point.policy.as_dyn().failure().is_some() => "a policy that keeps its contract (docs/how-to/policy-author.md)",
                true => "a larger swap area, or no limit: a replay has no killer to run when swap is full",
                false => "a policy that releases a page when a frame is needed",
            };
            return Err(BadInput::new(&point.name, point.failed.clone().unwrap_or_default(), expected));
        }
        std::mem::swap(&mut current, &mut next);
    }
    let mut bounds = bounds(trace, specs, options, progress)?.into_iter();
    let mut points = points.into_iter();
    let outcome = |spec: &PointSpec| match spec.subject {
        Subject::Bound(_) => bounds.next().expect("a bound for each of its points"),
        Subject::Policy(_) => points.next().expect("a point for each policy").outcome(trace),
    };
    Ok(specs.iter().map(outcome).collect())
}

/// The results of all points whose subject is a bound, in their order.
fn bounds(trace: &Trace, specs: &[PointSpec], options: &Options, progress: Progress) -> Result<Vec<PointResult>> {
    let mut outcomes = Vec::new();
    for bound in BOUNDS.iter().map(|entry| entry.info) {
        let least = match bound {
            Bound::OptCost => bound::opt_cost,
        };
        let points = specs.iter().enumerate().filter(|(_, spec)| matches!(spec.subject, Subject::Bound(shown) if shown == bound));
        let place = |spec: &PointSpec| Ok(Place { frames: spec.frames(trace)?, first_touch: spec.first_touch, costs: spec.costs });
        let places = points.clone().map(|(_, spec)| place(spec)).collect::<Result<Vec<_>>>()?;
        let counts = least(trace, options.mapping, &places, progress)?;
        for (((at, _), place), counts) in points.zip(&places).zip(counts) {
            outcomes.push((at, PointResult::new(trace, place.frames, counts, counts.times(&place.costs))));
        }
    }
    outcomes.sort_by_key(|(at, _)| *at);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

impl PointSpec {
    /// The number of frames of its memory, at most one for each page of the trace.
    fn frames(&self, trace: &Trace) -> Result<u64> {
        let footprint = trace.pages() as u64;
        Ok(self.memory.pages(trace.page_size, footprint).map_err(|e| e.within("machine.dram"))?.min(footprint))
    }

    fn check(&self, trace: &Trace) -> Result<()> {
        let offline = self.subject.policy().filter(|policy| policy.entry.info.offline);
        if let Some(policy) = offline.filter(|_| self.delivery != Delivery::Exact) {
            let expected = format!("exact, for {}, which counts references", policy.text);
            return Err(BadInput::new("run.replay.signal", "a signal that hides hits", expected));
        }
        if let Some(swap) = self.swap.as_ref().filter(|_| trace.page_size != PAGE_SIZE) {
            let found = format!("pages of {} bytes", trace.page_size);
            return Err(BadInput::new(&swap.scheme.text, found, format!("a trace of {PAGE_SIZE}-byte pages, which the schemes move")));
        }
        self.frames(trace).map(drop)
    }
}

impl Point {
    fn new(trace: &Trace, spec: &PointSpec, policy: &PolicySpec, classes: &[Class], future: &Option<Arc<[u32]>>) -> Result<Point> {
        let (pages, frames) = (classes.len(), spec.frames(trace)?);
        let future = future.clone().filter(|_| policy.entry.info.offline);
        let setup = Setup { pages, frames: frames as usize, costs: spec.costs, seed: spec.seed, future };
        let (name, policy) = (policy.text.clone(), policy.build(&setup)?);
        let swap = match &spec.swap {
            Some(swap) => Some(Box::new(SwapSide::new(swap, &swaplab_swap::Setup::new(pages, frames as usize))?)),
            None => None,
        };
        let engine = Engine::new(classes, frames as usize, spec.first_touch, spec.delivery, swap)
            .map_err(|why| BadInput::new("run.replay.first_touch", why, "zero-fill, or a swap area for the whole footprint"))?;
        Ok(Point { name, costs: spec.costs, swaps: spec.swap.is_some(), frames, policy, engine, series: Vec::new(), failed: None })
    }

    fn advance(&mut self, block: &Resolved, sample: bool) {
        for (accesses, event) in block.steps() {
            let stuck = self.engine.run(&mut self.policy, accesses).err();
            if let Some(event) = event {
                self.engine.apply(&mut self.policy, event);
            }
            if let Some(why) = self.policy.as_dyn().failure().or(stuck) {
                self.failed.get_or_insert(why);
                return;
            }
        }
        if sample {
            let values: Vec<f64> = self.policy.as_dyn().gauges().into_iter().map(|(_, v)| v).collect();
            if !values.is_empty() {
                self.series.push(GaugeSample { reference: self.engine.counts().references, values });
            }
        }
    }

    fn outcome(self, trace: &Trace) -> PointResult {
        let (policy, counts) = (self.policy.as_dyn(), self.engine.counts());
        let mut times = counts.times(&self.costs);
        if let Some(swap) = &self.engine.swap {
            // The times of the scheme's transfers are those of its own devices.
            times.set_swap(swap.busy_ns());
        }
        PointResult {
            scanned: Some(policy.scanned()),
            gauges: policy.gauges().into_iter().map(|(name, _)| name).collect(),
            series: self.series,
            swap: self.engine.swap,
            ..PointResult::new(trace, self.frames, counts, times)
        }
    }
}

impl PointResult {
    /// The result of a point without a scheme's or a policy's own figures.
    fn new(trace: &Trace, frames: u64, counts: Counts, times: Times) -> PointResult {
        let filter_limited = frames < trace.meta.filter.valid_from_frames();
        PointResult { frames, counts, times, swap: None, filter_limited, scanned: None, gauges: Vec::new(), series: Vec::new() }
    }
}
