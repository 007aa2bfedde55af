//! The phone's clock, and the stalls of the running task.

use super::queue::WriteBack;
use super::record::Stalls;
use crate::ledger::Prices;
use swaplab_device::Attachment;
use swaplab_swap::Medium;

/// Interval at which the kernel sums up the statistics of its control groups (`FLUSH_TIME`,
/// mm/memcontrol.c).
const SUMS_NS: u64 = 2_000_000_000;

/// The clock, and the stalls of the running task.
pub struct StallClock {
    /// The time of the last `take_stalls()`.
    pub settled_ns: u64,
    /// Stalls of the running task since the last `take_stalls()`, and their sum.
    waited: Stalls,
    waited_ns: u64,
    /// Work and pauses of the running task since the last `take_stalls()`, in ns.
    passed_ns: u64,
    /// Time that passed since the last `take_elapsed()`.
    elapsed: Elapsed,
    /// By medium: whether it is on the memory bus, so that the processor itself reads it.
    on_bus: [bool; Medium::ALL.len()],
    /// Stalls since the last interval of proactive reclaim.
    pub interval_ns: u64,
    /// Total of memory stalls (PSI `some`).
    pub memory_ns: u64,
    /// Number of intervals of `SUMS_NS` that had passed when the statistics were last due.
    sums: u64,
    /// Writes to swap that no task waits for.
    pub write_back: WriteBack,
}

/// Elapsed time, by the state of the running task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// The task had the processor.
    pub running_ns: u64,
    /// The task waited for a device, or paused.
    pub waiting_ns: u64,
    /// Of both, the task's memory stalls.
    pub stalled_ns: u64,
}

impl StallClock {
    pub fn new(write_back: WriteBack, prices: &Prices) -> StallClock {
        let on_bus = Medium::ALL.map(|medium| prices.device(medium).attachment == Attachment::Memory);
        let (waited, elapsed) = (Stalls::default(), Elapsed::default());
        StallClock { settled_ns: 0, waited, waited_ns: 0, passed_ns: 0, elapsed, on_bus, interval_ns: 0, memory_ns: 0, sums: 0, write_back }
    }

    /// The current time in nanoseconds, including all stalls, work and pauses.
    pub fn now(&self) -> u64 {
        self.settled_ns + self.waited_ns + self.passed_ns
    }

    /// Let the running task work for `ns`.
    pub fn work(&mut self, ns: u64) {
        self.passed_ns += ns;
        self.elapsed.running_ns += ns;
    }

    /// Let the running task pause for `ns`.
    pub fn pause(&mut self, ns: u64) {
        self.passed_ns += ns;
        self.elapsed.waiting_ns += ns;
    }

    /// Time that passed since the last call.
    pub fn take_elapsed(&mut self) -> Elapsed {
        std::mem::take(&mut self.elapsed)
    }

    /// Stall time of the running task since the last `take_stalls()`.
    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Stall the running task.
    pub fn stall(&mut self, stalls: &Stalls) {
        let ns = stalls.total_ns();
        self.waited += stalls;
        self.waited_ns += ns;
        self.interval_ns += ns;
        let from_devices: u64 =
            Medium::ALL.into_iter().filter(|m| !self.on_bus[*m as usize]).map(|m| stalls.swap_read_ns[m as usize]).sum();
        let of_cache = if self.on_bus[Medium::Nvm as usize] { 0 } else { stalls.file_cache_ns };
        let files = stalls.file_read_ns + of_cache + stalls.file_write_ns;
        let waiting_ns = from_devices + files + stalls.queue_ns + stalls.write_back_ns;
        self.elapsed.waiting_ns += waiting_ns;
        self.elapsed.running_ns += ns - waiting_ns - stalls.kswapd_ns;
    }

    /// Stall the running task. The stall is a memory stall.
    pub fn stall_on_memory(&mut self, stalls: &Stalls) {
        self.stall(stalls);
        self.note_memory_stall(stalls.total_ns());
    }

    /// Note that `ns` of the running task's last stall are a memory stall.
    pub fn note_memory_stall(&mut self, ns: u64) {
        self.memory_ns += ns;
        self.elapsed.stalled_ns += ns;
    }

    /// Stall the running task for the processor time of a fault.
    pub fn stall_in_fault(&mut self, fault_cpu_ns: u64) {
        self.waited.fault_cpu_ns += fault_cpu_ns;
        self.waited_ns += fault_cpu_ns;
        self.interval_ns += fault_cpu_ns;
        self.elapsed.running_ns += fault_cpu_ns;
    }

    /// Whether the statistics of control groups are due to be summed up. True once in each
    /// interval.
    pub fn sums_are_due(&mut self) -> bool {
        let sums = self.now() / SUMS_NS;
        sums != std::mem::replace(&mut self.sums, sums)
    }

    /// Stalls of the running task since the last call.
    pub fn take_stalls(&mut self) -> Stalls {
        self.settled_ns += std::mem::take(&mut self.waited_ns) + std::mem::take(&mut self.passed_ns);
        std::mem::take(&mut self.waited)
    }
}
