//! The live apps, their states, and Android's limit on cached apps.

use crate::scores::{AdjSpread, Scores, STEPS};
use crate::History;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::AppId;

/// Whether a launch started a process or resumed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    Cold,
    Resume,
}

/// Android's limits on live apps. The defaults are those of A2S (Kim et al. 2017, Section 5.3), 22
/// apps: the one in front, the previous one, the home screen, 16 cached apps and 3 that run a
/// service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum number of cached apps without a service (A2S: 16).
    pub cached: u64,
    /// The number of apps that run a service while in the background (A2S: 3). They are drawn at
    /// random.
    pub services: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { cached: 16, services: 3 }
    }
}

const PARTS: usize = 3;

pub struct Launcher {
    spread: AdjSpread,
    cached_limit: usize,
    service: Vec<bool>,
    /// By app, whether its process runs a restarted service and has shown no UI since.
    without_ui: Vec<bool>,
    /// The live apps without the home screen; the most recently used one is the last.
    live: Vec<AppId>,
    /// By app, whether it is in that list.
    is_live: Vec<bool>,
    foreground: Option<AppId>,
    previous: Option<AppId>,
    pub history: History,
}

impl Launcher {
    /// `service[app]`: whether the app runs a service in the background.
    pub fn new(limits: Limits, service: Vec<bool>) -> Launcher {
        Launcher {
            spread: AdjSpread::default(),
            cached_limit: limits.cached as usize,
            without_ui: vec![false; service.len()],
            is_live: vec![false; service.len()],
            service,
            live: Vec::new(),
            foreground: None,
            previous: None,
            history: History::default(),
        }
    }

    /// Spread the cached apps over `oom_score_adj` as the killer's version of Android does.
    pub fn spread(self, spread: AdjSpread) -> Launcher {
        Launcher { spread, ..self }
    }

    /// The user launches `app` from the home screen. A process without UI has no activity to
    /// resume: its start is a cold one.
    pub fn launch(&mut self, app: AppId) -> Start {
        let resumes = self.is_live(app) && !std::mem::take(&mut self.without_ui[usize::from(app)]);
        self.live.retain(|a| *a != app);
        self.push(app);
        self.foreground = Some(app);
        if self.previous == Some(app) {
            self.previous = None;
        }
        self.history.launch(app);
        if resumes {
            Start::Resume
        } else {
            Start::Cold
        }
    }

    /// The activity manager starts the process of `app`, which is not live, for its service alone.
    /// It has the score of a service until the user launches the app.
    pub fn restart_service(&mut self, app: AppId) {
        debug_assert!(!self.is_live(app));
        self.push(app);
        self.without_ui[usize::from(app)] = true;
    }

    fn push(&mut self, app: AppId) {
        self.live.push(app);
        self.is_live[usize::from(app)] = true;
    }

    /// The user goes to the home screen; the app in front becomes the previous one.
    pub fn home(&mut self) {
        if let Some(app) = self.foreground.take() {
            self.previous = Some(app);
        }
    }

    /// All cached apps from the least recently used one on if there are more of them than the
    /// limit, else none.
    pub fn over_limit(&self) -> Option<Vec<AppId>> {
        let cached = self.from(self.scores().cached);
        (cached.len() > self.cached_limit).then_some(cached)
    }

    /// The apps with an `oom_score_adj` of at least `least`, from the least recently used one on.
    pub fn from(&self, least: u32) -> Vec<AppId> {
        self.live.iter().copied().filter(|app| self.adjustment(*app) >= least).collect()
    }

    /// Note that the process of `app` has ended.
    pub fn killed(&mut self, app: AppId) {
        self.live.retain(|a| *a != app);
        (self.is_live[usize::from(app)], self.without_ui[usize::from(app)]) = (false, false);
        for role in [&mut self.foreground, &mut self.previous] {
            if *role == Some(app) {
                *role = None;
            }
        }
    }

    /// The number of live apps, the home screen included: N_live of A2S.
    pub fn live(&self) -> usize {
        self.live.len() + 1
    }

    #[inline]
    pub fn is_live(&self, app: AppId) -> bool {
        self.is_live[usize::from(app)]
    }

    /// `oom_score_adj`: foreground 0, service 500, previous 700, cached from 900 up by how long ago
    /// it was used; other scores with [`AdjSpread::OomAdj`].
    pub fn adjustment(&self, app: AppId) -> u32 {
        if self.foreground == Some(app) {
            0
        } else if self.previous == Some(app) {
            self.scores().previous
        } else if self.is_service(app) {
            self.scores().service
        } else {
            self.spread.cached_score(self.cached_step(app))
        }
    }

    pub fn is_cached(&self, app: AppId) -> bool {
        self.adjustment(app) >= self.scores().cached
    }

    /// Whether `app` has the score of a service where it is neither in front nor the previous app.
    pub fn is_service(&self, app: AppId) -> bool {
        self.service[usize::from(app)] || self.without_ui[usize::from(app)]
    }

    /// The scores of this phone's Android.
    pub fn scores(&self) -> Scores {
        self.spread.scores()
    }

    /// The difference between the `oom_score_adj` of a cached app and that of the most recently
    /// used cached app.
    fn cached_step(&self, app: AppId) -> u32 {
        let newer = || self.live.iter().rev().take_while(|other| **other != app);
        if self.spread == AdjSpread::ByAge {
            return (newer().count() as u32).min(99);
        }
        let is_cached = |of: &&AppId| {
            let role = Some(**of);
            self.foreground != role && self.previous != role && !self.is_service(**of)
        };
        let part = (self.live.iter().filter(is_cached).count() / PARTS).max(1);
        STEPS[(newer().filter(is_cached).count() / part).min(STEPS.len() - 1)]
    }

    pub fn foreground(&self) -> Option<AppId> {
        self.foreground
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Candidate, Victim, CACHED, PREVIOUS, SERVICE};

    fn victim(phone: &Launcher, least: u32) -> Option<AppId> {
        let candidate = |app| Candidate { app, adjustment: phone.adjustment(app), next_launch: None, cold_ns: 0, resident_pages: 0 };
        Victim::Lru.choose(&phone.from(least).into_iter().map(candidate).collect::<Vec<_>>())
    }

    fn phone(cached: u64, apps: usize, services: &[usize]) -> Launcher {
        let service = (0..apps).map(|a| services.contains(&a)).collect();
        Launcher::new(Limits { cached, services: services.len() as u64 }, service)
    }

    #[test]
    fn states_by_hand() {
        let mut phone = phone(1, 5, &[1]);
        for app in [0, 1, 2] {
            assert_eq!(phone.launch(app), Start::Cold);
            assert_eq!((phone.adjustment(app), phone.over_limit(), phone.foreground()), (0, None, Some(app)));
            phone.home();
            assert_eq!(phone.foreground(), None);
        }
        // 2 was in front last; 1 has a service; 0 is the only cached app, which AOSP gives the
        // lowest step. By age it is behind two newer apps.
        assert_eq!([2, 1, 0].map(|a| phone.adjustment(a)), [PREVIOUS, SERVICE, CACHED]);
        phone = phone.spread(AdjSpread::ByAge);
        assert_eq!([2, 1, 0].map(|a| phone.adjustment(a)), [PREVIOUS, SERVICE, CACHED + 2]);
        assert_eq!((phone.live(), victim(&phone, CACHED), phone.over_limit()), (4, Some(0), None));
        phone.launch(3);
        phone.home();
        // 2 and 0 are cached now, one too many.
        assert_eq!(phone.over_limit(), Some(vec![0, 2]));
        phone.killed(0);
        assert_eq!((phone.over_limit(), phone.live(), phone.is_live(0)), (None, 4, false));
        assert_eq!(phone.launch(2), Start::Resume);
        phone.home();
        assert_eq!(phone.launch(0), Start::Cold);
        // The cached app goes first, then the previous one, then the service, never the one in
        // front.
        assert_eq!(victim(&phone, 0), Some(3));
        phone.killed(3);
        assert_eq!(victim(&phone, 0), Some(2));
        phone.killed(2);
        assert_eq!(victim(&phone, SERVICE), Some(1));
        phone.killed(1);
        assert_eq!(victim(&phone, 1), None);
    }

    #[test]
    fn aosp_spreads_cached_apps_over_five_steps() {
        let cached = |apps: usize| {
            let mut phone = phone(99, apps + 1, &[]).spread(AdjSpread::Aosp);
            (0..=apps as AppId).for_each(|app| {
                phone.launch(app);
                phone.home();
            });
            // The last one is the previous app; the newest cached one comes first.
            (0..apps as AppId).rev().map(|app| phone.adjustment(app) - CACHED).collect::<Vec<_>>()
        };
        assert_eq!(cached(2), [0, 1]);
        assert_eq!(cached(5), [0, 1, 3, 5, 6]);
        assert_eq!(cached(6), [0, 0, 1, 1, 3, 3]);
        assert_eq!(cached(16), [[0; 5], [1; 5], [3; 5]].concat().into_iter().chain([5]).collect::<Vec<_>>());
    }

    /// Android 4.4 of a Nexus 5 gives five cached apps the `oom_adj` 9, 10, 12, 14 and 15: 9 x 1000
    /// / 17 = 529, 588, 705, 823, and 1000. The previous app has 7 (411), one with a service 5
    /// (294).
    #[test]
    fn scores_of_oom_adj_by_hand() {
        let mut phone = phone(99, 7, &[0]).spread(AdjSpread::OomAdj);
        (0..7).for_each(|app| {
            phone.launch(app);
            phone.home();
        });
        assert_eq!([6, 5, 4, 3, 2, 1, 0].map(|app| phone.adjustment(app)), [411, 529, 588, 705, 823, 1000, 294]);
        assert_eq!(([5, 6].map(|app| phone.is_cached(app)), phone.from(1000)), ([true, false], vec![1]));
        assert_eq!(AdjSpread::Aosp.scores(), Scores { service: 500, previous: 700, cached: 900 });
    }

    /// App 0 is killed and its service restarted: it is live at 500, also where it had been cached,
    /// and its next launch is a cold start, after which it is cached again.
    #[test]
    fn a_restarted_service_has_no_ui() {
        let mut phone = phone(99, 3, &[]);
        for app in 0..3 {
            phone.launch(app);
            phone.home();
        }
        assert_eq!(phone.adjustment(0), CACHED + 1);
        phone.killed(0);
        phone.restart_service(0);
        assert_eq!((phone.adjustment(0), phone.is_cached(0), phone.live()), (SERVICE, false, 4));
        assert_eq!(phone.launch(0), Start::Cold);
        phone.home();
        assert_eq!((phone.adjustment(0), phone.launch(1)), (PREVIOUS, Start::Resume));
        phone.home();
        assert!(phone.is_cached(0));
        // A kill ends the service's process, too.
        phone.killed(0);
        phone.restart_service(0);
        phone.killed(0);
        assert_eq!((phone.is_live(0), phone.is_service(0)), (false, false));
    }

    #[test]
    fn with_the_papers_limits_at_most_22_apps_live() {
        let mut phone = phone(16, 60, &[4, 5, 6]);
        let mut most = 0;
        for app in 0..60 {
            phone.launch(app);
            while let Some(cached) = phone.over_limit() {
                phone.killed(cached[0]);
            }
            most = most.max(phone.live());
            phone.home();
            while let Some(cached) = phone.over_limit() {
                phone.killed(cached[0]);
            }
        }
        assert_eq!(most, 22);
    }
}
