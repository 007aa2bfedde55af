//! Samples of memory in the format `memory-samples`, like those of a shell loop on a phone
//! (docs/how-to/capture.md).

use crate::counters::now_ns;
use crate::phone::Phone;
use crate::plan::System;
use crate::report::{self, Record};
use std::fs::read_to_string;
use swaplab_vocab::AppId;

/// The rows of each file that an import of samples needs. More rows would only take time on the
/// console.
const MEMINFO: [&str; 7] = ["MemTotal:", "MemFree:", "Buffers:", "Cached:", "SwapTotal:", "SwapFree:", "AnonPages:"];
const VMSTAT: [&str; 3] = ["pgmajfault ", "pswpin ", "pswpout "];
const SMAPS: [&str; 3] = ["Pss_File:", "Anonymous:", "Swap:"];
/// The `oom_score_adj` of the system process.
pub const SYSTEM_ADJUSTMENT: i32 = -900;

/// Record a sample of the machine, of every live app and of the system process, which is `system`
/// with its process id.
pub fn write(phone: &Phone, system: Option<(&System, u32)>) {
    let apps = phone.processes.iter().enumerate().filter_map(|(app, process)| {
        let app = app as AppId;
        Some((process.as_ref()?.id(), phone.name(app), phone.launcher.adjustment(app) as i32))
    });
    let system = system.map(|(system, id)| (id, system.name.as_str(), SYSTEM_ADJUSTMENT));
    let machine = [("/proc/meminfo", &MEMINFO[..]), ("/proc/vmstat", &VMSTAT)];
    let mut lines: Vec<String> = machine.iter().flat_map(|(path, rows)| lines_with(path, rows)).collect();
    for (id, name, adjustment) in apps.chain(system) {
        lines.push(format!("process {id} {name} {adjustment}"));
        lines.extend(lines_with(&format!("/proc/{id}/smaps_rollup"), &SMAPS));
    }
    report::write(&Record::Sample { at_ns: now_ns(), lines });
}

/// The lines of a file that begin with one of `rows`; none if the file is missing, as after the end
/// of a process.
fn lines_with(path: &str, rows: &[&str]) -> Vec<String> {
    let text = read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| rows.iter().any(|row| line.starts_with(row))).map(str::to_owned).collect()
}
