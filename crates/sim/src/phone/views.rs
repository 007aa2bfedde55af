//! What pages and tables draw of a scheme's runs: figures by app, distributions, memory over time, and rates a day.

use super::outcome::{mean, number, Outcome};
use super::record::{LaunchRow, Sample};
use super::spec::Phone;
use serde_json::{json, Map, Value};
use swaplab_apps::{Start, CACHED, PREVIOUS, SERVICE};
use swaplab_vocab::PAGE_SIZE;

const DAY_S: f64 = 86_400.0;

/// Least `oom_score_adj` of each class of victims, and its name.
const CLASSES: [(u32, &str); 4] = [(CACHED, "cached"), (PREVIOUS, "previous"), (SERVICE, "service"), (0, "foreground")];

/// Add everything to the scheme's row of the document. `apps` are names by id.
pub fn add(row: &mut Value, runs: &[Outcome], apps: &[String], phone: &Phone) {
    row["a_day"] = a_day(runs, phone);
    row["apps"] = by_app(runs, apps);
    row["cdf"] = json!({
        "cold_ms": quantiles(times(runs, |l| l.start == Start::Cold)),
        "switch_ms": quantiles(times(runs, |l| l.start == Start::Resume)),
        "entry_lifetime_s": lifetimes(runs),
    });
    row["timeline"] = timeline(&runs[0], apps);
}

/// Milliseconds of the launches that are wanted, in order of size.
pub fn times(runs: &[Outcome], wanted: impl Fn(&LaunchRow) -> bool) -> Vec<f64> {
    let of = |run: &Outcome| -> Vec<f64> { run.record.launches.iter().filter(|l| wanted(l)).map(|l| l.ready_ns() as f64 / 1e6).collect() };
    let mut all: Vec<f64> = runs.iter().flat_map(of).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// The nearest-rank quantile of values in order of size.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// Quantiles 0, 0.01 .. 1; null of nothing.
fn quantiles(sorted: Vec<f64>) -> Value {
    if sorted.is_empty() {
        return Value::Null;
    }
    (0..=100).map(|percent| quantile(&sorted, f64::from(percent) / 100.0).map(short)).collect()
}

/// Enough digits for a drawing.
fn short(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Quantiles of all entries' lifetimes; null from the share on whose owners live to the end.
fn lifetimes(runs: &[Outcome]) -> Value {
    let entries = || runs.iter().flat_map(|run| &run.record.entries);
    let mut all: Vec<f64> = entries().map(|e| e.died_ns.map_or(f64::INFINITY, |died| (died - e.born_ns) as f64 / 1e9)).collect();
    all.sort_by(f64::total_cmp);
    quantiles(all)
}

/// Rates at the beat of these launches, as means over the runs.
fn a_day(runs: &[Outcome], phone: &Phone) -> Value {
    let days = |run: &Outcome| run.figures["seconds"].as_f64().unwrap_or(0.0).max(1e-9) / DAY_S;
    let class = |adjustment: u32| CLASSES.iter().position(|(least, _)| adjustment >= *least).unwrap_or(CLASSES.len() - 1);
    let kills: Map<String, Value> = CLASSES
        .iter()
        .enumerate()
        .map(|(at, (_, name))| {
            let rate = |run: &Outcome| run.record.kills.iter().filter(|k| class(k.adjustment) == at).count() as f64 / days(run);
            (name.to_string(), json!(mean(runs.iter().map(rate))))
        })
        .collect();
    let rate = |key: &str| mean(runs.iter().map(|run| run.figures[key].as_f64().unwrap_or(0.0) / days(run)));
    let joules = mean(runs.iter().map(|run| number(&run.energy, "total") / days(run)));
    json!({
        "kills": kills,
        "flash_write_gib": rate("flash_write_bytes") / f64::from(1 << 30),
        "direct_reclaim_ms": rate("direct_reclaim_ms"),
        "kswapd_cpu_s": rate("kswapd_cpu_s"),
        "joules": joules,
        // A watt-hour is 3600 J.
        "battery_share": joules / (phone.battery_wh * 3600.0),
    })
}

/// Of the runs of one experiment.
fn page_bytes(runs: &[Outcome]) -> u64 {
    runs.first().map_or(PAGE_SIZE, |run| run.record.page_bytes)
}

/// Each app that was launched, the most launched first, then system processes: counts and traffic as means over runs, times of all launches.
fn by_app(runs: &[Outcome], apps: &[String]) -> Value {
    let each = |count: u64| count as f64 / runs.len() as f64;
    let launches = |app: usize| runs.iter().flat_map(|run| &run.record.launches).filter(|l| usize::from(l.app) == app).count() as u64;
    let mut order: Vec<(u64, usize)> = (0..apps.len()).map(|app| (launches(app), app)).filter(|(n, _)| *n > 0).collect();
    order.sort_by_key(|(n, app)| (std::cmp::Reverse(*n), *app));
    let traffic = |row: &mut Value, app: Option<usize>| {
        let of = |run: &Outcome| {
            let all = &run.record.traffic;
            // A run that launches fewer apps than another has fewer rows; shared ranges and system processes are the last.
            app.map_or(all.last().copied(), |app| all[..all.len() - 1 - run.record.shared.len()].get(app).copied()).unwrap_or_default()
        };
        let bytes = |pages: u64| each(pages * page_bytes(runs));
        row["swap_out_bytes"] = json!(bytes(runs.iter().map(|r| of(r).swapped_out).sum()));
        row["swap_in_bytes"] = json!(bytes(runs.iter().map(|r| of(r).swapped_in).sum()));
        row["file_read_bytes"] = json!(bytes(runs.iter().map(|r| of(r).file_reads).sum()));
        row["direct_reads"] = json!(each(runs.iter().map(|r| of(r).direct_reads).sum()));
        row["rejected_pages"] = json!(each(runs.iter().map(|r| of(r).rejected).sum()));
    };
    let mut rows: Vec<Value> = order
        .into_iter()
        .map(|(count, app)| {
            let kills = runs.iter().flat_map(|run| &run.record.kills).filter(|k| usize::from(k.app) == app).count() as u64;
            let mut row = json!({"app": apps[app], "launches": each(count), "kills": each(kills)});
            for (key, start) in [("cold_ms", Start::Cold), ("switch_ms", Start::Resume)] {
                let times = times(runs, |l| usize::from(l.app) == app && l.start == start);
                let percentiles = || json!({"n": each(times.len() as u64), "p50": quantile(&times, 0.5), "p95": quantile(&times, 0.95)});
                row[key] = if times.is_empty() { Value::Null } else { percentiles() };
            }
            traffic(&mut row, Some(app));
            row
        })
        .collect();
    let mut system = json!({"app": "system", "launches": 0, "kills": 0, "cold_ms": null, "switch_ms": null});
    traffic(&mut system, None);
    rows.push(system);
    rows.into()
}

/// Memory over time and the kills of one run, in MiB and seconds.
fn timeline(run: &Outcome, apps: &[String]) -> Value {
    let mib = |pages: u64| (pages * run.record.page_bytes) as f64 / f64::from(1 << 20);
    let column = |of: &dyn Fn(&Sample) -> f64| -> Value { run.record.timeline.iter().map(of).collect() };
    let kill = |k: &super::record::Kill| {
        let at_s = k.at_ns as f64 / 1e9;
        json!({"at_s": at_s, "app": apps[usize::from(k.app)], "adjustment": k.adjustment, "reason": k.reason, "freed_mib": mib(k.frames)})
    };
    json!({
        "seed": run.seed,
        "at_s": column(&|s| s.at_ns as f64 / 1e9), "live": column(&|s| s.live as f64),
        "kernel_mib": column(&|s| mib(s.kernel)), "graphics_mib": column(&|s| mib(s.graphics)), "file_mib": column(&|s| mib(s.file)),
        "system_mib": column(&|s| mib(s.system_anon)), "apps_mib": column(&|s| mib(s.app_anon)),
        "pool_mib": column(&|s| s.pool_bytes as f64 / f64::from(1 << 20)), "free_mib": column(&|s| mib(s.free)),
        "swap_mib": column(&|s| mib(s.swap)),
        "kills": run.record.kills.iter().map(kill).collect::<Vec<_>>(),
    })
}
