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
use std::sync::Arc;
use swaplab_vocab::{Kind, Parameter, Params, Resolved, Result};

/// What a killer looks at.
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

/// When a killer kills. What differs where apps run in a control group, or on a slower clock, is another rule: nothing means the same one.
pub trait Rule: Debug + Send + Sync {
    /// The least `oom_score_adj` that may be killed now; nothing if none may.
    fn kills_from(&self, seen: &Pressure) -> Option<u32>;

    /// Whether it never kills, whatever it sees.
    fn is_off(&self) -> bool {
        false
    }

    /// Free and file pages together that are little memory to it, in kB; 0 where it goes by something else.
    fn low_memory_kb(&self) -> u64 {
        0
    }

    /// On a machine with so much memory.
    fn on_machine(&self, _memory_kb: u64) -> Option<Arc<dyn Rule>> {
        None
    }

    /// For apps in a control group with this limit. A group has no watermarks.
    fn in_group(&self, _limit_kb: u64) -> Option<Arc<dyn Rule>> {
        None
    }

    /// In a model of such a group, which has no stalls either. The model keeps `kept_kb` free that the group has not.
    fn in_model_of_group(&self, _limit_kb: u64, _kept_kb: u64, _swaps: bool) -> Option<Arc<dyn Rule>> {
        None
    }

    /// Where a second of the phone's takes `factor` seconds.
    fn slowed(&self, _factor: f64) -> Option<Arc<dyn Rule>> {
        None
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
    rule: Arc<dyn Rule>,
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
        Killer { victim: Victim::ALL[params.choice("victim")], spread: AdjSpread::ByAge, poll_ms: POLL_MS, rule: Arc::new(rule) }
    }

    /// The least `oom_score_adj` that may be killed now; nothing if none may.
    pub fn kills_from(&self, seen: &Pressure) -> Option<u32> {
        self.rule.kills_from(seen)
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
    pub fn on_machine(self, memory_kb: u64) -> Killer {
        let rule = self.rule.on_machine(memory_kb);
        self.with(rule)
    }

    /// The same killer for apps in a control group with this limit.
    pub fn in_group(self, limit_kb: u64) -> Killer {
        let rule = self.rule.in_group(limit_kb);
        self.with(rule)
    }

    /// The same killer in a model of such a group, with swap or without, which keeps `kept_kb` free that the group has not.
    pub fn in_model_of_group(self, limit_kb: u64, kept_kb: u64, swaps: bool) -> Killer {
        let rule = self.rule.in_model_of_group(limit_kb, kept_kb, swaps);
        self.with(rule)
    }

    /// The same killer where a second of the phone's takes `factor` seconds.
    pub fn slowed(self, factor: f64) -> Killer {
        let (rule, poll_ms) = (self.rule.slowed(factor), self.poll_ms * factor);
        Killer { poll_ms, ..self.with(rule) }
    }

    fn with(self, rule: Option<Arc<dyn Rule>>) -> Killer {
        Killer { rule: rule.unwrap_or(self.rule), ..self }
    }
}

/// `minfree` with its defaults.
impl Default for Killer {
    fn default() -> Killer {
        Killer::of(&KILLERS.entries[0].defaults()).expect("defaults make a killer")
    }
}
