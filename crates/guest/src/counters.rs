//! Samples of the machine's event counts, and their differences.

use crate::proc::{self, Pressure};
use serde::Serialize;
use std::collections::BTreeMap;

/// Nanoseconds since the machine started.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Event counts by the kernel's names, and stall times by names such as `psi_memory_some_us`.
/// Counts of 0 are omitted.
pub type Counts = BTreeMap<String, u64>;

/// Totals since the machine started, for the timeline.
#[derive(Serialize)]
pub struct Totals {
    pub swap_in_pages: u64,
    pub swap_out_pages: u64,
    pub psi_some_us: u64,
    pub psi_full_us: u64,
    /// The number of processes that the kernel's own killer has killed.
    pub kernel_kills: u64,
}

/// The counts at one moment.
pub struct Sample {
    counts: Counts,
    kswapd_ns: u64,
    pub at_ns: u64,
}

impl Sample {
    /// Read the counts now, and the processor time of the process `kswapd`.
    pub fn take(kswapd: Option<u32>) -> Sample {
        let mut counts = proc::vmstat();
        for resource in ["memory", "io", "cpu"] {
            let total = Pressure::read(format!("/proc/pressure/{resource}"));
            counts.insert(format!("psi_{resource}_some_us"), total.some_us);
            counts.insert(format!("psi_{resource}_full_us"), total.full_us);
        }
        let kswapd_ns = kswapd.map_or(0, |id| proc::Process::read(id).cpu_ns);
        Sample { counts, kswapd_ns, at_ns: now_ns() }
    }

    /// The events since an earlier sample.
    pub fn since(&self, before: &Sample) -> Counts {
        let delta = |(key, value): (&String, &u64)| {
            let events = value.saturating_sub(before.counts.get(key).copied().unwrap_or(0));
            (events > 0).then(|| (key.clone(), events))
        };
        self.counts.iter().filter_map(delta).collect()
    }

    pub fn totals(&self) -> Totals {
        let total = |key: &str| self.counts.get(key).copied().unwrap_or(0);
        Totals {
            swap_in_pages: total("pswpin"),
            swap_out_pages: total("pswpout"),
            psi_some_us: total("psi_memory_some_us"),
            psi_full_us: total("psi_memory_full_us"),
            kernel_kills: total("oom_kill"),
        }
    }

    pub fn kswapd_since(&self, before: &Sample) -> u64 {
        self.kswapd_ns - before.kswapd_ns
    }
}
