//! Figures that only the phone has of a design: by app, distributions, lifetimes in swap, memory
//! over time, and rates per day.

use super::finished_run::FinishedRun;
use super::launches::{sorted_ms, start_spread};
use super::quantiles::{mean, quantile, quantiles};
use super::timeline::timeline;
use crate::phone::machine::folios::FolioCounts;
use crate::phone::machine::record::Traffic;
use std::collections::BTreeMap;
use swaplab_apps::{Scores, Start};
use swaplab_experiment::document::{AppRow, Cdf, Daily, LargeFolios, Lifetimes, PhoneDetail};

const DAY_S: f64 = 86_400.0;
/// A watt-hour in joules.
const WATT_HOUR_J: f64 = 3600.0;
const GIB: f64 = (1u64 << 30) as f64;

/// The classes of victims.
const CLASSES: [&str; 4] = ["cached", "previous", "service", "foreground"];
/// Ages in seconds for which the shares of shorter-lived swap entries are given (A2S, Fig. 9).
const AGES_S: [u32; 4] = [60, 1000, 2000, 4000];

/// Compute the phone's figures of a design. `apps` are names by id; `independent`: launches were
/// drawn independently by popularity.
pub fn detail(runs: &[FinishedRun], apps: &[String], battery_wh: f64, independent: bool) -> PhoneDetail {
    let lifetimes_s = lifetimes_s(runs);
    PhoneDetail {
        premise_built: independent,
        memory_was_tight: runs.iter().any(|run| run.was_tight),
        daily: daily(runs, battery_wh),
        apps: by_app(runs, apps),
        cdf: Cdf {
            cold_ms: quantiles(&sorted_ms(runs, |l| l.start == Start::Cold)),
            resume_ms: quantiles(&sorted_ms(runs, |l| l.start == Start::Resume)),
            entry_lifetime_s: quantiles(&lifetimes_s),
        },
        entry_lifetime_s: lifetimes(&lifetimes_s),
        wasted_write_ratio: share(runs.iter().map(|run| run.stays.unread()).sum(), lifetimes_s.len()),
        timeline: timeline(&runs[0], apps),
        scheme_gauges: gauges(runs),
        large_folios: large_folios(runs),
        queue_waits_ms: queue_waits_ms(runs),
    }
}

/// The counts of large folios, as means over the runs.
fn large_folios(runs: &[FinishedRun]) -> Option<LargeFolios> {
    runs[0].folios?;
    let counted = |of: fn(&FolioCounts) -> u64| mean(runs.iter().map(|run| run.folios.as_ref().map_or(0, of) as f64));
    Some(LargeFolios {
        allocated: counted(|of| of.allocated),
        allocation_fallbacks: counted(|of| of.allocation_fallbacks),
        swapped_out: counted(|of| of.swapped_out),
        swap_out_fallbacks: counted(|of| of.swap_out_fallbacks),
        swapped_in: counted(|of| of.swapped_in),
        swap_in_fallbacks: counted(|of| of.swap_in_fallbacks),
        unused_pages: counted(|of| of.unused_pages),
    })
}

/// Waits of launches in queues by sender, as means over the runs.
fn queue_waits_ms(runs: &[FinishedRun]) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for (sender, ns) in runs.iter().flat_map(|run| &run.record.launches).flat_map(|launch| &launch.waits) {
        *sums.entry(sender.name().to_string()).or_insert(0.0) += *ns as f64 / 1e6 / runs.len() as f64;
    }
    sums
}

/// Lifetimes from each write to swap until the death of the page's owner, in ascending order;
/// infinite if the owner stays alive.
fn lifetimes_s(runs: &[FinishedRun]) -> Vec<f64> {
    const ALIVE: u64 = u64::MAX;
    let mut all_ns = Vec::with_capacity(runs.iter().map(|run| run.stays.len()).sum());
    let lifetime_ns = |born_ns: u64, died_ns: Option<u64>| died_ns.map_or(ALIVE, |died| died - born_ns);
    all_ns.extend(runs.iter().flat_map(|run| run.stays.iter()).map(|(stay, died_ns)| lifetime_ns(stay.born_ns, died_ns)));
    all_ns.sort_unstable();
    all_ns.into_iter().map(|ns| if ns == ALIVE { f64::INFINITY } else { ns as f64 / 1e9 }).collect()
}

/// The share that `n` swap entries are of `all`. `None` if there are none.
fn share(n: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| n as f64 / all as f64)
}

fn lifetimes(sorted: &[f64]) -> Lifetimes {
    let up_to = |age: f64| sorted.partition_point(|life| *life < age);
    let dead = &sorted[..up_to(f64::INFINITY)];
    let below = |age: u32| share(up_to(f64::from(age)), sorted.len());
    Lifetimes {
        p10: quantile(dead, 0.1),
        p50: quantile(dead, 0.5),
        p90: quantile(dead, 0.9),
        below: AGES_S.into_iter().map(|age| (age.to_string(), below(age))).collect(),
        never: share(sorted.len() - dead.len(), sorted.len()),
    }
}

/// Rates per day at the launch rate of the run, as means over the runs.
fn daily(runs: &[FinishedRun], battery_wh: f64) -> Daily {
    let days = |run: &FinishedRun| run.seconds().max(1e-9) / DAY_S;
    let rate = |of: &dyn Fn(&FinishedRun) -> Option<f64>| mean(runs.iter().map(|run| of(run).unwrap_or(0.0) / days(run)));
    let class = |scores: Scores, adjustment: u32| {
        let least = [scores.cached, scores.previous, scores.service];
        least.iter().position(|least| adjustment >= *least).unwrap_or(CLASSES.len() - 1)
    };
    let kills = |at: usize| {
        rate(&|run| Some(run.record.kills.iter().filter(|kill| class(run.record.scores, kill.adjustment) == at).count() as f64))
    };
    let joules = rate(&|run| run.energy.total_j);
    Daily {
        kills: CLASSES.iter().enumerate().map(|(at, name)| (name.to_string(), kills(at))).collect(),
        flash_write_gib: rate(&|run| run.paging.flash_write_bytes) / GIB,
        direct_reclaim_ms: rate(&|run| run.time.direct_reclaim_ns) / 1e6,
        kswapd_cpu_s: rate(&|run| run.time.kswapd_ns) / 1e9,
        joules,
        battery_share: (battery_wh > 0.0).then(|| joules / (battery_wh * WATT_HOUR_J)),
    }
}

/// A row for each app that was launched, the most launched first, then one for system processes.
/// Counts and traffic are means over the runs; times are of all launches.
fn by_app(runs: &[FinishedRun], apps: &[String]) -> Vec<AppRow> {
    let each = |count: u64| count as f64 / runs.len() as f64;
    let launches = |app: usize| runs.iter().flat_map(|run| &run.record.launches).filter(|l| usize::from(l.app) == app).count() as u64;
    let mut order: Vec<(u64, usize)> = (0..apps.len()).map(|app| (launches(app), app)).filter(|(n, _)| *n > 0).collect();
    order.sort_by_key(|(n, app)| (std::cmp::Reverse(*n), *app));
    let starts = |app: usize, start: Start| start_spread(&sorted_ms(runs, |l| usize::from(l.app) == app && l.start == start), runs.len());
    let of_app = |(count, app): (u64, usize)| AppRow {
        app: apps[app].clone(),
        launches: each(count),
        kills: each(runs.iter().flat_map(|run| &run.record.kills).filter(|k| usize::from(k.app) == app).count() as u64),
        cold_ms: starts(app, Start::Cold),
        resume_ms: starts(app, Start::Resume),
        ..with_traffic(runs, Some(app))
    };
    let system = AppRow { app: "system".into(), ..with_traffic(runs, None) };
    order.into_iter().map(of_app).chain([system]).collect()
}

/// A row with the traffic of an app, or of system processes (`None`).
fn with_traffic(runs: &[FinishedRun], app: Option<usize>) -> AppRow {
    let of = |run: &FinishedRun| -> Traffic {
        let all = &run.record.traffic;
        // A run that launches fewer apps than another has fewer rows. Shared ranges and system
        // processes are the last ones.
        app.map_or(all.last().copied(), |app| all[..all.len() - 1 - run.record.shared.len()].get(app).copied()).unwrap_or_default()
    };
    let pages = |of_traffic: &dyn Fn(&Traffic) -> u64| runs.iter().map(|run| of_traffic(&of(run))).sum::<u64>() as f64 / runs.len() as f64;
    let page_bytes = runs[0].record.page_bytes as f64;
    AppRow {
        swap_out_bytes: pages(&|t| t.swapped_out) * page_bytes,
        swap_in_bytes: pages(&|t| t.swapped_in) * page_bytes,
        file_read_bytes: pages(&|t| t.file_reads) * page_bytes,
        direct_reads: pages(&|t| t.direct_reads),
        rejected_pages: pages(&|t| t.rejected),
        ..AppRow::default()
    }
}

/// The swap scheme's own figures, as means over the runs.
fn gauges(runs: &[FinishedRun]) -> BTreeMap<String, f64> {
    let value = |name: &String| mean(runs.iter().map(|run| run.gauges.get(name).copied().unwrap_or(0.0)));
    runs.iter().flat_map(|run| run.gauges.keys()).map(|name| (name.clone(), value(name))).collect()
}
