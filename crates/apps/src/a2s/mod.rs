//! Application-aware swapping (papers/004, Algorithm 1): two conditions on a swap-out, each of use alone.

mod ess;
mod lvsp;

pub use ess::Ess;
pub use lvsp::Lvsp;

use crate::{History, Owner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::AppId;

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

#[derive(Clone, Debug)]
pub struct Gate {
    ess: Option<Ess>,
    lvsp: Option<Lvsp>,
    acclaim: bool,
    ariadne: bool,
}

impl Gate {
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
