//! The apps of a phone: their pages, their processes and their next launches.

use super::layout::{AppPages, Layout};
use super::owner::{shared_number, shared_owner, SYSTEM};
use super::plan::Plan;
use std::sync::Arc;
use swaplab_apps::{Candidate, Launcher, Owner, Restarts, Victim};
use swaplab_vocab::{AppId, PageId};

pub struct Apps {
    pub layout: Layout,
    pub launcher: Launcher,
    pub restarts: Restarts,
    pub plan: Arc<Plan>,
}

impl Apps {
    /// The present owners of `page`.
    pub fn owners(&self, page: PageId) -> Vec<Owner> {
        let owner = self.layout.owners[page as usize];
        match shared_number(owner) {
            _ if owner == SYSTEM => vec![Owner::System],
            None => vec![Owner::App(owner)],
            Some(number) => {
                let shared = &self.layout.shared[number];
                let living = shared.members.iter().enumerate().filter(|(app, maps)| **maps && self.launcher.is_live(*app as AppId));
                let apps = living.map(|(app, _)| Owner::App(app as AppId));
                shared.system.then_some(Owner::System).into_iter().chain(apps).collect()
            }
        }
    }

    /// Whether `page` belongs to an app that has no process.
    pub fn is_gone(&self, page: PageId) -> bool {
        let owner = self.layout.owners[page as usize];
        owner != SYSTEM && shared_number(owner).is_none() && !self.launcher.is_live(owner)
    }

    /// Ranges of shared pages that have no owner left once `app` has died.
    pub fn orphaned(&self, app: AppId) -> Vec<AppId> {
        let mapped = self.layout.shared.iter().enumerate().filter(|(_, shared)| shared.members[usize::from(app)]);
        mapped
            .filter(|(_, shared)| !shared.pages.anon.is_empty() && self.owners(shared.pages.anon.start).is_empty())
            .map(|(number, _)| shared_owner(number))
            .collect()
    }

    /// The shared pages that `app` maps.
    pub fn mapped_by(&self, app: AppId) -> Vec<AppPages> {
        self.layout.shared.iter().filter(|shared| shared.members[usize::from(app)]).map(|shared| shared.pages.clone()).collect()
    }

    /// The app that `rule` kills among those whose `oom_score_adj` is at least `least`. `None` if
    /// there is no such app. `resident` gives the resident pages of an app, for a rule that asks
    /// for them.
    pub fn victim(&self, rule: Victim, least: u32, resident: &dyn Fn(AppId) -> u64) -> Option<AppId> {
        self.victim_of(rule, self.launcher.from(least), resident)
    }

    /// The cached app to kill if there are more of them than Android keeps.
    pub fn beyond_limit(&self, rule: Victim) -> Option<AppId> {
        let rule = if rule.rules_the_limit() { rule } else { Victim::Lru };
        self.launcher.over_limit().and_then(|cached| self.victim_of(rule, cached, &|_| 0))
    }

    fn victim_of(&self, rule: Victim, apps: Vec<AppId>, resident: &dyn Fn(AppId) -> u64) -> Option<AppId> {
        let candidate = |app| Candidate {
            app,
            adjustment: self.launcher.adjustment(app),
            next_launch: self.plan.next_launch(app).map(u64::from),
            cold_ns: self.layout.of(app).cold_ns,
            resident_pages: if rule.needs_resident_pages() { resident(app) } else { 0 },
        };
        rule.choose(&apps.into_iter().map(candidate).collect::<Vec<_>>())
    }
}
