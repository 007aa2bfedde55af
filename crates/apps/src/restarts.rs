//! When the activity manager restarts the services of killed apps (`START_STICKY`).
//!
//! Source: AOSP services/core/java/com/android/server/am/ActiveServices.java,
//! `scheduleServiceRestartLocked` (Android 4.4: constants `SERVICE_RESTART_DURATION`,
//! `SERVICE_RESET_RUN_DURATION`, `SERVICE_RESTART_DURATION_FACTOR`,
//! `SERVICE_MIN_RESTART_TIME_BETWEEN`), the same values in ActivityManagerConstants.java of Android
//! 8 to 15 (`DEFAULT_SERVICE_RESTART_DURATION` and so on).
//! Deviations: a service has handled all of its start requests when it is killed; none is stopped,
//! and none loses its score after 30 minutes without activity (`MAX_SERVICE_INACTIVITY`); Android
//! 12 and later add a delay while memory is low, which is left out.

use swaplab_vocab::AppId;

const SECOND_NS: u64 = 1_000_000_000;
/// `SERVICE_RESTART_DURATION`: delay of the first restart.
const FIRST_NS: u64 = SECOND_NS;
/// `SERVICE_RESTART_DURATION_FACTOR`: growth of the delay with each kill of a service that has not
/// run for long.
const FACTOR: u64 = 4;
/// `SERVICE_RESET_RUN_DURATION`: a service that has run for longer is restarted after the first
/// delay again.
const RESET_NS: u64 = 60 * SECOND_NS;
/// `SERVICE_MIN_RESTART_TIME_BETWEEN`: least time between the restarts of two services.
const BETWEEN_NS: u64 = 10 * SECOND_NS;

/// The restarts that are due, and what their delays depend on.
pub struct Restarts {
    services: Vec<Service>,
}

#[derive(Clone, Copy, Default)]
struct Service {
    /// Whether the app has a service that is restarted.
    is_sticky: bool,
    /// Delay of the last restart; 0 before the first one.
    delay_ns: u64,
    started_ns: u64,
    due_ns: Option<u64>,
}

impl Restarts {
    /// `sticky[app]`: whether the app has a service that is restarted after a kill.
    pub fn new(sticky: &[bool]) -> Restarts {
        Restarts { services: sticky.iter().map(|is_sticky| Service { is_sticky: *is_sticky, ..Service::default() }).collect() }
    }

    /// Note that the service of `app` has started, with the app or because it was due.
    pub fn started(&mut self, app: AppId, now_ns: u64) {
        let service = &mut self.services[usize::from(app)];
        (service.started_ns, service.due_ns) = (now_ns, None);
    }

    /// Note a kill of `app`, and schedule the restart of its service.
    pub fn killed(&mut self, app: AppId, now_ns: u64) {
        let at = usize::from(app);
        let service = self.services[at];
        if !service.is_sticky {
            return;
        }
        let has_run_long = now_ns > service.started_ns + RESET_NS;
        let delay_ns = if service.delay_ns == 0 || has_run_long { FIRST_NS } else { service.delay_ns * FACTOR };
        let mut due_ns = now_ns + delay_ns;
        let others: Vec<u64> =
            (0..self.services.len()).filter(|other| *other != at).filter_map(|other| self.services[other].due_ns).collect();
        while let Some(near) = others.iter().find(|other| due_ns + BETWEEN_NS >= **other && due_ns < **other + BETWEEN_NS) {
            due_ns = near + BETWEEN_NS;
        }
        self.services[at] = Service { delay_ns: due_ns - now_ns, due_ns: Some(due_ns), ..service };
    }

    /// The next restart that is due at `now_ns`: its time and its app. It stays due until
    /// [`started`](Self::started).
    pub fn due(&self, now_ns: u64) -> Option<(u64, AppId)> {
        let due = (0..).zip(&self.services).filter_map(|(app, service): (AppId, _)| service.due_ns.map(|due_ns| (due_ns, app)));
        due.filter(|(due_ns, _)| *due_ns <= now_ns).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = SECOND_NS;

    /// Killed at 0 s it is due at 1 s; killed at 30 s after 29 s of running, at 34 s; killed at 40
    /// s, 16 s later. It then runs for 64 s, more than a minute, so that the delay is one second
    /// again.
    #[test]
    fn delays_grow_fourfold_until_a_service_has_run_for_a_minute() {
        let mut restarts = Restarts::new(&[true]);
        let mut due = Vec::new();
        for killed_s in [0, 30, 40, 120] {
            restarts.killed(0, killed_s * S);
            let (due_ns, app) = restarts.due(u64::MAX).unwrap();
            assert_eq!((app, restarts.due(due_ns - 1)), (0, None));
            restarts.started(app, due_ns);
            due.push(due_ns / S);
        }
        assert_eq!((due, restarts.due(u64::MAX)), (vec![1, 34, 56, 121], None));
    }

    /// Three services are killed at once: they are due after 1, 11 and 21 s. The second one's delay
    /// is then 11 s, so that a kill at 15 s makes it due at 15 + 44 = 59 s. A service that is not
    /// sticky is never due.
    #[test]
    fn restarts_are_ten_seconds_apart() {
        let mut restarts = Restarts::new(&[true, true, true, false]);
        (0..4).for_each(|app| restarts.killed(app, 0));
        let mut order = Vec::new();
        while let Some((due_ns, app)) = restarts.due(u64::MAX) {
            restarts.started(app, due_ns);
            order.push((due_ns / S, app));
        }
        assert_eq!(order, [(1, 0), (11, 1), (21, 2)]);
        restarts.killed(1, 15 * S);
        assert_eq!(restarts.due(u64::MAX), Some((59 * S, 1)));
        // The user launches the app: its service starts with it.
        restarts.started(1, 20 * S);
        assert_eq!(restarts.due(u64::MAX), None);
    }
}
