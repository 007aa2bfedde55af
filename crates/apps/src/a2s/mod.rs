//! Application-aware swapping (Kim et al. 2017, Algorithm 1): two conditions on a swap-out, each of use alone.

mod ess;
mod lvsp;

pub use ess::Ess;
pub use lvsp::Lvsp;

use crate::{History, Owner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{AppId, Entry, Kind, Parameter, Registry, Resolved, World};

/// Which of the conditions hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppPolicy {
    /// Any page may be swapped out (vanilla).
    #[default]
    None,
    /// Not while many apps live.
    Ess,
    /// Only pages of apps that are likely to live on.
    Lvsp,
    /// Both.
    A2s,
    /// Any, but pages of the app in front, of files too, stay while there are others.
    Acclaim,
    /// Any, but anonymous pages that their app's last start used stay while there are others.
    Ariadne,
}

/// What the registry knows of an app policy beside its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    pub policy: AppPolicy,
    pub worlds: &'static [World],
}

const T_LIVE: Parameter =
    Parameter::new("t_live", Kind::Number { low: 0.0, high: f64::MAX }, "18", "no swap-out while so many apps live (ESS)");
const T_REUSE: Parameter = Parameter::new(
    "t_reuse",
    Kind::Number { low: 0.0, high: f64::INFINITY },
    "64",
    "average reuse distance from which an app's pages stay (LVSP); inf: there is none",
);
const T_LAUNCHED: Parameter =
    Parameter::new("t_launched", Kind::Integer { low: 0, high: u64::MAX }, "3", "launches below which an app's pages stay (LVSP)");
const STRICT: Parameter = Parameter::new("strict", Kind::Switch, "off", "weigh the average by gaps in place of launches (LVSP)");

/// A group's swap can be switched per app on a kernel; which of its pages go first can't.
const EVERYWHERE: &[World] = &[World::Phone, World::Kernel];
const PHONE: &[World] = &[World::Phone];

const fn policy(
    key: &'static str,
    what: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
    policy: AppPolicy,
    worlds: &'static [World],
) -> Entry<Info> {
    Entry { key, what, source, parameters, info: Info { policy, worlds } }
}

static NONE: Entry<Info> = policy("none", "any page may be swapped out", "Android", &[], AppPolicy::None, EVERYWHERE);
static ESS: Entry<Info> = policy("ess", "no swap-out while many apps live", "A2S, Section 4.1", &[T_LIVE], AppPolicy::Ess, EVERYWHERE);
static LVSP: Entry<Info> = policy(
    "lvsp",
    "swaps out pages of apps that are likely to live on",
    "A2S, Section 4.2",
    &[T_REUSE, T_LAUNCHED, STRICT],
    AppPolicy::Lvsp,
    EVERYWHERE,
);
static A2S: Entry<Info> =
    policy("a2s", "both: ess and lvsp", "A2S, Algorithm 1", &[T_LIVE, T_REUSE, T_LAUNCHED, STRICT], AppPolicy::A2s, EVERYWHERE);
static ACCLAIM: Entry<Info> = policy(
    "acclaim",
    "pages of the app in front stay while there are others",
    "Acclaim (USENIX ATC 2020), abstract",
    &[],
    AppPolicy::Acclaim,
    PHONE,
);
static ARIADNE: Entry<Info> = policy(
    "ariadne",
    "anonymous pages that their app's last start used stay while there are others",
    "Ariadne (HPCA 2025), abstract",
    &[],
    AppPolicy::Ariadne,
    PHONE,
);

/// Every app policy.
pub static APP_POLICIES: Registry<Info> = Registry { kind: "app policy", entries: &[&NONE, &ESS, &LVSP, &A2S, &ACCLAIM, &ARIADNE] };

impl AppPolicy {
    /// What the registry says of it.
    pub fn entry(self) -> &'static Entry<Info> {
        APP_POLICIES.entries[self as usize]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    ess: Option<Ess>,
    lvsp: Option<Lvsp>,
    acclaim: bool,
    ariadne: bool,
}

impl Gate {
    /// The gate of an app policy that a user wrote.
    pub fn of(resolved: &Resolved<Info>) -> Gate {
        let policy = resolved.entry.info.policy;
        // What an app policy does not take is what A2S has: it has no effect.
        let standard = A2S.defaults().params;
        let of = |name: &str| if resolved.params.has(name) { &resolved.params } else { &standard };
        let lvsp = Lvsp {
            t_reuse: of("t_reuse").number("t_reuse"),
            t_launched: of("t_launched").integer("t_launched"),
            strict: of("strict").switch("strict"),
        };
        Gate::new(policy, Ess { t_live: of("t_live").number("t_live") }, lvsp)
    }

    pub fn new(policy: AppPolicy, ess: Ess, lvsp: Lvsp) -> Gate {
        let (with_ess, with_lvsp) = match policy {
            AppPolicy::None | AppPolicy::Acclaim | AppPolicy::Ariadne => (false, false),
            AppPolicy::Ess => (true, false),
            AppPolicy::Lvsp => (false, true),
            AppPolicy::A2s => (true, true),
        };
        let (acclaim, ariadne) = (policy == AppPolicy::Acclaim, policy == AppPolicy::Ariadne);
        Gate { ess: with_ess.then_some(ess), lvsp: with_lvsp.then_some(lvsp), acclaim, ariadne }
    }

    /// Whether a released page stays, a page of a file too, as the app in front has it ([`crate::acclaim`]) or as its app's last start used
    /// it ([`crate::ariadne`]).
    pub fn spares(&self, owners: &[Owner], foreground: Option<AppId>, hot: bool, asked: usize, wanted: usize) -> bool {
        self.acclaim && crate::acclaim::spares(owners, foreground, asked, wanted)
            || self.ariadne && crate::ariadne::spares(hot, asked, wanted)
    }

    /// Whether it asks which pages are hot.
    pub fn wants_hotness(&self) -> bool {
        self.ariadne
    }

    /// Whether an inactive page may be swapped out now; `live` counts the apps alive. Pages without owners may not.
    pub fn may_swap_out(&self, live: usize, owners: &[Owner], history: &History) -> bool {
        self.ess.as_ref().is_none_or(|ess| ess.allows(live)) && self.lvsp.as_ref().is_none_or(|lvsp| lvsp.allows(owners, history))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_as_a_user_writes_it() {
        let of = |text: &str| Gate::of(&APP_POLICIES.parse(text).unwrap());
        let lvsp = |t_reuse| Lvsp { t_reuse, t_launched: 3, strict: false };
        assert_eq!(of("a2s:t_live=23"), Gate::new(AppPolicy::A2s, Ess { t_live: 23.0 }, lvsp(64.0)));
        assert_eq!(of("lvsp:t_reuse=inf"), Gate::new(AppPolicy::Lvsp, Ess { t_live: 0.0 }, lvsp(f64::INFINITY)));
        assert_eq!(of("none"), Gate::new(AppPolicy::None, Ess { t_live: 0.0 }, lvsp(0.0)));
        let refused = |text| APP_POLICIES.parse(text).unwrap_err().to_string();
        assert_eq!(refused("a2s:t_live=inf"), "a2s: t_live=inf; expected a finite number of 0 or more");
        assert_eq!(refused("ess:t_reuse=3"), "ess: unknown parameter 't_reuse'; expected one of: t_live");
    }

    #[test]
    fn entries_and_policies_agree() {
        for entry in APP_POLICIES.iter() {
            assert_eq!(entry.info.policy.entry().key, entry.key);
            assert_eq!(serde_json::to_value(entry.info.policy).unwrap(), entry.key);
        }
    }
}
