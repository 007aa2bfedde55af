//! Background reclaim as a task that needs processor time: kswapd frees a batch of pages and then
//! works for as long as that takes, while the running task continues.
//!
//! Source: Linux mm/vmscan.c, `kswapd` and `balance_pgdat`: it wakes at the low watermark and
//! reclaims until the high one. If there is only one processor, it takes turns with the running
//! task, which has the same weight; turns end at clock ticks (kernel/sched/fair.c).
//! Deviations: with several processors kswapd has one of them for itself.

/// Tick of the clock, at which tasks of equal weight take turns (CONFIG_HZ=250).
const SLICE_NS: u64 = 4_000_000;
/// Number of frame requests that do not wake kswapd after it could free nothing and was below its
/// high watermark.
const BACKOFF: u32 = 256;

/// The state of kswapd and its account of processor time.
pub struct Kswapd {
    awake: bool,
    /// Processor time that its batch still needs.
    owed_ns: u64,
    /// Time for which other tasks have had the shared processor since the last tick.
    others_ns: u64,
    /// Whether it shares the only processor with the running task.
    shares: bool,
    /// The policy's count of passes at the last check of the watermark.
    passes: u64,
    /// Number of further frame requests that do not wake it, after it could free nothing.
    pub backoff: u32,
}

impl Kswapd {
    pub fn new(cores: u64) -> Kswapd {
        Kswapd { awake: false, owed_ns: 0, others_ns: 0, shares: cores == 1, passes: 0, backoff: 0 }
    }

    pub fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether it is awake and has finished its last batch.
    pub fn is_due(&self) -> bool {
        self.awake && self.owed_ns == 0
    }

    /// Wake it at `now_ns`. The running task keeps a shared processor until the next tick.
    pub fn wake(&mut self, now_ns: u64) {
        (self.awake, self.others_ns) = (true, now_ns % SLICE_NS);
    }

    /// Put it to sleep. `in_vain`: it could free nothing and was below its high watermark.
    pub fn sleep(&mut self, in_vain: bool) {
        self.awake = false;
        if in_vain {
            self.backoff = BACKOFF;
        }
    }

    /// Whether a frame request may wake it. Each call counts as one.
    pub fn may_wake(&mut self) -> bool {
        let may = self.backoff == 0;
        self.backoff = self.backoff.saturating_sub(1);
        may
    }

    /// Whether it checks the watermark now: at the end of a pass, or after each batch if the policy
    /// has no `passes`.
    pub fn ends_pass(&mut self, passes: Option<u64>) -> bool {
        passes.is_none_or(|passes| passes != std::mem::replace(&mut self.passes, passes))
    }

    /// Add `ns` to the processor time that its batch needs.
    pub fn owe(&mut self, ns: u64) {
        self.owed_ns += ns;
    }

    /// Let it work for at most `ns`. Returns the time that it worked.
    pub fn work(&mut self, ns: u64) -> u64 {
        let worked = ns.min(self.owed_ns);
        self.owed_ns -= worked;
        worked
    }

    /// Count `ns` for which other tasks had the shared processor. Returns the time for which kswapd
    /// now gets it.
    pub fn turn(&mut self, ns: u64) -> u64 {
        self.others_ns += ns;
        let turns = self.others_ns / SLICE_NS;
        self.others_ns -= turns * SLICE_NS;
        turns * SLICE_NS
    }

    pub fn shares_processor(&self) -> bool {
        self.shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_batch_is_due_when_the_last_one_is_finished() {
        let mut kswapd = Kswapd::new(1);
        assert!(!kswapd.is_due() && kswapd.shares_processor() && !Kswapd::new(4).shares_processor());
        kswapd.wake(0);
        assert!(kswapd.is_due());
        kswapd.owe(100);
        assert!(!kswapd.is_due());
        assert_eq!((kswapd.work(60), kswapd.is_due(), kswapd.work(60), kswapd.is_due()), (60, false, 40, true));
        kswapd.sleep(false);
        assert!(!kswapd.is_due() && kswapd.may_wake());
        kswapd.sleep(true);
        assert_eq!((0..=BACKOFF).filter(|_| kswapd.may_wake()).count(), 1);
    }

    #[test]
    fn turns_begin_at_ticks() {
        let mut kswapd = Kswapd::new(1);
        // kswapd wakes 3 ms after a tick. The next tick is 1 ms later, so not within the first 0.9
        // ms, and one more every 4 ms.
        kswapd.wake(11_000_000);
        let turns = [900_000, 100_000, 3_900_000, 100_000, 8_000_000].map(|ns| kswapd.turn(ns));
        assert_eq!(turns, [0, 4_000_000, 0, 4_000_000, 8_000_000]);
    }

    #[test]
    fn it_checks_the_watermark_at_the_end_of_a_pass_or_after_each_batch() {
        let mut kswapd = Kswapd::new(1);
        assert_eq!([Some(1), Some(1), Some(2), None, None].map(|passes| kswapd.ends_pass(passes)), [true, false, true, true, true]);
    }
}
