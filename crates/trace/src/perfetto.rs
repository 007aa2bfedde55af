//! The part of Perfetto's trace format (protos/perfetto/trace/perfetto_trace.proto, public field
//! numbers) that memory studies need, read and written by `prost`. Other fields are ignored.

use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "1")]
    pub ftrace_events: Option<FtraceEventBundle>,
    #[prost(message, optional, tag = "2")]
    pub process_tree: Option<ProcessTree>,
    #[prost(message, optional, tag = "7")]
    pub sys_stats: Option<SysStats>,
    #[prost(message, optional, tag = "9")]
    pub process_stats: Option<ProcessStats>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    /// A `Trace` (packets only) compressed by zlib or zstd.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "133")]
    pub zstd_compressed_packets: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<Process>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Process {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    pub cmdline: Vec<String>,
}

/// `/proc/PID/status` as polled, in KiB.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessStats {
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<ProcessMemory>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProcessMemory {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(uint64, optional, tag = "4")]
    pub rss_anon_kb: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub rss_file_kb: Option<u64>,
    #[prost(uint64, optional, tag = "6")]
    pub rss_shmem_kb: Option<u64>,
    #[prost(uint64, optional, tag = "7")]
    pub vm_swap_kb: Option<u64>,
    #[prost(int64, optional, tag = "10")]
    pub oom_score_adj: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SysStats {
    #[prost(message, repeated, tag = "1")]
    pub meminfo: Vec<KeyValue>,
    #[prost(message, repeated, tag = "2")]
    pub vmstat: Vec<KeyValue>,
    #[prost(message, repeated, tag = "14")]
    pub psi: Vec<KeyValue>,
}

/// `MeminfoValue`, `VmstatValue` and `PsiSample` have one shape.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct KeyValue {
    #[prost(int32, optional, tag = "1")]
    pub key: Option<i32>,
    #[prost(uint64, optional, tag = "2")]
    pub value: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FtraceEventBundle {
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
    #[prost(bool, optional, tag = "3")]
    pub lost_events: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    #[prost(oneof = "Ftrace", tags = "3, 35, 46, 48, 235, 236, 238, 240, 313, 326, 334")]
    pub event: Option<Ftrace>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Ftrace {
    #[prost(message, tag = "3")]
    Print(Print),
    #[prost(message, tag = "35")]
    LowmemoryKill(LowmemoryKill),
    #[prost(message, tag = "46")]
    DirectReclaimBegin(EmptyEvent),
    #[prost(message, tag = "48")]
    KswapdWake(EmptyEvent),
    #[prost(message, tag = "235")]
    NewTask(NewTask),
    #[prost(message, tag = "236")]
    Rename(Rename),
    #[prost(message, tag = "238")]
    Exit(Exit),
    #[prost(message, tag = "240")]
    Free(Free),
    #[prost(message, tag = "313")]
    RssStat(RssStat),
    #[prost(message, tag = "326")]
    Adjustment(Adjustment),
    #[prost(message, tag = "334")]
    MarkVictim(Victim),
}

/// An event of which only the time is used.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct EmptyEvent {}

/// What atrace writes, such as `C|PID|NAME|VALUE`.
#[derive(Clone, PartialEq, Message)]
pub struct Print {
    #[prost(string, optional, tag = "2")]
    pub buf: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct LowmemoryKill {
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NewTask {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub comm: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub clone_flags: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Rename {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub newcomm: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Exit {
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub tgid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Free {
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct RssStat {
    /// 0 file, 1 anonymous, 2 swap, 3 shared memory.
    #[prost(int32, optional, tag = "1")]
    pub member: Option<i32>,
    /// In bytes.
    #[prost(int64, optional, tag = "2")]
    pub size: Option<i64>,
    /// Whether the memory is that of the event's own thread.
    #[prost(uint32, optional, tag = "3")]
    pub curr: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub mm_id: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Adjustment {
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub oom_score_adj: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub pid: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Victim {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    #[prost(enumeration = "Unit", optional, tag = "3")]
    pub unit: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Unit {
    Unspecified = 0,
    TimeNs = 1,
    Count = 2,
    SizeBytes = 3,
}

#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    #[prost(enumeration = "Type", optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Type {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}
