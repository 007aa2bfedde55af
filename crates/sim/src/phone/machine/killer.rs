//! When the low-memory killer checks memory: as a task that runs before all others, at most every
//! `poll_ms` of the phone's time.
//!
//! Source: AOSP system/memory/lmkd, lmkd.cpp: memory stalls wake the daemon (pressure stall
//! information), and then it polls. Linux 3.4, drivers/staging/android/lowmemorykiller.c: a
//! shrinker, which reclaim calls. Linux kernel/sched/psi.c: memory stalls are those of tasks that
//! reclaim, or wait for write-back or for a page of the working set (`PageWorkingset`), and the
//! time for which kswapd reclaims.
//! While a victim has not ended, the killer waits: the driver for HZ
//! (`lowmem_deathpending_timeout`), lmkd for `kill_timeout_ms`.
//! Deviations: it checks only when a frame is needed and a check is due, not in between, but sees
//! the free memory of kswapd's turn in which the check was due ([`FreeWhenDue`]); a killer that
//! reads how long direct reclaim lasts also checks at its end; partial and complete stalls are the
//! same, and their average is brought up to date at checks alone.

use std::collections::VecDeque;
use swaplab_apps::Killer;
use swaplab_vocab::AppId;

const SECOND_NS: u64 = 1_000_000_000;

pub struct KillerTask {
    pub killer: Killer,
    /// The earliest time of the next check.
    due_ns: u64,
    /// Times of the checks within the last second, each with the total of memory stalls until then.
    checks: VecDeque<(u64, u64)>,
    average: Average,
    /// Pages that reclaim had scanned at the last check.
    scanned: u64,
    /// How long the running task's direct reclaim has lasted; 0 if it is in none.
    pub direct_reclaim_ns: u64,
    /// Killed apps whose memory is not free yet, in the order of their kills.
    dying: Vec<DyingApp>,
}

/// The free frames at the time at which the killer's next check was due, if kswapd had the only
/// processor then. The killer preempts kswapd and sees them; here it checks after kswapd's turn,
/// when more frames are free.
#[derive(Default)]
pub struct FreeWhenDue {
    due_ns: u64,
    frames: Option<usize>,
}

impl FreeWhenDue {
    /// kswapd works at `now_ns`, when `frames` are free.
    pub fn note(&mut self, now_ns: u64, frames: usize) {
        if now_ns >= self.due_ns {
            self.frames.get_or_insert(frames);
        }
    }

    /// The killer checks. Its next check is due at `next_ns`.
    pub fn take(&mut self, next_ns: u64) -> Option<usize> {
        self.due_ns = next_ns;
        self.frames.take()
    }
}

/// A killed app whose process has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DyingApp {
    pub app: AppId,
    pub killed_ns: u64,
    /// The time at which its memory is free.
    pub ends_ns: u64,
    /// The row of the record's kills.
    pub row: usize,
}

impl KillerTask {
    pub fn new(killer: Killer) -> KillerTask {
        KillerTask {
            killer,
            due_ns: 0,
            checks: VecDeque::new(),
            average: Average::default(),
            scanned: 0,
            direct_reclaim_ns: 0,
            dying: Vec::new(),
        }
    }

    /// Whether a check at the end of a direct reclaim is due.
    pub fn is_due_in_direct_reclaim(&self, now_ns: u64) -> bool {
        self.killer.reads_direct_reclaim() && self.is_due(now_ns)
    }

    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// The earliest time of the next check.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Begin a check. Returns the memory stalls of the last second in ms; `stalled_ns` is their
    /// total so far.
    pub fn stall_ms(&mut self, now_ns: u64, stalled_ns: u64) -> u64 {
        self.due_ns = now_ns + (self.killer.poll_ms * 1e6) as u64;
        self.average.update(now_ns, stalled_ns);
        self.checks.push_back((now_ns, stalled_ns));
        while self.checks.len() > 1 && self.checks[0].0 + SECOND_NS < now_ns {
            self.checks.pop_front();
        }
        (stalled_ns - self.checks[0].1) / 1_000_000
    }

    /// The average of memory stalls over ten seconds, in percent, as of the last check.
    pub fn full_avg10(&self) -> f64 {
        self.average.percentage
    }

    /// Whether a check with these stalls may kill. A killer that ignores stalls is awake if reclaim
    /// has scanned since the last check.
    pub fn is_awake(&mut self, stall_ms: u64, scanned: u64) -> bool {
        let reclaimed = std::mem::replace(&mut self.scanned, scanned) != scanned;
        self.killer.is_awake(stall_ms) && (reclaimed || !self.killer.is_awake(0))
    }

    /// Whether a killed app has not ended.
    #[inline]
    pub fn any_dying(&self) -> bool {
        !self.dying.is_empty()
    }

    /// Note that an app was killed and takes time to end.
    pub fn begin_death(&mut self, dying: DyingApp) {
        self.dying.push(dying);
    }

    /// Whether the killer waits for a victim that has not ended yet.
    pub fn waits(&self, now_ns: u64) -> bool {
        let wait_ns = (self.killer.wait_ms * 1e6) as u64;
        self.dying.iter().any(|dying| now_ns < dying.killed_ns + wait_ns)
    }

    /// Take the first killed app whose memory is free at `now_ns`, or `app` at any time.
    pub fn take_ended(&mut self, now_ns: u64, app: Option<AppId>) -> Option<DyingApp> {
        let at = self.dying.iter().position(|dying| dying.ends_ns <= now_ns || Some(dying.app) == app)?;
        Some(self.dying.remove(at))
    }

    /// The time at which the memory of a killed app is free next.
    pub fn next_end_ns(&self) -> Option<u64> {
        self.dying.iter().map(|dying| dying.ends_ns).min()
    }

    /// Whether `app` was killed and has not ended.
    #[cfg(test)]
    pub fn is_dying(&self, app: AppId) -> bool {
        self.dying.iter().any(|dying| dying.app == app)
    }

    /// Note a kill. Stalls before it must not cause another one.
    pub fn killed(&mut self) {
        self.killer.killed();
        self.checks.clear();
    }
}

/// The kernel's average of stalls over ten seconds: kernel/sched/psi.c, `update_averages` and
/// `calc_avgs`. A sample is taken every two seconds or later; periods that were missed count as
/// without stalls, and the sample is over what is left of the time.
#[derive(Default)]
struct Average {
    percentage: f64,
    /// Time of the last sample, and the total of stalls at that time.
    sampled_ns: u64,
    stalled_ns: u64,
}

impl Average {
    const PERIOD_NS: u64 = 2 * SECOND_NS;
    /// `EXP_10s` over `FIXED_1`.
    const DECAY: f64 = 1677.0 / 2048.0;

    fn update(&mut self, now_ns: u64, stalled_ns: u64) {
        let since_ns = now_ns - self.sampled_ns;
        if since_ns < Average::PERIOD_NS {
            return;
        }
        let missed = since_ns / Average::PERIOD_NS - 1;
        let period_ns = since_ns - missed * Average::PERIOD_NS;
        let sample = (100.0 * (stalled_ns - self.stalled_ns) as f64 / period_ns as f64).min(100.0);
        let before = self.percentage * Average::DECAY.powf(missed as f64);
        *self = Average { percentage: before * Average::DECAY + sample * (1.0 - Average::DECAY), sampled_ns: now_ns, stalled_ns };
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

    /// A check is due at 10. kswapd works at 8, 11 and 15; the killer sees the frames of time 11,
    /// and later the present ones.
    #[test]
    fn a_check_sees_the_frames_of_the_time_at_which_it_was_due() {
        let mut free = FreeWhenDue::default();
        assert_eq!(free.take(10), None);
        [(8, 500), (11, 540), (15, 800)].into_iter().for_each(|(at, frames)| free.note(at, frames));
        assert_eq!([free.take(20), free.take(30)], [Some(540), None]);
    }

    /// Half of two seconds in stalls: 50 % of the weight 371/2048. Eight seconds later, of which
    /// three periods were missed, four times the decay is left.
    #[test]
    fn stalls_are_averaged_as_the_kernel_does() {
        let mut average = Average::default();
        average.update(1999 * MS, 1000 * MS);
        assert_eq!(average.percentage, 0.0);
        average.update(2000 * MS, 1000 * MS);
        assert!((average.percentage - 50.0 * 371.0 / 2048.0).abs() < 1e-9);
        average.update(10_000 * MS, 1000 * MS);
        assert!((average.percentage - 50.0 * 371.0 / 2048.0 * (1677.0f64 / 2048.0).powi(4)).abs() < 1e-9);
    }

    /// A victim that is killed at 0 ends at 300 ms. The driver waits until then; lmkd waits for its
    /// timeout of 100 ms.
    #[test]
    fn a_killer_waits_for_its_victim_and_not_beyond_its_timeout() {
        let waits = |text: &str| {
            let mut task = KillerTask::new(Killer::parse(text).unwrap());
            task.begin_death(DyingApp { app: 7, killed_ns: 0, ends_ns: 300 * MS, row: 0 });
            let waits = [0, 99, 100, 299].map(|at| task.waits(at * MS));
            assert_eq!((task.is_dying(7), task.next_end_ns(), task.take_ended(299 * MS, Some(6))), (true, Some(300 * MS), None));
            assert_eq!(task.take_ended(300 * MS, None).map(|dying| dying.app), Some(7));
            (waits, task.waits(0), task.is_dying(7))
        };
        assert_eq!(waits("minfree"), ([true; 4], false, false));
        assert_eq!(waits("lmkd"), ([true, true, false, false], false, false));
        assert_eq!(waits("off"), ([false; 4], false, false));
    }

    #[test]
    fn a_shrinker_checks_memory_when_reclaim_has_scanned() {
        let mut task = KillerTask::new(Killer::parse("minfree").unwrap());
        assert_eq!([0, 32, 32, 64].map(|scanned| task.is_awake(0, scanned)), [false, true, false, true]);
    }
}
