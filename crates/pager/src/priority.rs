//! The pager thread runs before all ordinary threads, if permitted: with a real-time priority, and
//! as a deadline task while it is busy.
//!
//! From Linux 6.12 on, ordinary threads that share a processor with a busy real-time thread may run
//! before it for 50 ms in a second (the fair server, kernel/sched/fair.c), in which the program
//! goes far beyond its budget. They do not run before a deadline task. Many pagers that are hardly
//! busy, such as those of a family of processes, are slower as deadline tasks.

use std::time::{Duration, Instant};

/// The processor time that a deadline task may take in each period, in ns. What other deadline
/// tasks leave over it may take, too (`SCHED_FLAG_RECLAIM`).
const TIME_NS: u64 = 850_000;
const PERIOD_NS: u64 = 1_000_000;
const SCHED_FLAG_RECLAIM: u64 = 2;

/// The time over which it is found out how busy the thread is.
const WINDOW: Duration = Duration::from_millis(100);

/// The calling thread's priority.
pub struct Priority {
    /// Whether the thread was permitted to have a real-time priority. Otherwise it asks for nothing
    /// more: meanwhile the program may have forbidden itself such system calls (seccomp).
    is_permitted: bool,
    is_deadline: bool,
    since: Instant,
    /// CPU time of the thread when the window began.
    cpu: Duration,
}

impl Priority {
    /// Raise the priority of the calling thread. Without the privilege it stays the same.
    pub fn raise() -> Priority {
        let is_permitted = set(&REAL_TIME);
        if !is_permitted {
            set(&NICE);
        }
        Priority { is_permitted, is_deadline: false, since: Instant::now(), cpu: Duration::ZERO }
    }

    /// Adapt the priority at the end of a window. `cpu`: the CPU time of the calling thread.
    pub fn follow(&mut self, cpu: Duration) {
        let passed = self.since.elapsed();
        if passed < WINDOW || !self.is_permitted {
            return;
        }
        let wanted = should_be_deadline(self.is_deadline, cpu.saturating_sub(self.cpu), passed);
        if wanted && !self.is_deadline {
            self.is_deadline = set(&DEADLINE);
        } else if !wanted && self.is_deadline {
            *self = Priority::raise();
        }
        (self.since, self.cpu) = (Instant::now(), cpu);
    }
}

/// Whether a thread that worked for `work` of the time `passed` should be a deadline task: from
/// half of the time on, and then until it works for less than a quarter.
fn should_be_deadline(is_deadline: bool, work: Duration, passed: Duration) -> bool {
    work * if is_deadline { 4 } else { 2 } >= passed
}

const NICE: libc::sched_attr = libc::sched_attr {
    size: size_of::<libc::sched_attr>() as u32,
    sched_policy: libc::SCHED_OTHER as u32,
    sched_flags: 0,
    sched_nice: -15,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

const REAL_TIME: libc::sched_attr = libc::sched_attr { sched_policy: libc::SCHED_FIFO as u32, sched_nice: 0, sched_priority: 1, ..NICE };

const DEADLINE: libc::sched_attr = libc::sched_attr {
    sched_policy: libc::SCHED_DEADLINE as u32,
    sched_flags: SCHED_FLAG_RECLAIM,
    sched_nice: 0,
    sched_runtime: TIME_NS,
    sched_deadline: PERIOD_NS,
    sched_period: PERIOD_NS,
    ..NICE
};

/// Set the scheduling of the calling thread. Returns whether that is permitted.
fn set(wanted: &libc::sched_attr) -> bool {
    // SAFETY: the call only reads the structure, whose size is in it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(wanted), 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_is_a_deadline_task_until_it_is_hardly_busy() {
        let of = |is_deadline, ms| should_be_deadline(is_deadline, Duration::from_millis(ms), Duration::from_millis(100));
        assert_eq!([49, 50, 100].map(|ms| of(false, ms)), [false, true, true]);
        assert_eq!([24, 25, 49].map(|ms| of(true, ms)), [false, true, true]);
    }

    /// The test needs no privilege: what the kernel refuses is not taken for granted.
    #[test]
    fn the_priority_follows_at_the_end_of_a_window_only() {
        std::thread::spawn(|| {
            let mut priority = Priority::raise();
            priority.follow(Duration::from_secs(1));
            assert_eq!((priority.is_deadline, priority.cpu), (false, Duration::ZERO));
            let policy = || unsafe { libc::sched_getscheduler(0) }; // SAFETY: only reads.
            priority.since -= WINDOW;
            priority.follow(Duration::from_secs(1));
            assert_eq!(priority.is_deadline, policy() == libc::SCHED_DEADLINE);
            assert_eq!(priority.cpu.as_secs(), u64::from(priority.is_permitted));
            priority.since -= WINDOW;
            priority.follow(Duration::from_secs(1));
            assert!(!priority.is_deadline && policy() != libc::SCHED_DEADLINE);
        })
        .join()
        .unwrap();
    }
}
