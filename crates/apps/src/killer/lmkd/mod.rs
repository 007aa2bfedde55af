//! What: Android's low-memory killer daemon, woken by pressure stall information.
//! Why: the killer of Android 11 and later.
//! Source: AOSP system/memory/lmkd, lmkd.cpp, `mp_event_psi`, `find_and_kill_process`,
//! `calc_swap_utilization` and `update_props`, at commit 498e312 (2025); each rule is named as
//! there.
//! Deviations: the app in front is never killed; `kill_timeout_ms` has an effect only where a
//! victim takes time to die (`machine.kernel.exit_ns`), and 0 does not wait at all; partial and
//! complete stalls are the same; easily available memory includes all file pages instead of only
//! inactive ones, so swap counts as low later.
//! Weakness: rules with percentages behave differently on phones with different memory sizes.

mod memory;
mod settings;
#[cfg(test)]
mod tests;

use super::minfree::{Computed, Minfree};
use super::{Info, Killer, Pressure, Rule, VICTIM};
use crate::CACHED;
use memory::Memory;
use settings::{Settings, NOBODY};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Entry, Kind, Parameter, Params, Result};

const ANY: u64 = u32::MAX as u64;
const fn number(name: &'static str, high: u64, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::Integer { low: 0, high }, default, meaning)
}

macro_rules! property {
    ($name:literal, $high:expr, $default:literal, $meaning:literal) => {
        number($name, $high, $default, $meaning).sets(Place::Property, concat!("ro.lmk.", $name))
    };
}

pub static ENTRY: Entry<Info> = Entry {
    key: "lmkd",
    what: "kills at stalls on memory, by watermarks, free swap and a file cache that thrashes",
    source: "AOSP system/memory/lmkd, lmkd.cpp, mp_event_psi (Android 11 to 15)",
    parameters: &[
        VICTIM,
        number(
            "low_memory_kb",
            u64::MAX,
            "0",
            "memory is low with fewer kB of free and file pages together; 0: below the kernel's low watermark",
        ),
        Parameter::new(
            "min_free_percentage",
            Kind::Number { low: 0.0, high: 100.0 },
            "0",
            "on a kernel: memory is low with less than this share in free and file pages; 0: by the watermark, in a control group 6",
        ),
        Parameter::new("poll_ms", Kind::Number { low: 1e-3, high: 1e6 }, "10", "on a kernel: time from look to look"),
        property!("psi_partial_stall_ms", ANY, "70", "stalls a second at which it looks"),
        property!("psi_complete_stall_ms", ANY, "700", "stalls a second at which any app but the one in front may be killed"),
        property!("swap_free_low_percentage", 100, "10", "swap is low below this share of it; 0: never"),
        property!(
            "swap_util_max",
            100,
            "100",
            "while memory is low, the most that may be swapped of what can be, in percent; 100: no limit"
        ),
        property!(
            "swap_compression_ratio",
            ANY,
            "1",
            "free swap is at most so many times the memory easily available; 0: what the area has"
        ),
        property!("thrashing_limit", ANY, "100", "refaulted file pages in percent of the file cache within a second"),
        property!("thrashing_limit_decay", 100, "10", "by how many percent a kill for thrashing lowers the limit, until a second passes"),
        property!("thrashing_limit_critical", ANY, "0", "thrashing from which perceptible apps may be killed; 0: three times the limit"),
        property!(
            "stall_limit_critical",
            ANY,
            "100",
            "average of complete stalls in percent (full avg10) above which a kill may take any app"
        ),
        property!(
            "direct_reclaim_threshold_ms",
            ANY,
            "0",
            "ms of one direct reclaim beyond which any app but the one in front may be killed; 0: none for that"
        ),
        property!("filecache_min_kb", ANY, "0", "after thrashing, background apps are killed until there are so many kB of file pages"),
        property!("lowmem_min_oom_score", NOBODY, "701", "least oom_score_adj that low memory alone kills; 1001: none (before Android 15)"),
        property!("kill_timeout_ms", ANY, "100", "ms for which it waits for a victim's death (pidfd) before it checks memory again"),
        property!("pressure_after_kill_min_score", NOBODY, "0", "least oom_score_adj killed when a kill left too little memory"),
    ],
    info: Info { build },
};

fn build(params: &Params) -> Result<Killer> {
    let rule = Lmkd { settings: Settings::of(params), memory: Memory::default() };
    let wait_ms = params.integer("kill_timeout_ms") as f64;
    Ok(Killer { poll_ms: params.number("poll_ms"), wait_ms, ..Killer::new(params, rule) })
}

#[derive(Clone, Debug)]
struct Lmkd {
    settings: Settings,
    memory: Memory,
}

impl Rule for Lmkd {
    fn look(&mut self, now_ns: u64, seen: &Pressure) -> Option<u32> {
        self.memory.look(&self.settings, now_ns, seen)
    }

    fn killed(&mut self) {
        self.memory.killed(&self.settings);
    }

    fn is_awake(&self, stall_ms: u64) -> bool {
        self.memory.is_awake(&self.settings, stall_ms)
    }

    fn reads_average(&self) -> bool {
        self.settings.stall_limit_critical < 100
    }

    fn reads_direct_reclaim(&self) -> bool {
        self.settings.direct_reclaim_threshold_ms > 0
    }

    fn low_memory_kb(&self) -> u64 {
        self.settings.low_memory_kb
    }

    fn on_machine(&mut self, memory_kb: u64) {
        if self.settings.low_memory_kb == 0 && self.settings.min_free_percentage > 0.0 {
            self.in_group(memory_kb);
        }
    }

    fn in_group(&mut self, limit_kb: u64) {
        self.settings = self.settings.by_level(self.settings.group_level_kb(limit_kb));
    }

    /// Without swap it wants little free memory and few file pages, each below the level.
    fn in_model_of_group(&mut self, limit_kb: u64, kept_kb: u64, swaps: bool) -> Option<Box<dyn Rule>> {
        let level = self.settings.group_level_kb(limit_kb);
        if !swaps {
            return Some(Box::new(Minfree { minfree_kb: vec![level], adj: vec![CACHED], computed: Computed::GIVEN }));
        }
        let settings = self.settings.by_level(level + kept_kb);
        self.settings = Settings { psi_partial_stall_ms: 0, psi_complete_stall_ms: u64::MAX, direct_reclaim_threshold_ms: 0, ..settings };
        None
    }

    fn slowed(&mut self, factor: f64) {
        let Settings { psi_partial_stall_ms, psi_complete_stall_ms, direct_reclaim_threshold_ms, .. } = &mut self.settings;
        for stall in [psi_partial_stall_ms, psi_complete_stall_ms, direct_reclaim_threshold_ms] {
            *stall = (*stall as f64 * factor).round() as u64;
        }
    }
}
