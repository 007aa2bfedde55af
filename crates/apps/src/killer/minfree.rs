//! What: kills when free memory and file cache are both below a level of a table; each level has
//! its own least `oom_score_adj`.
//! Why: the killer of phones up to Android 9, and of papers of that time.
//! Source: Linux drivers/staging/android/lowmemorykiller.c; levels of a Nexus 5. While a victim is
//! dying, and for a second (HZ) at most, it kills no other process (`lowmem_deathpending_timeout`).
//! Deviations: shared memory is not distinguished from other file pages; the kernel's reserve
//! (`totalreserve_pages`) counts as free memory.
//! Weakness: ignores stalls and the amount of free swap.

use super::levels::Levels;
use super::{Info, Killer, Pressure, Rule, VICTIM};
use crate::AdjSpread;
use swaplab_vocab::spec::Place;
use swaplab_vocab::{BadInput, Entry, Kind, Parameter, Params, Result};

const LEVELS: &str = "sys.lmk.minfree_levels";

pub static ENTRY: Entry<Info> = Entry {
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
            "how cached apps are spread over oom_score_adj: aosp (900 to 906), by-age (900 to 999), or oom-adj (529 to 1000)",
        ),
        Parameter::new(
            "levels",
            Kind::Choice(&Levels::KEYS),
            "given",
            "where the levels come from: given (minfree_kb), or computed from memory and screen as android-4.4 or android-6 does",
        ),
        Parameter::new("screen", Kind::Integer { low: 0, high: 1 << 32 }, "2073600", "pixels of the screen, for computed levels"),
        Parameter::new("64bit", Kind::Switch, "off", "whether the phone runs 64-bit apps, for computed levels"),
        Parameter::new(
            "wait_ms",
            Kind::Number { low: 0.0, high: 1e6 },
            "1000",
            "ms for which no other app is killed while a victim is dying (HZ of lowmemorykiller.c)",
        ),
    ],
    info: Info { build },
};

/// A table of memory levels, each with the least `oom_score_adj` that may be killed below it.
#[derive(Clone, Debug)]
pub struct Minfree {
    /// The levels in kB, in ascending order. The defaults are a Nexus 5's, whose highest level is
    /// 184320 kB.
    pub minfree_kb: Vec<u64>,
    /// The least `oom_score_adj` that may be killed below each level. AOSP's last one is 906
    /// (`ProcessList.mOomAdj`); with `spread = aosp` only the oldest cached apps have it.
    pub adj: Vec<u32>,
    /// How levels are computed on a machine; by default they are those of `minfree_kb`.
    pub computed: Computed,
}

/// How Android computes the levels: by which version's rule, and for which screen and apps.
#[derive(Clone, Copy, Debug)]
pub struct Computed {
    pub levels: Levels,
    pub pixels: u64,
    pub is_64_bit: bool,
}

impl Computed {
    /// No computation: the levels are given.
    pub const GIVEN: Computed = Computed { levels: Levels::Given, pixels: 0, is_64_bit: false };
}

fn build(params: &Params) -> Result<Killer> {
    let adj = params.integers("adj").iter().map(|adj| *adj as u32).collect();
    let levels = Levels::ALL[params.choice("levels")];
    let computed = Computed { levels, pixels: params.integer("screen"), is_64_bit: params.switch("64bit") };
    let rule = Minfree { minfree_kb: params.integers("minfree_kb").to_vec(), adj, computed };
    rule.check()?;
    let (spread, wait_ms) = (AdjSpread::ALL[params.choice("spread")], params.number("wait_ms"));
    Ok(Killer { spread, wait_ms, ..Killer::new(params, rule) })
}

impl Minfree {
    /// Refuse a table whose levels or adjustments are not in ascending order or differ in number.
    fn check(&self) -> Result<()> {
        if self.adj.len() != self.minfree_kb.len() || self.minfree_kb.windows(2).any(|w| w[0] > w[1]) {
            return Err(BadInput::new("minfree_kb", format!("{:?}", self.minfree_kb), "as many levels as adj has, the smallest first"));
        }
        if self.computed.levels != Levels::Given && self.minfree_kb.len() != 6 {
            return Err(BadInput::new(
                "levels",
                "computed, but minfree_kb has not six levels",
                "six levels, which memory and screen replace",
            ));
        }
        if self.adj.windows(2).any(|w| w[0] > w[1]) {
            return Err(BadInput::new("adj", format!("{:?}", self.adj), "as many levels as minfree_kb has, the lowest first"));
        }
        Ok(())
    }
}

impl Rule for Minfree {
    fn look(&mut self, _: u64, seen: &Pressure) -> Option<u32> {
        let level = self.minfree_kb.iter().position(|level| seen.free_kb < *level && seen.file_kb < *level)?;
        self.adj.get(level).copied()
    }

    fn sized(&mut self, memory_kb: u64) {
        let Computed { levels, pixels, is_64_bit } = self.computed;
        if let Some(levels_kb) = levels.of(memory_kb, pixels, is_64_bit) {
            self.minfree_kb = levels_kb.to_vec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Victim;

    #[test]
    fn as_a_user_writes_it() {
        let mut killer = Killer::parse("minfree:minfree_kb=[100;200],adj=[0;900],victim=swam").unwrap();
        let mut from = |free_kb| killer.look(0, &Pressure { free_kb, ..Pressure::default() });
        assert_eq!([99, 100, 199, 200].map(&mut from), [Some(0), Some(900), Some(900), None]);
        assert_eq!((killer.victim, killer.spread), (Victim::Swam, AdjSpread::Aosp));
        let refused = |text| Killer::parse(text).unwrap_err().to_string();
        assert!(refused("minfree:minfree_kb=[100;200]").starts_with("minfree: minfree_kb: [100, 200]; expected as many levels"));
        assert!(refused("minfree:adj=[0;900;300;301;902;903]").contains("the lowest first"));
        assert!(refused("minfree:minfree_kb=[2;1],adj=[0;900]").contains("the smallest first"));
        assert!(refused("minfree:minfree_kb=[1;2],adj=[0;900],levels=android-6").contains("levels: computed"));
        assert!(Killer::parse("minfree:minfree_kb=[100;100],adj=[900;900]").is_ok(), "equal levels are in order");
    }

    /// With 500 MB and a small screen the highest level of Android 4.4 is 116,736 kB.
    #[test]
    fn computed_levels_are_those_of_the_machine() {
        let mut killer = Killer::parse("minfree:levels=android-4.4,screen=384000").unwrap().sized(500 * 1024);
        let mut from = |free_kb| killer.look(0, &Pressure { free_kb, ..Pressure::default() });
        assert_eq!([116_735, 116_736].map(&mut from), [Some(906), None]);
        let waits = |text: &str| Killer::parse(text).unwrap().wait_ms;
        assert_eq!(["minfree", "lmkd", "off"].map(waits), [1000.0, 100.0, 0.0]);
    }

    #[test]
    fn both_must_be_below_its_level() {
        let mut killer = Killer::default();
        let mut from = |free_kb, file_kb| killer.look(0, &Pressure { free_kb, file_kb, ..Pressure::default() });
        assert_eq!(from(184_319, 184_319), Some(906));
        assert_eq!((from(184_320, 0), from(0, 184_320)), (None, None));
        assert_eq!((from(10, 140_000), from(10, 100_000), from(10, 10)), (Some(900), Some(200), Some(0)));
    }
}
