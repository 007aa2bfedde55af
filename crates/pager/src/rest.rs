//! Whether the pager thread was let run when it wished to. A host may take a virtual machine's processor away; the program, on another, writes on.

use std::time::{Duration, Instant};

/// The last time that the thread slept.
pub struct Rest {
    began: Instant,
    /// Of this thread, when it began.
    cpu: Duration,
    /// The longest that it wished to sleep.
    nap: Duration,
}

impl Rest {
    /// A rest of at most `nap` nanoseconds that begins now.
    pub fn of(nap: u64) -> Rest {
        Rest { began: Instant::now(), cpu: cpu_time(), nap: Duration::from_nanos(nap) }
    }

    /// Whether the thread has not run since for longer than it wished to, by more than a wake-up takes.
    pub fn was_too_long(&self) -> bool {
        self.began.elapsed() > self.nap + (cpu_time() - self.cpu) + WAKE_UP
    }
}

/// A thread whose processor is free runs as long after its sleep at the latest.
const WAKE_UP: Duration = Duration::from_micros(100);

/// Of this thread.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_slept_longer_than_it_wished_is_late_and_one_that_worked_is_not() {
        let wish = Rest::of(0);
        std::thread::sleep(Duration::from_millis(5));
        assert!(wish.was_too_long());
        let patient = Rest::of(60_000_000_000);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!patient.was_too_long());
    }
}
