//! Counts of every policy and scheme on a captured trace equal those stored in `tests/golden`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use swaplab_experiment::document::Row;
use swaplab_experiment::Experiment;
use swaplab_policy::PolicySpec;
use swaplab_sim::replay::rows;

#[derive(Deserialize)]
struct Golden {
    policy: String,
    swap: Option<String>,
    frames: u64,
    io_ns: f64,
    paging: BTreeMap<String, f64>,
    total_dram_bytes: Option<f64>,
    cpu_swap_ns: Option<f64>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    texts.for_each(|text| {
        if !distinct.contains(&text) {
            distinct.push(text)
        }
    });
    distinct.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ")
}

fn stored(name: &str) -> Vec<Golden> {
    serde_json::from_str(&std::fs::read_to_string(root().join(format!("tests/golden/{name}.json"))).unwrap()).unwrap()
}

/// Replay a trace at 10 % of its footprint in one experiment. `swap`: a line of the design.
fn replay(trace: &str, policies: &str, swap: &str, signal: &str) -> Vec<Row> {
    let trace = root().join("data/traces").join(trace).canonicalize().unwrap();
    let text = format!(
        "[machine]\ndram = '10%'\n[[design]]\npolicy = [{policies}]\n{swap}\n[workload]\ntrace = '{}'\n[run]\nreplay = {{ signal = '{signal}' }}",
        trace.display()
    );
    let experiment = Experiment::parse("golden.toml", &text, &[]).unwrap();
    rows(&[experiment], &PolicySpec::of, 0, &mut |_, _| true).unwrap().rows
}

/// Replay the points of `tests/golden/NAME.json` on `trace` and compare their counts.
fn check(name: &str, trace: &str, signal: &str) {
    let golden = stored(name);
    let policies = list(golden.iter().map(|point| point.policy.as_str()));
    let swap = list(golden.iter().filter_map(|point| point.swap.as_deref()));
    let swap = if swap.is_empty() { String::new() } else { format!("swap = [{swap}]") };
    let computed = replay(trace, &policies, &swap, signal);
    assert!(!golden.is_empty() && computed.len() == golden.len(), "{} rows of {} points", computed.len(), golden.len());
    golden.iter().for_each(|golden| compare(golden, &computed));
}

fn faults(row: &Row) -> f64 {
    row.paging.figures().into_iter().find(|(name, _)| *name == "faults").unwrap().1
}

/// A reclaimer by the rules of Linux 6.12 returns after each batch that it scanned in vain.
#[test]
fn policies_that_return_in_vain_replay_a_trace() {
    let lru = stored("replay-djpeg").iter().find(|point| point.policy == "lru").unwrap().paging["faults"];
    let rows = replay("djpeg.slt", "'active-inactive:kernel=6.12', 'mglru', 'mglru:walks=off'", "", "reference-bit:500");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert!((0.8..1.6).contains(&(faults(&row) / lru)), "{}: {} faults, LRU {lru}", row.design, faults(&row));
    }
}

fn compare(golden: &Golden, rows: &[Row]) {
    let row = rows.iter().find(|row| row.policy == golden.policy && row.swap == golden.swap).expect("a row for each point");
    let design = &row.design;
    let figures: BTreeMap<String, f64> = row.paging.figures().into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    for (name, value) in &golden.paging {
        assert_eq!(figures.get(name), Some(value), "{design}: {name}");
    }
    assert!(figures["faults"] > 0.0, "{design}: no page fault");
    assert_eq!((row.time.io_ns, row.replay.as_ref().unwrap().frames), (Some(golden.io_ns), golden.frames), "{design}");
    assert_eq!(row.time.cpu_swap_ns, golden.cpu_swap_ns, "{design}");
    if let Some(bytes) = golden.total_dram_bytes {
        assert_eq!(row.memory.total_dram_bytes, Some(bytes), "{design}");
    }
}

#[test]
fn every_policy() {
    check("replay-djpeg", "djpeg.slt", "exact");
}

#[test]
fn every_scheme() {
    check("schemes-djpeg", "djpeg.slt", "exact");
}

#[test]
fn policies_with_a_fault_only_signal() {
    check("signal-node", "node.slt", "fault-only");
}
