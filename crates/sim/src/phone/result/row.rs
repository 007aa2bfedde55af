//! The document's row of a design's runs.

use super::detail::detail;
use super::finished_run::FinishedRun;
use super::interval::mean_interval;
use super::launches::figures;
use super::quantiles::{mean, quantile};
use crate::phone::spec::{Design, Phone, Spec};
use std::collections::{BTreeMap, BTreeSet};
use swaplab_apps::Start;
use swaplab_experiment::document::{
    DisplayFigures, Energy, Kind, LaunchFigures, MediumUse, Memory, Paging, PointValues, Row, SeedRow, Time, Wear,
};
use swaplab_experiment::{Experiment, Launches, Order};
use swaplab_vocab::World;

/// Paths of the figures whose means over users get an interval.
const COUNTED: [&str; 10] = [
    "launches.resumes",
    "launches.cold",
    "launches.kills",
    "display.janky_share",
    "paging.swap_in_bytes",
    "paging.swap_out_bytes",
    "paging.direct_reads",
    "paging.flash_write_bytes",
    "time.kswapd_ns",
    "energy.total_j",
];

/// Make the row of `design` from its `runs`, one per seed. Counts are means over them; delays and
/// lifetimes are of all launches and swap entries.
pub fn row(experiment: &Experiment, spec: &Spec, design: &Design, runs: &[FinishedRun], apps: &[String]) -> Row {
    let users = spec.sequences.are_users;
    let launches = figures(runs, users);
    let by_seed: Vec<SeedRow> = runs.iter().map(seed_row).collect();
    let written = &design.written;
    Row {
        world: World::Phone.name().into(),
        kind: Kind::Simulated,
        design: written.name.clone(),
        policy: written.policy().to_string(),
        swap: written.swap().map(ToString::to_string),
        app_policy: written.app_policy().to_string(),
        killer: written.killer().map(ToString::to_string),
        machine: experiment.machine.base.clone(),
        workload: workload(experiment, apps.len()),
        point: PointValues::new(),
        seed: spec.first_seed,
        seeds: runs.len() as u64,
        memory: Memory::mean(&runs.iter().map(|run| &run.memory).collect::<Vec<_>>()),
        paging: Paging::mean(&runs.iter().map(|run| &run.paging).collect::<Vec<_>>()),
        time: Time::mean(&runs.iter().map(|run| &run.time).collect::<Vec<_>>()),
        energy: Some(energy(runs)),
        media: media(runs),
        interval: intervals(&by_seed, &launches, users),
        by_seed: if runs.len() > 1 { by_seed } else { Vec::new() },
        launches: Some(launches),
        display: display(runs, &spec.phone),
        invalid: None,
        replay: None,
        phone: Some(detail(runs, apps, spec.phone.battery_wh, spec.sequences.independent)),
        kernel: None,
        program: None,
    }
}

/// The name of the launches in reports.
fn workload(experiment: &Experiment, apps: usize) -> String {
    match &experiment.workload.launches {
        Some(Launches::Named(text)) => text.clone(),
        Some(Launches::Table(table)) => match &table.order {
            Order::InTurn(_) => format!("{apps} apps in turn"),
            Order::Names(_) => format!("{apps} apps in a given order"),
            Order::Draw(draw) => format!("{apps} apps by popularity, alpha {}", draw.alpha),
        },
        None => String::new(),
    }
}

/// All figures of one seed by their paths in the row.
fn seed_row(run: &FinishedRun) -> SeedRow {
    let mut delays: Vec<f64> = run.record.launches.iter().map(|l| l.ready_ns() as f64 / 1e6).collect();
    delays.sort_by(f64::total_cmp);
    let mut figures = BTreeMap::from(
        [
            ("count", run.record.launches.len() as f64),
            ("cold", run.starts(Start::Cold) as f64),
            ("resumes", run.starts(Start::Resume) as f64),
            ("kills", run.record.kills.len() as f64),
            ("delay_ms.mean", mean(delays.iter().copied())),
            ("delay_ms.p50", quantile(&delays, 0.5).unwrap_or(0.0)),
            ("delay_ms.p95", quantile(&delays, 0.95).unwrap_or(0.0)),
        ]
        .map(|(key, value)| (format!("launches.{key}"), value)),
    );
    for (key, start) in [("cold_ms", Start::Cold), ("resume_ms", Start::Resume)] {
        let of_kind = run.record.launches.iter().filter(|launch| launch.start == start).map(|launch| launch.ready_ns() as f64 / 1e6);
        if run.starts(start) > 0 {
            figures.insert(format!("launches.{key}.mean"), mean(of_kind));
        }
    }
    for (group, values) in [("memory", run.memory.figures()), ("paging", run.paging.figures()), ("time", run.time.figures())] {
        figures.extend(values.into_iter().map(|(key, value)| (format!("{group}.{key}"), value)));
    }
    figures.extend(run.janky_share().map(|share| ("display.janky_share".into(), share)));
    figures.extend(run.energy.total_j.map(|joules| ("energy.total_j".into(), joules)));
    SeedRow { seed: run.seed, figures }
}

/// The frames of the display, as means over the runs. `None` if the machine's display has no rate.
fn display(runs: &[FinishedRun], phone: &Phone) -> Option<DisplayFigures> {
    let counted = |of: &dyn Fn(&FinishedRun) -> u64| mean(runs.iter().map(|run| of(run) as f64));
    (phone.display.period_ns > 0).then(|| DisplayFigures {
        frames: counted(&|run| run.display.drawn),
        janky_frames: counted(&|run| run.display.janky),
        frozen_frames: counted(&|run| run.display.frozen),
        janky_share: mean_of(runs.iter().map(FinishedRun::janky_share)),
    })
}

/// Intervals over users, by the path of the figure. Empty if runs are not users.
fn intervals(by_seed: &[SeedRow], launches: &LaunchFigures, users: bool) -> BTreeMap<String, [f64; 2]> {
    if !users {
        return BTreeMap::new();
    }
    let counted = COUNTED.iter().filter_map(|key| {
        let values: Option<Vec<f64>> = by_seed.iter().map(|seed| seed.figures.get(*key).copied()).collect();
        Some((key.to_string(), mean_interval(&values?)?))
    });
    let spreads = [
        ("delay_ms", &launches.delay_ms),
        ("cold_ms", &launches.cold_ms),
        ("resume_ms", &launches.resume_ms),
        ("stall_ms", &launches.stall_ms),
    ];
    let of_spreads = spreads.into_iter().filter_map(|(key, spread)| Some((key, spread.as_ref()?))).flat_map(|(key, spread)| {
        [("mean", spread.mean_interval), ("p50", spread.p50_interval), ("p95", spread.p95_interval)]
            .into_iter()
            .filter_map(move |(name, interval)| Some((format!("launches.{key}.{name}"), interval?)))
    });
    counted.chain(of_spreads).collect()
}

/// Energy as means over the runs. A run that did not use a device spent 0 J on it. A device of
/// unknown energy makes the mean unknown.
fn energy(runs: &[FinishedRun]) -> Energy {
    let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.energy.parts_j.keys()).collect();
    let part = |key: &String| mean_of(runs.iter().map(|run| run.energy.parts_j.get(key).copied().unwrap_or(Some(0.0))));
    Energy {
        total_j: mean_of(runs.iter().map(|run| run.energy.total_j)),
        parts_j: keys.into_iter().map(|key| (key.clone(), part(key))).collect(),
    }
}

/// The mean of the values; `None` if one of them is unknown.
fn mean_of(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let n = values.len() as f64;
    values.sum::<Option<f64>>().map(|sum| sum / n)
}

fn media(runs: &[FinishedRun]) -> BTreeMap<String, MediumUse> {
    let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.media.keys()).collect();
    keys.into_iter().map(|key| (key.clone(), medium(runs, key))).collect()
}

/// The use of one medium, as means over the runs. A run that did not use it counts as 0.
fn medium(runs: &[FinishedRun], key: &str) -> MediumUse {
    let used = || runs.iter().filter_map(|run| run.media.get(key));
    let amount = |of: fn(&MediumUse) -> f64| used().map(of).sum::<f64>() / runs.len() as f64;
    let joules = |of: fn(&MediumUse) -> Option<f64>| mean_of(runs.iter().map(|run| run.media.get(key).map_or(Some(0.0), of)));
    let wear = used().find_map(|medium| medium.wear.clone()).map(|rated| {
        let mean = |of: fn(&Wear) -> f64| used().filter_map(|medium| medium.wear.as_ref()).map(of).sum::<f64>() / runs.len() as f64;
        let cycles_per_day = rated.cycles_per_day.map(|_| mean(|wear| wear.cycles_per_day.unwrap_or(0.0)));
        let years_to_endurance = cycles_per_day.filter(|daily| *daily > 0.0).map(|daily| rated.endurance_cycles / daily / 365.25);
        Wear { cycles: mean(|wear| wear.cycles), cycles_per_day, years_to_endurance, ..rated }
    });
    MediumUse {
        device: used().next().map(|medium| medium.device.clone()).unwrap_or_default(),
        reads: amount(|m| m.reads),
        writes: amount(|m| m.writes),
        read_bytes: amount(|m| m.read_bytes),
        write_bytes: amount(|m| m.write_bytes),
        busy_ns: amount(|m| m.busy_ns),
        read_j: joules(|m| m.read_j),
        write_j: joules(|m| m.write_j),
        background_j: joules(|m| m.background_j),
        wear,
    }
}
