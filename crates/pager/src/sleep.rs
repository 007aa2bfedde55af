//! The pager thread's sleeps. A host can preempt one processor of a virtual machine while the
//! program, on another processor, continues to write: then the thread woke up late. A host also
//! works for the virtual machine in the thread's name, for example when it finds memory for a page
//! that the guest touches for the first time. The guest counts this as the thread's own CPU time.

use std::time::{Duration, Instant};

/// The pager thread's last sleep.
pub struct Sleep {
    began: Instant,
    /// CPU time of this thread when the sleep began.
    cpu: Duration,
    /// The timeout of the sleep.
    nap: Duration,
}

impl Sleep {
    /// Begin a sleep of at most `nap` nanoseconds.
    pub fn begin(nap: u64) -> Sleep {
        Sleep { began: Instant::now(), cpu: cpu_time(), nap: Duration::from_nanos(nap) }
    }

    /// Whether more time has passed than the timeout, a wake-up and `work` take.
    fn overslept(&self, work: Duration) -> bool {
        self.began.elapsed() > self.nap + work + WAKE_UP
    }
}

/// The thread's last sleep, its usual work between a sleep and the end of a census, and how long
/// the program has been idle.
pub struct Sleeps {
    pub last: Sleep,
    pub idle: Idle,
    /// A moving average of CPU times; zero before the first round.
    usual: Duration,
}

/// A round is late if its work takes longer than this multiple of the usual.
const SLOW: u32 = 3;

impl Sleeps {
    pub fn new() -> Sleeps {
        Sleeps { last: Sleep::begin(0), idle: Idle::new(), usual: Duration::ZERO }
    }

    /// Whether the census that has just ended came later than it should: the thread was off the
    /// processor after its sleep was over, or its work took far longer than usual.
    pub fn is_late(&mut self) -> bool {
        self.is_late_after(cpu_time() - self.last.cpu)
    }

    fn is_late_after(&mut self, work: Duration) -> bool {
        let usual = if self.usual.is_zero() { work } else { self.usual };
        self.usual = (usual * 7 + work) / 8;
        self.last.overslept(work.min(usual * SLOW))
    }
}

/// The least time without a page fault after which a program counts as idle.
const IDLE: Duration = Duration::from_millis(20);

/// The longest such time after guards that failed.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A guard is tried after this multiple of the time that the last one took, so that it costs at
/// most a twentieth of a processor.
const COST: u32 = 20;

/// How long the program has been idle.
pub struct Idle {
    /// The program's page faults, and since when it has taken no other.
    pub faults: usize,
    pub since: Instant,
    /// The time without a page fault before the next guard (`idle.rs`).
    pub wait: Duration,
    /// Whether growth waits for the pager: fresh memory is gated, writers are held, and the memory
    /// whose gates are open fits the budget.
    pub is_guarded: bool,
}

impl Idle {
    pub fn new() -> Idle {
        Idle { faults: 0, since: Instant::now(), wait: IDLE, is_guarded: false }
    }

    /// The program is no longer idle.
    pub fn end(&mut self) {
        (self.since, self.is_guarded) = (Instant::now(), false);
    }

    /// Note a guard, which took `time`, and after which there are `faults` page faults.
    pub fn tried(&mut self, is_guarded: bool, time: Duration, faults: usize) {
        let wait = if is_guarded { IDLE } else { (2 * self.wait).min(LONGEST_WAIT) };
        *self = Idle { faults, since: Instant::now(), wait: wait.max(COST * time), is_guarded };
    }
}

/// Upper bound of the time from the timeout to the thread's first instruction, if its processor is
/// idle.
const WAKE_UP: Duration = Duration::from_micros(100);

/// CPU time of this thread.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sleep_beyond_its_timeout_is_overslept() {
        let short = Sleep::begin(0);
        std::thread::sleep(Duration::from_millis(5));
        assert!(short.overslept(Duration::ZERO) && !short.overslept(Duration::from_secs(60)));
        let long = Sleep::begin(60_000_000_000);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!long.overslept(Duration::ZERO));
    }

    /// Thirty milliseconds have passed since the sleep. They are late only where the work is
    /// usually far shorter.
    #[test]
    fn a_census_is_late_if_its_work_takes_far_longer_than_usual() {
        let late_after = |usual: u64, work: u64| {
            let mut sleeps = Sleeps { usual: Duration::from_millis(usual), ..Sleeps::new() };
            sleeps.last.began -= Duration::from_millis(30);
            (sleeps.is_late_after(Duration::from_millis(work)), sleeps.usual.as_millis())
        };
        assert_eq!([late_after(8, 40), late_after(16, 40), late_after(0, 40)], [(true, 12), (false, 19), (false, 40)]);
        assert_eq!([late_after(8, 16), late_after(8, 0)], [(true, 9), (true, 7)]);
    }

    #[test]
    fn the_next_guard_waits_by_the_cost_of_the_last_one_and_longer_after_failures() {
        let mut idle = Idle::new();
        idle.tried(true, Duration::from_micros(100), 7);
        assert_eq!((idle.faults, idle.wait, idle.is_guarded), (7, IDLE, true));
        idle.tried(true, Duration::from_millis(3), 7);
        assert_eq!(idle.wait, Duration::from_millis(60));
        idle.tried(false, Duration::from_micros(100), 7);
        assert_eq!((idle.wait, idle.is_guarded), (Duration::from_millis(120), false));
        idle.tried(true, Duration::ZERO, 7);
        let guarded = idle.since;
        idle.end();
        assert!(!idle.is_guarded && idle.since > guarded);
        (0..20).for_each(|_| idle.tried(false, Duration::ZERO, 7));
        assert_eq!(idle.wait, LONGEST_WAIT);
    }
}
