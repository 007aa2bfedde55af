//! What `machine.dram` limits, as the killer and the records look at it: the control group of the apps where it has a limit, else the machine.

use crate::cgroup;
use crate::plan::Plan;
use crate::proc::{Memory, Pressure};
use std::path::Path;

pub fn memory(plan: &Plan) -> Memory {
    plan.group_bytes.map_or_else(Memory::read, |bytes| Memory::of_group(Path::new(cgroup::APPS), bytes))
}

/// Stalls for that memory.
pub fn memory_pressure(plan: &Plan) -> Pressure {
    match plan.group_bytes {
        Some(_) => Pressure::read(Path::new(cgroup::APPS).join("memory.pressure")),
        None => Pressure::read("/proc/pressure/memory"),
    }
}
