//! Turns of the running task and kswapd on the only processor.
//!
//! Source: Linux 6.12, kernel/sched/fair.c, for two tasks of equal weight. A task may be chosen
//! (`entity_eligible`) if it had no more processor time than the other one; of two such tasks the
//! one with the earlier deadline is chosen (`pick_eevdf`). A task that may be chosen keeps the
//! processor until its slice ends (`RUN_TO_PARITY`). The clock's tick finds out that a slice has
//! ended (`entity_tick`, `update_deadline`). A woken task takes the processor at once if it is
//! chosen (`check_preempt_wakeup_fair`). A task that sleeps keeps the time that it is owed (`vlag`,
//! `place_entity`); one that had too much stays in the competition (`DELAY_DEQUEUE`) and is owed
//! nothing afterwards (`DELAY_ZERO`).
//! Deviations: all processes of apps are one task, as those of a control group are; a task that
//! must give up the processor does so at once, not at the end of its system call.

/// Tick of the clock (CONFIG_HZ=250, as in Debian's and Android's kernels).
pub const TICK_NS: u64 = 4_000_000;
/// `sysctl_sched_base_slice` on one processor.
const SLICE_NS: i64 = 700_000;
/// Most time that a sleeping task is owed: `entity_lag`.
const LAG_LIMIT_NS: i64 = TICK_NS as i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Running,
    Kswapd,
}

/// Whether a task competes for the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queued {
    Yes,
    /// It sleeps, but competes until the other task has had as much processor time.
    Delayed,
    No,
}

#[derive(Clone, Copy, Debug)]
struct Entity {
    /// Processor time that the task had, in ns, shifted at wake-ups.
    vruntime: i64,
    /// The value of `vruntime` at which its slice ends.
    deadline: i64,
    queued: Queued,
    /// Half of the processor time by which it was behind the other task when it fell asleep, in ns.
    lag: i64,
}

/// The processor, which the running task has at the beginning.
pub struct Turns {
    tasks: [Entity; 2],
    current: Task,
    /// Whether the current task is still in the slice for which it was chosen.
    protected: bool,
}

impl Turns {
    pub fn new() -> Turns {
        let of = |queued| Entity { vruntime: 0, deadline: SLICE_NS, queued, lag: 0 };
        Turns { tasks: [of(Queued::Yes), of(Queued::No)], current: Task::Running, protected: true }
    }

    pub fn kswapd_has_processor(&self) -> bool {
        self.current == Task::Kswapd
    }

    /// Add `ns` to the processor time of `task`.
    pub fn ran(&mut self, task: Task, ns: u64) {
        self.tasks[task as usize].vruntime += ns as i64;
    }

    /// The clock ticks: the current task gives way if its slice has ended and the other one is
    /// chosen.
    pub fn tick(&mut self) {
        if self.renew_ended_slice() {
            self.choose();
        }
    }

    /// `task` wakes up. Returns whether it gets the processor at once.
    pub fn wake(&mut self, task: Task) -> bool {
        let other = self.tasks[other(task) as usize];
        if other.queued == Queued::No {
            let entity = &mut self.tasks[task as usize];
            entity.vruntime = entity.vruntime.max(other.vruntime);
            (entity.deadline, entity.queued) = (entity.vruntime + SLICE_NS, Queued::Yes);
            (self.current, self.protected) = (task, true);
            return true;
        }
        self.renew_ended_slice();
        let entity = &mut self.tasks[task as usize];
        let lag = match entity.queued {
            Queued::No => Some(entity.lag),
            // If it still had too much, it competes on; otherwise it is owed nothing.
            _ => (entity.vruntime < other.vruntime).then_some(0),
        };
        if let Some(lag) = lag {
            entity.vruntime = other.vruntime - 2 * lag;
            entity.deadline = entity.vruntime + SLICE_NS;
        }
        entity.queued = Queued::Yes;
        self.choose();
        self.current == task
    }

    /// The current task falls asleep. The other one gets the processor if it competes.
    pub fn sleep(&mut self) {
        self.renew_ended_slice();
        let task = self.current;
        let other_task = other(task);
        let rival = self.tasks[other_task as usize];
        let entity = &mut self.tasks[task as usize];
        let owed = rival.vruntime - entity.vruntime;
        (entity.queued, entity.lag) = match rival.queued {
            Queued::No => (Queued::No, 0),
            _ if owed < 0 => (Queued::Delayed, 0),
            _ => (Queued::No, (owed / 2).min(LAG_LIMIT_NS)),
        };
        if rival.queued == Queued::Delayed {
            let entity = &mut self.tasks[other_task as usize];
            (entity.queued, entity.lag) = (Queued::No, 0);
        }
        self.give(other_task);
    }

    fn give(&mut self, task: Task) {
        self.protected |= self.current != task;
        self.current = task;
    }

    /// Begin the next slice of the current task if its slice has ended. Returns whether it had.
    fn renew_ended_slice(&mut self) -> bool {
        let entity = &mut self.tasks[self.current as usize];
        let ends = entity.vruntime >= entity.deadline;
        if ends {
            entity.deadline = entity.vruntime + SLICE_NS;
            self.protected = false;
        }
        ends
    }

    /// Choose the task that has the processor from now on.
    fn choose(&mut self) {
        let task = other(self.current);
        let (entity, current) = (self.tasks[task as usize], self.tasks[self.current as usize]);
        let stays = current.vruntime <= entity.vruntime && (self.protected || current.deadline < entity.deadline);
        if entity.queued == Queued::No || entity.vruntime > current.vruntime || stays {
            return;
        }
        if entity.queued == Queued::Delayed {
            let entity = &mut self.tasks[task as usize];
            (entity.queued, entity.lag) = (Queued::No, 0);
            return;
        }
        self.give(task);
    }
}

fn other(task: Task) -> Task {
    match task {
        Task::Running => Task::Kswapd,
        Task::Kswapd => Task::Running,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kswapd wakes up 0.3 ms after the running task got the processor, and the clock ticks at 4
    /// ms.
    fn first_turn_of_kswapd() -> Turns {
        let mut turns = Turns::new();
        turns.ran(Task::Running, 300_000);
        // Both may be chosen, and the running task is in its slice of 0.7 ms.
        assert!(!turns.wake(Task::Kswapd));
        turns.ran(Task::Running, 3_700_000);
        turns.tick();
        assert!(turns.kswapd_has_processor());
        turns
    }

    #[test]
    fn turns_end_at_ticks() {
        let mut turns = first_turn_of_kswapd();
        // kswapd began at 0.3 ms of processor time and has 4.3 at the next tick, the other task
        // 4.0.
        turns.ran(Task::Kswapd, 4_000_000);
        turns.tick();
        assert!(!turns.kswapd_has_processor());
    }

    #[test]
    fn a_task_that_is_owed_time_gets_the_processor_when_it_wakes_up() {
        let mut turns = first_turn_of_kswapd();
        // It sleeps at 1.3 ms, the other task at 4.0: it is owed half of 2.7 ms.
        turns.ran(Task::Kswapd, 1_000_000);
        turns.sleep();
        assert!(!turns.kswapd_has_processor());
        // The other task is in its slice, but had more time: 4.5 ms against 4.5 - 2.7.
        turns.ran(Task::Running, 500_000);
        assert!(turns.wake(Task::Kswapd));
    }

    #[test]
    fn a_task_that_had_too_much_is_owed_nothing_after_its_sleep() {
        for (ns, at_once) in [(100_000, false), (1_000_000, true)] {
            let mut turns = first_turn_of_kswapd();
            turns.ran(Task::Kswapd, 4_000_000);
            turns.sleep();
            // It sleeps with 4.3 ms against 4.0. At 4.1 it still had too much. At 5.0 it begins at
            // 5.0, the other one's slice has ended at 4.7, and of equal deadlines that of the
            // waiting task counts.
            turns.ran(Task::Running, ns);
            assert_eq!(turns.wake(Task::Kswapd), at_once, "{ns}");
        }
    }

    #[test]
    fn a_task_that_waited_for_a_device_may_wait_for_the_tick() {
        let mut turns = Turns::new();
        assert!(!turns.wake(Task::Kswapd));
        turns.ran(Task::Running, 100_000);
        turns.sleep();
        // kswapd has had 0.09 ms of its slice when the other task, which had 0.1 ms, wakes up.
        turns.ran(Task::Kswapd, 90_000);
        assert!(!turns.wake(Task::Running) && turns.kswapd_has_processor());
        turns.ran(Task::Kswapd, 3_810_000);
        turns.tick();
        assert!(!turns.kswapd_has_processor());
    }

    #[test]
    fn a_task_alone_always_gets_the_processor() {
        let mut turns = Turns::new();
        turns.sleep();
        assert!(turns.wake(Task::Running) && !turns.kswapd_has_processor());
    }
}
