//! How long a task has been in direct reclaim, from the kernel's tracepoints. lmkd has it from the
//! same tracepoints, through a BPF program (AOSP system/memory/lmkd, lmkd.cpp,
//! `memevent_listener_notification`).

use crate::counters::now_ns;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use swaplab_vocab::{BadInput, Result};

/// The trace instance of the killer. It is separate from the trace of the plan's events.
const TRACE: &str = "/sys/kernel/tracing/instances/killer";
const BEGIN: &str = "mm_vmscan_direct_reclaim_begin";
const END: &str = "mm_vmscan_direct_reclaim_end";

pub struct DirectReclaim {
    pipe: File,
    /// The begin of the last line, whose end has not been read yet.
    rest: String,
    /// The time at which the last direct reclaim began, if none has ended since. Like lmkd, it does
    /// not distinguish tasks.
    since_ns: Option<u64>,
}

impl DirectReclaim {
    /// Switch the tracepoints on, with the clock of [`now_ns`].
    pub fn trace() -> Result<DirectReclaim> {
        fs::create_dir_all(TRACE).map_err(|error| BadInput::io(TRACE, error))?;
        for (name, value) in
            [("trace_clock", "mono"), (&format!("events/vmscan/{BEGIN}/enable"), "1"), (&format!("events/vmscan/{END}/enable"), "1")]
        {
            let path = format!("{TRACE}/{name}");
            fs::write(&path, value).map_err(|error| BadInput::io(&path, error))?;
        }
        let path = format!("{TRACE}/trace_pipe");
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        let pipe = pipe.map_err(|error| BadInput::io(path, error))?;
        Ok(DirectReclaim { pipe, rest: String::new(), since_ns: None })
    }

    /// For how long a task has been in direct reclaim now, in ms; 0 if none is.
    pub fn duration_ms(&mut self) -> u64 {
        let mut buffer = [0; 4096];
        // An error says that there are no more events.
        while let Ok(read @ 1..) = self.pipe.read(&mut buffer) {
            self.rest.push_str(&String::from_utf8_lossy(&buffer[..read]));
            self.rest = note_events(&self.rest, &mut self.since_ns).to_string();
        }
        self.since_ns.map_or(0, |since_ns| now_ns().saturating_sub(since_ns) / 1_000_000)
    }
}

/// Note the events of all whole lines. Returns the begin of a line at the end of the text.
fn note_events<'a>(text: &'a str, since_ns: &mut Option<u64>) -> &'a str {
    let (lines, rest) = text.rsplit_once('\n').unwrap_or(("", text));
    for line in lines.lines() {
        if line.contains(END) {
            *since_ns = None;
        } else if let Some((before, _)) = line.split_once(&format!(": {BEGIN}:")) {
            *since_ns = before.rsplit(' ').next().and_then(|seconds| seconds.parse::<f64>().ok()).map(|seconds| (seconds * 1e9) as u64);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as the kernel writes them. The second read begins in the middle of a line.
    #[test]
    fn a_reclaim_lasts_from_its_begin_to_its_end() {
        let mut since_ns = None;
        let first = "   phone-app-71  [000] .....    12.500000: mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_HIGHUSER\n   phone-a";
        let rest = note_events(first, &mut since_ns);
        assert_eq!((since_ns, rest), (Some(12_500_000_000), "   phone-a"));
        let second = format!("{rest}pp-71  [000] .....    12.510000: mm_vmscan_direct_reclaim_end: nr_reclaimed=32\n");
        assert_eq!((note_events(&second, &mut since_ns), since_ns), ("", None));
    }
}
