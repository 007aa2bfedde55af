//! Records the plan's tracepoints.

use crate::report::{self, Record};
use std::fs;
use std::io::{BufRead, BufReader};
use swaplab_vocab::{BadInput, Result};

const TRACING: &str = "/sys/kernel/tracing";
/// Size of the kernel's trace buffer in kB, for some hundred thousand events.
const RING_KB: &str = "16384";

/// Switch the tracepoints on, with the same clock as for visits.
pub fn start(events: &[String]) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let set = |name: &str, value: &str| {
        let path = format!("{TRACING}/{name}");
        fs::write(&path, value).map_err(|error| BadInput::io(path, error))
    };
    set("buffer_size_kb", RING_KB)?;
    set("trace_clock", "mono")?;
    events.iter().try_for_each(|event| set(&format!("events/{event}/enable"), "1"))
}

/// Switch tracing off and write the recorded events to the console.
pub fn stop(events: &[String]) {
    if events.is_empty() || fs::write(format!("{TRACING}/tracing_on"), "0").is_err() {
        return;
    }
    let Ok(trace) = fs::File::open(format!("{TRACING}/trace")) else { return };
    for line in BufReader::new(trace).lines().map_while(std::io::Result::ok).filter(|line| !line.starts_with('#')) {
        report::write(&Record::Trace { line: &line });
    }
}
