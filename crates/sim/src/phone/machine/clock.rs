//! Time on the phone, and what is waited for.

use super::queue::WriteBack;
use super::record::Stalls;
use crate::ledger::Prices;
use swaplab_device::Attachment;
use swaplab_swap::Medium;

/// The kernel sums up the counts of its control groups so often (`FLUSH_TIME`, mm/memcontrol.c).
const SUMS_NS: u64 = 2_000_000_000;

/// The clock, and the stalls of whoever runs.
pub struct StallClock {
    /// The time when whoever runs now began to run.
    pub now_ns: u64,
    /// Stalls since they were last taken, and their sum.
    waited: Stalls,
    waited_ns: u64,
    /// Work and pauses of whoever runs, since then.
    passed_ns: u64,
    /// What went by since background reclaim last looked.
    gone: Gone,
    /// Media that the processor itself reads.
    on_bus: [bool; Medium::ALL.len()],
    /// Stalls since the last beat of proactive reclaim.
    pub felt_ns: u64,
    /// Stalls on memory so far.
    pub memory_ns: u64,
    /// How often the counts of control groups were due to be summed up.
    sums: u64,
    /// Writes that nobody waits for.
    pub write_back: WriteBack,
}

/// Time that went by, by what whoever runs did with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Had the processor.
    pub running_ns: u64,
    /// Waited for a device, or paused.
    pub waiting_ns: u64,
}

impl StallClock {
    pub fn new(write_back: WriteBack, prices: &Prices) -> StallClock {
        let on_bus = Medium::ALL.map(|medium| prices.device(medium).attachment == Attachment::Memory);
        let (waited, gone) = (Stalls::default(), Gone::default());
        StallClock { now_ns: 0, waited, waited_ns: 0, passed_ns: 0, gone, on_bus, felt_ns: 0, memory_ns: 0, sums: 0, write_back }
    }

    /// The time as of the last stall, work or pause.
    pub fn now(&self) -> u64 {
        self.now_ns + self.waited_ns + self.passed_ns
    }

    /// Whoever runs does its own work for so long.
    pub fn work(&mut self, ns: u64) {
        self.passed_ns += ns;
        self.gone.running_ns += ns;
    }

    /// Whoever runs pauses for so long.
    pub fn pause(&mut self, ns: u64) {
        self.passed_ns += ns;
        self.gone.waiting_ns += ns;
    }

    /// What went by since the last call.
    pub fn take_gone(&mut self) -> Gone {
        std::mem::take(&mut self.gone)
    }

    pub fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    pub fn stall(&mut self, stalls: &Stalls) {
        let ns = stalls.total_ns();
        self.waited += stalls;
        self.waited_ns += ns;
        self.felt_ns += ns;
        let from_devices: u64 =
            Medium::ALL.into_iter().filter(|m| !self.on_bus[*m as usize]).map(|m| stalls.swap_read_ns[m as usize]).sum();
        let waiting_ns = from_devices + stalls.file_read_ns + stalls.file_write_ns + stalls.queue_ns + stalls.write_back_ns;
        self.gone.waiting_ns += waiting_ns;
        self.gone.running_ns += ns - waiting_ns - stalls.kswapd_ns;
    }

    /// Whether the counts of control groups are due to be summed up; once for each time that they are.
    pub fn sums_are_due(&mut self) -> bool {
        let sums = self.now() / SUMS_NS;
        sums != std::mem::replace(&mut self.sums, sums)
    }

    /// Stalls since the last call.
    pub fn take_stalls(&mut self) -> Stalls {
        self.now_ns += std::mem::take(&mut self.waited_ns) + std::mem::take(&mut self.passed_ns);
        std::mem::take(&mut self.waited)
    }
}
