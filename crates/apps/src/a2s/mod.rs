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
}

#[derive(Clone, Debug)]
pub struct Gate {
    ess: Option<Ess>,
    lvsp: Option<Lvsp>,
    acclaim: bool,
}

impl Gate {
    pub fn new(policy: AppPolicy, ess: Ess, lvsp: Lvsp) -> Gate {
        let (with_ess, with_lvsp) = match policy {
            AppPolicy::None | AppPolicy::Acclaim => (false, false),
            AppPolicy::Ess => (true, false),
            AppPolicy::Lvsp => (false, true),
            AppPolicy::A2s => (true, true),
        };
        Gate { ess: with_ess.then_some(ess), lvsp: with_lvsp.then_some(lvsp), acclaim: policy == AppPolicy::Acclaim }
    }

    /// Whether a released page, of a file too, stays for the sake of the app in front; see [`crate::acclaim`].
    pub fn spares(&self, owners: &[Owner], foreground: Option<AppId>, asked: usize, wanted: usize) -> bool {
        self.acclaim && crate::acclaim::spares(owners, foreground, asked, wanted)
    }

    /// Whether an inactive page may be swapped out now; `live` counts the apps alive. Pages without owners may not.
    pub fn may_swap_out(&self, live: usize, owners: &[Owner], history: &History) -> bool {
        self.ess.as_ref().is_none_or(|ess| ess.allows(live)) && self.lvsp.as_ref().is_none_or(|lvsp| lvsp.allows(owners, history))
    }
}
