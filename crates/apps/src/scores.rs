//! `oom_score_adj` by the state of an app.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `oom_score_adj` of an app with a service: `SERVICE_ADJ` of AOSP's `ProcessList`.
/// `PREVIOUS_APP_ADJ` and `CACHED_APP_MIN_ADJ` follow.
pub const SERVICE: u32 = 500;
pub const PREVIOUS: u32 = 700;
pub const CACHED: u32 = 900;

/// How Android spreads cached apps over `oom_score_adj`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdjSpread {
    /// 900 plus the number of cached apps used more recently, up to 999, so that cached apps have
    /// different adjustments.
    ByAge,
    /// 900, 901, 903, 905 and 906, each for a third of the cached apps (AOSP 4.4 to 9,
    /// `ActivityManagerService.updateOomAdjLocked`; up to Android 6 the same steps are `oom_adj` 9
    /// to 15). The oldest has 906 only where five apps are cached.
    #[default]
    Aosp,
    /// The same steps up to Android 6, whose `ProcessList` has `oom_adj`: service 5, previous 7,
    /// cached 9 to 15. The kernel turns them into scores (Linux 3.4,
    /// drivers/staging/android/lowmemorykiller.c, `lowmem_oom_adj_to_oom_score_adj`, and
    /// fs/proc/base.c, `oom_adjust_write`): `oom_adj` x 1000 / 17, and 15 becomes 1000.
    OomAdj,
}

impl AdjSpread {
    pub const KEYS: [&'static str; 3] = ["by-age", "aosp", "oom-adj"];
    pub const ALL: [AdjSpread; 3] = [AdjSpread::ByAge, AdjSpread::Aosp, AdjSpread::OomAdj];

    /// The scores of apps that are not in front.
    pub fn scores(self) -> Scores {
        match self {
            AdjSpread::ByAge | AdjSpread::Aosp => Scores { service: SERVICE, previous: PREVIOUS, cached: CACHED },
            AdjSpread::OomAdj => Scores { service: score_of(5), previous: score_of(7), cached: score_of(CACHED_OOM_ADJ) },
        }
    }

    /// The score of a cached app at this step of [`STEPS`].
    pub fn cached_score(self, step: u32) -> u32 {
        match self {
            AdjSpread::OomAdj => score_of(CACHED_OOM_ADJ + step),
            _ => CACHED + step,
        }
    }
}

/// `oom_score_adj` by the state of an app; that of a cached app is the least one of the cached
/// apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    pub service: u32,
    pub previous: u32,
    pub cached: u32,
}

impl Default for Scores {
    fn default() -> Scores {
        AdjSpread::default().scores()
    }
}

/// The `oom_score_adj` of an `oom_adj`, as the kernel converts it.
fn score_of(oom_adj: u32) -> u32 {
    match oom_adj {
        15 => 1000, // OOM_ADJUST_MAX becomes OOM_SCORE_ADJ_MAX
        _ => oom_adj * 1000 / 17,
    }
}

/// `CACHED_APP_MIN_ADJ` up to Android 6.
const CACHED_OOM_ADJ: u32 = 9;
/// The steps above `CACHED_APP_MIN_ADJ` that AOSP's `updateOomAdjLocked` gives to cached apps.
pub const STEPS: [u32; 5] = [0, 1, 3, 5, 6];
