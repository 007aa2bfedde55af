//! Runs a sequence of launches on the machine.

mod background;
mod pace;
mod sequence;

pub use sequence::run;

use super::machine::record::{LaunchRow, Stalls};
use super::machine::writes::{FileWrites, NextWrite};
use super::machine::{build, Machine};
use super::process::Process;
use super::spec::{Design, Sequence, Spec};
use super::user::apps::Apps;
use super::user::background::draw_apps;
use super::user::display::Drawing;
use super::user::heap::Heap;
use super::user::layout::{AppPages, Layout};
use super::user::nature::Natures;
use super::user::owner::SYSTEM;
use super::user::plan::{Plan, Salt};
use pace::{references, Pace};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use swaplab_apps::{Launcher, Restarts, Start};
use swaplab_experiment::Prepage;
use swaplab_trace::launches::Launch;
use swaplab_trace::synth::Draw;
use swaplab_vocab::{AppId, Op, PageId, Result};

/// A run of launches on a phone: its machine and its progress.
pub struct PhoneRun<'a> {
    pub machine: Machine,
    spec: &'a Spec,
    prepage: Prepage,
    /// Number of launches so far.
    number: u32,
    /// Shortest time from home to the next launch.
    pause_ns: u64,
    /// When the last app was left; `None` before the first launch.
    home_at_ns: Option<u64>,
    pace: Pace,
    /// By app: its process, apart from its pages.
    processes: Vec<Process>,
    /// By app, its managed heap; empty if apps have none.
    heaps: Vec<Heap>,
    /// Buffer for the operations of consecutive references, kept to be reused.
    ops: Vec<Op>,
    natures: Natures,
    /// When the app in front writes to its files next.
    write: NextWrite,
    /// The frames that the app in front draws.
    drawing: Drawing,
    /// Set when nobody wants the result any more. Whatever takes long then ends early.
    stop: &'a AtomicBool,
}

/// Time that the boot leaves for background reclaim.
const BOOT_NS: u64 = 10_000_000_000;

impl<'a> PhoneRun<'a> {
    /// Boot a phone: the system uses each of its pages once.
    pub fn boot(spec: &'a Spec, design: &Design, sequence: &Sequence, seed: u64, stop: &'a AtomicBool) -> Result<PhoneRun<'a>> {
        let mut phone = PhoneRun::before_boot(spec, design, sequence, seed, stop)?;
        phone.use_system();
        phone.machine.rest(BOOT_NS);
        phone.machine.clock.take_stalls();
        phone.machine.clock.settled_ns = 0;
        phone.machine.failed()?;
        Ok(phone)
    }

    /// A phone whose memory is free. Draws the apps, their pages and their services.
    fn before_boot(spec: &'a Spec, design: &Design, sequence: &Sequence, seed: u64, stop: &'a AtomicBool) -> Result<PhoneRun<'a>> {
        let (counts, launches) = (sequence.launches_by_app(), &sequence.launches);
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
        let apps = Apps { layout, launcher, restarts, plan };
        let mut machine = build(&spec.phone, design, apps, shared, seed, sequence.counted_seconds())?;
        machine.rules.file_writes = FileWrites::of(&spec.models.file_writes, spec.phone.page_bytes);
        let rule = spec.phone.background.heap;
        let heaps = machine.apps.layout.apps.iter().filter(|_| rule.is_on()).map(|app| Heap::of(app, &rule)).collect();
        Ok(PhoneRun {
            machine,
            spec,
            prepage: design.prepage,
            number: 0,
            pause_ns: sequence.pause_ns,
            home_at_ns: None,
            pace: Pace::default(),
            processes: vec![Process::default(); counts.len()],
            heaps,
            ops: Vec::new(),
            natures,
            write: NextWrite::default(),
            drawing: Drawing::default(),
            stop,
        })
    }

    /// Use each page of the system once.
    fn use_system(&mut self) {
        let system = self.pages_of(SYSTEM);
        self.machine.frames.pin_system_graphics(system.graphics);
        self.refer_to_range(system.file.clone(), Op::Read);
        self.refer_to_range(system.anon.clone(), Op::Write);
        let shared = self.machine.apps.layout.shared.iter().filter(|shared| shared.system).map(|shared| shared.pages.clone());
        for pages in shared.collect::<Vec<_>>() {
            self.refer_to_range(pages.file, Op::Read);
            self.refer_to_range(pages.anon, Op::Write);
        }
    }

    fn pages_of(&self, app: AppId) -> AppPages {
        self.machine.apps.layout.of(app).clone()
    }

    /// Launch an app, use it in the foreground, and return to the home screen.
    pub fn launch(&mut self, launch: &Launch) -> Result<()> {
        self.elapse(launch.at_ns.max(self.home_at_ns.map_or(0, |ns| ns + self.pause_ns)));
        self.machine.apps.plan.begin(self.number);
        let at_ns = self.machine.clock.settled_ns;
        self.machine.clock.write_back.take_waits();
        self.write = NextWrite::after(&self.machine.rules.file_writes, at_ns);
        self.machine.sample();
        let app = self.pages_of(launch.app);
        let (start, stalls) = self.bring_to_front(launch.app, &app, at_ns);
        let front_stalls = self.use_in_front(launch, &app, start, at_ns);
        self.machine.counts.stall_ns += stalls.total_ns() + front_stalls.total_ns();
        self.number += 1;
        // The benchmark counts the foreground time from the launch, not from the time at which the
        // app is ready.
        self.elapse(at_ns + launch.foreground_ns);
        self.go_home(launch.app, &app);
        self.home_at_ns = Some(self.machine.clock.settled_ns);
        self.machine.failed()
    }

    /// Start or resume an app at `at_ns`, until it is ready, and record the launch. Returns how it
    /// started, and the stalls meanwhile.
    fn bring_to_front(&mut self, id: AppId, app: &AppPages, at_ns: u64) -> (Start, Stalls) {
        let (before, before_ns) = (self.machine.counts, self.machine.clock.memory_ns);
        let copied = self.machine.swap.side.moves.copied_pages;
        let start = self.begin_start(id);
        self.machine.deaths().enforce_limit();
        let cpu_ns = if start == Start::Cold { app.cold_ns } else { app.resume_ns };
        self.machine.set_graphics(id, app.graphics + app.camera);
        if self.prepage == Prepage::Asap {
            self.machine.prepage(id, cpu_ns);
        }
        let mapped = self.machine.apps.mapped_by(id);
        self.machine.prefetch.hotness.begin(app.anon.clone());
        self.pace = Pace::over(cpu_ns, references(self.machine.apps.layout.of(SYSTEM), app, &mapped), true);
        self.start(app, &mapped, start);
        self.advance_time(u64::MAX);
        self.machine.catch_up();
        self.machine.prefetch.hotness.finish();
        if self.prepage == Prepage::Asap {
            self.machine.prefetch.trail.finish(id);
        }
        let (ready_at_ns, waits) = (self.machine.clock.now(), self.machine.clock.write_back.take_waits());
        let stalls = self.machine.clock.take_stalls();
        self.machine.record.launches.push(LaunchRow {
            at_ns,
            app: id,
            start,
            cpu_ns,
            stalls,
            waits,
            ready_at_ns,
            faults: self.machine.counts.faults - before.faults,
            swapped_in: self.machine.swap.side.moves.copied_pages - copied,
            file_reads: self.machine.counts.file_reads - before.file_reads,
            psi_some_ns: self.machine.clock.memory_ns - before_ns,
        });
        self.machine.counts.user_ns += cpu_ns;
        (start, stalls)
    }

    /// Use an app in the foreground that was launched at `at_ns`. Returns the stalls meanwhile.
    fn use_in_front(&mut self, launch: &Launch, app: &AppPages, start: Start, at_ns: u64) -> Stalls {
        let front_ns = (at_ns + launch.foreground_ns).saturating_sub(self.machine.clock.settled_ns);
        let allocations = self.take_allocations(launch.app, front_ns, true);
        self.pace = Pace::over(
            front_ns,
            references(self.machine.apps.layout.of(SYSTEM), app, &[]) + self.heap_references(launch.app, allocations),
            false,
        );
        self.drawing = Drawing::begin(self.spec.phone.display, front_ns);
        self.refer_in_front(app, start);
        self.allocate(launch.app, allocations, true);
        self.pace = Pace::default();
        self.write = NextWrite::default();
        self.machine.catch_up();
        std::mem::take(&mut self.drawing).end(&mut self.machine.counts.display);
        self.machine.clock.take_stalls()
    }

    /// Return to the home screen from an app.
    fn go_home(&mut self, id: AppId, app: &AppPages) {
        self.machine.sample();
        self.machine.apps.launcher.home();
        self.machine.deaths().enforce_limit();
        if self.machine.apps.launcher.is_live(id) {
            let kept = (app.graphics as f64 * self.spec.models.graphics_kept) as usize;
            self.machine.set_graphics(id, kept);
            self.processes[usize::from(id)].leave_foreground(self.machine.clock.settled_ns);
        }
    }

    /// Make the references until the app is ready.
    fn start(&mut self, app: &AppPages, mapped: &[AppPages], start: Start) {
        let system = self.pages_of(SYSTEM);
        self.refer_to_range(system.file.start..system.file_hot_end, Op::Fetch);
        self.refer_to_range(app.file.start..app.file_hot_end, Op::Fetch);
        for shared in mapped {
            self.refer_to_range(shared.file.clone(), Op::Fetch);
            // The first app to use the page writes it; it has content for the others.
            for page in shared.anon.clone() {
                let op = if self.machine.has_content(page) { Op::Read } else { Op::Write };
                self.refer(page, op);
            }
        }
        if start == Start::Cold {
            self.refer_to_range(app.anon.start..app.start_end, Op::Write);
            return self.refer_to_range(app.file_hot_end..app.file_start_end, Op::Read);
        }
        self.use_hot_and_warm(app, Salt::Start);
    }

    /// Make the references while the app is in the foreground.
    fn refer_in_front(&mut self, app: &AppPages, start: Start) {
        if start == Start::Cold {
            self.refer_to_range(app.start_end..app.anon.end, Op::Write);
            self.refer_to_range(app.file_start_end..app.file.end, Op::Read);
        }
        self.refer_to_range(app.file.start..app.file_hot_end, Op::Fetch);
        self.use_range(app.anon.start..app.hot_end, app, Salt::Foreground);
        let system = self.pages_of(SYSTEM);
        self.use_hot_and_warm(&system, Salt::Foreground);
    }

    /// Use each page of a range, which belongs to `of`.
    fn use_range(&mut self, pages: std::ops::Range<PageId>, of: &AppPages, salt: Salt) {
        let mut ops = std::mem::take(&mut self.ops);
        self.natures.ops(&self.machine.apps.plan, self.number, pages.clone(), salt, of, &mut ops);
        self.refer_with_ops(pages.start, ops);
    }

    fn use_hot_and_warm(&mut self, of: &AppPages, salt: Salt) {
        self.use_range(of.anon.start..of.hot_end, of, salt);
        // The time of a run of resident pages passes at once, as in `refer_with_ops`.
        let (plan, number, mut owed_ns) = (self.machine.apps.plan.clone(), self.number, 0);
        for page in (of.hot_end..of.warm_end).filter(|page| plan.warm(number, *page, of)) {
            let op = self.natures.op(&plan, number, page, salt, of);
            if self.machine.frames.pages.is_resident(page) {
                self.machine.prefetch.used(page..page + 1);
                self.machine.touch(page, op);
                owed_ns += self.pace.step_ns;
            } else {
                self.advance_time(std::mem::take(&mut owed_ns));
                self.refer(page, op);
            }
        }
        self.advance_time(owed_ns);
    }

    fn refer_to_range(&mut self, pages: std::ops::Range<PageId>, op: Op) {
        let mut ops = std::mem::take(&mut self.ops);
        ops.resize(pages.len(), op);
        self.refer_with_ops(pages.start, ops);
    }

    /// Refer to consecutive pages, beginning with `first`, once for each of `ops`. A run of
    /// references that cause no other event is handled at once.
    fn refer_with_ops(&mut self, first: PageId, mut ops: Vec<Op>) {
        let mut done = 0;
        while done < ops.len() && !self.is_stopped() {
            let page = first + done as PageId;
            let run = self.machine.plain_run(page, ops.len() - done);
            if run > 0 {
                self.advance_time(self.pace.step_ns * run as u64);
                self.machine.prefetch.used(page..page + run as PageId);
                self.machine.touch_run(page, &ops[done..done + run]);
                done += run;
            }
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
        let before_ns = self.machine.clock.waited_ns();
        self.machine.touch(page, op);
        self.drawing.stall(self.machine.clock.waited_ns() - before_ns);
    }

    /// Let `ns` pass, at most the rest of the running task's time. The app in front writes to its
    /// files when that is due.
    fn advance_time(&mut self, ns: u64) {
        let mut ns = ns.min(self.pace.left_ns);
        if ns == 0 {
            return;
        }
        self.pace.left_ns -= ns;
        self.drawing.pass(ns, &mut self.machine.counts.display);
        while let Some(wait_ns) = self.write.within(self.machine.clock.now(), ns).filter(|_| !self.is_stopped()) {
            self.pass(wait_ns);
            ns -= wait_ns;
            self.machine.write_files();
            self.write = NextWrite::after(&self.machine.rules.file_writes, self.machine.clock.now());
        }
        self.pass(ns);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pass(&mut self, ns: u64) {
        match self.pace.works {
            true => self.machine.clock.work(ns),
            false => self.machine.clock.pause(ns),
        }
    }
}
