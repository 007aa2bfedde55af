//! A row: the figures of a design in a world at a point under a workload. Counts over several seeds
//! are means.

use super::detail::{KernelDetail, MemoryDetail, PhoneDetail, ReplayDetail};
use super::spread::Spread;
use super::PointValues;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// How figures were obtained. A chart with several kinds marks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Computed by a model.
    Simulated,
    /// Computed by a real kernel under a clock that counts instructions.
    Virtual,
    /// Measured on this machine.
    Measured,
    /// Measured on this machine, with one medium standing in for another: an upper bound.
    Emulated,
}

/// A design in a world at a point under a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub world: String,
    pub kind: Kind,
    /// Name of the design. `policy`, `swap`, `app_policy` and `killer` are as written in it.
    pub design: String,
    pub policy: String,
    pub swap: Option<String>,
    pub app_policy: String,
    pub killer: Option<String>,
    /// Preset of the machine.
    pub machine: String,
    /// The trace, launches or apps.
    pub workload: String,
    /// The values that vary at this point, by key.
    pub point: PointValues,
    /// First seed, and number of runs that are averaged.
    pub seed: u64,
    pub seeds: u64,
    pub memory: Memory,
    pub paging: Paging,
    pub time: Time,
    pub launches: Option<LaunchFigures>,
    /// Null in worlds that draw nothing, and on a machine without a display.
    #[serde(default)]
    pub display: Option<DisplayFigures>,
    pub energy: Option<Energy>,
    /// Traffic, energy and wear by medium.
    pub media: BTreeMap<String, MediumUse>,
    /// 95 % confidence intervals of figures by their path in the row, such as
    /// `launches.delay_ms.mean`; empty if n is 1.
    pub interval: BTreeMap<String, [f64; 2]>,
    /// Figures of each seed, in order; empty for one run.
    pub by_seed: Vec<SeedRow>,
    /// Why the row's figures are invalid; null if they are valid.
    pub invalid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<ReplayDetail>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phone: Option<PhoneDetail>,
    /// Details of the worlds `kernel` and `vm`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel: Option<KernelDetail>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<MemoryDetail>,
}

/// Serialize a count or amount. Integral values are written as integers.
fn amount<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(v) if v.fract() == 0.0 && v.abs() < 9e15 => to.serialize_i64(*v as i64),
        other => other.serialize(to),
    }
}

macro_rules! amounts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(serialize_with = "amount")] pub $field: Option<f64>,)*
        }

        impl $name {
            /// The known figures by name.
            pub fn figures(&self) -> Vec<(&'static str, f64)> {
                [$((stringify!($field), self.$field)),*].into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }

            /// The mean of each figure over `all`; null if it is unknown in one of them.
            pub fn mean(all: &[&$name]) -> $name {
                let mean = |of: fn(&$name) -> Option<f64>| {
                    all.iter().map(|row| of(row)).sum::<Option<f64>>().filter(|_| !all.is_empty()).map(|sum| sum / all.len() as f64)
                };
                $name { $($field: mean(|row| row.$field),)* }
            }
        }
    };
}

amounts! {
    /// Peak memory of the design, so that designs can be compared at equal memory.
    Memory {
        /// DRAM for pages: the frames, or the limit of the control group.
        dram_bytes,
        /// Additional DRAM for compressed pages or a RAM disk; 0 if the pool takes frames of
        /// `dram_bytes`.
        pool_bytes,
        /// DRAM for the scheme's tables.
        metadata_bytes,
        /// NVM and flash that the swap area used.
        other_medium_bytes,
        nvm_bytes,
        flash_bytes,
        /// All DRAM: pages, additional pool, tables.
        total_dram_bytes,
        /// Peak size of the pool, whether in additional DRAM or in frames.
        pool_peak_bytes,
    }
}

amounts! {
    /// Page traffic.
    Paging {
        references,
        /// References to pages that were not in memory.
        faults,
        /// Faults of pages that had been in memory before.
        refaults,
        anon_refaults,
        file_refaults,
        major_faults,
        /// Bytes copied from swap, including readahead, without Direct Reads.
        swap_in_bytes,
        swap_out_bytes,
        /// Pages copied from swap by a fault.
        copied_pages,
        /// Faults served by mapping the page in place.
        direct_reads,
        /// Mapped pages that were copied to DRAM by a write.
        promotions,
        zero_fills,
        read_ahead_pages,
        /// References to pages mapped in place.
        mapped_references,
        /// Clean pages whose swap slot was still valid: no write.
        unchanged_pages,
        /// Pages that the app policy did not allow to be swapped out.
        rejected_pages,
        /// Swap-outs that found swap full.
        swap_full,
        swap_reads,
        swap_writes,
        file_reads,
        file_writes,
        file_read_bytes,
        file_write_bytes,
        nvm_write_bytes,
        flash_write_bytes,
        /// Pages that reclaim scanned; for a kernel and for the phone, without active pages.
        scanned_pages,
        /// Pages reclaimed by background and direct reclaim together, and by direct reclaim alone.
        reclaimed_pages,
        reclaimed_direct_pages,
    }
}

amounts! {
    /// Times.
    Time {
        /// Busy time of devices for swap and files.
        io_ns,
        swap_read_ns,
        swap_write_ns,
        file_read_ns,
        file_write_ns,
        /// Stall time of tasks that waited for memory.
        stall_ns,
        direct_reclaim_ns,
        kswapd_ns,
        cpu_user_ns,
        cpu_system_ns,
        /// Processor time of swap: copies, compression, mapping.
        cpu_swap_ns,
        /// Length of the run.
        wall_ns,
        /// PSI totals: time in which some, and all, tasks stalled on memory.
        psi_some_ns,
        psi_full_ns,
    }
}

/// Figures of launches. Counts are means over seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchFigures {
    pub count: f64,
    pub cold: f64,
    pub resumes: f64,
    /// Apps killed, for any reason.
    pub kills: f64,
    /// Kills by reason, such as `low-memory`, `cached-limit`, `out-of-memory`.
    pub kill_reasons: BTreeMap<String, f64>,
    /// Delay of all launches, from the request until the app is ready.
    pub delay_ms: Option<Spread>,
    /// Delay of cold starts, delay of resumes, and the stalled part of all delays.
    pub cold_ms: Option<Spread>,
    pub resume_ms: Option<Spread>,
    pub stall_ms: Option<Spread>,
    pub ux: Classes,
}

/// Number of launches by perceived delay (Tolia et al. 2006, as in A2S), with upper bounds of 150,
/// 1000, 2000 and 5000 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Classes {
    pub crisp: f64,
    pub noticeable: f64,
    pub annoying: f64,
    pub unacceptable: f64,
    pub unusable: f64,
}

/// Frames of the display while an app was in front, after its launch. Counts are means over seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DisplayFigures {
    pub frames: f64,
    /// Frames that were too late because the app waited for memory.
    pub janky_frames: f64,
    /// Of these, frames that took more than 700 ms.
    pub frozen_frames: f64,
    /// Share of frames that were janky; null if none was drawn.
    pub janky_share: Option<f64>,
}

/// Energy in joules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Energy {
    /// Sum of the known parts.
    pub total_j: Option<f64>,
    /// Energy by part; null if a device's energy is unknown.
    pub parts_j: BTreeMap<String, Option<f64>>,
}

/// Traffic, energy and wear of a medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MediumUse {
    pub device: String,
    pub reads: f64,
    pub writes: f64,
    pub read_bytes: f64,
    pub write_bytes: f64,
    pub busy_ns: f64,
    pub read_j: Option<f64>,
    pub write_j: Option<f64>,
    /// Idle energy, if the length of the run is known.
    pub background_j: Option<f64>,
    pub wear: Option<Wear>,
}

/// Wear of a medium under perfect wear leveling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wear {
    /// Program cycles per cell.
    pub cycles: f64,
    /// Program cycles per cell and day, if the length of the run is known.
    pub cycles_per_day: Option<f64>,
    pub years_to_endurance: Option<f64>,
    pub endurance_cycles: f64,
    pub capacity_bytes: f64,
}

/// Figures of a single seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeedRow {
    pub seed: u64,
    /// Figures by their path in the row, such as `launches.resumes`.
    pub figures: BTreeMap<String, f64>,
}
