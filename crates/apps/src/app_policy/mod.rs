//! App policies, which decide whose pages may be swapped out: A2S's two conditions (Kim et al.
//! 2017, Algorithm 1), each of which can be used alone, and those of Acclaim and Ariadne.

pub mod acclaim;
pub mod ariadne;
mod ess;
mod gate;
mod lvsp;

pub use ess::Ess;
pub use gate::Gate;
pub use lvsp::Lvsp;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{Entry, Kind, Parameter, Registry, World};

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
    /// reclaimed ([`acclaim`]).
    Acclaim,
    /// Anonymous pages that their app's last start used stay while other pages can be reclaimed
    /// ([`ariadne`]).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_policies_agree() {
        for entry in APP_POLICIES.iter() {
            assert_eq!(entry.info.policy.entry().key, entry.key);
            assert_eq!(serde_json::to_value(entry.info.policy).unwrap(), entry.key);
        }
    }
}
