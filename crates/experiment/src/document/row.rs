//! One row: a design in a world at a point under a workload. Counts over several seeds are means.

use super::detail::{KernelDetail, MemoryDetail, PhoneDetail, ReplayDetail};
use super::PointValues;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// How figures came about. Kinds never share an axis unmarked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// By a model.
    Simulated,
    /// By a real kernel under a clock that counts instructions.
    Virtual,
    /// On this machine.
    Measured,
    /// On this machine, a medium posed by another one: an upper bound.
    Emulated,
}

/// A design in a world at a point under a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub world: String,
    pub kind: Kind,
    /// Name of the design; `policy`, `swap`, `app_policy` and `killer` as it writes them.
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
    /// First seed, and how many runs are averaged.
    pub seed: u64,
    pub seeds: u64,
    pub memory: Memory,
    pub paging: Paging,
    pub time: Time,
    pub launches: Option<LaunchFigures>,
    pub energy: Option<Energy>,
    /// Traffic, energy and wear by medium.
    pub media: BTreeMap<String, MediumUse>,
    /// 95 % confidence intervals of figures by their path in the row, such as `launches.delay_ms.mean`; none where n is 1.
    pub interval: BTreeMap<String, [f64; 2]>,
    /// Figures of each seed, in order; empty for one run.
    pub by_seed: Vec<SeedRow>,
    /// Why the row's figures are not to be used; null where they are.
    pub invalid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<ReplayDetail>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phone: Option<PhoneDetail>,
    /// Of `kernel`, and of `vm`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel: Option<KernelDetail>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<MemoryDetail>,
}

/// A count or amount: whole numbers are written as such.
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
            /// Every figure by name; those that are not known are left out.
            pub fn figures(&self) -> Vec<(&'static str, f64)> {
                [$((stringify!($field), self.$field)),*].into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
            }

            /// The mean of each figure over `all`; null where one does not know it.
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
    /// Memory that the design used, so that designs can be compared at equal memory. Peaks.
    Memory {
        /// DRAM for pages: the frames, or the group's limit.
        dram_bytes,
        /// DRAM beside them for compressed pages or a RAM disk; 0 where the pool takes frames of `dram_bytes`.
        pool_bytes,
        /// DRAM for tables of the scheme.
        metadata_bytes,
        /// NVM and flash that the swap area filled.
        other_medium_bytes,
        nvm_bytes,
        flash_bytes,
        /// All DRAM: pages, pool beside them, tables.
        total_dram_bytes,
        /// The most that the pool held, wherever it lies.
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
        /// Copied from swap, readahead included, Direct Reads left out.
        swap_in_bytes,
        swap_out_bytes,
        /// Pages copied from swap by a fault.
        copied_pages,
        /// Faults served by mapping the page where it lies.
        direct_reads,
        /// Mapped pages that were copied to DRAM by a write.
        promotions,
        zero_fills,
        read_ahead_pages,
        /// References to pages mapped where they lie.
        mapped_references,
        /// Clean pages whose swap slot was still valid: no write.
        unchanged_pages,
        /// Pages that the app policy kept from swap.
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
        /// Pages that reclaim looked at; of a kernel and of the phone, without active pages.
        scanned_pages,
        /// Pages that background and direct reclaim took from memory, and those of direct reclaim alone.
        reclaimed_pages,
        reclaimed_direct_pages,
    }
}

amounts! {
    /// Where time went.
    Time {
        /// Devices busy with swap and files.
        io_ns,
        swap_read_ns,
        swap_write_ns,
        file_read_ns,
        file_write_ns,
        /// Tasks stalled on memory.
        stall_ns,
        direct_reclaim_ns,
        kswapd_ns,
        cpu_user_ns,
        cpu_system_ns,
        /// Processor time of swap: copies, compression, mapping.
        cpu_swap_ns,
        /// Length of the run.
        wall_ns,
        /// PSI totals: some and all tasks stalled on memory.
        psi_some_ns,
        psi_full_ns,
    }
}

/// Launches, as means over seeds where they are counts.
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
    /// Delay of all launches, from the request to the app's being ready.
    pub delay_ms: Option<Spread>,
    /// Of cold starts, of resumes, and the stalled part of all.
    pub cold_ms: Option<Spread>,
    pub resume_ms: Option<Spread>,
    pub stall_ms: Option<Spread>,
    pub ux: Classes,
}

/// A distribution in milliseconds, over all launches of all seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spread {
    pub n: u64,
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    /// 95 % confidence intervals, clustered by user (phone), seed (vm) or app (kernel); null where n is 1.
    pub mean_interval: Option<[f64; 2]>,
    pub p50_interval: Option<[f64; 2]>,
    pub p95_interval: Option<[f64; 2]>,
}

/// Launches by how they feel (Tolia et al. 2006, as A2S uses them): upper bounds 150, 1000, 2000 and 5000 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Classes {
    pub crisp: f64,
    pub noticeable: f64,
    pub annoying: f64,
    pub unacceptable: f64,
    pub unusable: f64,
}

/// Energy in joules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Energy {
    /// Sum of the parts that are known.
    pub total_j: Option<f64>,
    /// By part; null where a device's energy is unknown.
    pub parts_j: BTreeMap<String, Option<f64>>,
}

/// What one medium did.
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
    /// At rest, where the run's length is known.
    pub background_j: Option<f64>,
    pub wear: Option<Wear>,
}

/// Wear of a medium under level wear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wear {
    /// Program cycles that each cell took.
    pub cycles: f64,
    /// Where the run's length is known.
    pub cycles_per_day: Option<f64>,
    pub years_to_endurance: Option<f64>,
    pub endurance_cycles: f64,
    pub capacity_bytes: f64,
}

/// Figures of one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeedRow {
    pub seed: u64,
    /// Figures by their path in the row, such as `launches.resumes`.
    pub figures: BTreeMap<String, f64>,
}
