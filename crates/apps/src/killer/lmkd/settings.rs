//! lmkd's properties, and what follows from them alone.

use crate::killer::{Pressure, Watermark};
use swaplab_vocab::Params;

/// AOSP `OOM_SCORE_ADJ_MAX` and one more.
pub const NOBODY: u64 = 1001;
/// Share of a control group's limit below which memory is low where nothing says (assumed): a group has no watermarks.
const GROUP_LOW_PERCENTAGE: f64 = 6.0;

/// Settings, by the names of the properties `ro.lmk.*`. Without values, those of a phone that is not `ro.config.low_ram`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory is low with fewer kB of free and file pages together; 0: below the kernel's low watermark, as `lmkd` has it.
    pub low_memory_kb: u64,
    /// On a real or virtual kernel: memory is low with less than this share of it in free and file pages together; 0: by `low_memory_kb`,
    /// in a control group, which has no watermarks, 6 %.
    pub min_free_percentage: f64,
    /// Stalls a second at which the daemon looks.
    pub psi_partial_stall_ms: u64,
    /// Stalls a second at which any app but the one in front may be killed.
    pub psi_complete_stall_ms: u64,
    /// Swap is low below this share of it; 0: never.
    pub swap_free_low_percentage: u64,
    /// Most of the memory that can be swapped which may be in swap, in percent, while memory is low; 100: no limit.
    pub swap_util_max: u64,
    /// Free swap is at most this many times the memory that is easily available; 0: whatever the area has.
    pub swap_compression_ratio: u64,
    /// Refaulted file pages in percent of the file cache within a second.
    pub thrashing_limit: u64,
    /// By how many percent each kill for thrashing lowers the limit, until a second passes.
    pub thrashing_limit_decay: u64,
    /// Thrashing from which perceptible apps may be killed; 0: three times the limit.
    pub thrashing_limit_critical: u64,
    /// After thrashing, background apps are killed until there are so many kB of file pages.
    pub filecache_min_kb: u64,
    /// Least `oom_score_adj` that low memory alone kills (Android 15); 1001: none, as before Android 15.
    pub lowmem_min_oom_score: u64,
    /// Least `oom_score_adj` that is killed when a kill left memory below the minimum watermark.
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
            filecache_min_kb: params.integer("filecache_min_kb"),
            lowmem_min_oom_score: params.integer("lowmem_min_oom_score"),
            pressure_after_kill_min_score: params.integer("pressure_after_kill_min_score"),
        }
    }

    /// In a control group, memory is low below a level, as a group has no watermarks. It is low most of the time there, so that this alone
    /// kills nobody, and what the rest of the machine has available says nothing about the group's swap.
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

    /// In place of the watermark: `low_memory_kb` where it is given, else `percentage` of `memory_kb`.
    fn level_kb(&self, memory_kb: u64, percentage: f64) -> u64 {
        let by_share = (memory_kb as f64 * percentage / 100.0) as u64;
        if self.low_memory_kb > 0 {
            self.low_memory_kb
        } else {
            by_share.max(1) // 0 would be the watermark
        }
    }

    /// In place of the watermark, for apps in a control group with this limit.
    pub fn group_level_kb(&self, limit_kb: u64) -> u64 {
        self.level_kb(limit_kb, if self.min_free_percentage > 0.0 { self.min_free_percentage } else { GROUP_LOW_PERCENTAGE })
    }
}
