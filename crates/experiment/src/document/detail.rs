//! Details of a row that only one world has, for its own figures in the report.

use super::spread::Spread;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Details of a replayed trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayDetail {
    pub frames: u64,
    /// Whether there are fewer frames than the trace's filter requires.
    pub filter_limited: bool,
    /// Costs of a page operation in ns: swap read and write, file read and write.
    pub swap_read_ns: u64,
    pub swap_write_ns: u64,
    pub file_read_ns: u64,
    pub file_write_ns: u64,
    pub first_touch: String,
    /// Names of the policy's own figures, and samples of them over the trace.
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

/// Details of the simulated phone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhoneDetail {
    /// Whether the launches were drawn independently by popularity, which is A2S' own assumption.
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
    /// Large folios (mTHP), as means over the runs; null if the machine has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_folios: Option<LargeFolios>,
    /// Time in ms that all launches of a run waited in the queues of devices for requests of
    /// others, by sender: swap-out, journal, garbage-collection. Means over the runs. The table
    /// `queue_waits` has the owner of each page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_waits_ms: BTreeMap<String, f64>,
}

/// Large folios of anonymous memory: allocated, swapped out and swapped in as one, and how often
/// this failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LargeFolios {
    pub allocated: f64,
    /// First touches that got a single page, because memory was low.
    pub allocation_fallbacks: f64,
    pub swapped_out: f64,
    /// Folios that were split, because swap had no adjacent slots for them.
    pub swap_out_fallbacks: f64,
    pub swapped_in: f64,
    /// Swap-ins of a single page of a folio, because memory was low.
    pub swap_in_fallbacks: f64,
    /// Pages that were swapped in with another page and evicted again without having been used.
    pub unused_pages: f64,
}

/// Rates per day at the launch rate of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Daily {
    /// Kills by class of victim: cached, previous, service, foreground.
    pub kills: BTreeMap<String, f64>,
    pub flash_write_gib: f64,
    pub direct_reclaim_ms: f64,
    pub kswapd_cpu_s: f64,
    pub joules: f64,
    /// Share of the battery's energy; null if the machine has no battery.
    pub battery_share: Option<f64>,
}

/// An app; the last row is the system.
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

/// Quantiles 0, 0.01 .. 1. Null if there are no values. Entries above the share that ended within
/// the run are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cdf {
    pub cold_ms: Option<Vec<Option<f64>>>,
    pub resume_ms: Option<Vec<Option<f64>>>,
    pub entry_lifetime_s: Option<Vec<Option<f64>>>,
}

/// Lifetimes of swap entries in seconds: from the write to the end of the owner (A2S, Section 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// Quantiles of the lifetimes that ended within the run.
    pub p10: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub below: LifetimeShares,
    /// Share of entries whose owner lived to the end of the run.
    pub never: Option<f64>,
}

/// Share of swap entries whose owner ended within a number of seconds, by that number.
pub type LifetimeShares = BTreeMap<String, Option<f64>>;

/// Memory over time in MiB, with times in seconds. All columns have the same length.
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

/// Details of a real kernel, measured or virtual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelDetail {
    pub swap_size_bytes: u64,
    /// The scope of the PSI values: the control group or the machine.
    pub psi_scope: String,
    /// Whether other processes on the machine swapped during the run, so that machine-wide counts
    /// include theirs.
    pub others_swapping: bool,
    /// Number of pages with wrong content in the check at the end, and the number of apps checked.
    /// Wrong content is a bug of the kernel or of swaplab.
    pub bad_pages: u64,
    pub checked_apps: u64,
    /// Delays beyond three interquartile ranges. They are reported but not excluded.
    pub outliers_ms: Vec<f64>,
    /// Median delay of each app in ms.
    pub by_app_ms: BTreeMap<String, f64>,
    /// Memory of each live app at the end in bytes, by kind of memory (`smaps_rollup`).
    pub apps: BTreeMap<String, BTreeMap<String, u64>>,
    /// Kernel events counted, by name.
    pub events: BTreeMap<String, f64>,
    /// Throttling of a disk to the speed of a card: the requested and the achieved rates.
    pub throttle: BTreeMap<String, f64>,
    /// Kernel counters over the counted rounds (without warm-up), as means over repetitions.
    pub counters: BTreeMap<String, f64>,
    pub calibration: Option<Calibration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapped_reads: Option<MappedReads>,
}

/// Loads of apps from NVM that is mapped in place, counted outside the guest
/// (`run.vm.count_reads`). The run's times do not include their latency. Counts are means over
/// seeds of the rounds after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappedReads {
    /// Size of the direct-mapped cache of 64-byte lines that the loads go through.
    pub cache_bytes: u64,
    /// Price of a line that is not in the cache.
    pub line_ns: f64,
    pub loads: f64,
    pub misses: f64,
    /// Misses from the start of a visit to its record: of the launch, and of the app's work that
    /// follows.
    pub visit_misses: f64,
    /// The launch delays of the row, each with the price of its visit's misses.
    pub delay_ms: Option<Spread>,
}

/// Microbenchmarks of a configuration, and the accuracy of the visit times predicted from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// Costs by name in ns; null if a cost could not be measured.
    pub costs_ns: BTreeMap<String, Option<f64>>,
    /// Launch and switch time of each app without memory pressure, in ms.
    pub own_ms: BTreeMap<String, [f64; 2]>,
    /// Median error of the prediction in percent, by `launch` and `switch`, and the number of
    /// visits.
    pub errors: BTreeMap<String, Option<f64>>,
}

/// Details of a real program under the pager: its statistics as `exec --stats` writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryDetail {
    pub exit_code: Option<i64>,
    pub processes: u64,
    /// The pager's counters, summed over processes; of peaks, the maximum.
    pub stats: BTreeMap<String, f64>,
}

/// Start times of an app: their number, median and 95th percentile in ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartSpread {
    pub n: f64,
    pub p50: f64,
    pub p95: f64,
}
