//! Turns a design of an experiment into points of a replay.

use super::run::{PointSpec, Subject};
use super::signal::Delivery;
use super::swap::SwapSpec;
use crate::ledger::Prices;
use std::sync::Arc;
use swaplab_device::Device;
use swaplab_experiment::worlds::refusal;
use swaplab_experiment::{Design, Experiment, FirstTouch};
use swaplab_policy::{Costs, PolicySpec, BOUNDS};
use swaplab_swap::SchemeSpec;
use swaplab_trace::Trace;
use swaplab_vocab::{BadInput, Result, Spec, World};

/// Finds the policy of a spec, in the registry or in a file.
pub type FindPolicy<'a> = &'a dyn Fn(&Spec) -> Result<PolicySpec>;

/// A design of an experiment, with all checks that need no trace done.
pub struct Plan<'a> {
    pub experiment: &'a Experiment,
    pub design: &'a Design,
    /// The design's point, without the costs of pages, which depend on the trace, and with the
    /// first seed.
    spec: PointSpec,
    /// The device under the swap area: that of the scheme's medium, if there is a scheme.
    swap_device: Device,
    file_device: Device,
}

impl<'a> Plan<'a> {
    pub fn new(experiment: &'a Experiment, design: &'a Design, find_policy: FindPolicy) -> Result<Plan<'a>> {
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
        // Without a scheme, swap has the whole footprint when a trace begins; a scheme is empty
        // then.
        let default = if swap.is_some() { FirstTouch::ZeroFill } else { FirstTouch::Charged };
        let policy = machine.policy_of(design);
        let subject = match BOUNDS.has(&policy.key) {
            true => BOUNDS.resolve(&policy).map(|bound| Subject::Bound(bound.entry.info)),
            false => find_policy(&policy).map(Subject::Policy),
        };
        let spec = PointSpec {
            subject: subject.map_err(|e| e.within(&place))?,
            memory: machine.dram.as_ref().expect("an experiment without memory is refused").memory(),
            swap,
            costs: Costs { swap_read_ns: 0, swap_write_ns: 0, file_read_ns: 0, file_write_ns: 0 },
            first_touch: run.first_touch.unwrap_or(default),
            delivery: Delivery::parse(&run.signal)?,
            seed: experiment.run.seed,
        };
        let device = |key: &str, name: &str| swaplab_device::load(name).map_err(|e| e.within(key));
        let medium = spec.swap.as_ref().and_then(|swap| Some((swap, swap.scheme.entry.info.medium?)));
        let swap_device = match medium {
            Some((swap, medium)) => swap.prices.device(medium).clone(),
            None => device("run.replay.swap_device", run.swap_device())?,
        };
        Ok(Plan { experiment, design, spec, swap_device, file_device: device("machine.devices.flash", &machine.devices.flash)? })
    }

    /// The points of all seeds, with the costs of the pages of `trace`.
    pub fn specs(&self, trace: &Trace) -> Result<Vec<PointSpec>> {
        let (experiment, page) = (self.experiment, trace.page_size);
        let size = &experiment.machine.page_size;
        // 4 KiB is the default, so it is accepted for a trace with any page size.
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

    /// Add a warning if the design's memory is larger than the footprint, once for all designs with
    /// the same memory.
    pub fn warning(&self, trace: &Trace, warnings: &mut Vec<String>) {
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
