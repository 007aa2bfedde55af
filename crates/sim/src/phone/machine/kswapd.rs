//! Background reclaim as a task with a processor's time: it frees a batch of pages, then works for as long as that takes, while whoever
//! runs goes on.
//!
//! Source: Linux mm/vmscan.c, `kswapd` and `balance_pgdat`: woken at the low watermark, it reclaims until the high one. With one processor
//! it shares that with whoever runs, in turns that end at ticks of the clock: both have the same weight (kernel/sched/fair.c).
//! Deviations: with several processors nobody runs beside it on its own.

/// Tasks of equal weight take turns at ticks of the clock (CONFIG_HZ=250).
const SLICE_NS: u64 = 4_000_000;

/// Whether kswapd is awake, and how its account of processor time stands.
pub struct Kswapd {
    awake: bool,
    /// Processor time that a batch takes and kswapd has not had yet.
    owed_ns: u64,
    /// Time that others had the shared processor since the clock's last tick.
    others_ns: u64,
    /// Whoever runs has the same processor.
    shares: bool,
    /// The policy's passes when it last looked at the watermark.
    passes: u64,
}

impl Kswapd {
    pub fn new(cores: u64) -> Kswapd {
        Kswapd { awake: false, owed_ns: 0, others_ns: 0, shares: cores == 1, passes: 0 }
    }

    pub fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether it is awake and done with its last batch.
    pub fn is_due(&self) -> bool {
        self.awake && self.owed_ns == 0
    }

    /// It wakes at `now_ns`; whoever runs then keeps a shared processor until the next tick.
    pub fn wake(&mut self, now_ns: u64) {
        (self.awake, self.others_ns) = (true, now_ns % SLICE_NS);
    }

    pub fn sleep(&mut self) {
        self.awake = false;
    }

    /// Whether it looks at the watermark now: at a pass's end, or after each batch of a policy that has no `passes`.
    pub fn ends_pass(&mut self, passes: Option<u64>) -> bool {
        passes.is_none_or(|passes| passes != std::mem::replace(&mut self.passes, passes))
    }

    /// A batch takes so much processor time.
    pub fn owe(&mut self, ns: u64) {
        self.owed_ns += ns;
    }

    /// Of `ns` that pass, the part in which it works.
    pub fn work(&mut self, ns: u64) -> u64 {
        let worked = ns.min(self.owed_ns);
        self.owed_ns -= worked;
        worked
    }

    /// Others have had the shared processor for `ns`: how long it has it now.
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
    use super::Kswapd;

    #[test]
    fn a_batch_is_worked_off_before_the_next_is_due() {
        let mut kswapd = Kswapd::new(1);
        assert!(!kswapd.is_due() && kswapd.shares_processor() && !Kswapd::new(4).shares_processor());
        kswapd.wake(0);
        assert!(kswapd.is_due());
        kswapd.owe(100);
        assert!(!kswapd.is_due());
        assert_eq!((kswapd.work(60), kswapd.is_due(), kswapd.work(60), kswapd.is_due()), (60, false, 40, true));
        kswapd.sleep();
        assert!(!kswapd.is_due());
    }

    #[test]
    fn turns_begin_at_ticks() {
        let mut kswapd = Kswapd::new(1);
        // Woken 3 ms after a tick: 0.9 ms later there was no tick yet, then there is one, and the next one is 4 ms after that.
        kswapd.wake(11_000_000);
        let turns = [900_000, 100_000, 3_900_000, 100_000, 8_000_000].map(|ns| kswapd.turn(ns));
        assert_eq!(turns, [0, 4_000_000, 0, 4_000_000, 8_000_000]);
    }

    #[test]
    fn it_looks_at_the_watermark_at_the_end_of_a_pass_or_after_each_batch() {
        let mut kswapd = Kswapd::new(1);
        assert_eq!([Some(1), Some(1), Some(2), None, None].map(|passes| kswapd.ends_pass(passes)), [true, false, true, true, true]);
    }
}
