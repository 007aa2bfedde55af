//! Samples of memory, as a loop of shell commands takes them on a phone (the format `memory-samples`, docs/how-to/capture.md).

use crate::counters::now_ns;
use crate::phone::Phone;
use crate::plan::System;
use crate::report::{self, Record};
use std::fs::read_to_string;
use swaplab_vocab::AppId;

/// The rows of each file that a recording is read from. All others would only make the console slower.
const MEMINFO: [&str; 7] = ["MemTotal:", "MemFree:", "Buffers:", "Cached:", "SwapTotal:", "SwapFree:", "AnonPages:"];
const VMSTAT: [&str; 3] = ["pgmajfault ", "pswpin ", "pswpout "];
const SMAPS: [&str; 3] = ["Pss_File:", "Anonymous:", "Swap:"];
/// The system's `oom_score_adj`, as the launcher sets it.
pub const SYSTEM_ADJUSTMENT: i32 = -900;

/// Write a sample of the machine, of every live app and of the system's process, whose id is `system`'s second part.
pub fn write(phone: &Phone, system: Option<(&System, u32)>) {
    let apps = phone.processes.iter().enumerate().filter_map(|(app, process)| {
        let app = app as AppId;
        Some((process.as_ref()?.id(), phone.name(app), phone.launcher.adjustment(app) as i32))
    });
    let system = system.map(|(system, id)| (id, system.name.as_str(), SYSTEM_ADJUSTMENT));
    let machine = [("/proc/meminfo", &MEMINFO[..]), ("/proc/vmstat", &VMSTAT)];
    let mut lines: Vec<String> = machine.iter().flat_map(|(path, rows)| chosen(path, rows)).collect();
    for (id, name, adjustment) in apps.chain(system) {
        lines.push(format!("process {id} {name} {adjustment}"));
        lines.extend(chosen(&format!("/proc/{id}/smaps_rollup"), &SMAPS));
    }
    report::write(&Record::Sample { at_ns: now_ns(), lines });
}

/// The lines of a file that begin with one of `rows`; none of a process that has just ended.
fn chosen(path: &str, rows: &[&str]) -> Vec<String> {
    let text = read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| rows.iter().any(|row| line.starts_with(row))).map(str::to_owned).collect()
}
