//! Collects packets and turns them into events in order of time.

use crate::perfetto::{Ftrace, FtraceEvent, SysStats, TracePacket};
use crate::Counter;
use std::collections::HashMap;

/// Interval to which the samples of a counter are thinned, in nanoseconds.
const THIN_NS: u64 = 100_000_000;

/// Whether samples of the counter are numbers of events, which are added up. Samples of other
/// counters are levels.
pub fn counted(counter: Counter) -> bool {
    matches!(counter, Counter::Starts | Counter::KswapdWakes | Counter::DirectReclaims)
}

/// An event of one process, or of the machine (`pid` is `None`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at_ns: u64,
    pub pid: Option<i32>,
    pub kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Launch {
        foreground_ns: u64,
    },
    Kill,
    /// A counter's new level; for the counters of [`counted`], how many events there were.
    Sample(Counter, i64),
    /// A polled `oom_score_adj`. The first one of a process is no launch, because the value before
    /// the recording is unknown.
    Polled(i64),
}

#[derive(Default)]
pub struct Collected {
    events: Vec<Event>,
    /// Names of processes by `/proc`, and by the kernel's name of the main thread (15 bytes).
    command_lines: HashMap<i32, String>,
    names: HashMap<i32, String>,
    /// The process of each thread, and of each memory-descriptor id, if known.
    processes: HashMap<i32, i32>,
    memories: HashMap<u32, i32>,
    lost: bool,
}

/// `CLONE_THREAD`: no new process.
const THREAD: u64 = 0x0001_0000;
/// `MeminfoCounters`, `VmstatCounters` and `PsiResource` by number.
const MEMINFO: [(i32, Counter); 7] = [
    (1, Counter::MemTotal),
    (2, Counter::MemFree),
    (4, Counter::Buffers),
    (5, Counter::Cached),
    (15, Counter::SwapTotal),
    (16, Counter::SwapFree),
    (19, Counter::AnonPages),
];
const VMSTAT: [(i32, Counter); 3] = [(41, Counter::PagesIn), (42, Counter::PagesOut), (50, Counter::MajorFaults)];
const PSI: [(i32, Counter); 2] = [(5, Counter::StallSomeNs), (6, Counter::StallFullNs)];
/// `rss_stat`'s members.
const MEMBERS: [Counter; 4] = [Counter::File, Counter::Anon, Counter::Swap, Counter::Shmem];

impl Collected {
    pub fn packet(&mut self, packet: TracePacket) {
        let at_ns = packet.timestamp.unwrap_or(0);
        for process in packet.process_tree.into_iter().flat_map(|tree| tree.processes) {
            if let (Some(pid), Some(name)) = (process.pid, process.cmdline.into_iter().next().filter(|name| !name.is_empty())) {
                self.command_lines.insert(pid, name);
            }
        }
        for process in packet.process_stats.into_iter().flat_map(|stats| stats.processes) {
            let memory = [
                (Counter::Anon, process.rss_anon_kb),
                (Counter::File, process.rss_file_kb),
                (Counter::Shmem, process.rss_shmem_kb),
                (Counter::Swap, process.vm_swap_kb),
            ];
            for (counter, value) in memory {
                self.sample(at_ns, process.pid, counter, value.map(|v| v as i64));
            }
            if let (Some(pid), Some(adjustment)) = (process.pid, process.oom_score_adj) {
                self.events.push(Event { at_ns, pid: Some(pid), kind: EventKind::Polled(adjustment) });
            }
        }
        if let Some(stats) = packet.sys_stats {
            self.machine(at_ns, &stats);
        }
        if let Some(bundle) = packet.ftrace_events {
            self.lost |= bundle.lost_events.unwrap_or(false);
            bundle.event.into_iter().for_each(|event| self.ftrace(event));
        }
    }

    fn sample(&mut self, at_ns: u64, pid: Option<i32>, counter: Counter, value: Option<i64>) {
        if let (Some(pid), Some(value)) = (pid, value) {
            self.events.push(Event { at_ns, pid: Some(pid), kind: EventKind::Sample(counter, value) });
        }
    }

    fn machine(&mut self, at_ns: u64, stats: &SysStats) {
        for (values, known) in [(&stats.meminfo, &MEMINFO[..]), (&stats.vmstat, &VMSTAT[..]), (&stats.psi, &PSI[..])] {
            for value in values {
                let counter = known.iter().find(|(key, _)| Some(*key) == value.key).map(|(_, counter)| *counter);
                if let (Some(counter), Some(value)) = (counter, value.value) {
                    self.events.push(Event { at_ns, pid: None, kind: EventKind::Sample(counter, value as i64) });
                }
            }
        }
    }

    fn ftrace(&mut self, event: FtraceEvent) {
        let (at_ns, thread) = (event.timestamp.unwrap_or(0), event.pid.map(|pid| pid as i32));
        let mut kill = |pid: Option<i32>| self.events.extend(pid.map(|pid| Event { at_ns, pid: Some(pid), kind: EventKind::Kill }));
        match event.event {
            Some(Ftrace::LowmemoryKill(victim)) => kill(victim.pid),
            Some(Ftrace::MarkVictim(victim)) => kill(victim.pid),
            Some(Ftrace::Print(print)) => kill(print.buf.as_deref().and_then(lmkd)),
            Some(Ftrace::Adjustment(change)) => {
                if let (Some(pid), Some(name)) = (change.pid, change.comm) {
                    self.names.entry(pid).or_insert(name);
                }
                self.sample(at_ns, change.pid, Counter::Adjustment, change.oom_score_adj.map(i64::from));
            }
            Some(Ftrace::NewTask(task)) => {
                let Some(pid) = task.pid else { return };
                if task.clone_flags.unwrap_or(0) & THREAD != 0 {
                    let process = thread.map_or(pid, |t| *self.processes.get(&t).unwrap_or(&t));
                    self.processes.insert(pid, process);
                } else {
                    self.processes.remove(&pid);
                    self.names.extend(task.comm.map(|name| (pid, name)));
                    self.sample(at_ns, Some(pid), Counter::Starts, Some(1));
                }
            }
            Some(Ftrace::Rename(task)) => {
                // The name of a process is that of its main thread.
                if let (Some(pid), Some(name)) = (task.pid.filter(|pid| !self.processes.contains_key(pid)), task.newcomm) {
                    self.names.insert(pid, name);
                }
            }
            Some(Ftrace::RssStat(stat)) => {
                let own = thread.filter(|_| stat.curr == Some(1)).map(|t| *self.processes.get(&t).unwrap_or(&t));
                let pid = match (own, stat.mm_id) {
                    (Some(pid), Some(memory)) => *self.memories.entry(memory).insert_entry(pid).get(),
                    (Some(pid), None) => pid,
                    (None, memory) => match memory.and_then(|m| self.memories.get(&m)) {
                        Some(pid) => *pid,
                        None => return,
                    },
                };
                let counter = stat.member.and_then(|m| MEMBERS.get(usize::try_from(m).ok()?));
                if let Some(counter) = counter {
                    // The size of swap entries is in bytes too.
                    self.sample(at_ns, Some(pid), *counter, stat.size.map(|bytes| bytes.max(0) >> 10));
                }
            }
            Some(Ftrace::KswapdWake(_)) => self.events.push(Event { at_ns, pid: None, kind: EventKind::Sample(Counter::KswapdWakes, 1) }),
            Some(Ftrace::DirectReclaimBegin(_)) => {
                self.events.push(Event { at_ns, pid: None, kind: EventKind::Sample(Counter::DirectReclaims, 1) })
            }
            Some(Ftrace::Exit(_) | Ftrace::Free(_)) | None => {}
        }
    }

    /// Finish the collection. Returns the events in order of time, with launches derived and
    /// samples thinned; the names of processes; and whether events were lost.
    pub fn finish(mut self) -> (Vec<Event>, HashMap<i32, String>, bool) {
        self.events.sort_by_key(|e| e.at_ns);
        let mut out: Vec<Event> = Vec::with_capacity(self.events.len());
        let mut kept: HashMap<(Option<i32>, Counter), usize> = HashMap::new();
        let mut adjustments: HashMap<i32, i64> = HashMap::new();
        // The process in front, and the place of its launch in `out`.
        let mut front: Option<(i32, usize)> = None;
        let end = self.events.last().map_or(0, |e| e.at_ns);
        let leave = |out: &mut Vec<Event>, front: &mut Option<(i32, usize)>, at_ns: u64| {
            if let Some((_, at)) = front.take() {
                out[at].kind = EventKind::Launch { foreground_ns: at_ns - out[at].at_ns };
            }
        };
        for event in std::mem::take(&mut self.events) {
            let key = |counter| (event.pid, counter);
            match (event.kind, event.pid) {
                (EventKind::Sample(Counter::Adjustment, value) | EventKind::Polled(value), Some(pid)) => {
                    let before = adjustments.insert(pid, value);
                    let in_front = front.is_some_and(|(app, _)| app == pid);
                    if in_front && value != 0 {
                        leave(&mut out, &mut front, event.at_ns);
                    } else if !in_front && value == 0 && (before.is_some_and(|b| b != 0) || matches!(event.kind, EventKind::Sample(..))) {
                        leave(&mut out, &mut front, event.at_ns);
                        front = Some((pid, out.len()));
                        out.push(Event { kind: EventKind::Launch { foreground_ns: 0 }, ..event });
                    }
                    if before != Some(value) {
                        out.push(Event { kind: EventKind::Sample(Counter::Adjustment, value), ..event });
                    }
                }
                (EventKind::Sample(counter, _), _) if !counted(counter) => match kept.get(&key(counter)) {
                    Some(at) if out[*at].at_ns / THIN_NS == event.at_ns / THIN_NS => out[*at].kind = event.kind,
                    _ => {
                        kept.insert(key(counter), out.len());
                        out.push(event);
                    }
                },
                (EventKind::Kill, Some(pid)) => {
                    if front.is_some_and(|(app, _)| app == pid) {
                        leave(&mut out, &mut front, event.at_ns);
                    }
                    out.push(event);
                }
                _ => out.push(event),
            }
        }
        leave(&mut out, &mut front, end);
        self.names.extend(self.command_lines);
        (out, self.names, self.lost)
    }
}

/// The process that lmkd says it kills: `C|PID|kill_one_process|VICTIM`, or
/// `..|lmk,VICTIM,REASON,..`.
fn lmkd(text: &str) -> Option<i32> {
    let text = text.trim_end();
    let victim = match text.split_once("|kill_one_process|") {
        Some((_, victim)) => victim,
        None => text.split_once("|lmk,")?.1.split(',').next()?,
    };
    victim.parse().ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfetto::{FtraceEventBundle, KeyValue, NewTask, RssStat};

    /// Of the samples at 0, 60, 99 and 100 ms the first interval keeps its last, under the time of
    /// its first, and the other interval its only one. Sizes are in bytes, samples in KiB.
    #[test]
    fn the_last_sample_of_each_interval_stays_in_kib() {
        let mut collected = Collected::default();
        let resident = |ms: u64, bytes: i64| FtraceEvent {
            timestamp: Some(ms * 1_000_000),
            pid: Some(7),
            event: Some(Ftrace::RssStat(RssStat { member: Some(1), size: Some(bytes), curr: Some(1), mm_id: None })),
        };
        let event = vec![resident(0, 4096), resident(60, 8192), resident(99, 12_288), resident(100, 16_384)];
        collected.packet(TracePacket { ftrace_events: Some(FtraceEventBundle { event, lost_events: None }), ..TracePacket::default() });
        let sample = |ms: u64, kib| Event { at_ns: ms * 1_000_000, pid: Some(7), kind: EventKind::Sample(Counter::Anon, kib) };
        assert_eq!(collected.finish().0, [sample(0, 12), sample(100, 16)]);
    }

    /// Thread 8 of process 7 has no start of its own, and what it says is of its process.
    #[test]
    fn a_thread_is_no_process_and_counters_are_found_by_number() {
        let mut collected = Collected::default();
        let task = |pid, flags| Ftrace::NewTask(NewTask { pid: Some(pid), comm: Some(format!("p{pid}")), clone_flags: Some(flags) });
        let size = RssStat { member: Some(1), size: Some(4096), curr: Some(1), mm_id: None };
        let event = [(1, 1, task(7, 0x100)), (2, 7, task(8, THREAD)), (3, 8, Ftrace::RssStat(size))].map(|(at, pid, event)| FtraceEvent {
            timestamp: Some(at),
            pid: Some(pid),
            event: Some(event),
        });
        let stats = SysStats {
            meminfo: vec![KeyValue { key: Some(4), value: Some(30) }, KeyValue { key: Some(99), value: Some(1) }],
            ..SysStats::default()
        };
        let ftrace_events = Some(FtraceEventBundle { event: event.to_vec(), lost_events: None });
        collected.packet(TracePacket { timestamp: Some(4), ftrace_events, sys_stats: Some(stats), ..TracePacket::default() });
        let sample = |at_ns, pid, counter, value| Event { at_ns, pid, kind: EventKind::Sample(counter, value) };
        let (events, names, lost) = collected.finish();
        let expected =
            [sample(1, Some(7), Counter::Starts, 1), sample(3, Some(7), Counter::Anon, 4), sample(4, None, Counter::Buffers, 30)];
        assert_eq!((events, names.get(&7).map(String::as_str), names.get(&8), lost), (expected.to_vec(), Some("p7"), None, false));
    }

    #[test]
    fn lmkd_names_its_victim() {
        assert_eq!(lmkd("C|512|kill_one_process|4242\n"), Some(4242));
        assert_eq!(lmkd("I|512|lmk,4242,6,900,1200,0,0,0,0"), Some(4242));
        assert_eq!(lmkd("C|512|kill_one_process|0"), None);
        assert_eq!(lmkd("B|512|measure"), None);
    }
}
