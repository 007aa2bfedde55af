//! The low-memory killer: when an app is killed, and down to which `oom_score_adj`. A killer is one
//! file here and one line in [`registry`].

mod levels;
mod lmkd;
mod minfree;
mod off;
mod registry;
mod when_swap_full;

pub use registry::KILLERS;

use crate::{AdjSpread, Victim};
use serde::Serialize;
use std::fmt::Debug;
use swaplab_vocab::{Kind, Parameter, Params, Resolved, Result};

/// The lowest of the kernel's watermarks that free memory is below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watermark {
    Min,
    Low,
    High,
    #[default]
    None,
}

impl Watermark {
    /// The lowest watermark that `free` is below; both in the same unit.
    pub fn breached(free: u64, [min, low, high]: [u64; 3]) -> Watermark {
        match free {
            _ if free < min => Watermark::Min,
            _ if free < low => Watermark::Low,
            _ if free < high => Watermark::High,
            _ => Watermark::None,
        }
    }
}

/// Pages that reclaim has scanned since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// By tasks that needed memory themselves (`pgscan_direct` of /proc/vmstat).
    pub direct: u64,
    /// In the background (`pgscan_kswapd`).
    pub background: u64,
}

/// The state of memory that a killer decides by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    pub free_kb: u64,
    pub file_kb: u64,
    /// Anonymous pages in memory.
    pub anon_kb: u64,
    pub watermark: Watermark,
    /// None if it is not known, as for a control group of the first version.
    pub scanned: Option<Scanned>,
    /// For how long the task that reclaims for itself now has done so, in ms; 0 if none does, or if
    /// the killer does not read it.
    pub direct_reclaim_ms: u64,
    /// Time in which tasks stalled for memory during the last second, in ms.
    pub stall_ms: u64,
    /// Percent of time in which all tasks stalled for memory, averaged over ten seconds as the
    /// kernel does (`full avg10`); 0 if the killer does not read it.
    pub full_avg10: f64,
    /// File pages that were read again after their eviction, in kB since the machine started.
    pub file_refaults_kb: u64,
    /// Size of the swap area in kB; 0 if there is none, or none with a limit.
    pub swap_total_kb: u64,
    pub swap_free_kb: u64,
}

/// Decides when an app may be killed. A rule may keep state from one check of memory to the next.
pub trait Rule: Debug + Send + Sync + CloneRule {
    /// The least `oom_score_adj` that may be killed now; none if no app may be killed. `now_ns` may
    /// be of any monotonic clock.
    fn look(&mut self, now_ns: u64, seen: &Pressure) -> Option<u32>;

    /// Note that an app was killed because of the last check.
    fn killed(&mut self) {}

    /// Whether [`look`](Self::look) can name an adjustment after `stall_ms` of stalls in the last
    /// second.
    fn is_awake(&self, _stall_ms: u64) -> bool {
        true
    }

    /// Whether the rule reads [`Pressure::full_avg10`].
    fn reads_average(&self) -> bool {
        false
    }

    /// Whether the rule reads [`Pressure::direct_reclaim_ms`].
    fn reads_direct_reclaim(&self) -> bool {
        false
    }

    /// Whether the killer never kills an app.
    fn is_off(&self) -> bool {
        false
    }

    /// Memory is low to this killer when free and file pages together are below this many kB; 0 if
    /// it decides by something else.
    fn low_memory_kb(&self) -> u64 {
        0
    }

    /// Compute levels from the size of memory, as Android does at boot.
    fn sized(&mut self, _memory_kb: u64) {}

    /// Adapt the rule to a machine with `memory_kb` of memory.
    fn on_machine(&mut self, _memory_kb: u64) {}

    /// Adapt the rule to apps in a control group limited to `limit_kb`. A control group has no
    /// watermarks.
    fn in_group(&mut self, _limit_kb: u64) {}

    /// Adapt the rule to a simulated phone that models such a control group. The model has no
    /// stalls, and its free memory includes `kept_kb` (its low watermark), which a control group
    /// does not have. Returns a replacement if this rule does not work there.
    fn in_model_of_group(&mut self, _limit_kb: u64, _kept_kb: u64, _swaps: bool) -> Option<Box<dyn Rule>> {
        None
    }

    /// Stretch the rule's times: one second of the phone takes `factor` seconds.
    fn slowed(&mut self, _factor: f64) {}
}

/// Lets `Box<dyn Rule>` be cloned.
pub trait CloneRule {
    fn clone_rule(&self) -> Box<dyn Rule>;
}

impl<R: Rule + Clone + 'static> CloneRule for R {
    fn clone_rule(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Rule> {
    fn clone(&self) -> Box<dyn Rule> {
        (**self).clone_rule()
    }
}

/// A low-memory killer of a design: its rule, its choice of a victim, and Android's spread of
/// adjustments.
#[derive(Clone, Debug)]
pub struct Killer {
    /// How the victim is chosen among the apps that may be killed.
    pub victim: Victim,
    /// How cached apps are spread over `oom_score_adj`.
    pub spread: AdjSpread,
    /// Interval between checks of memory, in ms.
    pub poll_ms: f64,
    /// Time in ms for which it kills no other app while a victim has not died yet; 0: it does not
    /// wait.
    pub wait_ms: f64,
    rule: Box<dyn Rule>,
}

/// Properties of a killer in the registry, in addition to its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    /// Build the killer. The caller has checked the parameters against those of the entry.
    #[serde(skip)]
    build: fn(&Params) -> Result<Killer>,
}

const POLL_MS: f64 = 10.0;
const VICTIM: Parameter = Parameter::new(
    "victim",
    Kind::Choice(&Victim::KEYS),
    "lru",
    "rule that chooses among the apps that may be killed: lru, oracle, swam or largest",
);

impl Killer {
    /// The killer of a spec that a user wrote.
    pub fn of(resolved: &Resolved<Info>) -> Result<Killer> {
        (resolved.entry.info.build)(&resolved.params).map_err(|e| e.within(resolved.entry.key))
    }

    /// The killer of a spec's text, such as `lmkd:swap_util_max=90`.
    pub fn parse(text: &str) -> Result<Killer> {
        Killer::of(&KILLERS.parse(text)?)
    }

    /// A killer with this rule and the `victim` of `params`. Its cached apps are spread by age.
    fn new(params: &Params, rule: impl Rule + 'static) -> Killer {
        Killer {
            victim: Victim::ALL[params.choice("victim")],
            spread: AdjSpread::ByAge,
            poll_ms: POLL_MS,
            wait_ms: 0.0,
            rule: Box::new(rule),
        }
    }

    /// The least `oom_score_adj` that may be killed now; none if no app may be killed. `now_ns` may
    /// be of any monotonic clock.
    pub fn look(&mut self, now_ns: u64, seen: &Pressure) -> Option<u32> {
        self.rule.look(now_ns, seen)
    }

    /// Note that an app was killed because of the last check.
    pub fn killed(&mut self) {
        self.rule.killed();
    }

    /// Whether [`look`](Self::look) can name an adjustment after `stall_ms` of stalls in the last
    /// second.
    pub fn is_awake(&self, stall_ms: u64) -> bool {
        self.rule.is_awake(stall_ms)
    }

    /// Whether the killer reads [`Pressure::full_avg10`].
    pub fn reads_average(&self) -> bool {
        self.rule.reads_average()
    }

    /// Whether the killer reads [`Pressure::direct_reclaim_ms`].
    pub fn reads_direct_reclaim(&self) -> bool {
        self.rule.reads_direct_reclaim()
    }

    /// Whether the killer never kills an app.
    pub fn is_off(&self) -> bool {
        self.rule.is_off()
    }

    /// Memory is low to this killer when free and file pages together are below this many kB; 0 if
    /// it decides by something else.
    pub fn low_memory_kb(&self) -> u64 {
        self.rule.low_memory_kb()
    }

    /// This killer on a machine with `memory_kb` of memory.
    pub fn on_machine(self, memory_kb: u64) -> Killer {
        let mut sized = self.sized(memory_kb);
        sized.rule.on_machine(memory_kb);
        sized
    }

    /// This killer with the levels that Android computes from `memory_kb` of memory, if it computes
    /// any.
    pub fn sized(mut self, memory_kb: u64) -> Killer {
        self.rule.sized(memory_kb);
        self
    }

    /// This killer for apps in a control group limited to `limit_kb`.
    pub fn in_group(mut self, limit_kb: u64) -> Killer {
        self.rule.in_group(limit_kb);
        self
    }

    /// This killer in a model of such a control group, with or without swap. The model keeps
    /// `kept_kb` free, which the group does not.
    pub fn in_model_of_group(mut self, limit_kb: u64, kept_kb: u64, swaps: bool) -> Killer {
        if let Some(rule) = self.rule.in_model_of_group(limit_kb, kept_kb, swaps) {
            self.rule = rule;
        }
        self
    }

    /// This killer where one second of the phone takes `factor` seconds.
    pub fn slowed(mut self, factor: f64) -> Killer {
        self.rule.slowed(factor);
        self.poll_ms *= factor;
        self.wait_ms *= factor;
        self
    }
}

/// The killer `minfree` with its default parameters.
impl Default for Killer {
    fn default() -> Killer {
        Killer::of(&KILLERS.entries[0].defaults()).expect("defaults make a killer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_watermark_below_which_memory_is() {
        use Watermark::{High, Low, Min, None};
        assert_eq!([9, 10, 12, 15].map(|free| Watermark::breached(free, [10, 12, 15])), [Min, Low, High, None]);
    }
}
