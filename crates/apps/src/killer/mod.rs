//! The low-memory killer: when an app is killed, and down to which `oom_score_adj`. A killer is one file here and one line in [`registry`].

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

/// What a killer looks at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    pub free_kb: u64,
    pub file_kb: u64,
    /// Anonymous pages in memory.
    pub anon_kb: u64,
    pub watermark: Watermark,
    /// Whoever needs memory reclaims it himself.
    pub is_direct_reclaim: bool,
    /// Over the last second.
    pub stall_ms: u64,
    /// File pages that were read again after they had left memory, since the machine started.
    pub file_refaults_kb: u64,
    /// The swap area; 0 without one, or without a limit.
    pub swap_total_kb: u64,
    pub swap_free_kb: u64,
}

/// When a killer kills, with what it remembers from look to look.
pub trait Rule: Debug + Send + Sync + CloneRule {
    /// The least `oom_score_adj` that may be killed now; nothing if none may. `now_ns`: of any clock that does not go back.
    fn look(&mut self, now_ns: u64, seen: &Pressure) -> Option<u32>;

    /// Somebody was killed on the advice of the last look.
    fn killed(&mut self) {}

    /// Whether a look can lead to a kill with so many stalls in the last second.
    fn is_awake(&self, _stall_ms: u64) -> bool {
        true
    }

    /// Whether it never kills, whatever it sees.
    fn is_off(&self) -> bool {
        false
    }

    /// Free and file pages together that are little memory to it, in kB; 0 where it goes by something else.
    fn low_memory_kb(&self) -> u64 {
        0
    }

    /// It is to watch a machine with so much memory.
    fn on_machine(&mut self, _memory_kb: u64) {}

    /// It is to watch apps in a control group with this limit. A group has no watermarks.
    fn in_group(&mut self, _limit_kb: u64) {}

    /// It is to watch the simulated phone in place of such a group. The model has no stalls, and counts `kept_kb` (its low watermark) as
    /// free that a group does not have. Returns the rule to use in its place where this one cannot work so.
    fn in_model_of_group(&mut self, _limit_kb: u64, _kept_kb: u64, _swaps: bool) -> Option<Box<dyn Rule>> {
        None
    }

    /// A second of the phone's takes `factor` seconds.
    fn slowed(&mut self, _factor: f64) {}
}

/// What makes `Box<dyn Rule>` a thing that can be cloned.
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

/// A low-memory killer as a design has it.
#[derive(Clone, Debug)]
pub struct Killer {
    /// Which of the apps that may be killed goes.
    pub victim: Victim,
    /// How cached apps are spread over `oom_score_adj`.
    pub spread: AdjSpread,
    /// On a real or virtual kernel: time from look to look.
    pub poll_ms: f64,
    rule: Box<dyn Rule>,
}

/// What the registry knows of a killer beside its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    /// The parameters are checked against the entry's before this is called.
    #[serde(skip)]
    build: fn(&Params) -> Result<Killer>,
}

const POLL_MS: f64 = 10.0;
const VICTIM: Parameter =
    Parameter::new("victim", Kind::Choice(&Victim::KEYS), "lru", "which of the apps that may be killed goes: lru, oracle or swam");

impl Killer {
    /// The killer that a user wrote.
    pub fn of(resolved: &Resolved<Info>) -> Result<Killer> {
        (resolved.entry.info.build)(&resolved.params).map_err(|e| e.within(resolved.entry.key))
    }

    /// [`of`](Killer::of) the text form.
    pub fn parse(text: &str) -> Result<Killer> {
        Killer::of(&KILLERS.parse(text)?)
    }

    /// `rule` with the `victim` of `params`; cached apps are spread by their age.
    fn new(params: &Params, rule: impl Rule + 'static) -> Killer {
        Killer { victim: Victim::ALL[params.choice("victim")], spread: AdjSpread::ByAge, poll_ms: POLL_MS, rule: Box::new(rule) }
    }

    /// The least `oom_score_adj` that may be killed now; nothing if none may. `now_ns`: of any clock that does not go back.
    pub fn look(&mut self, now_ns: u64, seen: &Pressure) -> Option<u32> {
        self.rule.look(now_ns, seen)
    }

    /// Somebody was killed on the advice of the last look.
    pub fn killed(&mut self) {
        self.rule.killed();
    }

    /// Whether a look can lead to a kill with so many stalls in the last second.
    pub fn is_awake(&self, stall_ms: u64) -> bool {
        self.rule.is_awake(stall_ms)
    }

    /// Whether it never kills, whatever it sees.
    pub fn is_off(&self) -> bool {
        self.rule.is_off()
    }

    /// Free and file pages together that are little memory to it, in kB; 0 where it goes by something else.
    pub fn low_memory_kb(&self) -> u64 {
        self.rule.low_memory_kb()
    }

    /// The same killer on a machine with so much memory.
    pub fn on_machine(mut self, memory_kb: u64) -> Killer {
        self.rule.on_machine(memory_kb);
        self
    }

    /// The same killer for apps in a control group with this limit.
    pub fn in_group(mut self, limit_kb: u64) -> Killer {
        self.rule.in_group(limit_kb);
        self
    }

    /// The same killer in a model of such a group, with swap or without, which keeps `kept_kb` free that the group has not.
    pub fn in_model_of_group(mut self, limit_kb: u64, kept_kb: u64, swaps: bool) -> Killer {
        if let Some(rule) = self.rule.in_model_of_group(limit_kb, kept_kb, swaps) {
            self.rule = rule;
        }
        self
    }

    /// The same killer where a second of the phone's takes `factor` seconds.
    pub fn slowed(mut self, factor: f64) -> Killer {
        self.rule.slowed(factor);
        self.poll_ms *= factor;
        self
    }
}

/// `minfree` with its defaults.
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
