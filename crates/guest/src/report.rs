//! The records that the guest writes to the console, one per line. Times are in the unit that ends
//! their name; the ages of generations are in ms.

use crate::counters::{self, Counts, Totals};
use crate::plan::Plan;
use crate::proc;
use crate::sys;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use swaplab_apps::compaction::Usage;
use swaplab_vocab::Result;

/// The prefix that distinguishes a record from the kernel's own lines.
pub const RECORD_PREFIX: &str = "@swaplab ";

/// A record.
#[derive(Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record<'a> {
    /// The machine is set up and the first app is about to start.
    Started {
        at_ns: u64,
        release: String,
        memory_bytes: u64,
        available_bytes: u64,
        swap_bytes: u64,
        cpus: usize,
        watermarks: proc::Watermarks,
        /// The kernel's values of the plan's settings, by path.
        settings: BTreeMap<&'a str, String>,
    },
    /// The number of finished visits, which the host shows as progress.
    Progress {
        visits: usize,
    },
    Visit(Visit<'a>),
    Kill(Kill<'a>),
    Compaction(Compaction<'a>),
    /// The kernel's event counts over all visits after the warm-up.
    Counts {
        since_ns: u64,
        until_ns: u64,
        kernel: &'a Counts,
        killer_cpu_ns: u64,
    },
    /// The result of a live app's check of its pages: how many it checked, and how many had wrong
    /// content.
    Check {
        app: &'a str,
        pages: u64,
        bad: u64,
    },
    /// A sample of memory: lines of the kernel's files.
    Sample {
        at_ns: u64,
        lines: Vec<String>,
    },
    /// A line of the kernel's trace.
    Trace {
        line: &'a str,
    },
    Failed {
        message: String,
    },
    End {
        at_ns: u64,
    },
}

/// One visit to an app: its launch or resume, and its use.
#[derive(Serialize)]
pub struct Visit<'a> {
    pub round: u32,
    pub warm_up: bool,
    pub app: &'a str,
    pub start: swaplab_apps::Start,
    /// Start of the visit, since the machine started.
    pub at_ns: u64,
    /// Delay from the start of the process, or from the request, to the app's answer.
    pub ready_ns: u64,
    /// Number of live apps after the visit, including the foreground app.
    pub alive: usize,
    /// Number of pages with wrong content.
    pub bad: u64,
    /// Processor time and faults of the app's process in this visit.
    pub process: proc::Process,
    /// Processor time and stalls of the app's control group in this visit.
    pub waits: proc::Waits,
    /// Processor time of kswapd in this visit.
    pub kswapd_ns: u64,
    pub kernel: Counts,
    /// The machine's totals since it started.
    pub so_far: Totals,
    /// The use of memory after the visit.
    pub memory: proc::Memory,
    /// MGLRU's generations of the app's control group, oldest first:
    /// [age in ms, anonymous pages, file-backed pages].
    pub generations: Vec<[i64; 3]>,
}

/// The kill of an app.
#[derive(Serialize)]
pub struct Kill<'a> {
    pub at_ns: u64,
    pub app: &'a str,
    pub adjustment: u32,
    pub reason: Reason,
    /// Free memory that the killer saw. This and the next three fields are 0 if the kill does not
    /// depend on memory.
    pub free_kb: u64,
    pub file_kb: u64,
    /// Stall time in the second before the kill.
    pub stall_ms: u64,
    pub swap_free_percentage: u64,
    pub resident_kb: u64,
    pub warm_up: bool,
}

/// The compaction of a cached app.
#[derive(Serialize)]
pub struct Compaction<'a> {
    pub at_ns: u64,
    /// Time that it took.
    pub took_ns: u64,
    pub app: &'a str,
    /// The app's memory before and after.
    pub before: Usage,
    pub after: Usage,
    pub warm_up: bool,
}

/// The reason of a kill.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The low-memory killer's rule.
    LowMemory,
    /// There were more cached apps than Android's limit.
    CachedLimit,
    /// The kernel's own killer.
    OutOfMemory,
}

impl<'a> Record<'a> {
    /// Read the figures of the machine after its set-up.
    pub fn started(plan: &'a Plan) -> Result<Record<'a>> {
        let memory = proc::meminfo();
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
        Ok(Record::Started {
            at_ns: counters::now_ns(),
            release: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
            memory_bytes: memory["MemTotal"],
            available_bytes: memory["MemAvailable"],
            swap_bytes: memory["SwapTotal"],
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            watermarks: proc::watermarks(),
            settings: plan.written().filter_map(|path| Some((path, read(path).ok()?))).collect(),
        })
    }
}

/// Turn the machine off, after recording an error if there is one.
pub fn end(result: Result<()>) -> ! {
    if let Err(error) = result {
        write(&Record::Failed { message: error.to_string() });
    }
    sys::power_off()
}

/// Write a record to the console. A failure is ignored, as there is no other place to report it.
pub fn write(record: &Record) {
    let text = serde_json::to_string(record).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{RECORD_PREFIX}{text}").and_then(|()| out.flush());
}
