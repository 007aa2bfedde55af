//! What only one world knows of a row, for its own figures in the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Of a replayed trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayDetail {
    pub frames: u64,
    /// Fewer frames than the trace's filter allows.
    pub filter_limited: bool,
    /// Costs of a page in ns: swap read and write, file read and write.
    pub swap_read_ns: u64,
    pub swap_write_ns: u64,
    pub file_read_ns: u64,
    pub file_write_ns: u64,
    pub first_touch: String,
    /// The policy's own figures over the trace: their names, and samples.
    pub gauges: Vec<String>,
    pub series: Vec<GaugeSample>,
    /// The scheme's own figures at the end.
    pub scheme_gauges: BTreeMap<String, f64>,
}

/// A policy's own figures at one reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GaugeSample {
    pub reference: u64,
    pub values: Vec<f64>,
}

/// Of the simulated phone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhoneDetail {
    /// The launches were drawn independently by popularity, which is A2S' own assumption.
    pub premise_built: bool,
    /// Whether memory was ever tight: reclaim ran or an app was killed.
    pub memory_was_tight: bool,
    pub daily: Daily,
    pub apps: Vec<AppRow>,
    pub cdf: Cdf,
    pub entry_lifetime_s: Lifetimes,
    /// Share of swap entries that were never read.
    pub wasted_write_ratio: Option<f64>,
    /// Memory over time of the first seed.
    pub timeline: Timeline,
    pub scheme_gauges: BTreeMap<String, f64>,
}

/// Rates a day at the beat of these launches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Daily {
    /// Kills by class of victim: cached, previous, service, foreground.
    pub kills: BTreeMap<String, f64>,
    pub flash_write_gib: f64,
    pub direct_reclaim_ms: f64,
    pub kswapd_cpu_s: f64,
    pub joules: f64,
    /// Share of the battery's energy; null where the machine has none.
    pub battery_share: Option<f64>,
}

/// One app, or the system at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppRow {
    pub app: String,
    pub launches: f64,
    pub kills: f64,
    pub cold_ms: Option<StartSpread>,
    pub resume_ms: Option<StartSpread>,
    pub swap_in_bytes: f64,
    pub swap_out_bytes: f64,
    pub file_read_bytes: f64,
    pub direct_reads: f64,
    pub rejected_pages: f64,
}

/// Quantiles 0, 0.01 .. 1; null of nothing, null entries from the share on that never ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cdf {
    pub cold_ms: Option<Vec<Option<f64>>>,
    pub resume_ms: Option<Vec<Option<f64>>>,
    pub entry_lifetime_s: Option<Vec<Option<f64>>>,
}

/// Lifetimes of swap entries: from the write to the death of their owner (A2S, Section 3), in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// Quantiles of those that ended.
    pub p10: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub below: LifetimeShares,
    /// Share whose owner lived to the end.
    pub never: Option<f64>,
}

/// Shares of swap entries whose owner died within so many seconds.
pub type LifetimeShares = BTreeMap<String, Option<f64>>;

/// Memory over time in MiB, times in seconds; columns of one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeline {
    pub seed: u64,
    pub at_s: Vec<f64>,
    pub live: Vec<f64>,
    pub kernel_mib: Vec<f64>,
    pub graphics_mib: Vec<f64>,
    pub file_mib: Vec<f64>,
    pub system_mib: Vec<f64>,
    pub apps_mib: Vec<f64>,
    pub pool_mib: Vec<f64>,
    pub free_mib: Vec<f64>,
    pub swap_mib: Vec<f64>,
    pub kills: Vec<TimelineKill>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineKill {
    pub at_s: f64,
    pub app: String,
    pub adjustment: u32,
    pub reason: String,
    pub freed_mib: f64,
}

/// Of a real kernel, measured or virtual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelDetail {
    pub swap_size_bytes: u64,
    /// Whose pressure PSI tells: the group's or the machine's.
    pub psi_scope: String,
    /// Others on the machine swapped meanwhile, so that machine-wide counts are not this run's alone.
    pub others_swapping: bool,
    /// Pages whose content was wrong, over how many apps that were checked at the end. Anything but 0 is a bug of the kernel or of ours.
    pub bad_pages: u64,
    pub checked_apps: u64,
    /// Delay outliers beyond three interquartile ranges, shown and never dropped.
    pub outliers_ms: Vec<f64>,
    /// Median delay of each app in ms.
    pub by_app_ms: BTreeMap<String, f64>,
    /// Bytes of each living app at the end, by kind of memory (`smaps_rollup`).
    pub apps: BTreeMap<String, BTreeMap<String, u64>>,
    /// Kernel events counted, by name.
    pub events: BTreeMap<String, f64>,
    /// What slowed a disk to a card's speed: rates asked for and reached.
    pub throttle: BTreeMap<String, f64>,
    /// Kernel counters over the counted rounds, as means over repetitions.
    pub counters: BTreeMap<String, f64>,
    pub calibration: Option<Calibration>,
}

/// Microbenchmarks of one configuration, and how well they predict its visits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// Costs by name in ns, null where one could not be measured.
    pub costs_ns: BTreeMap<String, Option<f64>>,
    /// Each app's own times in ms, without pressure: launch and switch.
    pub own_ms: BTreeMap<String, [f64; 2]>,
    /// Median error of the prediction in percent, by `launch` and `switch`, and visits that it is of.
    pub errors: BTreeMap<String, Option<f64>>,
}

/// Of a real program under the pager: its statistics as `exec --stats` writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryDetail {
    pub exit_code: Option<i64>,
    pub processes: u64,
    /// The pager's counters, summed over processes; peaks are the largest.
    pub stats: BTreeMap<String, f64>,
}

/// Of one app: how many, and the median and 95th percentile in ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartSpread {
    pub n: f64,
    pub p50: f64,
    pub p95: f64,
}
