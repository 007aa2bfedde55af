//! Figures of a run, and of a scheme's runs with several seeds together.

use super::interval::{of_mean, pooled};
use super::machine::Machine;
use super::record::{Entry, LaunchRow, Reason, Record};
use super::spec::SimScheme;
use super::views::quantile;
use serde_json::{json, Map, Value};
use swaplab_apps::Start;
use swaplab_swap::Medium;

/// One run: a scheme with a seed.
pub struct Outcome {
    pub seed: u64,
    pub record: Record,
    /// Counted over the run.
    pub figures: Map<String, Value>,
    /// What the swap scheme did, as in `replay --scheme`.
    pub swap: Value,
    /// Joules by part, and their total.
    pub energy: Value,
}

/// Upper bounds of Tolia's classes in ms (A2S, Section 5.4); the last has none.
const CLASSES: [(&str, f64); 5] =
    [("crisp", 150.0), ("noticeable", 1000.0), ("annoying", 2000.0), ("unacceptable", 5000.0), ("unusable", f64::INFINITY)];

impl Outcome {
    pub fn new(machine: Machine, seed: u64) -> Outcome {
        let (counts, frames) = (machine.counts, machine.frames as u64);
        let swap = machine.swap().document(frames, machine.pool_in_dram);
        let files = machine.files().document(machine.prices(), None, |_| 0);
        let launches = &machine.record.launches;
        let kills = |reason: Reason| machine.record.kills.iter().filter(|k| k.reason == reason).count();
        let rejected: u64 = machine.record.traffic.iter().map(|t| t.rejected).sum();
        let cold = launches.iter().filter(|l| l.start == Start::Cold).count() as u64;
        let refaults = counts.file_refaults + number(&swap, "copied_pages") as u64 + number(&swap, "direct_reads") as u64;
        let figures = json!({
            "launches": launches.len(), "cold_starts": cold, "resumes": launches.len() as u64 - cold,
            "kills": machine.record.kills.len(), "kills_memory": kills(Reason::LowMemory), "kills_oom": kills(Reason::OutOfMemory),
            "kills_limit": kills(Reason::CachedLimit),
            "swap_in_bytes": swap["swap_in_bytes"], "swap_out_bytes": swap["swap_out_bytes"], "copied_pages": swap["copied_pages"],
            "direct_reads": swap["direct_reads"], "refaults": refaults, "rejected_pages": rejected,
            "swap_full": counts.swap_full, "file_read_bytes": counts.file_reads * machine.prices().page_bytes(), "nvm_write_bytes": swap["nvm_write_bytes"],
            "flash_write_bytes": swap["flash_write_bytes"], "direct_reclaim_ms": counts.direct_reclaim_ns as f64 / 1e6,
            "kswapd_cpu_s": counts.background_ns as f64 / 1e9, "user_cpu_s": counts.user_ns as f64 / 1e9,
            "system_cpu_s": counts.system_ns as f64 / 1e9, "seconds": machine.now_ns as f64 / 1e9,
        });
        let cpu_ns = swaplab_vocab::Nanos(counts.user_ns + counts.system_ns);
        let cpu = machine.prices().processor().energy(cpu_ns).0 as f64 * 1e-12;
        let flash = machine.prices().device(Medium::Flash);
        let capacity = flash.spec.get("wear.capacity_bytes").unwrap_or(0.0) as u64;
        let at_rest = flash.idle_watts(capacity).map(|watts| watts * machine.now_ns as f64 * 1e-9);
        let energy = energy(&swap, &files, at_rest, machine.pool_in_dram, cpu);
        let Value::Object(figures) = figures else { unreachable!("an object is written above") };
        Outcome { seed, record: machine.record, figures, swap, energy }
    }
}

pub fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or(0.0)
}

/// Joules by medium of swap, of files, of the processor; a device that knows no energy has null and is left out of the total. A phone has
/// its flash and its DRAM whether it swaps there or not: rest is charged to a medium that is there for swap alone; the flash `at_rest` is a
/// part of every phone, and the phone's own DRAM of none.
fn energy(swap: &Value, files: &Value, at_rest: Option<f64>, pool_within: bool, cpu: f64) -> Value {
    let mut parts = Map::new();
    let moved = |row: &Value| row["energy_j"].is_object().then(|| number(&row["energy_j"], "read") + number(&row["energy_j"], "write"));
    for (name, row) in swap["costs"]["media"].as_object().into_iter().flatten() {
        let shared = name == Medium::Flash.name() || (pool_within && name == Medium::Pool.name());
        parts.insert(format!("swap_{name}"), if shared { json!(moved(row)) } else { row["energy_j"]["total"].clone() });
    }
    let flash = &files["media"][Medium::Flash.name()];
    parts.insert("files".into(), json!(at_rest.map(|_| number(&flash["energy_j"], "read"))));
    parts.insert("flash_idle".into(), json!(at_rest));
    parts.insert("cpu".into(), json!(cpu));
    let total: f64 = parts.values().filter_map(Value::as_f64).sum();
    parts.insert("total".into(), json!(total));
    Value::Object(parts)
}

/// Counts whose means over users the document says how sure they are.
const COUNTED: [&str; 7] = ["resumes", "cold_starts", "kills", "swap_in_bytes", "swap_out_bytes", "direct_reads", "flash_write_bytes"];

/// One scheme's runs as the document has them: figures are means over seeds, times and lifetimes are of all launches and entries.
/// `users`: each run is a user of its own, so that there is something to say of users at large.
pub fn document(scheme: &SimScheme, runs: &[Outcome], users: bool) -> Value {
    let mut row = json!({"name": scheme.name, "swap": scheme.swap, "app_policy": scheme.app_policy});
    if let Some(published) = &scheme.published {
        row["published"] = json!(published);
    }
    for key in runs[0].figures.keys() {
        row[key] = json!(mean(runs.iter().map(|run| run.figures[key].as_f64().unwrap_or(0.0))));
    }
    let by_user = |of: &dyn Fn(&LaunchRow) -> Option<u64>| -> Vec<Vec<f64>> {
        let ms = |run: &Outcome| run.record.launches.iter().filter_map(of).map(|ns| ns as f64 / 1e6).collect();
        runs.iter().map(ms).collect()
    };
    let of_start = |start: Start| by_user(&|l| (l.start == start).then_some(l.ready_ns()));
    let all = by_user(&|l| Some(l.ready_ns()));
    row["ux"] = classes(&all.concat(), runs.len());
    let stalls = by_user(&|l| Some(l.stalls.total_ns()));
    for (key, times) in
        [("launch_ms", all), ("cold_ms", of_start(Start::Cold)), ("switch_ms", of_start(Start::Resume)), ("stall_ms", stalls)]
    {
        row[key] = spread(&times, users);
    }
    let intervals = COUNTED.iter().map(|key| {
        let values: Vec<f64> = runs.iter().map(|run| run.figures[*key].as_f64().unwrap_or(0.0)).collect();
        (key.to_string(), json!(of_mean(&values).filter(|_| users)))
    });
    row["intervals"] = Value::Object(intervals.collect());
    // A run that used no device of a kind spent nothing on it; one that used a device of unknown energy leaves the mean unknown.
    let of_run = |run: &Outcome, key: &str| run.energy.get(key).map_or(Some(0.0), Value::as_f64);
    let joules = |key: &str| runs.iter().map(|run| of_run(run, key)).sum::<Option<f64>>().map(|sum| sum / runs.len() as f64);
    let parts = runs.iter().filter_map(|run| run.energy.as_object()).flat_map(|parts| parts.keys());
    row["energy_j"] = parts.map(|key| (key.clone(), json!(joules(key)))).collect();
    row["cpu_s"] = json!({"user": row["user_cpu_s"], "system": row["system_cpu_s"]});
    row["entry_lifetime_s"] = lifetimes(runs);
    row["wasted_write_ratio"] = ratio(runs, |entry| entry.reads == 0);
    row["memory"] = runs[0].swap["memory"].clone();
    row["seeds"] = runs
        .iter()
        .map(|run| {
            let mut one = run.figures.clone();
            one.insert("seed".into(), json!(run.seed));
            one.insert("launch_ms".into(), json!(mean(run.record.launches.iter().map(|l| l.ready_ns() as f64 / 1e6))));
            one.insert("energy_j".into(), run.energy["total"].clone());
            Value::Object(one)
        })
        .collect();
    row
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    sum / f64::from(n.max(1))
}

/// Mean and percentiles (nearest rank) of all values, with 95 % intervals clustered by user where runs are users; null where there is
/// nothing.
fn spread(by_user: &[Vec<f64>], users: bool) -> Value {
    let mut values = by_user.concat();
    if values.is_empty() {
        return Value::Null;
    }
    values.sort_by(f64::total_cmp);
    let [of_mean, of_p50, of_p95] = pooled(by_user).filter(|_| users).map_or([None; 3], |found| found.map(Some));
    json!({
        "mean": mean(values.iter().copied()), "p50": quantile(&values, 0.5), "p95": quantile(&values, 0.95),
        "mean_interval": of_mean, "p50_interval": of_p50, "p95_interval": of_p95,
    })
}

/// Launches in each class, as a mean over the runs.
fn classes(times: &[f64], runs: usize) -> Value {
    let mut counts = [0u64; 5];
    for time in times {
        counts[CLASSES.iter().position(|(_, upto)| time <= upto).unwrap_or(4)] += 1;
    }
    CLASSES.iter().zip(counts).map(|((name, _), n)| (name.to_string(), json!(n as f64 / runs as f64))).collect::<Map<_, _>>().into()
}

fn ratio(runs: &[Outcome], wanted: impl Fn(&Entry) -> bool) -> Value {
    let all = runs.iter().flat_map(|run| &run.record.entries);
    let (n, of) = all.fold((0u64, 0u64), |(n, of), entry| (n + u64::from(wanted(entry)), of + 1));
    if of == 0 {
        Value::Null
    } else {
        json!(n as f64 / of as f64)
    }
}

fn lifetimes(runs: &[Outcome]) -> Value {
    let lifetime = |entry: &Entry| entry.died_ns.map(|died| (died - entry.born_ns) as f64 / 1e9);
    let mut dead: Vec<f64> = runs.iter().flat_map(|run| &run.record.entries).filter_map(lifetime).collect();
    dead.sort_by(f64::total_cmp);
    let at = |share: f64| dead.get(((share * dead.len() as f64).ceil() as usize).max(1) - 1);
    let below: Map<String, Value> = ["60", "1000", "2000", "4000"]
        .into_iter()
        .map(|s| (s.to_string(), ratio(runs, |e| lifetime(e).is_some_and(|life| life < s.parse().unwrap_or(0.0)))))
        .collect();
    json!({"p10": at(0.1), "p50": at(0.5), "p90": at(0.9), "below": below, "never": ratio(runs, |e| e.died_ns.is_none())})
}
