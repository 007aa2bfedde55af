//! Apps alive, their states, and Android's limit on cached ones.

use crate::History;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::AppId;

/// How a launch was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    Cold,
    Resume,
}

/// A2S, Section 5.3: 22 apps at most: the one in front, the previous one, home, 16 cached ones and 3 with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Apps kept in the background without a service (A2S: 16).
    pub cached: u64,
    /// Apps that run a service when they are in the background (A2S: 3); which ones they are is drawn.
    pub services: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { cached: 16, services: 3 }
    }
}

pub struct Launcher {
    cached_limit: usize,
    service: Vec<bool>,
    /// Apps alive, the one used last at the end; home is not among them.
    live: Vec<AppId>,
    foreground: Option<AppId>,
    previous: Option<AppId>,
    pub history: History,
}

impl Launcher {
    /// `service[app]`: whether the app runs a service in the background.
    pub fn new(limits: Limits, service: Vec<bool>) -> Launcher {
        Launcher {
            cached_limit: limits.cached as usize,
            service,
            live: Vec::new(),
            foreground: None,
            previous: None,
            history: History::default(),
        }
    }

    /// The user starts `app` from home.
    pub fn launch(&mut self, app: AppId) -> Start {
        let alive = self.live.iter().position(|a| *a == app);
        if let Some(at) = alive {
            self.live.remove(at);
        }
        self.live.push(app);
        self.foreground = Some(app);
        if self.previous == Some(app) {
            self.previous = None;
        }
        self.history.launch(app);
        if alive.is_some() {
            Start::Resume
        } else {
            Start::Cold
        }
    }

    /// The user goes home; the app in front becomes the previous one.
    pub fn home(&mut self) {
        if let Some(app) = self.foreground.take() {
            self.previous = Some(app);
        }
    }

    /// The cached apps, least recently used first, if there are too many.
    pub fn over_limit(&self) -> Option<Vec<AppId>> {
        let cached = self.from(CACHED);
        (cached.len() > self.cached_limit).then_some(cached)
    }

    /// Apps with at least this adjustment, least recently used first.
    pub fn from(&self, least: u32) -> Vec<AppId> {
        self.live.iter().copied().filter(|app| self.adjustment(*app) >= least).collect()
    }

    /// The process of `app` is gone.
    pub fn killed(&mut self, app: AppId) {
        self.live.retain(|a| *a != app);
        for role in [&mut self.foreground, &mut self.previous] {
            if *role == Some(app) {
                *role = None;
            }
        }
    }

    /// Apps alive with the home screen: N_live of A2S.
    pub fn live(&self) -> usize {
        self.live.len() + 1
    }

    pub fn is_live(&self, app: AppId) -> bool {
        self.live.contains(&app)
    }

    /// `oom_score_adj`: foreground 0, service 500, previous 700, cached from 900 up by how long ago it was used.
    pub fn adjustment(&self, app: AppId) -> u32 {
        if self.foreground == Some(app) {
            0
        } else if self.previous == Some(app) {
            PREVIOUS
        } else if self.service[usize::from(app)] {
            SERVICE
        } else {
            let newer = self.live.iter().rev().take_while(|a| **a != app).count() as u32;
            CACHED + newer.min(99)
        }
    }

    pub fn foreground(&self) -> Option<AppId> {
        self.foreground
    }
}

/// AOSP `ProcessList`: SERVICE_ADJ, PREVIOUS_APP_ADJ, CACHED_APP_MIN_ADJ.
pub const SERVICE: u32 = 500;
pub const PREVIOUS: u32 = 700;
pub const CACHED: u32 = 900;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Candidate, Victim};

    fn victim(phone: &Launcher, least: u32) -> Option<AppId> {
        let candidate = |app| Candidate { app, adjustment: phone.adjustment(app), next_launch: None, cold_ns: 0 };
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
            assert_eq!((phone.adjustment(app), phone.over_limit()), (0, None));
            phone.home();
        }
        // 2 was in front last; 1 has a service; 0 is cached behind two newer apps.
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
        // The cached app goes first, then the previous one, then the service, never the one in front.
        assert_eq!(victim(&phone, 0), Some(3));
        phone.killed(3);
        assert_eq!(victim(&phone, 0), Some(2));
        phone.killed(2);
        assert_eq!(victim(&phone, SERVICE), Some(1));
        phone.killed(1);
        assert_eq!(victim(&phone, 1), None);
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
