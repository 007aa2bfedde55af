//! The rules that choose a victim among the apps that may be killed, one file each.

mod largest;
mod lru;
mod oracle;
mod swam;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{AppId, Entry, Registry};

/// How the killer chooses its victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The least important app, the least recently used one among equals (Android).
    #[default]
    Lru,
    /// The app whose next launch is furthest away. No phone knows it, so this is an upper bound.
    Oracle,
    /// The app with the shortest cold start (SWAM).
    Swam,
    /// The least important app, the one with the largest resident set among equals (the kernel's
    /// driver).
    Largest,
}

/// Properties of a rule in the registry, in addition to its key.
#[derive(Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    pub victim: Victim,
}

const fn rule(key: &'static str, what: &'static str, source: &'static str, victim: Victim) -> Entry<Info> {
    Entry { key, what, source, parameters: &[], info: Info { victim } }
}

/// The registry of the rules.
pub static VICTIMS: Registry<Info> = Registry {
    kind: "victim",
    entries: &[
        &const { rule(Victim::KEYS[0], "the least important app, the least recently used one among equals", "Android", Victim::Lru) },
        &const {
            rule(
                Victim::KEYS[1],
                "the app whose next launch is furthest away: an upper bound",
                "Belady 1966, applied to apps",
                Victim::Oracle,
            )
        },
        &const { rule(Victim::KEYS[2], "the app that starts anew fastest", "SWAM (MobiCom 2023), abstract", Victim::Swam) },
        &const {
            rule(
                Victim::KEYS[3],
                "the least important app, the one with the largest resident set among equals",
                "Linux 3.4, drivers/staging/android/lowmemorykiller.c",
                Victim::Largest,
            )
        },
    ],
};

/// An app that may be killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    pub app: AppId,
    /// The app's `oom_score_adj`.
    pub adjustment: u32,
    /// The number of launches of any app up to its own next one; none if it is never launched
    /// again.
    pub next_launch: Option<u64>,
    /// Processor time of its cold start, in ns.
    pub cold_ns: u64,
    /// Its resident anonymous and file pages; 0 if the rule does not ask for them.
    pub resident_pages: u64,
}

impl Victim {
    pub const ALL: [Victim; 4] = [Victim::Lru, Victim::Oracle, Victim::Swam, Victim::Largest];
    pub const KEYS: [&'static str; 4] = ["lru", "oracle", "swam", "largest"];

    /// Choose one of `candidates`, which are ordered from the least recently used one on. None if
    /// there are no candidates.
    pub fn choose(self, candidates: &[Candidate]) -> Option<AppId> {
        match self {
            Victim::Lru => lru::choose(candidates),
            Victim::Oracle => oracle::choose(candidates),
            Victim::Swam => swam::choose(candidates),
            Victim::Largest => largest::choose(candidates),
        }
    }

    /// Whether the rule needs [`Candidate::resident_pages`].
    pub fn needs_resident_pages(self) -> bool {
        self == Victim::Largest
    }

    /// Whether the rule also chooses the app to end when there are more cached apps than Android
    /// allows. Otherwise `lru` does.
    pub fn rules_the_limit(self) -> bool {
        self == Victim::Oracle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_rules_agree() {
        let registered: Vec<_> = VICTIMS.iter().map(|entry| (entry.key, entry.info.victim)).collect();
        assert_eq!(registered, Victim::KEYS.into_iter().zip(Victim::ALL).collect::<Vec<_>>());
    }

    #[test]
    fn each_rule_by_hand() {
        let app = |app, adjustment, next_launch, cold_ns| Candidate { app, adjustment, next_launch, cold_ns, resident_pages: 0 };
        let apps = [app(0, 902, Some(1), 400), app(1, 500, None, 900), app(2, 901, Some(7), 300), app(3, 700, Some(9), 300)];
        assert_eq!([Victim::Lru, Victim::Oracle, Victim::Swam].map(|v| v.choose(&apps)), [Some(0), Some(1), Some(2)]);
        // Of equals the least recently used one.
        let equal = [app(5, 999, Some(3), 10), app(6, 999, Some(3), 10)];
        assert_eq!([Victim::Lru, Victim::Oracle, Victim::Swam].map(|v| v.choose(&equal)), [Some(5); 3]);
        assert_eq!(Victim::ALL.map(|v| v.choose(&[])), [None; 4]);
        assert_eq!(Victim::ALL.map(Victim::rules_the_limit), [false, true, false, false]);
        assert_eq!(Victim::ALL.map(Victim::needs_resident_pages), [false, false, false, true]);
    }

    /// Five apps, by `oom_score_adj` and resident pages. The highest adjustment goes first,
    /// whatever its size: of the two at 906 the one with 40 pages, then the one with 30; of the two
    /// with 20 pages at 900 the least recently used one. The app without a resident page is passed
    /// over.
    #[test]
    fn the_largest_of_the_least_important_by_hand() {
        let sizes = [(0, 900, 20), (1, 906, 30), (2, 900, 20), (3, 906, 40), (4, 906, 0)];
        let mut apps: Vec<Candidate> = sizes
            .map(|(app, adjustment, resident_pages)| Candidate { app, adjustment, next_launch: None, cold_ns: 0, resident_pages })
            .into();
        let mut order = Vec::new();
        while let Some(app) = Victim::Largest.choose(&apps) {
            order.push(app);
            apps.retain(|candidate| candidate.app != app);
        }
        assert_eq!((order, apps.len()), (vec![3, 1, 0, 2], 1));
    }
}
