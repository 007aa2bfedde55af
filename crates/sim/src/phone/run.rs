//! A sequence of launches on the machine, and what came of it.

use super::background::Idle;
use super::layout::{AppPages, Layout, SYSTEM};
use super::machine::Machine;
use super::outcome::Outcome;
use super::plan::Plan;
use super::prepage::Prepage;
use super::record::LaunchRow;
use super::spec::{Sim, SimScheme};
use super::Sequence;
use swaplab_apps::{Launcher, Start};
use swaplab_trace::launches::Launch;
use swaplab_trace::synth::Draw;
use swaplab_vocab::{BadInput, Op, PageId, Result};

pub struct Phone<'a> {
    pub(super) sim: &'a Sim,
    pub machine: Machine,
    prepage: Prepage,
    /// Launches so far.
    number: u32,
    pub(super) idle: Vec<Idle>,
}

/// Salts of draws that must not agree.
const START: u64 = 2;
const STAY: u64 = 3;

impl<'a> Phone<'a> {
    /// A phone that has booted: the system's pages have been used once.
    pub fn boot(sim: &'a Sim, scheme: &SimScheme, sequence: &Sequence, seed: u64) -> Result<Phone<'a>> {
        let launches = &sequence.launches;
        let mut counts: Vec<u64> = Vec::new();
        for launch in launches {
            let at = usize::from(launch.app);
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] += 1;
        }
        let seconds = launches.last().map_or(0.0, |l| (l.at_ns + l.foreground_ns) as f64 / 1e9);
        let mut draw = Draw::new(seed);
        let layout = Layout::new(&sim.apps, sim.phone.page_bytes(), &sequence.apps, &counts, &mut draw);
        let mut services = vec![false; counts.len()];
        for _ in 0..sim.phone.limits.services.min(counts.len() as u64) {
            let free: Vec<usize> = (0..services.len()).filter(|app| !services[*app]).collect();
            services[free[(draw.unit() * free.len() as f64) as usize]] = true;
        }
        let launcher = Launcher::new(sim.phone.limits, services);
        let plan = Plan::new(seed, launches, &layout);
        let machine = Machine::new(sim, scheme, layout, launcher, plan, seed, seconds)?;
        let mut phone = Phone { sim, machine, prepage: scheme.prepage, number: 0, idle: vec![Idle::default(); counts.len()] };
        let system = phone.machine.pages_of(SYSTEM);
        phone.machine.pin_graphics(system.graphics);
        phone.each(system.file.clone(), Op::Read);
        phone.each(system.anon.clone(), Op::Write);
        let shared = phone.machine.layout.shared.iter().filter(|shared| shared.system).map(|shared| shared.pages.clone());
        for pages in shared.collect::<Vec<_>>() {
            phone.each(pages.file, Op::Read);
            phone.each(pages.anon, Op::Write);
        }
        phone.machine.take_waited();
        phone.machine.now_ns = 0;
        phone.machine.failed()?;
        Ok(phone)
    }

    /// The user starts an app, stays, and goes home.
    pub fn launch(&mut self, launch: &Launch) -> Result<()> {
        self.elapse(launch.at_ns);
        self.machine.plan.begin(self.number);
        let at_ns = self.machine.now_ns;
        self.machine.sample();
        let before = self.machine.counts;
        let copied = self.machine.swap().moves.copied_pages;
        let start = self.machine.launcher.launch(launch.app);
        self.machine.enforce_limit();
        let app = self.machine.pages_of(launch.app);
        let cpu_ns = if start == Start::Cold { app.cold_ns } else { app.resume_ns };
        self.machine.set_graphics(launch.app, app.graphics + app.camera);
        if self.prepage == Prepage::Asap {
            self.machine.prepage(launch.app, cpu_ns);
        }
        let mapped = self.machine.mapped_by(launch.app);
        self.machine.hotness.begin(app.anon.clone());
        self.start(&app, &mapped, start);
        self.machine.hotness.finish();
        if self.prepage == Prepage::Asap {
            self.machine.trail.finish(launch.app);
        }
        let stalls = self.machine.take_waited();
        self.machine.record.launches.push(LaunchRow {
            at_ns,
            app: launch.app,
            start,
            cpu_ns,
            stalls,
            faults: self.machine.counts.faults - before.faults,
            swapped_in: self.machine.swap().moves.copied_pages - copied,
            file_reads: self.machine.counts.file_reads - before.file_reads,
        });
        self.machine.counts.user_ns += cpu_ns;
        self.machine.now_ns += cpu_ns;
        self.stay(&app, start);
        self.machine.take_waited();
        self.number += 1;
        // The benchmark waits from the launch on, not from the app's being ready.
        self.elapse(at_ns + launch.foreground_ns);
        self.machine.sample();
        self.machine.launcher.home();
        self.machine.enforce_limit();
        if self.machine.launcher.is_live(launch.app) {
            let kept = (app.graphics as f64 * self.sim.apps.graphics_kept) as usize;
            self.machine.set_graphics(launch.app, kept);
            self.left(launch.app);
        }
        self.machine.failed()
    }

    /// References until the app is ready.
    fn start(&mut self, app: &AppPages, mapped: &[AppPages], start: Start) {
        let system = self.machine.pages_of(SYSTEM);
        self.each(system.file.start..system.file_hot_end, Op::Fetch);
        self.each(app.file.start..app.file_hot_end, Op::Fetch);
        for shared in mapped {
            self.each(shared.file.clone(), Op::Fetch);
            // Who comes first writes it; to the others it is there.
            for page in shared.anon.clone() {
                let op = if self.machine.has_content(page) { Op::Read } else { Op::Write };
                self.machine.used(page);
                self.machine.touch(page, op);
            }
        }
        if start == Start::Cold {
            return self.each(app.anon.start..app.hot_end, Op::Write);
        }
        self.use_hot_and_warm(app, START);
    }

    /// References while it is in front.
    fn stay(&mut self, app: &AppPages, start: Start) {
        if start == Start::Cold {
            self.each(app.hot_end..app.anon.end, Op::Write);
            self.each(app.file_hot_end..app.file.end, Op::Read);
        }
        self.each(app.file.start..app.file_hot_end, Op::Fetch);
        (app.anon.start..app.hot_end).for_each(|page| self.use_page(page, app, STAY));
        let system = self.machine.pages_of(SYSTEM);
        self.use_hot_and_warm(&system, STAY);
    }

    fn use_hot_and_warm(&mut self, of: &AppPages, salt: u64) {
        (of.anon.start..of.hot_end).for_each(|page| self.use_page(page, of, salt));
        for page in of.hot_end..of.warm_end {
            if self.machine.plan.warm(self.number, page, of) {
                self.use_page(page, of, salt);
            }
        }
    }

    pub(super) fn use_page(&mut self, page: PageId, of: &AppPages, salt: u64) {
        let op = if self.machine.plan.chance(self.number, page, salt) < of.write_share { Op::Write } else { Op::Read };
        self.machine.used(page);
        self.machine.touch(page, op);
    }

    fn each(&mut self, pages: std::ops::Range<PageId>, op: Op) {
        for page in pages {
            self.machine.used(page);
            self.machine.touch(page, op);
        }
    }
}

/// Run `launches` with one scheme and seed.
pub fn run(sim: &Sim, scheme: &SimScheme, sequence: &Sequence, seed: u64) -> Result<Outcome> {
    if sequence.launches.is_empty() {
        return Err(BadInput::new("sim.launches", "no launch in it", "a trace of launches"));
    }
    let mut phone = Phone::boot(sim, scheme, sequence, seed)?;
    for launch in &sequence.launches {
        phone.launch(launch)?;
    }
    phone.machine.sample();
    Ok(Outcome::new(phone.machine, seed))
}
