//! The pager thread's sleeps. A host can preempt one processor of a virtual machine while the
//! program, on another processor, continues to write: then the thread woke up late.

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

    /// Whether the thread has been off the processor for longer than its timeout and the time of a
    /// wake-up.
    pub fn overslept(&self) -> bool {
        self.began.elapsed() > self.nap + (cpu_time() - self.cpu) + WAKE_UP
    }
}

/// The thread's last sleep, and how long the program has been idle.
pub struct Sleeps {
    pub last: Sleep,
    pub idle: Idle,
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
        assert!(short.overslept());
        let long = Sleep::begin(60_000_000_000);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!long.overslept());
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
