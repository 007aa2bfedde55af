//! Background reclaim as a task that needs processor time: kswapd frees a batch of pages and then
//! works for as long as that takes, while the running task continues.
//!
//! Source: Linux mm/vmscan.c, `kswapd` and `balance_pgdat`: it wakes at the low watermark and
//! reclaims until the high one. Then it sleeps for HZ / 10, looks at the high watermark again, and
//! sleeps until it is woken only if memory is still above it (`kswapd_try_to_sleep`). If there is
//! only one processor, it takes turns with the running task ([`Turns`]).
//! Deviations: with several processors kswapd has one of them for itself, unless the machine says
//! that it runs on the app's. On a little core all of its work takes longer by one factor, also
//! what waits for memory. The core works at full clock, where a governor may choose a lower one.

use super::killer::FreeWhenDue;
use super::turns::{Task, Turns, TICK_NS};

/// Number of frame requests that do not wake kswapd after it could free nothing although memory was
/// below the high watermark.
const BACKOFF: u32 = 256;
/// Its short sleep in ticks of the clock: HZ / 10. It ends at the tick after these, because a timer
/// never fires early (`calc_index`, kernel/time/timer.c).
const SHORT_SLEEP: u64 = 25;

/// Processor time of kswapd's batches so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// The time that they would take on the app's core.
    pub on_app_core_ns: u64,
    /// The time that they take on kswapd's core.
    pub own_ns: u64,
}

/// The state of kswapd and its account of processor time.
pub struct Kswapd {
    awake: bool,
    /// Whether it has begun to reclaim since it woke up. All time from then until it sleeps is a
    /// memory stall, also that in which it waits for its processor (`balance_pgdat`).
    pub reclaims: bool,
    /// Processor time that its batch still needs.
    owed_ns: u64,
    /// The turns on the processor that it shares with the running task; `None` if it has its own.
    pub turns: Option<Turns>,
    /// Speed and power of its core relative to the app's.
    speed: f64,
    power: f64,
    pub time: CoreTime,
    /// The policy's count of passes at the last check of the watermark.
    passes: u64,
    /// Number of further frame requests that do not wake it, after it could free nothing.
    pub backoff: u32,
    /// The time at which its short sleep ends, while it sleeps that.
    pub short_sleep_ends_ns: Option<u64>,
    pub free_when_due: FreeWhenDue,
}

impl Kswapd {
    /// Create kswapd, which `shares` the running task's processor or has its own one of this speed
    /// and power.
    pub fn new(shares: bool, (speed, power): (f64, f64)) -> Kswapd {
        let (turns, time) = (shares.then(Turns::new), CoreTime::default());
        let free_when_due = FreeWhenDue::default();
        Kswapd {
            awake: false,
            reclaims: false,
            owed_ns: 0,
            turns,
            speed,
            power,
            time,
            passes: 0,
            backoff: 0,
            short_sleep_ends_ns: None,
            free_when_due,
        }
    }

    /// Processor time in ns, given that of all tasks with kswapd's as on the app's core: the time
    /// that passes, and the time on the app's core that takes as much energy.
    pub fn spent_ns(&self, all_ns: u64) -> (u64, u64) {
        let others_ns = all_ns - self.time.on_app_core_ns;
        (others_ns + self.time.own_ns, others_ns + (self.time.own_ns as f64 * self.power).round() as u64)
    }

    pub fn is_awake(&self) -> bool {
        self.awake
    }

    /// Whether passing time matters to it. It does not while it sleeps until it is woken on a
    /// processor of its own.
    #[inline]
    pub fn needs_time(&self) -> bool {
        self.awake || self.turns.is_some() || self.short_sleep_ends_ns.is_some()
    }

    /// Whether it is awake and has finished its last batch.
    pub fn is_due(&self) -> bool {
        self.awake && self.owed_ns == 0
    }

    /// Wake it. Returns whether it gets a processor at once.
    pub fn wake(&mut self) -> bool {
        (self.awake, self.short_sleep_ends_ns) = (true, None);
        self.turns.as_mut().is_none_or(|turns| turns.wake(Task::Kswapd))
    }

    /// Put it to sleep at `now_ns`. `in_vain`: it could free nothing and memory was below the high
    /// watermark; then it sleeps until it is woken (`prepare_kswapd_sleep`).
    pub fn sleep(&mut self, in_vain: bool, now_ns: u64) {
        (self.awake, self.reclaims) = (false, false);
        self.short_sleep_ends_ns = (!in_vain).then(|| (now_ns / TICK_NS + SHORT_SLEEP + 1) * TICK_NS);
        if let Some(turns) = &mut self.turns {
            turns.sleep();
        }
        if in_vain {
            self.backoff = BACKOFF;
        }
    }

    /// End its short sleep if that ends until `now_ns`. Returns the time of the end.
    pub fn end_short_sleep(&mut self, now_ns: u64) -> Option<u64> {
        self.short_sleep_ends_ns.take_if(|ends_ns| *ends_ns <= now_ns)
    }

    /// Whether a frame request that finds memory low wakes it: if it sleeps, unless it could free
    /// nothing a short time ago. Each call while it sleeps counts as a request.
    pub fn may_wake(&mut self) -> bool {
        if self.awake {
            return false;
        }
        let may = self.backoff == 0;
        self.backoff = self.backoff.saturating_sub(1);
        may
    }

    /// Whether it checks the watermark now: at the end of a pass, or after each batch if the policy
    /// has no `passes`.
    pub fn ends_pass(&mut self, passes: Option<u64>) -> bool {
        passes.is_none_or(|passes| passes != std::mem::replace(&mut self.passes, passes))
    }

    /// Add work of `ns` on the app's core to its batch. Returns the time that its own core takes.
    pub fn add_work(&mut self, ns: u64) -> u64 {
        let own_ns = (ns as f64 / self.speed).round() as u64;
        self.owed_ns += own_ns;
        self.time.on_app_core_ns += ns;
        self.time.own_ns += own_ns;
        own_ns
    }

    /// Let it work for at most `ns`. Returns the time that it worked.
    pub fn work(&mut self, ns: u64) -> u64 {
        let worked = ns.min(self.owed_ns);
        self.owed_ns -= worked;
        if let Some(turns) = &mut self.turns {
            turns.ran(Task::Kswapd, worked);
        }
        worked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_batch_is_due_when_the_last_one_is_finished() {
        let mut kswapd = Kswapd::new(false, (1.0, 1.0));
        assert!(!kswapd.is_due());
        kswapd.wake();
        assert!(kswapd.is_due());
        kswapd.add_work(100);
        assert!(!kswapd.is_due());
        assert_eq!((kswapd.work(60), kswapd.is_due(), kswapd.work(60), kswapd.is_due()), (60, false, 40, true));
        kswapd.sleep(false, 0);
        assert!(!kswapd.is_due() && kswapd.may_wake());
        kswapd.sleep(true, 0);
        assert_eq!((0..=BACKOFF).filter(|_| kswapd.may_wake()).count(), 1);
    }

    /// It falls asleep 1 ns before the second tick, at 8 ms: 25 whole ticks end at 108 ms.
    #[test]
    fn a_short_sleep_lasts_for_a_tenth_of_a_second_at_least() {
        let mut kswapd = Kswapd::new(false, (1.0, 1.0));
        kswapd.wake();
        kswapd.sleep(false, 7_999_999);
        assert_eq!([107_999_999, 108_000_000, u64::MAX].map(|ns| kswapd.end_short_sleep(ns)), [None, Some(108_000_000), None]);
        kswapd.sleep(false, 8_000_000);
        assert_eq!(kswapd.short_sleep_ends_ns, Some(112_000_000));
        kswapd.wake();
        assert_eq!(kswapd.end_short_sleep(u64::MAX), None);
        kswapd.sleep(true, 0);
        assert_eq!(kswapd.end_short_sleep(u64::MAX), None);
    }

    /// A core of a quarter of the speed takes 400 ns for work of 100 ns. Beside 900 ns of other
    /// work on the big core that is 1300 ns in all. At a tenth of the power, it takes as much
    /// energy as 40 ns on the big core.
    #[test]
    fn work_takes_longer_on_a_slower_core() {
        let mut kswapd = Kswapd::new(false, (0.25, 0.1));
        kswapd.wake();
        assert_eq!((kswapd.add_work(100), kswapd.work(399), kswapd.is_due()), (400, 399, false));
        assert_eq!((kswapd.work(99), kswapd.is_due()), (1, true));
        assert_eq!(kswapd.spent_ns(1000), (1300, 940));
        let mut big = Kswapd::new(false, (1.0, 1.0));
        big.add_work(100);
        assert_eq!(big.spent_ns(1000), (1000, 1000));
    }

    #[test]
    fn it_checks_the_watermark_at_the_end_of_a_pass_or_after_each_batch() {
        let mut kswapd = Kswapd::new(true, (1.0, 1.0));
        assert_eq!([Some(1), Some(1), Some(2), None, None].map(|passes| kswapd.ends_pass(passes)), [true, false, true, true, true]);
    }
}
