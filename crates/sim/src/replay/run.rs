//! Many points in one pass: each decoded block is shown to every point while it is in the processor's cache, on as many
//! threads as wished. Points know nothing of each other, so the number of threads can't change a result.

use super::bound::Intervals;
use super::engine::{Counts, Engine, FirstTouch, Times};
use super::resolve::{Resolved, Resolver};
use super::signal::Delivery;
use super::swap::{SwapSide, SwapSpec};
use rayon::prelude::*;
use serde::Serialize;
use swaplab_policy::{AnyPolicy, Costs, PolicySpec, Setup};
use swaplab_trace::source::Progress;
use swaplab_trace::{Block, Trace};
use swaplab_vocab::{BadInput, Class, Memory, Result, PAGE_SIZE};

/// What becomes of mapping events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// `unmap` and `discard` free pages.
    Follow,
    /// A plain list of references, as other simulators see it.
    Ignore,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub costs: Costs,
    pub first_touch: FirstTouch,
    pub mapping: Mapping,
    pub delivery: Delivery,
    pub seed: u64,
    /// Threads; 0 stands for as many as there are cores.
    pub jobs: usize,
}

/// A policy at a size, with or without a swap scheme.
#[derive(Clone)]
pub struct PointSpec {
    pub swap: Option<SwapSpec>,
    pub policy: PolicySpec,
    /// As written, and what it means.
    pub size: String,
    pub memory: Memory,
}

/// A policy's own figures at some point of the trace.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    pub reference: u64,
    pub values: Vec<f64>,
}

/// What came out at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub policy: String,
    /// The size as written.
    pub memory: String,
    pub memory_pages: u64,
    #[serde(flatten)]
    pub counts: Counts,
    #[serde(flatten)]
    pub times: Times,
    /// What the swap scheme did, if one was joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<serde_json::Value>,
    /// Fewer frames than the trace's filter allows: not to be trusted.
    pub filter_limited: bool,
    /// Pages a hand looked at, over all faults.
    pub scanned: u64,
    /// Names of the policy's own figures, and their values over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Sample>,
}

struct Point {
    spec: PointSpec,
    frames: u64,
    policy: AnyPolicy,
    engine: Engine,
    series: Vec<Sample>,
    failed: Option<String>,
}

/// About how many samples of gauges a result holds.
const SAMPLES: usize = 64;

/// Replay `trace` at every point. `progress` hears of blocks done and blocks in all.
pub fn replay(trace: &Trace, specs: &[PointSpec], options: &Options, progress: Progress) -> Result<Vec<Outcome>> {
    trace.require_references()?;
    let table = trace.page_table()?;
    let (bounds, policies): (Vec<&PointSpec>, Vec<&PointSpec>) = specs.iter().partition(|spec| spec.policy.is_bound());
    let mut points = policies.into_iter().map(|spec| point(trace, spec, &table.classes, options)).collect::<Result<Vec<_>>>()?;
    let bounded = bounds.into_iter().map(|spec| bound_frames(trace, spec, options)).collect::<Result<Vec<_>>>()?;
    let pool = crate::threads::pool(options.jobs, points.len() + 1)?; // and one that reads ahead
    let mut resolver = (options.mapping == Mapping::Follow).then(|| Resolver::new(table));
    let mut read = |number: usize, block: &mut Block, out: &mut Resolved| -> Result<()> {
        trace.read_block(number, block)?;
        match &mut resolver {
            Some(resolver) => resolver.resolve(table, block, out),
            None => {
                out.events.clear();
                std::mem::swap(&mut out.accesses, &mut block.accesses);
            }
        }
        Ok(())
    };
    let (mut block, mut current, mut next) = (Block::default(), Resolved::default(), Resolved::default());
    let blocks = if points.is_empty() { 0 } else { trace.blocks() };
    if blocks > 0 {
        read(0, &mut block, &mut current)?;
    }
    for number in 0..blocks {
        if !progress(number as u64, blocks as u64) {
            return Err(BadInput::Interrupted { place: format!("{}: block {number} of {blocks}", trace.place()) });
        }
        let sample = number % blocks.div_ceil(SAMPLES) == 0;
        let step = |point: &mut Point| point.advance(&current, sample);
        let ahead = if pool.current_num_threads() > 1 {
            let more = || if number + 1 < blocks { read(number + 1, &mut block, &mut next) } else { Ok(()) };
            pool.install(|| rayon::join(more, || points.par_iter_mut().for_each(step))).0
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
            let expected = match &point.spec.swap {
                _ if point.policy.as_dyn().failure().is_some() => "a policy that keeps its contract (docs/how-to/policy-author.md)",
                Some(_) => "a larger swap area, or no limit: a replay has no killer to run when swap is full",
                None => "a policy that gives a frame when it is asked for one",
            };
            return Err(BadInput::new(&point.spec.policy.text, point.failed.clone().unwrap_or_default(), expected));
        }
        std::mem::swap(&mut current, &mut next);
    }
    let mut bounds = if bounded.is_empty() { Vec::new() } else { least(trace, &bounded, options, progress)? }.into_iter();
    let mut points = points.into_iter();
    let outcome = |spec: &PointSpec| {
        if spec.policy.is_bound() {
            let (frames, counts) = bounds.next().expect("a bound for each of its points");
            Outcome::of(spec.clone(), trace, frames, counts, counts.times(&options.costs))
        } else {
            points.next().expect("a point for each policy").outcome(trace, &options.costs)
        }
    };
    Ok(specs.iter().map(outcome).collect())
}

/// The bound at each number of frames.
fn least(trace: &Trace, frames: &[u64], options: &Options, progress: Progress) -> Result<Vec<(u64, Counts)>> {
    let intervals = Intervals::read(trace, options, progress)?;
    Ok(frames.iter().map(|frames| (*frames, intervals.least(*frames as usize, &options.costs))).collect())
}

/// Frames of a point at which the bound is asked for, where it holds.
fn bound_frames(trace: &Trace, spec: &PointSpec, options: &Options) -> Result<u64> {
    if spec.swap.is_some() {
        let expected = "no --scheme: the bound holds for pages that each cost what the devices say";
        return Err(BadInput::new(&spec.policy.text, "a swap scheme", expected));
    }
    frames(trace, spec, options)
}

/// The size of a point in frames, if its policy can run there.
fn frames(trace: &Trace, spec: &PointSpec, options: &Options) -> Result<u64> {
    let footprint = trace.pages() as u64;
    let frames = spec.memory.pages(trace.page_size, footprint)?;
    if frames > footprint {
        return Err(BadInput::new("memory", format!("{frames} pages"), format!("at most the footprint of {} pages", footprint)));
    }
    if spec.policy.info.offline && options.delivery != Delivery::Exact {
        return Err(BadInput::new(
            "--signal",
            "hits that are not all seen",
            format!("exact, for {}, which counts references", spec.policy.text),
        ));
    }
    Ok(frames)
}

fn point(trace: &Trace, spec: &PointSpec, classes: &[Class], options: &Options) -> Result<Point> {
    let frames = frames(trace, spec, options)?;
    let future = if spec.policy.info.offline { Some(swaplab_trace::export::next_uses(trace)?.into()) } else { None };
    let setup = Setup { pages: classes.len(), frames: frames as usize, costs: options.costs, seed: options.seed, future };
    let policy = spec.policy.build(&setup)?;
    let swap = match &spec.swap {
        Some(swap) if trace.page_size != PAGE_SIZE => {
            let found = format!("pages of {} bytes", trace.page_size);
            return Err(BadInput::new(&swap.scheme.text, found, format!("a trace of {PAGE_SIZE}-byte pages, which the schemes move")));
        }
        Some(swap) => Some(Box::new(SwapSide::new(swap, classes.len(), frames as usize)?)),
        None => None,
    };
    let engine = Engine::new(classes, frames as usize, options.first_touch, options.delivery, swap)
        .map_err(|why| BadInput::new("--first-touch", why, "zero-fill, or a swap area for the whole footprint"))?;
    Ok(Point { spec: spec.clone(), frames, policy, engine, series: Vec::new(), failed: None })
}

impl Point {
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
                self.series.push(Sample { reference: self.engine.counts().references, values });
            }
        }
    }

    fn outcome(self, trace: &Trace, costs: &Costs) -> Outcome {
        let policy = self.policy.as_dyn();
        let mut times = self.engine.counts().times(costs);
        if let Some(swap) = &self.engine.swap {
            // The scheme's own devices price its transfers.
            times.set_swap(swap.busy_ns());
        }
        Outcome {
            scheme: self.engine.swap.as_ref().map(|s| s.document(self.frames, false)),
            scanned: policy.scanned(),
            gauges: policy.gauges().into_iter().map(|(name, _)| name).collect(),
            series: self.series,
            ..Outcome::of(self.spec, trace, self.frames, self.engine.counts(), times)
        }
    }
}

impl Outcome {
    /// What was counted at one point, without a scheme's or policy's own figures.
    fn of(spec: PointSpec, trace: &Trace, frames: u64, counts: Counts, times: Times) -> Outcome {
        Outcome {
            policy: spec.policy.text,
            memory: spec.size,
            memory_pages: frames,
            counts,
            times,
            scheme: None,
            filter_limited: frames < trace.meta.filter.valid_from_frames(),
            scanned: 0,
            gauges: Vec::new(),
            series: Vec::new(),
        }
    }
}
