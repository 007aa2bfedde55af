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

/// The upper bound of a property for which AOSP gives none.
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
    what: "kills when tasks stall on memory, by watermarks, free swap and thrashing of the file cache",
    source: "AOSP system/memory/lmkd, lmkd.cpp, mp_event_psi (Android 11 to 15)",
    parameters: &[
        VICTIM,
        number(
            "low_memory_kb",
            u64::MAX,
            "0",
            "memory is low if free and file pages together are fewer kB; 0: if free memory is below the kernel's low watermark",
        ),
        Parameter::new(
            "min_free_percentage",
            Kind::Number { low: 0.0, high: 100.0 },
            "0",
            "on a kernel: memory is low if free and file pages are a smaller share of it, in percent; 0: by the watermark, in a control group 6",
        ),
        Parameter::new("poll_ms", Kind::Number { low: 1e-3, high: 1e6 }, "10", "time between two checks of memory, in ms"),
        property!("psi_partial_stall_ms", ANY, "70", "stall time per second, in ms, from which it checks memory"),
        property!("psi_complete_stall_ms", ANY, "700", "stall time per second, in ms, from which any app but the one in front may be killed"),
        property!("swap_free_low_percentage", 100, "10", "swap is low if less than this percentage of it is free; 0: never"),
        property!(
            "swap_util_max",
            100,
            "100",
            "while memory is low, it kills if more than this percentage of swappable memory is swapped out; 100: no limit"
        ),
        property!(
            "swap_compression_ratio",
            ANY,
            "1",
            "free swap counts as at most this multiple of the easily available memory; 0: as the free part of the area"
        ),
        property!("thrashing_limit", ANY, "100", "memory thrashes if the file pages refaulted within a second are this percentage of the file cache"),
        property!("thrashing_limit_decay", 100, "10", "percentage by which a kill for thrashing lowers the limit for a second"),
        property!("thrashing_limit_critical", ANY, "0", "percentage of refaulted file pages from which perceptible apps may be killed; 0: three times the limit"),
        property!(
            "stall_limit_critical",
            ANY,
            "100",
            "average of complete stalls in percent (full avg10) above which any app may be killed"
        ),
        property!(
            "direct_reclaim_threshold_ms",
            ANY,
            "0",
            "time of one direct reclaim, in ms, after which any app but the one in front may be killed; 0: never"
        ),
        property!("filecache_min_kb", ANY, "0", "after thrashing, background apps are killed until file pages reach this size in kB"),
        property!("lowmem_min_oom_score", NOBODY, "701", "least oom_score_adj that is killed for low memory alone; 1001: none (before Android 15)"),
        property!("kill_timeout_ms", ANY, "100", "time for which it waits for a victim to end (pidfd), in ms, before it checks memory again"),
        property!("pressure_after_kill_min_score", NOBODY, "0", "least oom_score_adj that is killed if memory is still low after a kill"),
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

    /// Without swap the replacement kills when free memory and file pages are each below the level.
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
