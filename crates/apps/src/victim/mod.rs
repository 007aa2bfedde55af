//! Which of the apps that may be killed is killed: one file a rule.

mod lru;
mod oracle;
mod swam;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::AppId;

/// How the killer chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The least important app, the least recently used one among equals (Android).
    #[default]
    Lru,
    /// The app whose next launch is furthest away: an upper bound, as nobody knows it.
    Oracle,
    /// The app that starts anew fastest (SWAM).
    Swam,
}

/// An app that may be killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    pub app: AppId,
    /// `oom_score_adj`.
    pub adjustment: u32,
    /// Launches of any app until its own next one; none if it is never launched again.
    pub next_launch: Option<u64>,
    /// Processor time of its cold start.
    pub cold_ns: u64,
}

impl Victim {
    /// One of `candidates`, which come least recently used first; none only if there are none.
    pub fn choose(self, candidates: &[Candidate]) -> Option<AppId> {
        match self {
            Victim::Lru => lru::choose(candidates),
            Victim::Oracle => oracle::choose(candidates),
            Victim::Swam => swam::choose(candidates),
        }
    }

    /// Whether it also says which cached app goes when there are too many; Android's own rule is `lru`.
    pub fn rules_the_limit(self) -> bool {
        self == Victim::Oracle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_by_hand() {
        let app = |app, adjustment, next_launch, cold_ns| Candidate { app, adjustment, next_launch, cold_ns };
        let apps = [app(0, 902, Some(1), 400), app(1, 500, None, 900), app(2, 901, Some(7), 300), app(3, 700, Some(9), 300)];
        assert_eq!([Victim::Lru, Victim::Oracle, Victim::Swam].map(|v| v.choose(&apps)), [Some(0), Some(1), Some(2)]);
        // Of equals the least recently used one.
        let equal = [app(5, 999, Some(3), 10), app(6, 999, Some(3), 10)];
        assert_eq!([Victim::Lru, Victim::Oracle, Victim::Swam].map(|v| v.choose(&equal)), [Some(5); 3]);
        assert_eq!([Victim::Lru, Victim::Oracle, Victim::Swam].map(|v| v.choose(&[])), [None; 3]);
    }
}
