//! The launcher: performs the plan's visits in order and times each, like the world `kernel` on the
//! machine's own kernel.

use crate::cgroup::Group;
use crate::compact;
use crate::counters::{now_ns, Sample};
use crate::direct_reclaim::DirectReclaim;
use crate::killer;
use crate::limited;
use crate::phone::{Phone, Seen};
use crate::plan::{App, Plan, System, Visit};
use crate::proc::{self, Process};
use crate::report::{self, Reason, Record};
use crate::sample;
use crate::setup::data_of;
use crate::trace;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use swaplab_app::Feature;
use swaplab_apps::app_policy::Gate;
use swaplab_apps::{Owner, Start};
use swaplab_vocab::{AppId, BadInput, Result};

/// The launcher's ends of the pipes to an app's process.
struct Pipes {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// Error: the app's process ended before it answered.
struct Gone;

/// Perform every visit of the plan, and then let the live apps check their pages if the plan says
/// so.
pub fn run(plan: &Plan, groups: Vec<Group>) -> Result<()> {
    let killer = plan.killer(proc::meminfo()["MemTotal"] / 1024)?;
    let direct_reclaim = match &killer {
        Some(killer) if killer.reads_direct_reclaim() => Some(DirectReclaim::trace()?),
        _ => None,
    };
    let phone = Mutex::new(Phone::new(plan, killer.as_ref().map(|killer| killer.victim).unwrap_or_default()));
    std::thread::scope(|scope| {
        if let Some(killer) = &killer {
            let phone = &phone;
            scope.spawn(move || killer::watch(phone, plan, killer, direct_reclaim));
        }
        if let Some(compaction) = &plan.compaction {
            scope.spawn(|| compact::watch(&phone, compaction));
        }
        // These threads never end, so this scope would not end either: turn the machine off
        // here, also after an error.
        report::end(visit_all(plan, &phone, groups))
    })
}

fn visit_all<'a>(plan: &'a Plan, phone: &'a Mutex<Phone<'a>>, groups: Vec<Group>) -> Result<()> {
    let mut visits = Visits::new(plan, phone, groups)?;
    visits.start_system()?;
    trace::start(&plan.events)?;
    let mut first = Sample::take(visits.kswapd);
    let mut killer_ns = visits.killer_ns();
    for (number, visit) in plan.visits.iter().enumerate() {
        let warm_up_ended = !visit.warm_up && (number == 0 || plan.visits[number - 1].warm_up);
        if warm_up_ended {
            (first, killer_ns) = (Sample::take(visits.kswapd), visits.killer_ns());
        }
        visits.perform(number, visit)?;
        report::write(&Record::Progress { visits: number + 1 });
    }
    let last = Sample::take(visits.kswapd);
    let (kernel, killer_cpu_ns) = (last.since(&first), visits.killer_ns() - killer_ns);
    report::write(&Record::Counts { since_ns: first.at_ns, until_ns: last.at_ns, kernel: &kernel, killer_cpu_ns });
    trace::stop(&plan.events);
    if plan.verify {
        visits.verify();
    }
    report::write(&Record::End { at_ns: now_ns() });
    Ok(())
}

/// The state of the visits: apps' pipes and control groups, and the ids of other processes.
struct Visits<'a> {
    plan: &'a Plan,
    phone: &'a Mutex<Phone<'a>>,
    groups: Vec<Group>,
    pipes: Vec<Option<Pipes>>,
    gate: Gate,
    /// By app: whether its control group currently permits swap-outs.
    allowed: Vec<bool>,
    kswapd: Option<u32>,
    /// The id of the system process.
    system: Option<u32>,
}

impl<'a> Visits<'a> {
    fn new(plan: &'a Plan, phone: &'a Mutex<Phone<'a>>, groups: Vec<Group>) -> Result<Visits<'a>> {
        let pipes = plan.apps.iter().map(|_| None).collect();
        let allowed = vec![true; plan.apps.len()];
        Ok(Visits { plan, phone, groups, pipes, gate: plan.gate()?, allowed, kswapd: proc::find("kswapd0"), system: None })
    }

    fn phone(&self) -> MutexGuard<'a, Phone<'a>> {
        // The killer's thread does not panic while the phone is in an inconsistent state.
        self.phone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processor time of the killer's thread so far, in ns.
    fn killer_ns(&self) -> u64 {
        self.phone().killer_thread.map_or(0, |thread| Process::read(thread).cpu_ns)
    }

    fn perform(&mut self, number: usize, visit: &'a Visit) -> Result<()> {
        let app = visit.app;
        {
            let mut phone = self.phone();
            phone.reap()?;
            (phone.visited, phone.warm_up) = (number + 1, visit.warm_up);
            phone.launcher.launch(app);
            phone.write_oom_scores();
            self.drop_stale_pipes(&phone);
        }
        self.steer()?;
        self.sample();
        let (before, waits) = (Sample::take(self.kswapd), self.group(app).waits());
        let (mut start, mut bad, mut used) = (Start::Resume, 0, Process::default());
        let began_ns = now_ns();
        let resumed = match self.process(app) {
            None => Err(Gone),
            Some(id) => {
                used = Process::read(id);
                self.ask(app, &self.app(app).request)
            }
        };
        let (at_ns, ready_ns) = match resumed {
            Ok(answered) => {
                bad += answered.1;
                (began_ns, now_ns() - began_ns)
            }
            Err(Gone) => {
                (start, used) = (Start::Cold, Process::default());
                let began_ns = self.launch(app)?;
                (began_ns, now_ns() - began_ns)
            }
        };
        let after = Sample::take(self.kswapd);
        let process = self.process(app).map_or(Process::default(), |id| Process::read(id).since(&used));
        let waits = self.group(app).waits().since(&waits);
        let (memory, generations) = (limited::memory(self.plan).with_pools(), self.group(app).generations());
        let alive = self.phone().processes.iter().flatten().count();
        bad += self.use_app(app);
        self.sample();
        report::write(&Record::Visit(report::Visit {
            round: visit.round,
            warm_up: visit.warm_up,
            app: &self.app(app).name,
            start,
            at_ns,
            ready_ns,
            alive,
            bad,
            process,
            waits,
            kswapd_ns: after.kswapd_since(&before),
            kernel: after.since(&before),
            so_far: after.totals(),
            memory,
            generations,
        }));
        std::thread::sleep(Duration::from_nanos(visit.foreground_ns));
        self.go_home()?;
        std::thread::sleep(Duration::from_nanos(visit.think_ns));
        Ok(())
    }

    fn go_home(&mut self) -> Result<()> {
        let mut phone = self.phone();
        phone.reap()?;
        phone.launcher.home();
        while let Some(app) = phone.over_limit() {
            phone.kill(app, Reason::CachedLimit, Seen::default());
        }
        phone.write_oom_scores();
        Ok(())
    }

    /// Use the foreground app. Returns the number of pages with wrong content.
    fn use_app(&mut self, app: AppId) -> u64 {
        match self.app(app).work.as_str() {
            "" => 0,
            work => self.ask(app, work).map_or(0, |(_, bad)| bad),
        }
    }

    /// Record a sample of memory, if the plan requires samples.
    fn sample(&self) {
        if self.plan.samples {
            sample::write(&self.phone(), self.plan.system.as_ref().zip(self.system));
        }
    }

    /// Start an app's process. Returns the time at which the successful attempt began, in ns since
    /// the machine started. If the kernel kills the process, another app is killed to make room,
    /// and the start is repeated.
    fn launch(&mut self, app: AppId) -> Result<u64> {
        for _ in 0..=self.plan.apps.len() {
            {
                let mut phone = self.phone();
                phone.reap()?;
                if !phone.launcher.is_live(app) {
                    phone.launcher.launch(app);
                }
            }
            let began_ns = now_ns();
            let App { name, feature, .. } = self.app(app);
            let mut child = spawn("app", name, feature, &[])?;
            self.pipes[usize::from(app)] = pipes(&mut child);
            {
                let mut phone = self.phone();
                phone.processes[usize::from(app)] = Some(child);
                phone.write_oom_scores();
            }
            if self.answer(app, "ready").is_ok() {
                return Ok(began_ns);
            }
            let mut phone = self.phone();
            phone.reap()?;
            match phone.victim(1) {
                Some(other) => phone.kill(other, Reason::OutOfMemory, Seen::default()),
                None => break,
            }
        }
        let name = &self.app(app).name;
        Err(BadInput::new(format!("app {name}"), "the kernel killed it with no other app alive", "a machine with memory for one app"))
    }

    /// Let every live app check the content of all its pages.
    fn verify(&mut self) {
        self.phone().armed = false;
        for app in 0..self.plan.apps.len() as AppId {
            if self.process(app).is_some() {
                if let Ok((pages, bad)) = self.ask(app, "verify") {
                    report::write(&Record::Check { app: &self.app(app).name, pages, bad });
                }
            }
        }
    }

    /// Allow or forbid swap-outs of each app's pages, as the app policy decides.
    fn steer(&mut self) -> Result<()> {
        for app in 0..self.plan.apps.len() {
            let allowed = {
                let phone = self.phone();
                self.gate.may_swap_out(phone.launcher.live(), &[Owner::App(app as AppId)], &phone.launcher.history)
            };
            if allowed != self.allowed[app] {
                self.groups[app].allow_swap(allowed)?;
                self.allowed[app] = allowed;
            }
        }
        Ok(())
    }

    /// Start the system process and wait until it has its memory.
    fn start_system(&mut self) -> Result<()> {
        let Some(System { name, feature, period_ns, pages }) = &self.plan.system else { return Ok(()) };
        let mut child = spawn("system", name, feature, &[period_ns.to_string(), pages.to_string()])?;
        // With this value the kernel's killer kills every app first.
        let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), sample::SYSTEM_ADJUSTMENT.to_string());
        let ready = pipes(&mut child).is_some_and(|mut pipes| pipes.from.read_line(&mut String::new()).is_ok_and(|read| read > 0));
        if !ready {
            return Err(BadInput::new(format!("system process {name}"), "it ended", "a machine with memory for it"));
        }
        self.system = Some(child.id());
        Ok(())
    }

    /// Send a request to an app and wait for its answer.
    fn ask(&mut self, app: AppId, request: &str) -> std::result::Result<(u64, u64), Gone> {
        let Some(pipes) = &mut self.pipes[usize::from(app)] else { return Err(Gone) };
        writeln!(pipes.to, "{request}").map_err(|_| Gone)?;
        self.answer(app, "ok")
    }

    /// Wait for the app's answer `WORD pages=N bad=M`. Returns the number of touched pages and of
    /// pages with wrong content.
    fn answer(&mut self, app: AppId, word: &str) -> std::result::Result<(u64, u64), Gone> {
        let Some(pipes) = &mut self.pipes[usize::from(app)] else { return Err(Gone) };
        let mut line = String::new();
        let read = pipes.from.read_line(&mut line).unwrap_or(0);
        let mut numbers = line.split_whitespace().filter_map(|part| part.split_once('=')?.1.parse().ok());
        match (read > 0 && line.starts_with(word), numbers.next(), numbers.next()) {
            (true, Some(pages), Some(bad)) => Ok((pages, bad)),
            _ => {
                self.pipes[usize::from(app)] = None;
                Err(Gone)
            }
        }
    }

    /// Close the pipes of apps that have no process.
    fn drop_stale_pipes(&mut self, phone: &Phone) {
        for (pipes, process) in self.pipes.iter_mut().zip(&phone.processes) {
            if process.is_none() {
                *pipes = None;
            }
        }
    }

    fn process(&self, app: AppId) -> Option<u32> {
        self.phone().processes[usize::from(app)].as_ref().map(Child::id)
    }

    fn app(&self, app: AppId) -> &'a App {
        &self.plan.apps[usize::from(app)]
    }

    fn group(&self, app: AppId) -> &Group {
        &self.groups[usize::from(app)]
    }
}

/// Start this program as the process of an app or of the system, with further arguments `extra`.
fn spawn(role: &str, name: &str, feature: &Feature, extra: &[String]) -> Result<Child> {
    let text = serde_json::to_string(feature).unwrap_or_default();
    let mut command = Command::new("/init");
    command.args([role, name, &text, &data_of(name)]).args(extra).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().map_err(|error| BadInput::io(format!("start of {name}"), error))
}

fn pipes(child: &mut Child) -> Option<Pipes> {
    Some(Pipes { to: child.stdin.take()?, from: BufReader::new(child.stdout.take()?) })
}
