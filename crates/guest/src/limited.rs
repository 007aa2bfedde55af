//! Figures of the memory that `machine.dram` limits, for the killer and the records: those of the
//! apps' control group if it has a limit, otherwise the machine's.

use crate::cgroup;
use crate::plan::Plan;
use crate::proc::{self, Memory, Pressure};
use std::path::Path;
use swaplab_apps::Scanned;

/// Read the use of that memory.
pub fn memory(plan: &Plan) -> Memory {
    plan.group_bytes.map_or_else(Memory::read, |bytes| Memory::of_group(Path::new(cgroup::APPS), bytes))
}

/// Read the stall times for that memory so far.
pub fn memory_pressure(plan: &Plan) -> Pressure {
    match plan.group_bytes {
        Some(_) => Pressure::read(Path::new(cgroup::APPS).join("memory.pressure")),
        None => Pressure::read("/proc/pressure/memory"),
    }
}

/// Read the number of pages that reclaim of that memory has scanned so far.
pub fn scanned(plan: &Plan) -> Scanned {
    let counts = plan.group_bytes.map_or_else(proc::vmstat, |_| proc::counts(Path::new(cgroup::APPS).join("memory.stat")));
    let total = |key: &str| counts.get(key).copied().unwrap_or(0);
    Scanned { direct: total("pgscan_direct"), background: total("pgscan_kswapd") }
}
