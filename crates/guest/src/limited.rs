//! Figures of the memory that `machine.dram` limits, for the killer and the records: those of the
//! apps' control group if it has a limit, otherwise the machine's.

use crate::cgroup;
use crate::plan::Plan;
use crate::proc::{self, Memory, Pressure};
use std::path::{Path, PathBuf};
use swaplab_apps::Scanned;

/// Read the use of that memory.
pub fn memory(plan: &Plan) -> Memory {
    plan.group_bytes.map_or_else(Memory::read, |bytes| Memory::of_group(Path::new(cgroup::APPS), bytes))
}

/// Read the stall times for that memory so far.
pub fn memory_pressure(plan: &Plan) -> Pressure {
    Pressure::read(pressure_file(plan))
}

/// Read the average of complete stalls over ten seconds for that memory, in percent.
pub fn full_avg10(plan: &Plan) -> f64 {
    proc::full_avg10(pressure_file(plan))
}

fn pressure_file(plan: &Plan) -> PathBuf {
    match plan.group_bytes {
        Some(_) => Path::new(cgroup::APPS).join("memory.pressure"),
        None => PathBuf::from("/proc/pressure/memory"),
    }
}

/// Read the number of pages that reclaim of that memory has scanned so far.
pub fn scanned(plan: &Plan) -> Scanned {
    let counts = plan.group_bytes.map_or_else(proc::vmstat, |_| proc::counts(Path::new(cgroup::APPS).join("memory.stat")));
    let total = |key: &str| counts.get(key).copied().unwrap_or(0);
    Scanned { direct: total("pgscan_direct"), background: total("pgscan_kswapd") }
}
