//! Background reclaim: kswapd frees batches of pages between its two watermarks.
//!
//! Source: Linux mm/vmscan.c, `balance_pgdat`.
//! Deviations: with a policy without passes (all but `active-inactive:kernel=6.12` and `mglru`),
//! kswapd checks its watermark after each batch, where `balance_pgdat` does so between passes, and
//! counts pages under write-back as free; its writes begin when the clock has passed its work. The
//! kernel's kswapd is throttled when it meets pages under write-back
//! (`VMSCAN_THROTTLE_WRITEBACK`).

use super::clock::Elapsed;
use super::eviction::Eviction;
use super::frames::free;
use super::kswapd::Kswapd;
use super::record::Stalls;
use super::turns::{Task, Turns, TICK_NS};
use swaplab_policy::{FreePages, Reclaimer};

/// kswapd, and the parts of the machine that it evicts from.
pub struct Background<'a> {
    pub kswapd: &'a mut Kswapd,
    pub eviction: Eviction<'a>,
}

impl Background<'_> {
    /// Wake kswapd, which sleeps, because memory is low.
    pub fn wake(&mut self) {
        match (self.begin(), self.kswapd.turns.is_some()) {
            (true, true) => drop(self.take_turn(self.eviction.clock.now())),
            (true, false) => drop(self.work(self.eviction.now_ns, 0)),
            (false, _) => {}
        }
    }

    /// Begin to reclaim. Returns whether kswapd gets a processor at once.
    fn begin(&mut self) -> bool {
        let pages = self.free_pages();
        self.eviction.frames.policy.begin_reclaim(Reclaimer::Kswapd(pages));
        self.kswapd.wake()
    }

    fn free_pages(&self) -> FreePages {
        FreePages { free: self.eviction.free(), high: self.eviction.frames.marks.high }
    }

    /// Let kswapd catch up with the time that has passed since the last call: first that in which
    /// the running task waited, then that in which it ran. Where kswapd reclaimed while the task
    /// had a memory stall, that is one stall.
    pub fn catch_up(&mut self, elapsed: Elapsed) {
        let from_ns = self.eviction.clock.now() - elapsed.waiting_ns - elapsed.running_ns;
        let before_ns = self.eviction.clock.memory_ns;
        if self.kswapd.turns.is_none() {
            self.work_beside(from_ns, elapsed.waiting_ns + elapsed.running_ns);
        } else {
            let at_ns = self.work_while_idle(from_ns, elapsed.waiting_ns);
            self.work_during_task(at_ns, elapsed.running_ns);
        }
        let kswapd_ns = self.eviction.clock.memory_ns - before_ns;
        self.eviction.clock.memory_ns = before_ns + kswapd_ns.saturating_sub(elapsed.stalled_ns);
    }

    /// Let kswapd work for `ns` in which no task runs.
    pub fn rest(&mut self, ns: u64) {
        match self.kswapd.turns {
            Some(_) => drop(self.work_while_idle(self.eviction.clock.now(), ns)),
            None => self.work_beside(self.eviction.now_ns, ns),
        }
    }

    /// The time at which kswapd's short sleep ends because memory is below the high watermark, if
    /// that is until `to_ns`, and `from_ns` at the earliest.
    fn wakes_again(&mut self, from_ns: u64, to_ns: u64) -> Option<u64> {
        let at_ns = self.kswapd.end_short_sleep(to_ns)?.max(from_ns);
        self.is_short().then_some(at_ns)
    }

    /// Let kswapd work on its own processor for `ns` from `from_ns` on.
    fn work_beside(&mut self, from_ns: u64, ns: u64) {
        let (mut at_ns, end_ns) = (from_ns, from_ns + ns);
        loop {
            self.work(at_ns, end_ns - at_ns);
            let Some(wakes_ns) = self.wakes_again(at_ns, end_ns) else { return };
            at_ns = wakes_ns;
            self.begin();
        }
    }

    /// Let kswapd work for at most `ns` from `from_ns` on. Returns the time that it worked: less if
    /// it went to sleep.
    fn work(&mut self, from_ns: u64, ns: u64) -> u64 {
        let mut left = ns;
        while self.kswapd.is_awake() {
            if self.kswapd.is_due() {
                self.eviction.frames.in_use.in_batch = 0;
                free::follow_lists(self.eviction.frames, self.eviction.swap, true);
                let now_ns = from_ns + (ns - left);
                if self.kswapd.turns.is_some() {
                    self.kswapd.free_when_due.note(now_ns, self.eviction.free());
                }
                if self.eviction.frames.policy.passes().is_some() {
                    self.eviction.now_ns = now_ns;
                }
                self.batch(now_ns);
                continue;
            }
            let kswapd_ns = self.kswapd.work(left);
            left -= kswapd_ns;
            self.eviction.clock.memory_ns += kswapd_ns;
            if left == 0 {
                break;
            }
        }
        ns - left
    }

    /// Let kswapd work on the only processor for `ns` from `at_ns` on, while the running task waits
    /// for something else. The task then wakes up and waits until it has the processor. Returns
    /// that time.
    fn work_while_idle(&mut self, mut at_ns: u64, ns: u64) -> u64 {
        let end_ns = at_ns + ns;
        if ns == 0 {
            return at_ns;
        }
        self.turns(Turns::sleep);
        loop {
            while self.kswapd.is_awake() && at_ns < end_ns {
                at_ns += self.work_to_tick(at_ns, end_ns);
            }
            let Some(wakes_ns) = self.wakes_again(at_ns, end_ns) else { break };
            at_ns = wakes_ns;
            self.begin();
        }
        if !self.turns(|turns| turns.wake(Task::Running)) {
            return self.take_turn(end_ns);
        }
        end_ns
    }

    /// Let kswapd have its turns on the only processor while the task runs for `ns` from `at_ns`.
    fn work_during_task(&mut self, mut at_ns: u64, mut ns: u64) {
        while ns > 0 {
            let to_event_ns = match (self.kswapd.is_awake(), self.kswapd.short_sleep_ends_ns) {
                (true, _) => TICK_NS - at_ns % TICK_NS,
                (false, Some(ends_ns)) => ends_ns.saturating_sub(at_ns),
                (false, None) => ns,
            };
            let step = ns.min(to_event_ns);
            (at_ns, ns) = (at_ns + step, ns - step);
            self.eviction.clock.memory_ns += if self.kswapd.reclaims { step } else { 0 };
            self.turns(|turns| turns.ran(Task::Running, step));
            if self.kswapd.is_awake() && at_ns % TICK_NS == 0 {
                self.turns(Turns::tick);
                at_ns = self.take_turn(at_ns);
            }
            if self.wakes_again(at_ns, at_ns).is_some() && self.begin() {
                at_ns = self.take_turn(at_ns);
            }
        }
    }

    /// Let kswapd work from `at_ns` on for as long as it has the only processor, and stall the
    /// running task for that time. Returns the time at which the turn ends.
    fn take_turn(&mut self, at_ns: u64) -> u64 {
        let mut end_ns = at_ns;
        while self.kswapd.is_awake() && self.turns(|turns| turns.kswapd_has_processor()) {
            end_ns += self.work_to_tick(end_ns, u64::MAX);
        }
        self.eviction.clock.stall(&Stalls { kswapd_ns: end_ns - at_ns, ..Stalls::default() });
        end_ns
    }

    /// Let kswapd work from `at_ns` to the next tick, `end_ns` or its sleep, whichever comes first.
    /// Returns the time that it worked.
    fn work_to_tick(&mut self, at_ns: u64, end_ns: u64) -> u64 {
        let step = (TICK_NS - at_ns % TICK_NS).min(end_ns - at_ns);
        let worked = self.work(at_ns, step);
        if (at_ns + worked) % TICK_NS == 0 && self.kswapd.is_awake() {
            self.turns(Turns::tick);
        }
        worked
    }

    /// Call `of` with the turns on the only processor, which must exist.
    fn turns<T: Default>(&mut self, of: impl FnOnce(&mut Turns) -> T) -> T {
        self.kswapd.turns.as_mut().map(of).unwrap_or_default()
    }

    /// Whether memory is below the high watermark.
    fn is_short(&self) -> bool {
        let frames = &self.eviction.frames;
        self.eviction.free() + frames.in_use.writing < frames.marks.high
    }

    /// Free a batch of pages at `now_ns`. Above the high watermark, or if no page can be freed,
    /// kswapd sleeps.
    fn batch(&mut self, now_ns: u64) {
        self.kswapd.reclaims = true;
        let pages = self.free_pages();
        self.eviction.frames.policy.begin_reclaim(Reclaimer::KswapdAgain(pages));
        let before_ns = self.eviction.counts.background_ns;
        let checks = self.kswapd.ends_pass(self.eviction.frames.policy.passes());
        let works = !checks || self.is_short();
        let freed = if works { self.eviction.reclaim(false) } else { 0 };
        let own_ns = self.kswapd.add_work(self.eviction.counts.background_ns - before_ns);
        self.eviction.counts.background_ns = before_ns + own_ns;
        if freed == 0 && !(works && self.eviction.frames.policy.goes_on()) {
            let in_vain = self.is_short();
            self.kswapd.sleep(in_vain, now_ns);
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
