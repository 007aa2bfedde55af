//! The low-memory killer: when it kills, and down to which adjustment. Two styles: the kernel driver's `minfree` table and
//! `lmkd`'s pressure stall information, with lmkd's property names.

use crate::{AdjSpread, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{BadInput, Entry, Kind, Parameter, Registry, Resolved, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KillerStyle {
    /// Free memory and file cache both below a level of the table (the kernel's driver; `ro.lmk.use_minfree_levels`).
    #[default]
    Minfree,
    /// Stalls on memory within a second, while two are at once of: little free memory, little free swap, a file cache that thrashes
    /// (`lmkd`: LOW_MEM_AND_SWAP, LOW_MEM_AND_THRASHING, LOW_SWAP_AND_THRASHING).
    Psi,
    /// No swap is free (`when-swap-full`).
    SwapFull,
    /// Nothing but Android's limit on cached apps, and the kernel's own killer, ends an app.
    Off,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Killer {
    pub style: KillerStyle,
    /// Which of the apps that may be killed goes.
    pub victim: Victim,
    /// `minfree`: how cached apps are spread over `oom_score_adj`.
    pub spread: AdjSpread,
    /// `minfree`: levels in kB, smallest first (Nexus 5; the highest is 184320).
    pub minfree_kb: Vec<u64>,
    /// `minfree`: the least `oom_score_adj` that each level may kill. AOSP's last is 906
    /// (`ProcessList.mOomAdj`), which with `spread = aosp` only the oldest cached apps have.
    pub adj: Vec<u32>,
    /// `psi`: memory is low with fewer kB of free and file pages together; 0: below the kernel's high watermark, as `lmkd` has it.
    pub low_memory_kb: u64,
    /// `psi`, on a real or virtual kernel: memory is low with less than this share of it in free and file pages together; 0: by
    /// `low_memory_kb`, in a control group, which has no watermarks, 6 %.
    pub min_free_percentage: f64,
    /// `psi`, on a real or virtual kernel: time from look to look.
    pub poll_ms: f64,
    /// `ro.lmk.psi_partial_stall_ms`: stalls a second from which cached apps may be killed.
    pub psi_partial_stall_ms: u64,
    /// `ro.lmk.psi_complete_stall_ms`: stalls a second from which any app but the one in front is killed.
    pub psi_complete_stall_ms: u64,
    /// `ro.lmk.swap_free_low_percentage`: swap is low below this share of it.
    pub swap_free_low_percentage: u64,
    /// `ro.lmk.thrashing_limit`: refaulted file pages in percent of the file cache within a second.
    pub thrashing_limit: u64,
}

/// What the registry knows of a killer beside its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    pub style: KillerStyle,
}

const ANY: u64 = u32::MAX as u64;
const LEVELS: &str = "sys.lmk.minfree_levels";

const VICTIM: Parameter =
    Parameter::new("victim", Kind::Choice(&Victim::KEYS), "lru", "which of the apps that may be killed goes: lru, oracle or swam");

const fn percent(name: &'static str, high: u64, default: &'static str, meaning: &'static str, property: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high }, default, meaning).sets(Place::Property, property)
}

const fn stall(name: &'static str, default: &'static str, meaning: &'static str, property: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high: ANY }, default, meaning).sets(Place::Property, property)
}

static MINFREE: Entry<Info> = Entry {
    key: "minfree",
    what: "kills when free memory and file cache are both below a level of a table",
    source: "Linux drivers/staging/android/lowmemorykiller.c; levels of a Nexus 5",
    parameters: &[
        VICTIM,
        Parameter::new(
            "minfree_kb",
            Kind::Integers { low: 0, high: u64::MAX },
            "[73728;92160;110592;129024;147456;184320]",
            "levels of free memory and of file cache in kB, the smallest first",
        )
        .sets(Place::Property, LEVELS),
        Parameter::new(
            "adj",
            Kind::Integers { low: 0, high: 1000 },
            "[0;100;200;300;900;906]",
            "least oom_score_adj that each level may kill (AOSP ProcessList.mOomAdj); a last level of 900 takes any cached app",
        )
        .sets(Place::Property, LEVELS),
        Parameter::new(
            "spread",
            Kind::Choice(&AdjSpread::KEYS),
            "aosp",
            "how cached apps are spread over oom_score_adj: aosp (900 to 906), or by-age (900 to 999)",
        ),
    ],
    info: Info { style: KillerStyle::Minfree },
};

static LMKD: Entry<Info> = Entry {
    key: "lmkd",
    what: "kills at stalls on memory while two are at once of: little free memory, little free swap, a file cache that thrashes",
    source: "AOSP system/memory/lmkd, by pressure stall information",
    parameters: &[
        VICTIM,
        Parameter::new(
            "low_memory_kb",
            Kind::Integer { low: 0, high: u64::MAX },
            "0",
            "memory is low with fewer kB of free and file pages together; 0: below the kernel's high watermark",
        ),
        Parameter::new(
            "min_free_percentage",
            Kind::Number { low: 0.0, high: 100.0 },
            "0",
            "on a kernel: memory is low with less than this share in free and file pages; 0: by the watermark, in a control group 6",
        ),
        Parameter::new("poll_ms", Kind::Number { low: 1e-3, high: 1e6 }, "10", "on a kernel: time from look to look"),
        stall("psi_partial_stall_ms", "70", "stalls a second from which cached apps may be killed", "ro.lmk.psi_partial_stall_ms"),
        stall(
            "psi_complete_stall_ms",
            "700",
            "stalls a second from which any app but the one in front is killed",
            "ro.lmk.psi_complete_stall_ms",
        ),
        percent("swap_free_low_percentage", 100, "10", "swap is low below this share of it", "ro.lmk.swap_free_low_percentage"),
        percent(
            "thrashing_limit",
            ANY,
            "100",
            "refaulted file pages in percent of the file cache within a second",
            "ro.lmk.thrashing_limit",
        ),
    ],
    info: Info { style: KillerStyle::Psi },
};

static SWAP_FULL: Entry<Info> = Entry {
    key: "when-swap-full",
    what: "kills a cached app when no swap is free and memory is below the kernel's high watermark",
    source: "how Kim and Bahn 2019, Section II, and Zhong et al. 2014, Section II, describe a phone with swap",
    parameters: &[VICTIM],
    info: Info { style: KillerStyle::SwapFull },
};

static OFF: Entry<Info> = Entry {
    key: "off",
    what: "kills nothing: apps end by the limit on cached apps, or when no memory can be reclaimed",
    source: "ours",
    parameters: &[VICTIM],
    info: Info { style: KillerStyle::Off },
};

/// Every low-memory killer.
pub static KILLERS: Registry<Info> = Registry { kind: "killer", entries: &[&MINFREE, &LMKD, &SWAP_FULL, &OFF] };

/// `minfree` with its defaults.
impl Default for Killer {
    fn default() -> Killer {
        let (minfree, lmkd) = (MINFREE.defaults().params, LMKD.defaults().params);
        Killer {
            style: KillerStyle::Minfree,
            victim: Victim::ALL[minfree.choice("victim")],
            spread: AdjSpread::ALL[minfree.choice("spread")],
            minfree_kb: minfree.integers("minfree_kb").to_vec(),
            adj: minfree.integers("adj").iter().map(|adj| *adj as u32).collect(),
            low_memory_kb: lmkd.integer("low_memory_kb"),
            min_free_percentage: lmkd.number("min_free_percentage"),
            poll_ms: lmkd.number("poll_ms"),
            psi_partial_stall_ms: lmkd.integer("psi_partial_stall_ms"),
            psi_complete_stall_ms: lmkd.integer("psi_complete_stall_ms"),
            swap_free_low_percentage: lmkd.integer("swap_free_low_percentage"),
            thrashing_limit: lmkd.integer("thrashing_limit"),
        }
    }
}

impl Killer {
    /// The killer that a user wrote.
    pub fn of(resolved: &Resolved<Info>) -> Result<Killer> {
        let params = &resolved.params;
        let victim = Victim::ALL[params.choice("victim")];
        let default = Killer { style: resolved.entry.info.style, victim, ..Killer::default() };
        let killer = match default.style {
            KillerStyle::Minfree => Killer {
                spread: AdjSpread::ALL[params.choice("spread")],
                minfree_kb: params.integers("minfree_kb").to_vec(),
                adj: params.integers("adj").iter().map(|adj| *adj as u32).collect(),
                ..default
            },
            KillerStyle::Psi => Killer {
                low_memory_kb: params.integer("low_memory_kb"),
                min_free_percentage: params.number("min_free_percentage"),
                poll_ms: params.number("poll_ms"),
                psi_partial_stall_ms: params.integer("psi_partial_stall_ms"),
                psi_complete_stall_ms: params.integer("psi_complete_stall_ms"),
                swap_free_low_percentage: params.integer("swap_free_low_percentage"),
                thrashing_limit: params.integer("thrashing_limit"),
                spread: AdjSpread::ByAge,
                ..default
            },
            KillerStyle::SwapFull | KillerStyle::Off => Killer { spread: AdjSpread::ByAge, ..default },
        };
        killer.check().map_err(|e| e.within(resolved.entry.key))?;
        Ok(killer)
    }

    /// Whether its levels can be meant.
    pub fn check(&self) -> Result<()> {
        if self.adj.len() != self.minfree_kb.len() || self.minfree_kb.windows(2).any(|w| w[0] > w[1]) {
            return Err(BadInput::new("minfree_kb", format!("{:?}", self.minfree_kb), "as many levels as adj has, the smallest first"));
        }
        if self.adj.windows(2).any(|w| w[0] > w[1]) {
            return Err(BadInput::new("adj", format!("{:?}", self.adj), "as many levels as minfree_kb has, the lowest first"));
        }
        Ok(())
    }
}

/// Share of a control group's limit below which memory is low where nothing says (assumed): a group has no watermarks.
const GROUP_LOW_PERCENTAGE: f64 = 6.0;

impl Killer {
    /// The same killer for apps in a control group of so many kB: `low_memory_kb` where it is given, else a share of the limit.
    pub fn in_group(self, limit_kb: u64) -> Killer {
        let share = if self.min_free_percentage > 0.0 { self.min_free_percentage } else { GROUP_LOW_PERCENTAGE };
        let by_share = (limit_kb as f64 * share / 100.0) as u64;
        Killer { low_memory_kb: if self.low_memory_kb > 0 { self.low_memory_kb } else { by_share.max(1) }, ..self }
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
            KillerStyle::Off => None,
            KillerStyle::SwapFull => (seen.swap_free_percentage == 0 && seen.below_high).then_some(crate::launcher::CACHED),
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
    fn a_killer_as_a_user_writes_it() {
        let of = |text: &str| KILLERS.parse(text).and_then(|resolved| Killer::of(&resolved));
        assert_eq!(of("minfree").unwrap(), Killer::default());
        let two = Killer { minfree_kb: vec![100, 200], adj: vec![0, 900], victim: Victim::Swam, ..Killer::default() };
        assert_eq!(of("minfree:minfree_kb=[100;200],adj=[0;900],victim=swam").unwrap(), two);
        let psi = Killer { style: KillerStyle::Psi, spread: AdjSpread::ByAge, thrashing_limit: 30, ..Killer::default() };
        assert_eq!(of("lmkd:thrashing_limit=30").unwrap(), psi);
        let refused = |text| of(text).unwrap_err().to_string();
        assert!(refused("minfree:minfree_kb=[100;200]").starts_with("minfree: minfree_kb: [100, 200]; expected as many levels"));
        assert!(refused("minfree:adj=[0;900;300;300;900;900]").contains("the lowest first"));
        assert_eq!(
            refused("lmkd:psi_partial_stall=3"),
            "lmkd: unknown parameter 'psi_partial_stall'; expected 'psi_partial_stall_ms' (did you mean that?)"
        );
    }

    #[test]
    fn minfree_wants_both_below_its_level() {
        let killer = Killer::default();
        let from = |free_kb, file_kb| killer.kills_from(&Pressure { free_kb, file_kb, ..Pressure::default() });
        assert_eq!(from(184_319, 184_319), Some(906));
        assert_eq!((from(184_320, 0), from(0, 184_320)), (None, None));
        assert_eq!((from(10, 140_000), from(10, 100_000), from(10, 10)), (Some(900), Some(200), Some(0)));
    }

    #[test]
    fn without_free_swap_a_cached_app_goes() {
        let killer = Killer::of(&KILLERS.parse("when-swap-full").unwrap()).unwrap();
        let from =
            |swap_free_percentage, below_high| killer.kills_from(&Pressure { swap_free_percentage, below_high, ..Pressure::default() });
        assert_eq!((from(0, true), from(1, true), from(0, false)), (Some(900), None, None));
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
    fn a_control_group_has_a_share_in_place_of_the_watermark() {
        let level = |text: &str| Killer::of(&KILLERS.parse(text).unwrap()).unwrap().in_group(100_000).low_memory_kb;
        assert_eq!((level("lmkd"), level("lmkd:min_free_percentage=2.5"), level("lmkd:low_memory_kb=700")), (6000, 2500, 700));
        assert_eq!(Killer::default().in_group(1).low_memory_kb, 1, "0 would be the watermark");
    }

    #[test]
    fn low_memory_by_a_level_in_place_of_the_watermark() {
        let killer = Killer { style: KillerStyle::Psi, low_memory_kb: 500, psi_partial_stall_ms: 0, ..Killer::default() };
        let from = |free_kb, file_kb| killer.kills_from(&Pressure { free_kb, file_kb, below_high: true, ..Pressure::default() });
        assert_eq!((from(200, 299), from(200, 300)), (Some(900), None));
    }
}
