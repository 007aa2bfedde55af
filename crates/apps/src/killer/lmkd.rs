//! What: kills at stalls on memory within a second, while two are at once of: little free memory, little free swap, a file cache that
//! thrashes (`lmkd`: LOW_MEM_AND_SWAP, LOW_MEM_AND_THRASHING, LOW_SWAP_AND_THRASHING).
//! Why: Android's killer since Android 10.
//! Source: AOSP system/memory/lmkd, by pressure stall information, with lmkd's property names.
//! Deviations: `poll_ms` is the same with and without pressure.
//! Weakness: a control group has neither watermarks nor stalls of its own; `min_free_percentage` stands in for the watermark.

use super::minfree::Minfree;
use super::{Info, Killer, Pressure, Rule, VICTIM};
use crate::CACHED;
use std::sync::Arc;
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Entry, Kind, Parameter, Params, Result};

/// Share of a control group's limit below which memory is low where nothing says (assumed): a group has no watermarks.
const GROUP_LOW_PERCENTAGE: f64 = 6.0;
const ANY: u64 = u32::MAX as u64;

const fn percent(name: &'static str, high: u64, default: &'static str, meaning: &'static str, property: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high }, default, meaning).sets(Place::Property, property)
}

const fn stall(name: &'static str, default: &'static str, meaning: &'static str, property: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high: ANY }, default, meaning).sets(Place::Property, property)
}

pub static ENTRY: Entry<Info> = Entry {
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
    info: Info { build },
};

#[derive(Clone, Debug)]
struct Lmkd {
    /// Memory is low with fewer kB of free and file pages together; 0: below the kernel's high watermark, as `lmkd` has it.
    low_memory_kb: u64,
    /// On a real or virtual kernel: memory is low with less than this share of it in free and file pages together.
    min_free_percentage: f64,
    psi_partial_stall_ms: u64,
    psi_complete_stall_ms: u64,
    swap_free_low_percentage: u64,
    thrashing_limit: u64,
}

fn build(params: &Params) -> Result<Killer> {
    let rule = Lmkd {
        low_memory_kb: params.integer("low_memory_kb"),
        min_free_percentage: params.number("min_free_percentage"),
        psi_partial_stall_ms: params.integer("psi_partial_stall_ms"),
        psi_complete_stall_ms: params.integer("psi_complete_stall_ms"),
        swap_free_low_percentage: params.integer("swap_free_low_percentage"),
        thrashing_limit: params.integer("thrashing_limit"),
    };
    Ok(Killer { poll_ms: params.number("poll_ms"), ..Killer::new(params, rule) })
}

impl Lmkd {
    /// In place of the watermark: `low_memory_kb` where it is given, else a share of `memory_kb`.
    fn level_kb(&self, memory_kb: u64, percentage: f64) -> u64 {
        let by_share = (memory_kb as f64 * percentage / 100.0) as u64;
        if self.low_memory_kb > 0 {
            self.low_memory_kb
        } else {
            by_share.max(1) // 0 would be the watermark
        }
    }

    fn group_level_kb(&self, limit_kb: u64) -> u64 {
        self.level_kb(limit_kb, if self.min_free_percentage > 0.0 { self.min_free_percentage } else { GROUP_LOW_PERCENTAGE })
    }
}

impl Rule for Lmkd {
    fn kills_from(&self, seen: &Pressure) -> Option<u32> {
        if seen.stall_ms >= self.psi_complete_stall_ms {
            return Some(1);
        }
        // At least a page, as lmkd adds one: without any file page left, one refault would be thrashing at every limit.
        let thrashing = 100 * seen.refaulted_file_kb > self.thrashing_limit * seen.file_kb.max(4);
        let low_swap = seen.swap_free_percentage < self.swap_free_low_percentage;
        let low_memory = match self.low_memory_kb {
            0 => seen.below_high,
            level => seen.free_kb + seen.file_kb < level,
        };
        let two = [low_memory, low_swap, thrashing].into_iter().filter(|yes| *yes).count() >= 2;
        (seen.stall_ms >= self.psi_partial_stall_ms && two).then_some(CACHED)
    }

    fn low_memory_kb(&self) -> u64 {
        self.low_memory_kb
    }

    fn on_machine(&self, memory_kb: u64) -> Option<Arc<dyn Rule>> {
        let by_share = self.min_free_percentage > 0.0;
        by_share.then(|| Arc::new(Lmkd { low_memory_kb: self.level_kb(memory_kb, self.min_free_percentage), ..self.clone() }) as _)
    }

    fn in_group(&self, limit_kb: u64) -> Option<Arc<dyn Rule>> {
        Some(Arc::new(Lmkd { low_memory_kb: self.group_level_kb(limit_kb), ..self.clone() }))
    }

    /// Without swap it wants little free memory and few file pages, each below the level.
    fn in_model_of_group(&self, limit_kb: u64, kept_kb: u64, swaps: bool) -> Option<Arc<dyn Rule>> {
        let level = self.group_level_kb(limit_kb);
        Some(match swaps {
            true => {
                let without_stalls = Lmkd { psi_partial_stall_ms: 0, psi_complete_stall_ms: u64::MAX, ..self.clone() };
                Arc::new(Lmkd { low_memory_kb: level + kept_kb, ..without_stalls })
            }
            false => Arc::new(Minfree { minfree_kb: vec![level], adj: vec![CACHED] }),
        })
    }

    fn slowed(&self, factor: f64) -> Option<Arc<dyn Rule>> {
        let slowed = |ms: u64| (ms as f64 * factor).round() as u64;
        let [psi_partial_stall_ms, psi_complete_stall_ms] = [self.psi_partial_stall_ms, self.psi_complete_stall_ms].map(slowed);
        Some(Arc::new(Lmkd { psi_partial_stall_ms, psi_complete_stall_ms, ..self.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AdjSpread, KILLERS};

    const CALM: Pressure =
        Pressure { free_kb: 0, file_kb: 1000, below_high: false, stall_ms: 0, refaulted_file_kb: 0, swap_free_percentage: 100 };

    fn lmkd(text: &str) -> Killer {
        Killer::parse(text).unwrap()
    }

    #[test]
    fn as_a_user_writes_it() {
        let killer = lmkd("lmkd:thrashing_limit=30,poll_ms=5");
        assert_eq!((killer.spread, killer.poll_ms), (AdjSpread::ByAge, 5.0));
        let thrashing = |refaulted_file_kb| Pressure { below_high: true, stall_ms: 70, refaulted_file_kb, ..CALM };
        assert_eq!([300, 301].map(|kb| killer.kills_from(&thrashing(kb))), [None, Some(900)]);
        let error = KILLERS.parse("lmkd:psi_partial_stall=3").unwrap_err().to_string();
        assert_eq!(error, "lmkd: unknown parameter 'psi_partial_stall'; expected 'psi_partial_stall_ms' (did you mean that?)");
    }

    #[test]
    fn by_stalls() {
        let killer = lmkd("lmkd");
        let low = Pressure { below_high: true, ..CALM };
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 69, swap_free_percentage: 0, ..low }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, ..low }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, swap_free_percentage: 9, ..low }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, swap_free_percentage: 9, ..CALM }), None, "reclaim still finds memory");
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, ..low }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, ..CALM }), None);
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 70, refaulted_file_kb: 1001, swap_free_percentage: 9, ..CALM }), Some(900));
        assert_eq!(killer.kills_from(&Pressure { stall_ms: 700, ..CALM }), Some(1));
    }

    #[test]
    fn a_control_group_has_a_share_in_place_of_the_watermark() {
        let level = |text: &str| lmkd(text).in_group(100_000).low_memory_kb();
        assert_eq!((level("lmkd"), level("lmkd:min_free_percentage=2.5"), level("lmkd:low_memory_kb=700")), (6000, 2500, 700));
        assert_eq!(lmkd("lmkd").in_group(1).low_memory_kb(), 1, "0 would be the watermark");
        let level = |text: &str| lmkd(text).on_machine(100_000).low_memory_kb();
        assert_eq!((level("lmkd"), level("lmkd:min_free_percentage=5"), level("lmkd:min_free_percentage=5,low_memory_kb=7")), (0, 5000, 7));
    }

    #[test]
    fn a_model_of_a_group_has_no_stalls() {
        let killer = lmkd("lmkd:min_free_percentage=10");
        let seen = |free_kb, file_kb| Pressure { free_kb, file_kb, ..CALM };
        let swaps = killer.clone().in_model_of_group(1000, 50, true);
        let swap_is_full = |free_kb, file_kb| Pressure { swap_free_percentage: 0, ..seen(free_kb, file_kb) };
        assert_eq!(swaps.kills_from(&swap_is_full(100, 49)), Some(900));
        assert_eq!((swaps.kills_from(&swap_is_full(100, 50)), swaps.kills_from(&seen(100, 49))), (None, None));
        let none = killer.in_model_of_group(1000, 50, false);
        assert_eq!([(99, 99), (100, 0), (0, 100)].map(|(free, file)| none.kills_from(&seen(free, file))), [Some(900), None, None]);
    }

    #[test]
    fn low_memory_by_a_level_in_place_of_the_watermark() {
        let killer = lmkd("lmkd:low_memory_kb=500,psi_partial_stall_ms=0");
        let from = |free_kb, file_kb| {
            killer.kills_from(&Pressure { free_kb, file_kb, below_high: true, swap_free_percentage: 0, ..Pressure::default() })
        };
        assert_eq!((from(200, 299), from(200, 300)), (Some(900), None));
    }
}
