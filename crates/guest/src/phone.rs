//! The state that the launcher and the killer share: the live apps, the importance of each, and
//! their processes.

use crate::cached::Cached;
use crate::counters::now_ns;
use crate::plan::Plan;
use crate::proc;
use crate::report::{self, Kill, Reason, Record};
use std::process::Child;
use swaplab_apps::{Candidate, Launcher, Victim};
use swaplab_vocab::{AppId, BadInput, Result};

/// The shared state.
pub struct Phone<'a> {
    pub plan: &'a Plan,
    pub launcher: Launcher,
    /// The rule by which the killer chooses its victim.
    pub rule: Victim,
    pub processes: Vec<Option<Child>>,
    /// Index into `plan.visits` of the next visit, from which the victim rule `oracle` looks ahead.
    pub visited: usize,
    pub warm_up: bool,
    /// The id of the killer's thread; `None` before it runs.
    pub killer_thread: Option<u32>,
    /// By app, how long it has been cached and what was done about it.
    pub cached: Vec<Cached>,
    /// Whether the killer may kill. It may not while apps check their pages, which is not part of
    /// the experiment.
    pub armed: bool,
}

/// The figures of memory that led to a kill. All are 0 if a kill does not depend on memory.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    pub free_kb: u64,
    pub file_kb: u64,
    pub stall_ms: u64,
    pub swap_free_percentage: u64,
}

impl<'a> Phone<'a> {
    pub fn new(plan: &'a Plan, rule: Victim) -> Phone<'a> {
        let service = plan.apps.iter().map(|app| app.service).collect();
        let processes = plan.apps.iter().map(|_| None).collect();
        Phone {
            plan,
            launcher: Launcher::new(plan.limits, service),
            rule,
            processes,
            visited: 0,
            warm_up: false,
            killer_thread: None,
            cached: plan.apps.iter().map(|_| Cached::default()).collect(),
            armed: true,
        }
    }

    pub fn name(&self, app: AppId) -> &'a str {
        &self.plan.apps[usize::from(app)].name
    }

    /// Choose the app to kill among those with an `oom_score_adj` of at least `least`. The
    /// foreground app is never chosen.
    pub fn victim(&self, least: u32) -> Option<AppId> {
        let candidates: Vec<Candidate> = self.launcher.from(least.max(1)).into_iter().map(|app| self.candidate(app)).collect();
        self.rule.choose(&candidates)
    }

    /// The cached app to kill if there are more of them than Android's limit.
    pub fn over_limit(&self) -> Option<AppId> {
        self.launcher.over_limit().and_then(|cached| cached.first().copied())
    }

    fn candidate(&self, app: AppId) -> Candidate {
        let coming = self.plan.visits[self.visited.min(self.plan.visits.len())..].iter().position(|visit| visit.app == app);
        Candidate {
            app,
            adjustment: self.launcher.adjustment(app),
            next_launch: coming.map(|launches| launches as u64),
            cold_ns: 0, // Not known here; experiments refuse the rule that needs it.
            resident_pages: if self.rule.needs_resident_pages() { self.resident_pages(app) } else { 0 },
        }
    }

    fn resident_pages(&self, app: AppId) -> u64 {
        self.processes[usize::from(app)].as_ref().map_or(0, |child| proc::resident_kb(child.id()) / 4)
    }

    /// Kill an app's process and wait until its memory is free.
    pub fn kill(&mut self, app: AppId, reason: Reason, seen: Seen) {
        let adjustment = self.launcher.adjustment(app);
        if let Some(mut child) = self.processes[usize::from(app)].take() {
            let resident_kb = proc::resident_kb(child.id());
            // Both calls only fail for a process that has already ended.
            let _ = child.kill();
            let _ = child.wait();
            self.record_kill(app, adjustment, reason, seen, resident_kb);
        }
        self.launcher.killed(app);
    }

    /// Reap apps that the kernel has killed, and record each. An app that ended by itself is an
    /// error.
    pub fn reap(&mut self) -> Result<()> {
        for app in 0..self.processes.len() as AppId {
            let Some(child) = &mut self.processes[usize::from(app)] else { continue };
            let Ok(Some(status)) = child.try_wait() else { continue };
            if let Some(code) = status.code() {
                return Err(BadInput::new(
                    format!("app {}", self.name(app)),
                    format!("it exited with code {code}"),
                    "an app that runs until it is killed",
                ));
            }
            self.processes[usize::from(app)] = None;
            let adjustment = self.launcher.adjustment(app);
            self.record_kill(app, adjustment, Reason::OutOfMemory, Seen::default(), 0);
            self.launcher.killed(app);
        }
        Ok(())
    }

    fn record_kill(&self, app: AppId, adjustment: u32, reason: Reason, seen: Seen, resident_kb: u64) {
        let Seen { free_kb, file_kb, stall_ms, swap_free_percentage } = seen;
        let (at_ns, name, warm_up) = (now_ns(), self.name(app), self.warm_up);
        let figures = Kill { at_ns, app: name, adjustment, reason, free_kb, file_kb, stall_ms, swap_free_percentage, resident_kb, warm_up };
        report::write(&Record::Kill(figures));
    }

    /// Set each app's `oom_score_adj` for the kernel's own killer.
    pub fn write_oom_scores(&self) {
        for (app, process) in self.processes.iter().enumerate() {
            if let Some(child) = process {
                let adjustment = self.launcher.adjustment(app as AppId).min(999);
                // The write fails if the app has just ended.
                let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), adjustment.to_string());
            }
        }
    }
}
