//! When the low-memory killer looks at memory: as a task that runs before all others, at most every `poll_ms` of the phone's time.
//!
//! Source: AOSP system/memory/lmkd, lmkd.cpp: stalls on memory wake the daemon (pressure stall information), and then it polls. Linux 3.4,
//! drivers/staging/android/lowmemorykiller.c: a shrinker, which reclaim calls. A stall on memory: Linux kernel/sched/psi.c, of tasks that
//! reclaim, wait for write-back, read back from swap or read a page of a file again, and kswapd's work.
//! Deviations: it looks where a frame is needed, when that is due, not in between; every page read again counts as a stall, not only those
//! that were in use when they left (`PageWorkingset`).

use std::collections::VecDeque;
use swaplab_apps::Killer;

const SECOND_NS: u64 = 1_000_000_000;

pub struct KillerTask {
    pub killer: Killer,
    /// The time from which on it may look again.
    due_ns: u64,
    /// Times of looks within the last second, and all stalls on memory until then.
    looks: VecDeque<(u64, u64)>,
    /// Pages looked at by reclaim until the last look.
    scanned: u64,
}

impl KillerTask {
    pub fn new(killer: Killer) -> KillerTask {
        KillerTask { killer, due_ns: 0, looks: VecDeque::new(), scanned: 0 }
    }

    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Stalls of the last second in ms, as of a look now; `stalled_ns` are all of them so far.
    pub fn stall_ms(&mut self, now_ns: u64, stalled_ns: u64) -> u64 {
        self.due_ns = now_ns + (self.killer.poll_ms * 1e6) as u64;
        self.looks.push_back((now_ns, stalled_ns));
        while self.looks.len() > 1 && self.looks[0].0 + SECOND_NS < now_ns {
            self.looks.pop_front();
        }
        (stalled_ns - self.looks[0].1) / 1_000_000
    }

    /// Whether a look with these stalls may kill anything. A killer that listens to no stalls looks when reclaim has.
    pub fn is_awake(&mut self, stall_ms: u64, scanned: u64) -> bool {
        let reclaimed = std::mem::replace(&mut self.scanned, scanned) != scanned;
        self.killer.is_awake(stall_ms) && (reclaimed || !self.killer.is_awake(0))
    }

    /// An app was killed: stalls before that must not cause another kill.
    pub fn killed(&mut self) {
        self.killer.killed();
        self.looks.clear();
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
    fn a_shrinker_looks_when_reclaim_has() {
        let mut task = KillerTask::new(Killer::parse("minfree").unwrap());
        assert_eq!([0, 32, 32, 64].map(|scanned| task.is_awake(0, scanned)), [false, true, false, true]);
    }
}
