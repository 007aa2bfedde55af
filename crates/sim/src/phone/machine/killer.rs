//! When the low-memory killer checks memory: as a task that runs before all others, at most every `poll_ms` of the phone's time.
//!
//! Source: AOSP system/memory/lmkd, lmkd.cpp: memory stalls wake the daemon (pressure stall information), and then it polls. Linux 3.4,
//! drivers/staging/android/lowmemorykiller.c: a shrinker, which reclaim calls. Linux kernel/sched/psi.c: memory stalls are those of tasks
//! that reclaim, wait for write-back, swap in or refault file-backed pages, and the work of kswapd.
//! Deviations: it checks only when a frame is needed and a check is due, not in between; every refault counts as a stall, not only those
//! of pages that were in the working set when they were evicted (`PageWorkingset`).

use std::collections::VecDeque;
use swaplab_apps::Killer;

const SECOND_NS: u64 = 1_000_000_000;

pub struct KillerTask {
    pub killer: Killer,
    /// The earliest time of the next check.
    due_ns: u64,
    /// Times of the checks within the last second, each with the total of memory stalls until then.
    checks: VecDeque<(u64, u64)>,
    /// Pages that reclaim had scanned at the last check.
    scanned: u64,
}

impl KillerTask {
    pub fn new(killer: Killer) -> KillerTask {
        KillerTask { killer, due_ns: 0, checks: VecDeque::new(), scanned: 0 }
    }

    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Begin a check. Returns the memory stalls of the last second in ms; `stalled_ns` is their total so far.
    pub fn stall_ms(&mut self, now_ns: u64, stalled_ns: u64) -> u64 {
        self.due_ns = now_ns + (self.killer.poll_ms * 1e6) as u64;
        self.checks.push_back((now_ns, stalled_ns));
        while self.checks.len() > 1 && self.checks[0].0 + SECOND_NS < now_ns {
            self.checks.pop_front();
        }
        (stalled_ns - self.checks[0].1) / 1_000_000
    }

    /// Whether a check with these stalls may kill. A killer that ignores stalls is awake if reclaim has scanned since the last check.
    pub fn is_awake(&mut self, stall_ms: u64, scanned: u64) -> bool {
        let reclaimed = std::mem::replace(&mut self.scanned, scanned) != scanned;
        self.killer.is_awake(stall_ms) && (reclaimed || !self.killer.is_awake(0))
    }

    /// Note a kill. Stalls before it must not cause another one.
    pub fn killed(&mut self) {
        self.killer.killed();
        self.checks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn stalls_count_for_a_second_and_not_beyond_a_kill() {
        let mut task = KillerTask::new(Killer::parse("lmkd").unwrap());
        assert!(task.is_due(0));
        assert_eq!(task.stall_ms(0, 5 * MS), 0);
        assert_eq!((task.is_due(9 * MS), task.is_due(10 * MS)), (false, true));
        assert_eq!([(600, 9), (1000, 85), (1500, 86)].map(|(at, stalled)| task.stall_ms(at * MS, stalled * MS)), [4, 80, 77]);
        assert!(task.is_awake(77, 0) && !task.is_awake(69, 1));
        task.killed();
        assert_eq!(task.stall_ms(1510 * MS, 86 * MS), 0);
    }

    #[test]
    fn a_shrinker_checks_memory_when_reclaim_has_scanned() {
        let mut task = KillerTask::new(Killer::parse("minfree").unwrap());
        assert_eq!([0, 32, 32, 64].map(|scanned| task.is_awake(0, scanned)), [false, true, false, true]);
    }
}
