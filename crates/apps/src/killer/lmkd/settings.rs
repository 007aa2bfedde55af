//! lmkd's properties, and the values that are derived from them alone.

use crate::killer::{Pressure, Watermark};
use swaplab_vocab::Params;

/// An adjustment above that of any app: AOSP's `OOM_SCORE_ADJ_MAX` (1000) plus one.
pub const NOBODY: u64 = 1001;
/// Percent of a control group's limit below which its memory counts as low by default (assumed). A
/// control group has no watermarks.
const GROUP_LOW_PERCENTAGE: f64 = 6.0;

/// Settings, named after the properties `ro.lmk.*`. The defaults are those of a phone without
/// `ro.config.low_ram`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory is low when free and file pages together are below this many kB. 0 stands for the
    /// kernel's low watermark, as in lmkd.
    pub low_memory_kb: u64,
    /// On a real or virtual kernel, memory is low when free and file pages together are below this
    /// percentage of it. With 0, `low_memory_kb` decides, or 6 % in a control group, which has no
    /// watermarks.
    pub min_free_percentage: f64,
    /// Stall time within a second, in ms, from which on the daemon checks memory.
    pub psi_partial_stall_ms: u64,
    /// Stall time within a second, in ms, from which any app but the one in front may be killed.
    pub psi_complete_stall_ms: u64,
    /// Swap is low when less than this percentage of it is free; 0: swap is never low.
    pub swap_free_low_percentage: u64,
    /// While memory is low: the largest percentage of the swappable memory that may be in swap.
    /// 100: no limit.
    pub swap_util_max: u64,
    /// Free swap is counted as at most this many times the easily available memory. 0: all of the
    /// area's free slots count.
    pub swap_compression_ratio: u64,
    /// Thrashing from which an app may be killed: file pages that refault within a second, in
    /// percent of the file cache.
    pub thrashing_limit: u64,
    /// Each kill for thrashing lowers `thrashing_limit` by this percentage until the next second
    /// begins.
    pub thrashing_limit_decay: u64,
    /// Thrashing, in percent, from which perceptible apps may be killed; 0: three times
    /// `thrashing_limit`.
    pub thrashing_limit_critical: u64,
    /// Average of complete stalls, in percent, above which a kill may take any app but the one in
    /// front. 100: never.
    pub stall_limit_critical: u64,
    /// Any app but the one in front may be killed when a task has reclaimed for itself for longer
    /// than this, in ms; 0: never for that.
    pub direct_reclaim_threshold_ms: u64,
    /// After thrashing, background apps are killed until there are this many kB of file pages.
    pub filecache_min_kb: u64,
    /// The least `oom_score_adj` that low memory alone may kill (since Android 15). 1001: low
    /// memory alone kills no app.
    pub lowmem_min_oom_score: u64,
    /// The least `oom_score_adj` that may be killed when memory is still below the minimum
    /// watermark after a kill.
    pub pressure_after_kill_min_score: u64,
}

impl Settings {
    pub fn of(params: &Params) -> Settings {
        Settings {
            low_memory_kb: params.integer("low_memory_kb"),
            min_free_percentage: params.number("min_free_percentage"),
            psi_partial_stall_ms: params.integer("psi_partial_stall_ms"),
            psi_complete_stall_ms: params.integer("psi_complete_stall_ms"),
            swap_free_low_percentage: params.integer("swap_free_low_percentage"),
            swap_util_max: params.integer("swap_util_max"),
            swap_compression_ratio: params.integer("swap_compression_ratio"),
            thrashing_limit: params.integer("thrashing_limit"),
            thrashing_limit_decay: params.integer("thrashing_limit_decay"),
            thrashing_limit_critical: params.integer("thrashing_limit_critical"),
            stall_limit_critical: params.integer("stall_limit_critical"),
            direct_reclaim_threshold_ms: params.integer("direct_reclaim_threshold_ms"),
            filecache_min_kb: params.integer("filecache_min_kb"),
            lowmem_min_oom_score: params.integer("lowmem_min_oom_score"),
            pressure_after_kill_min_score: params.integer("pressure_after_kill_min_score"),
        }
    }

    /// Settings for a control group, which has no watermarks: memory is low below a fixed level.
    /// Memory of a group is low most of the time, so low memory alone kills no app, and the
    /// available memory of the machine does not limit the group's swap.
    pub fn by_level(&self, low_memory_kb: u64) -> Settings {
        Settings { low_memory_kb, lowmem_min_oom_score: NOBODY, swap_compression_ratio: 0, ..self.clone() }
    }

    pub fn critical(&self) -> u64 {
        if self.thrashing_limit_critical > 0 {
            self.thrashing_limit_critical
        } else {
            3 * self.thrashing_limit
        }
    }

    pub fn memory_is_low(&self, seen: &Pressure) -> bool {
        match self.low_memory_kb {
            0 => seen.watermark < Watermark::High,
            level => seen.free_kb + seen.file_kb < level,
        }
    }

    pub fn swap_free_kb(&self, seen: &Pressure) -> u64 {
        match self.swap_compression_ratio {
            0 => seen.swap_free_kb,
            ratio => seen.swap_free_kb.min((seen.free_kb + seen.file_kb).saturating_mul(ratio)),
        }
    }

    /// The level, in kB, that stands in for the low watermark: `low_memory_kb` if it is not 0, else
    /// `percentage` of `memory_kb`.
    fn level_kb(&self, memory_kb: u64, percentage: f64) -> u64 {
        let by_share = (memory_kb as f64 * percentage / 100.0) as u64;
        if self.low_memory_kb > 0 {
            self.low_memory_kb
        } else {
            by_share.max(1) // 0 would be the watermark
        }
    }

    /// The level, in kB, that stands in for the low watermark of a control group limited to
    /// `limit_kb`.
    pub fn group_level_kb(&self, limit_kb: u64) -> u64 {
        self.level_kb(limit_kb, if self.min_free_percentage > 0.0 { self.min_free_percentage } else { GROUP_LOW_PERCENTAGE })
    }
}
