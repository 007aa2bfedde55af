//! Turns of the running task and kswapd on the only processor.
//!
//! Source: Linux 6.12, kernel/sched/fair.c, for two tasks of equal weight. A task may be chosen
//! (`entity_eligible`) if it had no more processor time than the other one; of two such tasks the
//! one with the earlier deadline is chosen (`pick_eevdf`). A chosen task keeps the processor until
//! its slice ends (`RUN_TO_PARITY`), which the clock's tick finds out (`entity_tick`,
//! `update_deadline`). A woken task takes the processor at once only if the other one is past its
//! slice and the woken one is chosen (`check_preempt_wakeup_fair`). A task that sleeps keeps the
//! time that it is owed (`vlag`, `place_entity`); one that had too much stays in the competition
//! (`DELAY_DEQUEUE`) and is owed nothing afterwards (`DELAY_ZERO`).
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
    /// It sleeps, but competes until it is owed no less than nothing.
    Delayed,
    No,
}

#[derive(Clone, Copy, Debug)]
struct Entity {
    /// Processor time that the task had, shifted at wake-ups.
    vruntime: i64,
    /// The value of `vruntime` at which its slice ends.
    deadline: i64,
    queued: Queued,
    /// Half of the processor time by which it was behind the other task when it fell asleep.
    lag: i64,
}

/// The processor, which the running task has at the begin.
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
        if self.ends_slice() {
            self.choose();
        }
    }

    /// `task` wakes up. Returns whether it gets the processor at once.
    pub fn wake(&mut self, task: Task) -> bool {
        let other = self.tasks[other(task) as usize];
        if other.queued == Queued::No {
            let of = &mut self.tasks[task as usize];
            of.vruntime = of.vruntime.max(other.vruntime);
            (of.deadline, of.queued) = (of.vruntime + SLICE_NS, Queued::Yes);
            (self.current, self.protected) = (task, true);
            return true;
        }
        self.ends_slice();
        let of = &mut self.tasks[task as usize];
        let lag = match of.queued {
            Queued::No => Some(of.lag),
            // It is owed nothing, if it is owed anything.
            _ => (of.vruntime < other.vruntime).then_some(0),
        };
        if let Some(lag) = lag {
            of.vruntime = other.vruntime - 2 * lag;
            of.deadline = of.vruntime + SLICE_NS;
        }
        of.queued = Queued::Yes;
        self.choose();
        self.current == task
    }

    /// The current task falls asleep. The other one gets the processor if it competes.
    pub fn sleep(&mut self) {
        self.ends_slice();
        let task = self.current;
        let other_task = other(task);
        let rival = self.tasks[other_task as usize];
        let of = &mut self.tasks[task as usize];
        let owed = rival.vruntime - of.vruntime;
        (of.queued, of.lag) = match rival.queued {
            Queued::No => (Queued::No, 0),
            _ if owed < 0 => (Queued::Delayed, 0),
            _ => (Queued::No, (owed / 2).min(LAG_LIMIT_NS)),
        };
        if rival.queued == Queued::Delayed {
            let of = &mut self.tasks[other_task as usize];
            (of.queued, of.lag) = (Queued::No, 0);
        }
        self.give(other_task);
    }

    fn give(&mut self, task: Task) {
        self.protected |= self.current != task;
        self.current = task;
    }

    /// Begin the next slice of the current task if its slice has ended. Returns whether it had.
    fn ends_slice(&mut self) -> bool {
        let of = &mut self.tasks[self.current as usize];
        let ends = of.vruntime >= of.deadline;
        if ends {
            of.deadline = of.vruntime + SLICE_NS;
            self.protected = false;
        }
        ends
    }

    /// Choose the task that has the processor from now on.
    fn choose(&mut self) {
        let task = other(self.current);
        let (of, current) = (self.tasks[task as usize], self.tasks[self.current as usize]);
        let stays = current.vruntime <= of.vruntime && (self.protected || current.deadline < of.deadline);
        if of.queued == Queued::No || of.vruntime > current.vruntime || stays {
            return;
        }
        if of.queued == Queued::Delayed {
            let of = &mut self.tasks[task as usize];
            (of.queued, of.lag) = (Queued::No, 0);
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
