//! The conditions of one app policy, as reclaim asks for them.

use super::{acclaim, ariadne, AppPolicy, Ess, Info, Lvsp, A2S};
use crate::{History, Owner};
use swaplab_vocab::{AppId, Resolved};

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
    /// front owns it ([`acclaim`]) or its app's last start used it ([`ariadne`]).
    /// This also holds for file-backed pages.
    pub fn spares(&self, owners: &[Owner], foreground: Option<AppId>, hot: bool, asked: usize, wanted: usize) -> bool {
        self.acclaim && acclaim::spares(owners, foreground, asked, wanted) || self.ariadne && ariadne::spares(hot, asked, wanted)
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
    use crate::app_policy::APP_POLICIES;

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
}
