//! Background reclaim: kswapd frees batches of pages between its two watermarks.
//!
//! Source: Linux mm/vmscan.c, `balance_pgdat`.
//! Deviations: with a policy without passes (all but `active-inactive:kernel=6.12`), kswapd checks
//! its watermark after each batch, where `balance_pgdat` does so between passes. It counts pages
//! under write-back as free when it checks, where the kernel's kswapd scans them again at the tail
//! of the list and is throttled there.

use super::eviction::Eviction;
use super::kswapd::Kswapd;
use super::record::Stalls;
use swaplab_policy::{FreePages, Reclaimer};

/// kswapd, and what it evicts from.
pub struct Background<'a> {
    pub kswapd: &'a mut Kswapd,
    pub eviction: Eviction<'a>,
}

impl Background<'_> {
    /// Wake kswapd if it sleeps and memory is low, unless it could free nothing a short time ago.
    pub fn wake_if_low(&mut self) {
        let of = &self.eviction;
        if !self.kswapd.is_awake() && of.free() + of.frames.in_use.writing <= of.frames.marks.low && self.kswapd.may_wake() {
            self.wake();
        }
    }

    fn wake(&mut self) {
        let pages = FreePages { free: self.eviction.free(), high: self.eviction.frames.marks.high };
        self.eviction.frames.policy.begin_reclaim(Reclaimer::Kswapd(pages));
        self.kswapd.wake(self.eviction.clock.now());
        self.work(0, false);
    }

    /// Let kswapd catch up with the time that has passed since the last call.
    pub fn catch_up(&mut self) {
        let elapsed = self.eviction.clock.take_elapsed();
        self.work(elapsed.waiting_ns, false);
        self.work(elapsed.running_ns, true);
    }

    /// Let kswapd work for `ns`, in which a task runs (`task_runs`) or none does.
    pub fn work(&mut self, mut ns: u64, task_runs: bool) {
        let shared = task_runs && self.kswapd.shares_processor();
        if shared && self.kswapd.is_awake() {
            ns = self.kswapd.turn(ns);
        }
        if ns == 0 && self.kswapd.shares_processor() {
            return; // kswapd has no processor to begin a batch on
        }
        while self.kswapd.is_awake() {
            if self.kswapd.is_due() {
                self.eviction.frames.in_use.in_batch = 0;
                self.batch();
                continue;
            }
            let kswapd_ns = self.kswapd.work(ns);
            ns -= kswapd_ns;
            if shared {
                self.eviction.clock.stall(&Stalls { kswapd_ns, ..Stalls::default() });
            }
            self.eviction.clock.memory_ns += kswapd_ns;
            if ns == 0 {
                break;
            }
        }
    }

    /// Free a batch of pages. Above the high watermark, or if no page can be freed, kswapd sleeps.
    fn batch(&mut self) {
        let short = |of: &Eviction| of.free() + of.frames.in_use.writing < of.frames.marks.high;
        self.eviction.frames.policy.begin_reclaim(Reclaimer::KswapdAgain);
        let before_ns = self.eviction.counts.background_ns;
        let checks = self.kswapd.ends_pass(self.eviction.frames.policy.passes());
        let freed = if !checks || short(&self.eviction) { self.eviction.reclaim(false) } else { 0 };
        self.kswapd.owe(self.eviction.counts.background_ns - before_ns);
        if freed == 0 {
            self.kswapd.sleep(short(&self.eviction));
        }
    }

    /// Stall the direct reclaimer until kswapd has finished its batch.
    pub fn wait_for_batch(&mut self) {
        let kswapd_ns = self.kswapd.work(u64::MAX).max(1);
        self.eviction.clock.stall(&Stalls { kswapd_ns, ..Stalls::default() });
        self.eviction.clock.memory_ns += kswapd_ns;
        self.eviction.frames.in_use.in_batch = 0;
    }
}
