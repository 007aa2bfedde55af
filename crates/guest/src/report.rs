//! What the guest says on the console: one record a line.

use crate::counters::{self, Counts, Totals};
use crate::plan::Plan;
use crate::proc;
use crate::sys;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use swaplab_vocab::Result;

/// What each line of ours begins with.
pub const MARK: &str = "@swaplab ";

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
        /// Settings as the kernel has them, by path.
        settings: BTreeMap<&'a str, String>,
    },
    /// So many visits are done: a sign of life, for the driver alone.
    Progress {
        visits: usize,
    },
    Visit(Visit<'a>),
    Kill(Kill<'a>),
    /// Of all visits that count.
    Counts {
        since_ns: u64,
        until_ns: u64,
        kernel: &'a Counts,
        killer_cpu_ns: u64,
    },
    /// What each living app found when it checked its pages.
    Check {
        app: &'a str,
        pages: u64,
        bad: u64,
    },
    /// Lines of the kernel's trace.
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

/// One launch or resume.
#[derive(Serialize)]
pub struct Visit<'a> {
    pub round: u32,
    pub warm_up: bool,
    pub app: &'a str,
    pub start: swaplab_apps::Start,
    /// Since the machine started.
    pub at_ns: u64,
    /// From the start of the process or the request to its answer.
    pub ready_ns: u64,
    /// Apps alive afterwards, the one in front included.
    pub alive: usize,
    /// Pages whose content was wrong.
    pub bad: u64,
    /// Of the app's processes, in this visit alone.
    pub process: proc::Process,
    /// What tasks of the app's control group waited for, in this visit alone.
    pub waits: proc::Waits,
    /// Processor time of kswapd meanwhile.
    pub kswapd_ns: u64,
    pub kernel: Counts,
    /// Since the machine started.
    pub so_far: Totals,
    /// Memory afterwards.
    pub memory: proc::Memory,
    /// Generations of MGLRU of the app's control group, oldest first: [age in ms, anonymous pages, file pages].
    pub generations: Vec<[i64; 3]>,
}

#[derive(Serialize)]
pub struct Kill<'a> {
    pub at_ns: u64,
    pub app: &'a str,
    pub adjustment: u32,
    pub reason: Reason,
    /// What the killer saw: kB free, kB of files, ms of stall in the last second, percent of swap free.
    pub free_kb: u64,
    pub file_kb: u64,
    pub stall_ms: u64,
    pub swap_free_percentage: u64,
    pub resident_kb: u64,
    pub warm_up: bool,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// By the killer's rule.
    LowMemory,
    /// Android's limit on cached apps.
    CachedLimit,
    /// The kernel's own killer.
    OutOfMemory,
}

impl<'a> Record<'a> {
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

/// End the machine, after saying why where it ends by an error.
pub fn end(result: Result<()>) -> ! {
    if let Err(error) = result {
        write(&Record::Failed { message: error.to_string() });
    }
    sys::power_off()
}

/// Write a record. Should the console fail, nobody could be told.
pub fn write(record: &Record) {
    let text = serde_json::to_string(record).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{MARK}{text}").and_then(|()| out.flush());
}
