//! The phone's machine: frames, stall clock, swap entries, prefetch, apps and files. This file has
//! only the operations that need several of these parts. Each mechanism is in a file of its own and
//! takes the parts that it needs as parameters.

mod background;
mod build;
mod channel;
pub mod clock;
mod compact;
pub mod entries;
mod eviction;
pub mod exit;
mod fault;
pub mod files;
pub mod folios;
mod foresight;
pub mod frames;
pub mod hotness;
mod kill;
mod killer;
mod kswapd;
pub mod prefetch;
mod pressure;
mod proactive;
mod queue;
mod read_ahead;
pub mod record;
mod reference;
mod rules;
mod sample;
pub mod senders;
pub mod stays;
mod turns;
mod victim;
pub mod writes;

use super::user::apps::Apps;
use crate::ledger::{Ledger, Prices};
use background::Background;
pub use build::build;
use clock::StallClock;
use entries::SwapEntries;
use eviction::Eviction;
use files::FileReads;
use folios::FolioCounts;
use frames::{free, Frames};
use kill::Deaths;
use killer::KillerTask;
use kswapd::{CoreTime, Kswapd};
use prefetch::Prefetch;
use record::{Counts, Reason, Record};
use rules::Rules;
use senders::{Outgoing, Sender};
use std::sync::Arc;
use swaplab_apps::compaction::{Advice, Compact, Throttles, Usage};
use swaplab_policy::{bits, FreePages, Reclaimer};
use swaplab_vocab::{AppId, BadInput, Nanos, Op, PageId, Result};

pub struct Machine {
    pub apps: Apps,
    pub frames: Frames,
    pub clock: StallClock,
    pub swap: SwapEntries,
    pub prefetch: Prefetch,
    pub files: FileReads,
    pub rules: Rules,
    pub killer: KillerTask,
    pub prices: Arc<Prices>,
    pub record: Record,
    pub counts: Counts,
    pub kswapd: Kswapd,
    /// The writes of the last reclaim batch.
    outgoing: Outgoing,
    /// The reason why the run cannot continue, if it cannot.
    failed: Option<String>,
}

impl Machine {
    /// Number of free frames of the zone.
    pub fn free(&self) -> usize {
        free::count(&self.frames, &self.swap)
    }

    fn eviction(&mut self) -> Eviction<'_> {
        self.parts().1
    }

    /// kswapd, and the parts that eviction works on.
    fn parts(&mut self) -> (&mut Kswapd, Eviction<'_>) {
        let now_ns = self.clock.now();
        let eviction = Eviction {
            frames: &mut self.frames,
            swap: &mut self.swap,
            clock: &mut self.clock,
            record: &mut self.record,
            counts: &mut self.counts,
            outgoing: &mut self.outgoing,
            apps: &self.apps,
            hotness: &self.prefetch.hotness,
            rules: &self.rules,
            prices: &self.prices,
            now_ns,
        };
        (&mut self.kswapd, eviction)
    }

    /// kswapd, and what it evicts from.
    fn background(&mut self) -> Background<'_> {
        let (kswapd, eviction) = self.parts();
        Background { kswapd, eviction }
    }

    /// The parts that kills work on.
    pub fn deaths(&mut self) -> Deaths<'_> {
        Deaths {
            killer: &mut self.killer,
            apps: &mut self.apps,
            frames: &mut self.frames,
            swap: &mut self.swap,
            clock: &mut self.clock,
            record: &mut self.record,
            kswapd: &mut self.kswapd,
            counts: &self.counts,
            exit_ns: self.rules.exit_ns,
        }
    }

    /// Compact a cached app. `last` is its memory after its last compaction; returns that of this
    /// one, or `last` if there is none.
    pub fn compact(&mut self, app: AppId, kinds: Compact, throttles: &Throttles, last: Option<Usage>) -> Option<Usage> {
        let usage = |of: &Machine| compact::usage(app, &of.frames, &of.apps, of.record.page_bytes);
        let (anon, file) = kinds.advice(throttles, &usage(self), last.as_ref(), self.swap.free_share());
        if (anon, file) == (Advice::Nothing, Advice::Nothing) {
            return last;
        }
        let pages = self.apps.layout.of(app).clone();
        // Without swap the kernel does not page out anonymous pages.
        if self.swap.exists {
            pages.anon.for_each(|page| self.follow(anon, page));
        }
        pages.file.for_each(|page| self.follow(file, page));
        Some(usage(self))
    }

    fn follow(&mut self, advice: Advice, page: PageId) {
        if advice == Advice::Nothing || !self.frames.pages.is_resident(page) {
            return;
        }
        match advice {
            Advice::PageOut => self.frames.release(page),
            _ => self.frames.make_cold(page),
        }
        self.write_back_released();
    }

    /// Evict the pages that the policy has released, if any.
    #[inline]
    fn write_back_released(&mut self) {
        match self.frames.pages.any_released() {
            true => self.eviction().evict_released(),
            false => self.reap(),
        }
    }

    /// Free the frames whose write-back is done, and those of killed processes that have ended.
    #[inline(always)]
    pub fn reap(&mut self) {
        if self.frames.in_use.writing > 0 || self.clock.write_back.is_writing() || self.killer.any_dying() {
            self.free_ended();
        }
    }

    fn free_ended(&mut self) {
        let now_ns = self.clock.now();
        self.frames.follow_writes(&mut self.clock.write_back, now_ns);
        self.deaths().release_ended();
    }

    /// Let background reclaim catch up with the time that has passed since the last call.
    #[inline(always)]
    pub fn catch_up(&mut self) {
        self.flush_statistics();
        let elapsed = self.clock.take_elapsed();
        if self.kswapd.needs_time() {
            self.background().catch_up(elapsed);
        }
    }

    /// Sum up the statistics of control groups, if that is due.
    pub fn flush_statistics(&mut self) {
        if self.clock.sums_are_due() {
            self.frames.policy.flush_statistics();
        }
    }

    /// Let `ns` pass in which no task runs.
    pub fn rest(&mut self, ns: u64) {
        self.catch_up();
        self.background().rest(ns);
    }

    /// Make a frame free, or fail the run. If reclaim frees nothing and no write is pending, an app
    /// is killed: time spent in reclaim is not progress.
    fn need_frame(&mut self) {
        self.reap();
        self.catch_up();
        if self.killer.is_due(self.clock.now()) {
            self.deaths().run_killer_check(false);
        }
        free::follow_lists(&mut self.frames, &self.swap, self.kswapd.is_awake());
        if self.free() + self.frames.in_use.writing <= self.frames.marks.low && self.kswapd.may_wake() {
            self.background().wake();
        }
        if self.free() <= self.frames.marks.min {
            self.reclaim_directly();
        }
    }

    /// Direct reclaim of the running task.
    fn reclaim_directly(&mut self) {
        while self.free() <= self.frames.marks.min && self.failed.is_none() {
            let (before_ns, free, high) = (self.clock.waited_ns(), self.free(), self.frames.marks.high);
            self.frames.policy.begin_reclaim(Reclaimer::Direct(FreePages { free, high }));
            let mut won = self.eviction().reclaim(true);
            // It has scanned in vain so far: kswapd gets its turns meanwhile.
            while self.frames.policy.goes_on() {
                self.catch_up();
                self.frames.policy.begin_reclaim(Reclaimer::DirectAgain);
                won += self.eviction().reclaim(true);
            }
            self.reap();
            free::follow_lists_after_direct(&mut self.frames, &self.swap, self.kswapd.is_awake());
            let writing = self.clock.write_back.is_writing();
            if won == 0 && writing {
                self.eviction().throttle();
                self.reap();
            }
            if won == 0 && self.frames.in_use.in_batch > 0 {
                self.background().wait_for_batch();
            }
            if won == 0 && !writing && self.free() == free {
                self.deaths().wait_for_death();
            }
            self.killer.direct_reclaim_ns = self.clock.waited_ns() - before_ns;
            self.counts.direct_reclaim_ns += self.killer.direct_reclaim_ns;
            let killed = self.killer.is_due_in_direct_reclaim(self.clock.now()) && self.deaths().run_killer_check(false);
            let progress = killed || won > 0 || writing || self.free() > free;
            if !progress && !self.deaths().run_killer_check(true) && !self.deaths().kill_victim(1, Reason::OutOfMemory) {
                let (in_use, total) = (free::in_use(&self.frames, &self.swap), self.frames.total);
                self.failed = Some(format!("{in_use} of {total} frames are in use, nothing can be reclaimed and no app killed"));
            }
            self.killer.direct_reclaim_ns = 0;
        }
    }

    /// Whether the anonymous `page` has content, in a frame or in swap.
    pub fn has_content(&self, page: PageId) -> bool {
        self.frames.pages.bits(page) & (bits::RESIDENT | bits::SLOT) != 0
    }

    /// Give `page` a frame; reclaim if there is no free one.
    fn admit(&mut self, page: PageId, op: Op) {
        self.need_frame();
        self.frames.insert(page, op);
        // A policy may also release pages on insert.
        self.write_back_released();
    }

    /// Set the graphics memory of `app` to `frames` frames; reclaim if it grows.
    pub fn set_graphics(&mut self, app: AppId, frames: usize) {
        while self.frames.graphics_of(app) < frames {
            self.need_frame();
            let wanted = frames - self.frames.graphics_of(app);
            self.frames.pin_graphics(app, wanted.min(self.frames_until_next_event()));
        }
        self.frames.shrink_graphics(app, frames);
    }

    /// Number of frames that can be taken at this time before a further one wakes kswapd or needs
    /// reclaim; 1 while another event may happen in between.
    fn frames_until_next_event(&self) -> usize {
        if self.kswapd.is_awake() || self.killer.is_due(self.clock.now()) {
            return 1;
        }
        let (free, writing) = (self.free(), self.frames.in_use.writing);
        (free + writing).saturating_sub(self.frames.marks.low).min(free.saturating_sub(self.frames.marks.min)).max(1)
    }

    /// Prepage what the last start of `app` fetched and used. The reads overlap with `cpu_ns` of
    /// the app's own work.
    pub fn prepage(&mut self, app: AppId, cpu_ns: u64) {
        self.prefetch.reads.begin(cpu_ns);
        for page in self.prefetch.trail.begin(app) {
            if self.frames.could_be_read(page) {
                self.touch(page, Op::Read);
            }
        }
        self.prefetch.reads.end();
    }

    /// Run proactive reclaim for each interval that ends between two times. The first interval has
    /// the stalls since the last call, the others have none.
    pub fn reclaim_proactively(&mut self, from_ns: u64, to_ns: u64) {
        let proactive = self.rules.proactive;
        for _ in 0..proactive::intervals(&proactive, from_ns, to_ns) {
            let stalled_ns = std::mem::take(&mut self.clock.interval_ns);
            let (target, mut won) = (proactive::target(&proactive, stalled_ns, self.frames.in_use.pages), 0);
            while won < target {
                match self.eviction().reclaim(false) {
                    0 => break,
                    pages => won += pages,
                }
            }
        }
    }

    /// Run the swap scheme's background work, such as writing idle pages back.
    pub fn tick(&mut self) {
        self.swap.tick(Nanos(self.clock.settled_ns));
        let charge = self.swap.side.charged.clone();
        self.counts.system_ns += charge.cpu.0;
        let owners = &self.apps.layout.owners;
        self.swap.side.writes().for_each(|(page, medium)| self.outgoing.note(medium, Sender::SwapOut(owners[page as usize])));
        self.eviction().submit(&charge);
    }

    /// Record a sample of the memory in the timeline.
    pub fn sample(&mut self) {
        self.record.sample(sample::now(&self.frames, &self.swap, &self.apps, self.clock.now()));
    }

    /// Discard all counts so far, such as those of the warm-up. Stays in swap and the timeline are
    /// kept.
    pub fn count_from_now(&mut self) {
        self.deaths().release_all_killed();
        self.record.forget();
        (self.counts, self.swap.full, self.kswapd.time) = (Counts::default(), 0, CoreTime::default());
        self.frames.folios.counts = FolioCounts::default();
        self.files.ledger = Ledger::default();
        self.swap.side.forget_costs();
    }

    /// An error if the run cannot continue.
    pub fn failed(&mut self) -> Result<()> {
        match self.failed.take() {
            Some(why) => Err(BadInput::new("machine.dram", why, "memory for one app's launch set in addition to the system's")),
            None => Ok(()),
        }
    }
}
