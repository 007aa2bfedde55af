//! How frames become free: background reclaim, direct reclaim, and waits for pages under
//! write-back.
//!
//! Source: Linux mm/vmscan.c. `shrink_folio_list` neither frees nor waits for a page under
//! write-back. `reclaim_throttle` stops a direct reclaimer that finds nothing else until
//! `SWAP_CLUSTER_MAX` pages were written, or for HZ / 10 (`VMSCAN_THROTTLE_WRITEBACK`).
//! Deviations: with a policy without passes (all but `active-inactive:kernel=6.12`), kswapd checks
//! its watermark after each batch, where `balance_pgdat` does so between passes. It counts pages
//! under write-back as free when it checks, where the kernel's kswapd scans them again at the tail
//! of the list and is throttled there.

use super::reclaim::{self, Keeper, Settled};
use super::record::{Reason, Stalls};
use super::Machine;
use crate::ledger::Charge;
use swaplab_policy::{FreePages, Reclaimer};

/// Number of frame requests that do not wake kswapd after it could free nothing and was below its
/// high watermark.
const BACKOFF: u32 = 256;
/// The longest wait of a direct reclaimer for write-back: HZ / 10.
const THROTTLE_NS: u64 = 100_000_000;

impl Machine {
    /// Evict the pages that the policy has released. No task waits for their writes.
    pub(super) fn write_back_released(&mut self) {
        if !self.frames.pages.any_released() {
            return self.reap();
        }
        let mut busy = Charge::default();
        self.settle(&mut busy, usize::MAX);
        self.submit(&busy);
    }

    fn settle(&mut self, busy: &mut Charge, attempt: usize) -> Settled {
        let keeper = Keeper {
            gate: &self.rules.gate,
            apps: &self.apps,
            hotness: &self.prefetch.hotness,
            now_ns: self.clock.now(),
            holds_frames: self.rules.write_back_holds_frames,
        };
        let before = busy.cpu;
        let settled = reclaim::settle(&mut self.frames, &mut self.swap, &mut self.record, &keeper, attempt, busy, &mut self.outgoing);
        self.counts.system_ns += busy.cpu.0 - before.0;
        settled
    }

    /// Submit the writes of `busy` to write-back. No task waits for them.
    pub(super) fn submit(&mut self, busy: &Charge) {
        let now_ns = self.clock.now();
        self.clock.write_back.submit(busy, &self.outgoing, now_ns, &self.prices);
        self.outgoing.clear();
        self.frames.in_use.writing = self.clock.write_back.frames_at(now_ns);
    }

    /// Free the frames whose write-back is done, and those of killed processes that have ended.
    pub fn reap(&mut self) {
        if self.frames.in_use.writing > 0 {
            self.frames.in_use.writing = self.clock.write_back.frames_at(self.clock.now());
        }
        self.release_ended();
    }

    /// Let background reclaim catch up with the time that has passed since the last call.
    pub fn catch_up(&mut self) {
        self.sum_statistics();
        let elapsed = self.clock.take_elapsed();
        self.let_kswapd_work(elapsed.waiting_ns, false);
        self.let_kswapd_work(elapsed.running_ns, true);
    }

    /// Sum up the statistics of control groups, if that is due.
    pub fn sum_statistics(&mut self) {
        if self.clock.sums_are_due() {
            self.frames.policy.sum_statistics();
        }
    }

    /// Let `ns` pass in which no task runs.
    pub fn rest(&mut self, ns: u64) {
        self.catch_up();
        self.let_kswapd_work(ns, false);
    }

    /// Let kswapd work for `ns`, in which a task runs (`task_runs`) or none does.
    fn let_kswapd_work(&mut self, mut ns: u64, task_runs: bool) {
        let shared = task_runs && self.kswapd.shares_processor();
        if shared && self.kswapd.is_awake() {
            ns = self.kswapd.turn(ns);
        }
        if ns == 0 && self.kswapd.shares_processor() {
            return; // kswapd has no processor to begin a batch on
        }
        while self.kswapd.is_awake() {
            if self.kswapd.is_due() {
                self.frames.in_use.in_batch = 0;
                self.batch_in_background();
                continue;
            }
            let kswapd_ns = self.kswapd.work(ns);
            ns -= kswapd_ns;
            if shared {
                self.clock.stall(&Stalls { kswapd_ns, ..Stalls::default() });
            }
            self.clock.memory_ns += kswapd_ns;
            if ns == 0 {
                break;
            }
        }
    }

    /// Make a frame free, or fail the run. If reclaim frees nothing and no write is pending, an app
    /// is killed: time spent in reclaim is not progress.
    pub(super) fn need_frame(&mut self) {
        self.reap();
        self.catch_up();
        if self.killer.is_due(self.clock.now()) {
            self.run_killer_check(false);
        }
        if !self.kswapd.is_awake() && self.free() + self.frames.in_use.writing <= self.frames.marks.low {
            match self.backoff {
                0 => self.wake_kswapd(),
                _ => self.backoff -= 1,
            }
        }
        while self.free() <= self.frames.marks.min && self.failed.is_none() {
            let (before_ns, free, high) = (self.clock.waited_ns(), self.free(), self.frames.marks.high);
            self.frames.policy.begin_reclaim(Reclaimer::Direct(FreePages { free, high }));
            let won = self.reclaim(true);
            self.reap();
            let writing = self.frames.in_use.writing > 0;
            if won == 0 && writing {
                self.throttle();
            }
            if won == 0 && self.frames.in_use.in_batch > 0 {
                self.wait_for_kswapd();
            }
            if won == 0 && !writing && self.free() == free {
                self.wait_for_death();
            }
            self.counts.direct_reclaim_ns += self.clock.waited_ns() - before_ns;
            let progress = won > 0 || writing || self.free() > free;
            if !progress && !self.run_killer_check(true) && !self.kill_victim(1, Reason::OutOfMemory) {
                let (in_use, total) = (reclaim::frames_in_use(&self.frames, &self.swap), self.frames.total);
                self.failed = Some(format!("{in_use} of {total} frames are in use, nothing can be reclaimed and no app killed"));
            }
        }
    }

    /// Stall the direct reclaimer until a batch of pages has been written, for `THROTTLE_NS` at
    /// most.
    fn throttle(&mut self) {
        let now_ns = self.clock.now();
        let freed_ns = self.clock.write_back.freed_at(self.frames.batch).saturating_sub(now_ns);
        let write_back_ns = freed_ns.clamp(1, THROTTLE_NS);
        self.clock.stall(&Stalls { write_back_ns, ..Stalls::default() });
        self.clock.memory_ns += write_back_ns;
        self.reap();
    }

    /// Stall the direct reclaimer until kswapd has finished its batch.
    fn wait_for_kswapd(&mut self) {
        let kswapd_ns = self.kswapd.work(u64::MAX).max(1);
        self.clock.stall(&Stalls { kswapd_ns, ..Stalls::default() });
        self.clock.memory_ns += kswapd_ns;
        self.frames.in_use.in_batch = 0;
    }

    fn wake_kswapd(&mut self) {
        let pages = FreePages { free: self.free(), high: self.frames.marks.high };
        self.frames.policy.begin_reclaim(Reclaimer::Kswapd(pages));
        self.kswapd.wake(self.clock.now());
        self.let_kswapd_work(0, false);
    }

    /// Free a batch of pages in the background. Above the high watermark, or if no page can be
    /// freed, kswapd sleeps.
    fn batch_in_background(&mut self) {
        let short = |of: &Machine| of.free() + of.frames.in_use.writing < of.frames.marks.high;
        self.frames.policy.begin_reclaim(Reclaimer::KswapdAgain);
        let before_ns = self.counts.background_ns;
        let checks = self.kswapd.ends_pass(self.frames.policy.passes());
        let freed = if !checks || short(self) { self.reclaim(false) } else { 0 };
        self.kswapd.owe(self.counts.background_ns - before_ns);
        if freed == 0 {
            self.kswapd.sleep();
            if short(self) {
                self.backoff = BACKOFF;
            }
        }
    }

    /// Evict a batch of pages. Returns the number of frames that are free now (`direct`), or that
    /// are free once the pages are written. In direct reclaim the running task waits for the
    /// processor time, for reads and for writes that hold no frame.
    pub(super) fn reclaim(&mut self, direct: bool) -> usize {
        let (mut left, batch, of) = (0, self.frames.batch, self.frames.policy.as_ref());
        let (scanned, refilled) = (of.scanned(), of.refilled());
        let mut busy = Charge::default();
        for attempt in 0..batch * if direct { reclaim::DIRECT_ATTEMPTS } else { reclaim::ATTEMPTS } {
            if left >= batch {
                break;
            }
            self.frames.policy.reclaim(None, &mut self.frames.pages);
            let settled = self.settle(&mut busy, attempt);
            left += settled.frames;
            if !settled.any {
                break;
            }
        }
        let of = self.frames.policy.as_ref();
        let (scanned, refilled) = (of.scanned() - scanned, of.refilled() - refilled);
        let cpu = scanned * self.rules.scan_ns;
        self.counts.system_ns += cpu;
        self.counts.scanned += scanned - refilled;
        self.counts.scanned_direct += if direct { scanned - refilled } else { 0 };
        *(if direct { &mut self.counts.reclaimed_direct } else { &mut self.counts.reclaimed_background }) += left as u64;
        let writing = self.outgoing.held.len();
        if direct {
            let reads: u64 = busy.media().map(|(medium, _)| busy.read_wait(medium, 0, &self.prices)).sum();
            let now = if self.rules.write_back_holds_frames { busy.take_storage_writes(&self.prices) } else { Charge::default() };
            let direct_reclaim_ns = cpu + busy.cpu.0 + reads + busy.write_wait(&self.prices);
            self.clock.stall(&Stalls { direct_reclaim_ns, ..Stalls::default() });
            self.clock.memory_ns += direct_reclaim_ns;
            self.submit(&now);
            left - writing
        } else {
            self.counts.background_ns += cpu + busy.cpu.0;
            self.submit(&busy);
            self.frames.in_use.in_batch = left - writing;
            left
        }
    }
}
