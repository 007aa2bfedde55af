//! Detects that the pager thread woke up late. A host can preempt one processor of a virtual
//! machine while the program, on another processor, continues to write.

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
}
