//! The low-memory killer: when it kills, and down to which adjustment. Two styles: the kernel driver's `minfree` table and
//! `lmkd`'s pressure stall information, with lmkd's property names.

use crate::Victim;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KillerStyle {
    /// Free memory and file cache both below a level of the table (the kernel's driver; `ro.lmk.use_minfree_levels`).
    #[default]
    Minfree,
    /// Stalls on memory within a second, while two are at once of: little free memory, little free swap, a file cache that thrashes
    /// (`lmkd`: LOW_MEM_AND_SWAP, LOW_MEM_AND_THRASHING, LOW_SWAP_AND_THRASHING).
    Psi,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Killer {
    pub style: KillerStyle,
    /// Which of the apps that may be killed goes.
    pub victim: Victim,
    /// `minfree`: levels in kB, smallest first (Nexus 5; the highest is 184320).
    pub minfree_kb: Vec<u64>,
    /// `minfree`: the least `oom_score_adj` that each level may kill. AOSP's last is 906, where it spreads cached apps over 900 to
    /// 906; here the highest level takes any cached app (assumed).
    pub adj: Vec<u32>,
    /// `psi`: memory is low with fewer kB of free and file pages together; 0: below the kernel's high watermark, as `lmkd` has it.
    pub low_memory_kb: u64,
    /// `ro.lmk.psi_partial_stall_ms`: stalls a second from which cached apps may be killed.
    pub psi_partial_stall_ms: u64,
    /// `ro.lmk.psi_complete_stall_ms`: stalls a second from which any app but the one in front is killed.
    pub psi_complete_stall_ms: u64,
    /// `ro.lmk.swap_free_low_percentage`: swap is low below this share of it.
    pub swap_free_low_percentage: u64,
    /// `ro.lmk.thrashing_limit`: refaulted file pages in percent of the file cache within a second.
    pub thrashing_limit: u64,
}

impl Default for Killer {
    fn default() -> Killer {
        Killer {
            style: KillerStyle::Minfree,
            victim: Victim::Lru,
            minfree_kb: vec![73_728, 92_160, 110_592, 129_024, 147_456, 184_320],
            adj: vec![0, 100, 200, 300, 900, 900],
            low_memory_kb: 0,
            psi_partial_stall_ms: 70,
            psi_complete_stall_ms: 700,
            swap_free_low_percentage: 10,
            thrashing_limit: 100,
        }
    }
}

/// What the killer looks at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    pub free_kb: u64,
    pub file_kb: u64,
    /// Fewer frames are free than the kernel's high watermark.
    pub below_high: bool,
    /// Over the last second.
    pub stall_ms: u64,
    pub refaulted_file_kb: u64,
    /// Of the swap area; 100 without one, or without a limit.
    pub swap_free_percentage: u64,
}

impl Killer {
    /// The least adjustment that may be killed now; nothing if none may.
    pub fn kills_from(&self, seen: &Pressure) -> Option<u32> {
        match self.style {
            KillerStyle::Minfree => {
                let level = self.minfree_kb.iter().position(|level| seen.free_kb < *level && seen.file_kb < *level)?;
                self.adj.get(level).copied()
            }
            KillerStyle::Psi if seen.stall_ms >= self.psi_complete_stall_ms => Some(1),
            KillerStyle::Psi => {
                // At least a page, as lmkd adds one: without any file page left, one refault would be thrashing at every limit.
                let thrashing = 100 * seen.refaulted_file_kb > self.thrashing_limit * seen.file_kb.max(4);
                let low_swap = seen.swap_free_percentage < self.swap_free_low_percentage;
                let low_memory = match self.low_memory_kb {
                    0 => seen.below_high,
                    level => seen.free_kb + seen.file_kb < level,
                };
                let two = [low_memory, low_swap, thrashing].into_iter().filter(|yes| *yes).count() >= 2;
                (seen.stall_ms >= self.psi_partial_stall_ms && two).then_some(crate::launcher::CACHED)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minfree_wants_both_below_its_level() {
        let killer = Killer::default();
        let from = |free_kb, file_kb| killer.kills_from(&Pressure { free_kb, file_kb, ..Pressure::default() });
        assert_eq!(from(184_319, 184_319), Some(900));
        assert_eq!((from(184_320, 0), from(0, 184_320)), (None, None));
        assert_eq!((from(10, 140_000), from(10, 100_000), from(10, 10)), (Some(900), Some(200), Some(0)));
    }

    #[test]
    fn psi_by_stalls() {
        let killer = Killer { style: KillerStyle::Psi, ..Killer::default() };
        let calm = Pressure { file_kb: 1000, swap_free_percentage: 100, ..Pressure::default() };
        let low = Pressure { below_high: true, ..calm };
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 69, swap_free_percentage: 0, ..low }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, ..low }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, swap_free_percentage: 9, ..low }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, swap_free_percentage: 9, ..calm }), None, "reclaim still finds memory");
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, ..low }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, ..calm }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, swap_free_percentage: 9, ..calm }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 700, ..calm }), Some(1));
    }

    #[test]
    fn low_memory_by_a_level_in_place_of_the_watermark() {
        let killer = Killer { style: KillerStyle::Psi, low_memory_kb: 500, psi_partial_stall_ms: 0, ..Killer::default() };
        let from = |free_kb, file_kb| killer.kills_from(&Pressure { free_kb, file_kb, below_high: true, ..Pressure::default() });
        assert_eq!((from(200, 299), from(200, 300)), (Some(900), None));
    }
}
