//! Runs a sequence of launches on the machine.

mod background;

use super::machine::record::LaunchRow;
use super::machine::writes::{Due, FileWrites};
use super::machine::{build, Machine};
use super::process::Process;
use super::spec::{Design, Sequence, Spec};
use super::user::apps::Apps;
use super::user::background::draw_apps;
use super::user::heap::Heap;
use super::user::layout::{AppPages, Layout};
use super::user::nature::Natures;
use super::user::owner::SYSTEM;
use super::user::plan::Plan;
use std::sync::Arc;
use swaplab_apps::{Launcher, Restarts, Start};
use swaplab_experiment::Prepage;
use swaplab_trace::launches::Launch;
use swaplab_trace::synth::Draw;
use swaplab_vocab::{AppId, BadInput, Op, PageId, Result};

/// A phone with its machine, and the progress of its launches.
pub struct Phone<'a> {
    pub machine: Machine,
    spec: &'a Spec,
    prepage: Prepage,
    /// Number of launches so far.
    number: u32,
    pace: Pace,
    /// By app, its process beside its pages.
    processes: Vec<Process>,
    /// By app, its managed heap; empty if apps have none.
    heaps: Vec<Heap>,
    /// Buffer for the operations of consecutive references, kept to be reused.
    ops: Vec<Op>,
    natures: Natures,
    /// When the app in front writes to its files next.
    write: Due,
}

/// The time between the references of the running task.
#[derive(Clone, Copy, Default)]
struct Pace {
    /// Whether the task works in that time, or pauses.
    works: bool,
    step_ns: u64,
    left_ns: u64,
}

impl Pace {
    /// Spread `ns` over `references` references.
    fn over(ns: u64, references: usize, works: bool) -> Pace {
        Pace { works, step_ns: ns / references.max(1) as u64, left_ns: ns }
    }
}

/// Salts of draws that must be independent of each other.
const START: u64 = 2;
const STAY: u64 = 3;
const ACTIVITY: u64 = 4;
const SERVICE: u64 = 7;
/// Time that the boot leaves for background reclaim.
const BOOT_NS: u64 = 10_000_000_000;

impl<'a> Phone<'a> {
    /// Boot a phone: the system uses each of its pages once.
    pub fn boot(spec: &'a Spec, design: &Design, sequence: &Sequence, seed: u64) -> Result<Phone<'a>> {
        let launches = &sequence.launches;
        let mut counts: Vec<u64> = Vec::new();
        for launch in launches {
            let at = usize::from(launch.app);
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] += 1;
        }
        let from = launches.get(sequence.warm_up).map_or(0, |launch| if sequence.warm_up > 0 { launch.at_ns } else { 0 });
        let seconds = launches.last().map_or(0.0, |l| (l.at_ns + l.foreground_ns - from) as f64 / 1e9);
        let mut draw = Draw::new(seed);
        let layout = Layout::new(&spec.models, spec.phone.page_bytes, &sequence.apps, &counts, &mut draw);
        let mut services = vec![false; counts.len()];
        draw_apps(spec.phone.limits.services, &mut services, &mut draw);
        let (mut sticky, restart) = (services.clone(), spec.phone.background.services);
        draw_apps(restart.sticky, &mut sticky, &mut draw);
        let restarts = if restart.restart { Restarts::new(&sticky) } else { Restarts::new(&vec![false; counts.len()]) };
        let launcher = Launcher::new(spec.phone.limits, services).spread(design.killer.spread);
        let plan = Arc::new(Plan::new(seed, launches, &layout));
        let natures = Natures::new(&plan, &layout, spec.models.lasting_share);
        let shared = spec.models.shared.iter().map(|shared| shared.name.clone()).collect();
        let mut machine = build(&spec.phone, design, Apps { layout, launcher, restarts, plan }, shared, seed, seconds)?;
        machine.rules.file_writes = FileWrites::of(&spec.models.file_writes, spec.phone.page_bytes);
        let rule = spec.phone.background.heap;
        let heaps = machine.apps.layout.apps.iter().filter(|_| rule.is_on()).map(|app| Heap::of(app, &rule)).collect();
        let (pace, processes, ops) = (Pace::default(), vec![Process::default(); counts.len()], Vec::new());
        let write = Due::default();
        let mut phone = Phone { machine, spec, prepage: design.prepage, number: 0, pace, processes, heaps, ops, natures, write };
        let system = phone.pages_of(SYSTEM);
        phone.machine.frames.pin_system_graphics(system.graphics);
        phone.refer_to_each(system.file.clone(), Op::Read);
        phone.refer_to_each(system.anon.clone(), Op::Write);
        let shared = phone.machine.apps.layout.shared.iter().filter(|shared| shared.system).map(|shared| shared.pages.clone());
        for pages in shared.collect::<Vec<_>>() {
            phone.refer_to_each(pages.file, Op::Read);
            phone.refer_to_each(pages.anon, Op::Write);
        }
        phone.machine.rest(BOOT_NS);
        phone.machine.clock.take_stalls();
        phone.machine.clock.now_ns = 0;
        phone.machine.failed()?;
        Ok(phone)
    }

    fn pages_of(&self, app: AppId) -> AppPages {
        self.machine.apps.layout.of(app).clone()
    }

    /// Launch an app, use it in the foreground, and return to the home screen.
    pub fn launch(&mut self, launch: &Launch) -> Result<()> {
        self.elapse(launch.at_ns);
        self.machine.apps.plan.begin(self.number);
        let at_ns = self.machine.clock.now_ns;
        self.machine.clock.write_back.take_waits();
        self.write = Due::after(&self.machine.rules.file_writes, at_ns);
        self.machine.sample();
        let before = self.machine.counts;
        let copied = self.machine.swap.side.moves.copied_pages;
        let start = self.begin_start(launch.app);
        self.machine.deaths().enforce_limit();
        let app = self.pages_of(launch.app);
        let cpu_ns = if start == Start::Cold { app.cold_ns } else { app.resume_ns };
        self.machine.set_graphics(launch.app, app.graphics + app.camera);
        if self.prepage == Prepage::Asap {
            self.machine.prepage(launch.app, cpu_ns);
        }
        let mapped = self.machine.apps.mapped_by(launch.app);
        self.machine.prefetch.hotness.begin(app.anon.clone());
        self.pace = Pace::over(cpu_ns, self.references(&app, &mapped), true);
        self.start(&app, &mapped, start);
        self.advance_time(u64::MAX);
        self.machine.catch_up();
        self.machine.prefetch.hotness.finish();
        if self.prepage == Prepage::Asap {
            self.machine.prefetch.trail.finish(launch.app);
        }
        let (ready_at_ns, waits) = (self.machine.clock.now(), self.machine.clock.write_back.take_waits());
        let stalls = self.machine.clock.take_stalls();
        self.machine.record.launches.push(LaunchRow {
            at_ns,
            app: launch.app,
            start,
            cpu_ns,
            stalls,
            waits,
            ready_at_ns,
            faults: self.machine.counts.faults - before.faults,
            swapped_in: self.machine.swap.side.moves.copied_pages - copied,
            file_reads: self.machine.counts.file_reads - before.file_reads,
        });
        self.machine.counts.user_ns += cpu_ns;
        let front_ns = (at_ns + launch.foreground_ns).saturating_sub(self.machine.clock.now_ns);
        let allocations = self.take_allocations(launch.app, front_ns, true);
        self.pace = Pace::over(front_ns, self.references(&app, &[]) + self.heap_references(launch.app, allocations), false);
        self.stay(&app, start);
        self.allocate(launch.app, allocations, true);
        self.pace = Pace::default();
        self.write = Due::default();
        self.machine.catch_up();
        let stayed = self.machine.clock.take_stalls();
        self.machine.counts.stall_ns += stalls.total_ns() + stayed.total_ns();
        self.number += 1;
        // The benchmark counts the foreground time from the launch, not from the time at which the
        // app is ready.
        self.elapse(at_ns + launch.foreground_ns);
        self.machine.sample();
        self.machine.apps.launcher.home();
        self.machine.deaths().enforce_limit();
        if self.machine.apps.launcher.is_live(launch.app) {
            let kept = (app.graphics as f64 * self.spec.models.graphics_kept) as usize;
            self.machine.set_graphics(launch.app, kept);
            self.processes[usize::from(launch.app)].leave_foreground(self.machine.clock.now_ns);
        }
        self.machine.failed()
    }

    /// Make the references until the app is ready.
    fn start(&mut self, app: &AppPages, mapped: &[AppPages], start: Start) {
        let system = self.pages_of(SYSTEM);
        self.refer_to_each(system.file.start..system.file_hot_end, Op::Fetch);
        self.refer_to_each(app.file.start..app.file_hot_end, Op::Fetch);
        for shared in mapped {
            self.refer_to_each(shared.file.clone(), Op::Fetch);
            // The first app to use the page writes it; it has content for the others.
            for page in shared.anon.clone() {
                let op = if self.machine.has_content(page) { Op::Read } else { Op::Write };
                self.refer(page, op);
            }
        }
        if start == Start::Cold {
            return self.refer_to_each(app.anon.start..app.hot_end, Op::Write);
        }
        self.use_hot_and_warm(app, START);
    }

    /// Make the references while the app is in the foreground.
    fn stay(&mut self, app: &AppPages, start: Start) {
        if start == Start::Cold {
            self.refer_to_each(app.hot_end..app.anon.end, Op::Write);
            self.refer_to_each(app.file_hot_end..app.file.end, Op::Read);
        }
        self.refer_to_each(app.file.start..app.file_hot_end, Op::Fetch);
        self.use_hot(app, STAY);
        let system = self.pages_of(SYSTEM);
        self.use_hot_and_warm(&system, STAY);
    }

    fn use_hot(&mut self, of: &AppPages, salt: u64) {
        let (pages, mut ops) = (of.anon.start..of.hot_end, std::mem::take(&mut self.ops));
        self.natures.ops(&self.machine.apps.plan, self.number, pages.clone(), salt, of, &mut ops);
        self.refer_to_all(pages.start, ops);
    }

    fn use_hot_and_warm(&mut self, of: &AppPages, salt: u64) {
        self.use_hot(of, salt);
        for page in of.hot_end..of.warm_end {
            if self.machine.apps.plan.warm(self.number, page, of) {
                self.use_page(page, of, salt);
            }
        }
    }

    fn use_page(&mut self, page: PageId, of: &AppPages, salt: u64) {
        let op = self.natures.op(&self.machine.apps.plan, self.number, page, salt, of);
        self.refer(page, op);
    }

    fn refer_to_each(&mut self, pages: std::ops::Range<PageId>, op: Op) {
        let mut ops = std::mem::take(&mut self.ops);
        ops.resize(pages.len(), op);
        self.refer_to_all(pages.start, ops);
    }

    /// Refer to consecutive pages, beginning with `first`, once for each of `ops`. References to
    /// resident pages cause no other event, so a run of them is handled at once.
    fn refer_to_all(&mut self, first: PageId, mut ops: Vec<Op>) {
        let mut done = 0;
        while done < ops.len() {
            let page = first + done as PageId;
            let run = self.machine.frames.pages.resident_run(page, ops.len() - done);
            self.advance_time(self.pace.step_ns * run as u64);
            self.machine.prefetch.used(page..page + run as PageId);
            self.machine.touch_run(page, &ops[done..done + run]);
            done += run;
            if let Some(op) = ops.get(done) {
                self.refer(page + run as PageId, *op);
                done += 1;
            }
        }
        ops.clear();
        self.ops = ops;
    }

    /// Refer to `page` as the running task, after the time between two references.
    fn refer(&mut self, page: PageId, op: Op) {
        self.advance_time(self.pace.step_ns);
        self.machine.prefetch.used(page..page + 1);
        self.machine.touch(page, op);
    }

    /// Let `ns` pass, at most the rest of the running task's time. The app in front writes to its
    /// files when that is due.
    fn advance_time(&mut self, ns: u64) {
        let mut ns = ns.min(self.pace.left_ns);
        self.pace.left_ns -= ns;
        while let Some(until_ns) = self.write.within(self.machine.clock.now(), ns) {
            self.pass(until_ns);
            ns -= until_ns;
            self.machine.write_files();
            self.write = Due::after(&self.machine.rules.file_writes, self.machine.clock.now());
        }
        self.pass(ns);
    }

    fn pass(&mut self, ns: u64) {
        match self.pace.works {
            true => self.machine.clock.work(ns),
            false => self.machine.clock.pause(ns),
        }
    }

    /// An upper bound of the references that a start or a stay of `app` makes.
    fn references(&self, app: &AppPages, mapped: &[AppPages]) -> usize {
        let of = |pages: &AppPages| pages.file.len() + pages.anon.len();
        of(self.machine.apps.layout.of(SYSTEM)) + of(app) + mapped.iter().map(of).sum::<usize>()
    }
}

/// Run `sequence` with one design and seed. Returns the machine at the end, and the time in ns from
/// which figures are counted.
pub fn run(spec: &Spec, design: &Design, sequence: &Sequence, seed: u64) -> Result<(Machine, u64)> {
    if sequence.launches.is_empty() {
        return Err(BadInput::new("workload.launches", "no launch in it", "a trace of launches"));
    }
    let (mut phone, mut counted_from_ns) = (Phone::boot(spec, design, sequence, seed)?, 0);
    for (number, launch) in sequence.launches.iter().enumerate() {
        if number > 0 && number == sequence.warm_up {
            phone.machine.count_from_now();
            counted_from_ns = phone.machine.clock.now_ns;
        }
        phone.launch(launch)?;
    }
    phone.machine.deaths().release_all_killed();
    phone.machine.sample();
    Ok((phone.machine, counted_from_ns))
}
