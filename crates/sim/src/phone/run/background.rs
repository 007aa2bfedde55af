//! What happens between launches: work of apps, services and daemons, garbage collections,
//! compaction, and restarts of services.
//!
//! Deviations: the mechanisms run one after the other, each at its time or when those before it are
//! done; the last period of an interval stands for all of them; no task waits for them, and they
//! take no processor time of their own. In the foreground, the app waits for the pages that a
//! collection reads, where ART's collector is a task of its own.

use super::PhoneRun;
use crate::phone::process::Process;
use crate::phone::spec::Background;
use crate::phone::user::background::due;
use crate::phone::user::heap::Allocated;
use crate::phone::user::layout::AppPages;
use crate::phone::user::owner::SYSTEM;
use crate::phone::user::plan::Salt;
use std::ops::Range;
use swaplab_apps::compaction::Compact;
use swaplab_apps::Start;
use swaplab_vocab::{AppId, Op, PageId};

/// The first pages of `range`, this share of it.
fn share_of(range: &Range<PageId>, share: f64) -> Range<PageId> {
    range.start..range.start + (range.len() as f64 * share) as PageId
}

impl PhoneRun<'_> {
    /// Begin a launch of `app`. A cold start is that of a new process.
    pub(super) fn begin_start(&mut self, app: AppId) -> Start {
        self.machine.deaths().end_before_start(app);
        let is_live = self.machine.apps.launcher.is_live(app);
        let start = self.machine.apps.launcher.launch(app);
        if !is_live {
            self.processes[usize::from(app)] = Process::default();
            self.machine.files.open(app);
            self.machine.apps.restarts.started(app, self.machine.clock.settled_ns);
        }
        start
    }

    /// Let time pass until `to_ns`, with the background work of apps. Several periods of an app
    /// that end in that time count as one.
    pub(in crate::phone) fn elapse(&mut self, to_ns: u64) {
        let (from_ns, background) = (self.machine.clock.settled_ns, self.spec.phone.background);
        self.machine.rest(to_ns.saturating_sub(from_ns));
        self.machine.reclaim_proactively(from_ns, to_ns);
        self.restart_services(to_ns, background.services.restart_share);
        self.run_daemons(&background, from_ns, to_ns);
        for app in self.machine.apps.launcher.from(1) {
            // An app before it in this list may have caused its kill.
            if self.machine.apps.launcher.is_live(app) {
                let cached = self.machine.apps.launcher.is_cached(app);
                self.compact(app, cached, &background, from_ns, to_ns);
                self.in_background(app, cached, &background, from_ns, to_ns);
            }
        }
        // The user does not wait for stalls in the background.
        self.machine.clock.take_stalls();
        self.machine.clock.settled_ns = self.machine.clock.settled_ns.max(to_ns);
        self.machine.flush_statistics();
        self.machine.tick();
    }

    /// Advance the clock to `ns` if it is earlier, for something that happens then.
    fn advance_clock(&mut self, ns: u64) {
        self.machine.clock.take_stalls();
        self.machine.clock.settled_ns = self.machine.clock.settled_ns.max(ns);
        self.machine.reap();
    }

    /// Start the processes of services whose restart is due by `to_ns`. Such a process reads its
    /// hot file pages and writes a share of its anonymous pages.
    fn restart_services(&mut self, to_ns: u64, share: f64) {
        while let Some((due_ns, app)) = self.machine.apps.restarts.due(to_ns) {
            self.advance_clock(due_ns);
            self.machine.deaths().end_before_start(app);
            self.machine.apps.restarts.started(app, due_ns);
            self.machine.apps.launcher.restart_service(app);
            let process = &mut self.processes[usize::from(app)];
            *process = Process::default();
            process.leave_foreground(due_ns);
            let pages = self.pages_of(app);
            self.refer_to_range(pages.file.start..pages.file_hot_end, Op::Fetch);
            for page in share_of(&pages.anon, share) {
                self.refer_if_live(app, page, Op::Write);
            }
        }
    }

    /// Let native daemons use memory of the system.
    fn run_daemons(&mut self, background: &Background, from_ns: u64, to_ns: u64) {
        let services = &background.services;
        if due(services.daemons_every_ns, 0, from_ns, to_ns) {
            self.advance_clock(to_ns - to_ns % services.daemons_every_ns);
            let system = self.pages_of(SYSTEM);
            self.use_range(share_of(&system.anon, services.daemons_share), &system, Salt::Service);
        }
    }

    /// Compact an app once it has been cached for long enough.
    fn compact(&mut self, app: AppId, cached: bool, background: &Background, from_ns: u64, to_ns: u64) {
        if !cached || background.compact == Compact::Off {
            return;
        }
        let process = &mut self.processes[usize::from(app)];
        let cached_ns = *process.idle.cached_ns.get_or_insert(from_ns);
        if process.idle.compacted || to_ns < cached_ns + background.compact_after_ns {
            return;
        }
        process.idle.compacted = true;
        if background.compact_after_ns > 0 {
            self.advance_clock(cached_ns + background.compact_after_ns);
        }
        let last = self.processes[usize::from(app)].compacted;
        let compacted = self.machine.compact(app, background.compact, &background.throttles, last);
        self.processes[usize::from(app)].compacted = compacted;
    }

    /// Do the background work of `app` itself. A frozen app does none.
    fn in_background(&mut self, app: AppId, cached: bool, background: &Background, from_ns: u64, to_ns: u64) {
        let idle = self.processes[usize::from(app)].idle;
        let freezes = background.freeze_after_ns > 0 && cached;
        let awake_ns = if freezes { to_ns.min(idle.since_ns + background.freeze_after_ns) } else { to_ns };
        let pages = self.pages_of(app);
        if due(background.gc_every_ns, idle.since_ns, from_ns, awake_ns) {
            // A garbage collection reads what the app has allocated, in memory or in swap.
            for page in share_of(&pages.anon, background.gc_share) {
                self.read_if_live(app, page);
            }
        }
        if due(background.activity_every_ns, idle.since_ns, from_ns, awake_ns) {
            self.use_share(app, &pages, background.activity_share, Salt::Activity);
        }
        let services = &background.services;
        if self.machine.apps.launcher.is_service(app) && due(services.every_ns, idle.since_ns, from_ns, awake_ns) {
            self.advance_clock(awake_ns - (awake_ns - idle.since_ns) % services.every_ns);
            self.use_share(app, &pages, services.share, Salt::Service);
        }
        self.allocate_in_background(app, from_ns, awake_ns);
    }

    /// Use a share of the pages of an app, the hottest first.
    fn use_share(&mut self, app: AppId, pages: &AppPages, share: f64, salt: Salt) {
        for page in share_of(&pages.anon, share) {
            let op = self.natures.op(&self.machine.apps.plan, self.number, page, salt, pages);
            self.refer_if_live(app, page, op);
        }
    }

    /// Let an app that is awake until `awake_ns` allocate, and collect its heap once after it left
    /// the foreground.
    fn allocate_in_background(&mut self, app: AppId, from_ns: u64, awake_ns: u64) {
        if self.heaps.is_empty() {
            return;
        }
        let rule = self.spec.phone.background.heap;
        let idle = &mut self.processes[usize::from(app)].idle;
        let collect_ns = idle.since_ns + rule.collect_after_ns;
        if rule.collect_after_ns > 0 && !idle.collected && awake_ns >= collect_ns {
            idle.collected = true;
            if self.processes[usize::from(app)].allocation.has_garbage() {
                self.advance_clock(collect_ns);
                self.collect(app);
            }
        }
        let allocations = self.take_allocations(app, awake_ns.saturating_sub(from_ns), false);
        self.allocate(app, allocations, false);
    }

    /// Number of pages that `app` allocates in `ns`; a part of a page is kept for the next call.
    pub(super) fn take_allocations(&mut self, app: AppId, ns: u64, in_front: bool) -> usize {
        if self.heaps.is_empty() {
            return 0;
        }
        let rule = &self.spec.phone.background.heap;
        let rate = if in_front { rule.foreground_rate } else { rule.background_rate };
        self.processes[usize::from(app)].allocation.pages(rate, ns)
    }

    /// An upper bound of the references that the allocation of so many pages makes.
    pub(in crate::phone) fn heap_references(&self, app: AppId, allocations: usize) -> usize {
        let Some(heap) = self.heaps.get(usize::from(app)).filter(|_| allocations > 0) else { return 0 };
        allocations + heap.live * heap.collections(allocations)
    }

    /// Allocate pages of the managed heap, with the collections that this starts.
    pub(super) fn allocate(&mut self, app: AppId, allocations: usize, in_front: bool) {
        for _ in 0..allocations {
            if self.is_stopped() {
                return;
            }
            let at = usize::from(app);
            match self.processes[at].allocation.next(&self.heaps[at], in_front) {
                Allocated::Page(page) => self.refer_if_live(app, page, Op::Write),
                Allocated::Full => {
                    self.collect(app);
                    if let Allocated::Page(page) = self.processes[at].allocation.next(&self.heaps[at], in_front) {
                        self.refer_if_live(app, page, Op::Write);
                    }
                }
                Allocated::Nothing => return,
            }
        }
    }

    /// Collect the managed heap of `app`: read each of its live pages, in memory or in swap.
    fn collect(&mut self, app: AppId) {
        let at = usize::from(app);
        self.processes[at].allocation.collected();
        for number in 0..self.heaps[at].live {
            let page = self.heaps[at].live_page(number);
            self.read_if_live(app, page);
        }
    }

    /// Read a page of `app` that has content, as a collector does. This is not a use of the page by
    /// the app.
    fn read_if_live(&mut self, app: AppId, page: PageId) {
        if self.machine.apps.launcher.is_live(app) && self.machine.has_content(page) {
            self.advance_time(self.pace.step_ns);
            self.machine.touch(page, Op::Read);
            self.drop_if_dead(app, page);
        }
    }

    /// Refer to a page of `app`, unless a reference before has caused the kill of the app.
    fn refer_if_live(&mut self, app: AppId, page: PageId, op: Op) {
        if self.machine.apps.launcher.is_live(app) {
            self.refer(page, op);
            self.drop_if_dead(app, page);
        }
    }

    #[inline]
    fn drop_if_dead(&mut self, app: AppId, page: PageId) {
        if !self.machine.apps.launcher.is_live(app) {
            self.machine.deaths().drop_orphan(page);
        }
    }
}
