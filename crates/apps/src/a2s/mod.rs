//! App policies, which decide whose pages may be swapped out: A2S's two conditions (Kim et al.
//! 2017, Algorithm 1), each of which can be used alone, and the gates of Acclaim and Ariadne.

mod ess;
mod lvsp;

pub use ess::Ess;
pub use lvsp::Lvsp;

use crate::{History, Owner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{AppId, Entry, Kind, Parameter, Registry, Resolved, World};

/// The conditions that a swap-out must meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppPolicy {
    /// Any page may be swapped out, as in Linux.
    #[default]
    None,
    /// No page is swapped out while many apps are alive ([`Ess`]).
    Ess,
    /// Only pages of apps that are likely to be used again before they are killed may be swapped
    /// out ([`Lvsp`]).
    Lvsp,
    /// The conditions of [`Ess`] and [`Lvsp`] together.
    A2s,
    /// Pages of the app in front, file-backed ones included, stay while other pages can be
    /// reclaimed ([`crate::acclaim`]).
    Acclaim,
    /// Anonymous pages that their app's last start used stay while other pages can be reclaimed
    /// ([`crate::ariadne`]).
    Ariadne,
}

/// Properties of an app policy in the registry, in addition to its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    #[serde(skip)]
    pub policy: AppPolicy,
    pub worlds: &'static [World],
}

const T_LIVE: Parameter = Parameter::new(
    "t_live",
    Kind::Number { low: 0.0, high: f64::MAX },
    "18",
    "number of live apps from which no page is swapped out (ESS)",
);
const T_REUSE: Parameter = Parameter::new(
    "t_reuse",
    Kind::Number { low: 0.0, high: f64::INFINITY },
    "64",
    "average reuse distance from which an app's pages stay in memory (LVSP); inf: no limit",
);
const T_LAUNCHED: Parameter = Parameter::new(
    "t_launched",
    Kind::Integer { low: 0, high: u64::MAX },
    "3",
    "number of launches below which an app's pages stay in memory (LVSP)",
);
const STRICT: Parameter =
    Parameter::new("strict", Kind::Switch, "off", "weigh the average reuse distance by gaps instead of launches (LVSP)");

/// The worlds of conditions on a whole app. A kernel can forbid the swap-out of one app's control
/// group, but not of single pages in it. `Kernel` stands for the world `vm` too, which runs the
/// same kernel code (`launches_on_a_kernel` of the crate `experiment`).
const WHOLE_APP: &[World] = &[World::Phone, World::Kernel];
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

static NONE: Entry<Info> = policy("none", "any page may be swapped out", "Android", &[], AppPolicy::None, WHOLE_APP);
static ESS: Entry<Info> = policy("ess", "swaps out no page while many apps live", "A2S, Section 4.1", &[T_LIVE], AppPolicy::Ess, WHOLE_APP);
static LVSP: Entry<Info> = policy(
    "lvsp",
    "swaps out only pages of apps that are likely to be launched again soon",
    "A2S, Section 4.2",
    &[T_REUSE, T_LAUNCHED, STRICT],
    AppPolicy::Lvsp,
    WHOLE_APP,
);
static A2S: Entry<Info> =
    policy("a2s", "ess and lvsp together", "A2S, Algorithm 1", &[T_LIVE, T_REUSE, T_LAUNCHED, STRICT], AppPolicy::A2s, WHOLE_APP);
static ACCLAIM: Entry<Info> =
    policy("acclaim", "reclaims pages of the app in front last", "Acclaim (USENIX ATC 2020), abstract", &[], AppPolicy::Acclaim, PHONE);
static ARIADNE: Entry<Info> = policy(
    "ariadne",
    "reclaims anonymous pages that the last start of their app used after all others",
    "Ariadne (HPCA 2025), abstract",
    &[],
    AppPolicy::Ariadne,
    PHONE,
);

/// The registry of the app policies.
pub static APP_POLICIES: Registry<Info> = Registry { kind: "app policy", entries: &[&NONE, &ESS, &LVSP, &A2S, &ACCLAIM, &ARIADNE] };

impl AppPolicy {
    /// The policy's entry in the registry.
    pub fn entry(self) -> &'static Entry<Info> {
        APP_POLICIES.entries[self as usize]
    }
}

/// Decides for each page that reclaim has chosen whether it may be swapped out.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    ess: Option<Ess>,
    lvsp: Option<Lvsp>,
    acclaim: bool,
    ariadne: bool,
}

impl Gate {
    /// The gate of an app policy's spec that a user wrote.
    pub fn of(resolved: &Resolved<Info>) -> Gate {
        let policy = resolved.entry.info.policy;
        // A parameter that the app policy does not have takes A2S's default, which has no effect.
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

    /// Whether a page that the page policy released stays in memory after all, because the app in
    /// front owns it ([`crate::acclaim`]) or its app's last start used it ([`crate::ariadne`]).
    /// This also holds for file-backed pages.
    pub fn spares(&self, owners: &[Owner], foreground: Option<AppId>, hot: bool, asked: usize, wanted: usize) -> bool {
        self.acclaim && crate::acclaim::spares(owners, foreground, asked, wanted)
            || self.ariadne && crate::ariadne::spares(hot, asked, wanted)
    }

    /// Whether the caller must know which pages are hot.
    pub fn wants_hotness(&self) -> bool {
        self.ariadne
    }

    /// Whether the caller must know who owns a page.
    pub fn wants_owners(&self) -> bool {
        self.acclaim || self.lvsp.is_some()
    }

    /// Whether an inactive page with these owners may be swapped out now, with `live` live apps. A
    /// page without owners may not.
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
    fn acclaim_spares_the_app_in_front_and_ariadne_what_is_hot() {
        let of = |text: &str| Gate::of(&APP_POLICIES.parse(text).unwrap());
        let owners = [Owner::App(3)];
        let spares = |text: &str, in_front: AppId, hot: bool| of(text).spares(&owners, Some(in_front), hot, 0, 10);
        for text in ["none", "ess", "lvsp", "a2s"] {
            assert!(!spares(text, 3, true) && !of(text).wants_hotness(), "{text}");
        }
        assert_eq!([spares("acclaim", 3, false), spares("acclaim", 4, true)], [true, false]);
        assert_eq!([spares("ariadne", 4, true), spares("ariadne", 3, false)], [true, false]);
        assert!(of("ariadne").wants_hotness() && !of("acclaim").wants_hotness());
    }

    #[test]
    fn acclaim_and_lvsp_must_know_whose_a_page_is() {
        let keys = APP_POLICIES.keys().filter(|key| Gate::of(&APP_POLICIES.parse(key).unwrap()).wants_owners());
        assert_eq!(keys.collect::<Vec<_>>(), ["lvsp", "a2s", "acclaim"]);
    }

    #[test]
    fn entries_and_policies_agree() {
        for entry in APP_POLICIES.iter() {
            assert_eq!(entry.info.policy.entry().key, entry.key);
            assert_eq!(serde_json::to_value(entry.info.policy).unwrap(), entry.key);
        }
    }
}
