//! Makes a row of the document from the outcome of a point.

use super::plan::Plan;
use super::run::{PointResult, PointSpec};
use super::swap::SwapSide;
use std::collections::BTreeMap;
use swaplab_experiment::document::{Energy, Kind, MediumUse, Memory, Paging, ReplayDetail, Row, Time};
use swaplab_trace::Trace;
use swaplab_vocab::World;

fn count(number: u64) -> Option<f64> {
    Some(number as f64)
}

/// Make the row of `plan` with the seed of `spec`.
pub fn row(plan: &Plan, trace: &Trace, spec: &PointSpec, outcome: PointResult) -> Row {
    let (design, page, swap) = (plan.design, trace.page_size, outcome.swap.as_deref());
    let media = swap.map(SwapSide::media).unwrap_or_default();
    let valid_from = trace.meta.filter.valid_from_frames();
    let invalid = || format!("page frames: {}; the filtered trace is valid from {valid_from} up", outcome.frames);
    Row {
        world: World::Replay.name().into(),
        kind: Kind::Simulated,
        design: design.name.clone(),
        policy: design.policy().to_string(),
        swap: design.swap().map(ToString::to_string),
        app_policy: design.app_policy().to_string(),
        killer: design.killer().map(ToString::to_string),
        machine: plan.experiment.machine.base.clone(),
        workload: plan.experiment.workload.trace.clone().unwrap_or_default(),
        point: BTreeMap::new(),
        seed: spec.seed,
        seeds: 1,
        memory: memory(swap, outcome.frames, page),
        paging: paging(&outcome, page),
        time: time(plan, &outcome),
        launches: None,
        display: None,
        energy: swap.map(|swap| energy(&media, swap.processor().1)),
        media,
        interval: BTreeMap::new(),
        by_seed: Vec::new(),
        invalid: outcome.filter_limited.then(invalid),
        replay: Some(ReplayDetail {
            frames: outcome.frames,
            filter_limited: outcome.filter_limited,
            swap_read_ns: spec.costs.swap_read_ns,
            swap_write_ns: spec.costs.swap_write_ns,
            file_read_ns: spec.costs.file_read_ns,
            file_write_ns: spec.costs.file_write_ns,
            first_touch: spec.first_touch.name().into(),
            scheme_gauges: swap.map(SwapSide::gauges).unwrap_or_default(),
            gauges: outcome.gauges.iter().map(ToString::to_string).collect(),
            series: outcome.series,
        }),
        phone: None,
        kernel: None,
        program: None,
    }
}

fn memory(swap: Option<&SwapSide>, frames: u64, page: u64) -> Memory {
    let dram = count(frames * page);
    let without_scheme = || Memory { dram_bytes: dram, pool_bytes: count(0), total_dram_bytes: dram, ..Memory::default() };
    swap.map_or_else(without_scheme, |swap| swap.memory(frames, false))
}

/// Page traffic. Without a scheme, each swap read or write moves one page.
fn paging(outcome: &PointResult, page: u64) -> Paging {
    let counts = &outcome.counts;
    let without_scheme = || Paging {
        swap_in_bytes: count(counts.swap_reads * page),
        swap_out_bytes: count(counts.swap_writes * page),
        copied_pages: count(counts.swap_reads),
        ..Paging::default()
    };
    Paging {
        references: count(counts.references),
        faults: count(counts.faults),
        swap_reads: count(counts.swap_reads),
        swap_writes: count(counts.swap_writes),
        file_reads: count(counts.file_reads),
        file_writes: count(counts.file_writes),
        file_read_bytes: count(counts.file_reads * page),
        file_write_bytes: count(counts.file_writes * page),
        scanned_pages: outcome.scanned.and_then(count),
        ..outcome.swap.as_deref().map_or_else(without_scheme, SwapSide::paging)
    }
}

fn time(plan: &Plan, outcome: &PointResult) -> Time {
    let times = &outcome.times;
    Time {
        io_ns: count(times.io_time_ns),
        swap_read_ns: count(times.swap_read_ns),
        swap_write_ns: count(times.swap_write_ns),
        file_read_ns: count(times.file_read_ns),
        file_write_ns: count(times.file_write_ns),
        cpu_swap_ns: outcome.swap.as_ref().and_then(|swap| count(swap.processor().0 .0)),
        wall_ns: plan.experiment.run.replay.length.as_ref().map(|length| length.seconds() * 1e9),
        ..Time::default()
    }
}

/// Energy in joules of swap by medium, and of the processor. A medium whose device has no energy
/// figures has null and is left out of the total.
fn energy(media: &BTreeMap<String, MediumUse>, cpu_j: f64) -> Energy {
    let of_medium = |used: &MediumUse| Some(used.read_j? + used.write_j? + used.background_j.unwrap_or(0.0));
    let mut parts_j: BTreeMap<String, Option<f64>> = media.iter().map(|(name, used)| (format!("swap_{name}"), of_medium(used))).collect();
    parts_j.insert("cpu".into(), Some(cpu_j));
    Energy { total_j: Some(parts_j.values().flatten().sum()), parts_j }
}
