//! The front end of a capture: writes events to a `.slt`, and completes the file however the
//! recording ends.

use crate::lackey::Lackey;
use crate::maps::Process;
use crate::recorder::{Limits, Recorder};
use crate::ring::Ring;
use crate::stream::{Event, Reason, Sink, Span, Summary};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::Mutex;
use std::time::Duration;
use swaplab_trace::{Codec, Filter, Kind, Mark, Meta, Range, TraceBuilder};
use swaplab_vocab::{BadInput, Result};

/// Settings of a recording, and metadata for its trace.
pub struct Request {
    pub output: PathBuf,
    /// The traced program, for the app table.
    pub program: String,
    pub limits: Limits,
    /// The processor caches whose hits are dropped, in the syntax of the user (`L1:512B,LL:1KiB`).
    pub caches: Option<String>,
    /// The folder that is `/` for the program. It is removed from the names of files.
    pub root: Option<String>,
    pub provenance: BTreeMap<String, String>,
}

/// A label that a user can insert into the trace while the program runs, like an event of a
/// launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Launch,
    Resume,
}

impl Label {
    pub fn parse(text: &str) -> Result<Label> {
        match text.trim() {
            "launch" => Ok(Label::Launch),
            "resume" => Ok(Label::Resume),
            other => Err(BadInput::new("label", format!("'{other}'"), "launch or resume")),
        }
    }
}

/// State shared between the recording thread and other threads of the front end.
#[derive(Default)]
pub struct Shared {
    labels: Mutex<Vec<Label>>,
    requested_labels: AtomicU64,
    program: AtomicU8,
    program_may_end: AtomicBool,
}

const GONE: u8 = 1;
const CRASHED: u8 = 2;

impl Shared {
    pub fn request_label(&self, label: Label, ring: Option<&Ring>) {
        self.labels.lock().expect("no holder of this lock panics").push(label);
        self.requested_labels.fetch_add(1, Ordering::Release);
        if let Some(ring) = ring {
            ring.request_label();
        }
    }

    /// Note that the program has ended; `crashed`: by a signal.
    pub fn program_ended(&self, crashed: bool) {
        self.program.store(if crashed { CRASHED } else { GONE }, Ordering::Release);
    }

    /// Whether the recording is complete or has failed, so that the program may be ended.
    pub fn program_may_end(&self) -> bool {
        self.program_may_end.load(Ordering::Acquire)
    }

    fn label(&self, number: u64) -> Option<Label> {
        self.labels.lock().expect("no holder of this lock panics").get(number as usize).copied()
    }
}

/// A finished recording.
pub struct Recorded {
    pub meta: Meta,
    /// Why the trace ends before the program did, if so.
    pub cut: Option<&'static str>,
}

/// Record the events that a plugin writes to `ring` until the program or the recording ends.
pub fn record_ring(ring: &Ring, request: Request, shared: &Shared) -> Result<Recorded> {
    let mut file = TraceFile::create(request, shared)?;
    let mut words = Vec::new();
    loop {
        let gone = shared.program.load(Ordering::Acquire) != 0;
        words.clear();
        ring.take(&mut words);
        let mut left = words.iter().copied();
        while let Some(event) = Event::decode(&mut left) {
            if !file.put(&event) {
                break;
            }
        }
        if file.is_finished() {
            ring.close();
            file.publish_whether_program_may_end();
        }
        if gone && words.is_empty() {
            file.builder.meta.raw_references = Some(ring.raw_references());
            return file.finish();
        }
        if words.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Record the output of lackey for process `pid`.
pub fn record_lackey(text: impl Read, pid: u32, request: Request, shared: &Shared) -> Result<Recorded> {
    let limits = request.limits;
    let mut recorder = Recorder::new(TraceFile::create(request, shared)?, Process::other(pid), limits);
    let mut lackey = Lackey::default();
    let mut text = BufReader::with_capacity(1 << 16, text);
    let mut line = Vec::new();
    while recorder.is_open() {
        line.clear();
        if text.read_until(b'\n', &mut line).map_err(|e| BadInput::io("valgrind's output", e))? == 0 {
            recorder.finish(Reason::Exit);
            break;
        }
        lackey.line(line.trim_ascii_end(), &mut recorder)?;
    }
    let file = recorder.into_sink();
    file.publish_whether_program_may_end();
    // Closing the pipe would end valgrind by SIGPIPE, so keep reading until the program has ended.
    while shared.program.load(Ordering::Acquire) == 0 {
        let taken = text.fill_buf().map(<[u8]>::len).unwrap_or(0);
        text.consume(taken);
        if taken == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    file.finish()
}

/// A sink that adds events to a trace builder.
struct TraceFile<'a> {
    builder: TraceBuilder,
    folder: CString,
    shared: &'a Shared,
    limits: Limits,
    caches: Option<String>,
    root: String,
    end: Option<Summary>,
    error: Option<BadInput>,
    disk_full: bool,
    /// Number of events so far.
    events: u64,
}

/// Number of events between two checks of the free disk space; a power of two.
const CHECK_EVERY: u64 = 1 << 14;
/// Free disk space for blocks that are still in memory, and a reserve, in bytes.
const RESERVE: u64 = 2 << 20;
/// Maximum size of a page's entry in the page table at the end of the file, in bytes.
const TABLE_ENTRY: u64 = 24;

impl<'a> TraceFile<'a> {
    fn create(request: Request, shared: &'a Shared) -> Result<TraceFile<'a>> {
        let Request { output, program, limits, caches, root, provenance } = request;
        let mut builder = TraceBuilder::create(&output, Kind::Page, 4096, Codec::Zstd)?;
        builder.app(&program, None)?;
        builder.meta.provenance = provenance;
        builder.meta.files.push(String::new());
        let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = CString::new(folder.as_os_str().as_bytes()).map_err(|_| BadInput::new("output", "a NUL in its name", "a path"))?;
        let root = root.unwrap_or_default();
        Ok(TraceFile { builder, folder, shared, limits, caches, root, end: None, error: None, disk_full: false, events: 0 })
    }

    /// Whether no further event is written: the recording is complete or has failed, or the disk is
    /// nearly full.
    fn is_finished(&self) -> bool {
        self.end.is_some() || self.error.is_some() || self.disk_full
    }

    /// Tell other threads whether the program may be ended. After a full disk it runs on.
    fn publish_whether_program_may_end(&self) {
        let limit = self.end.as_ref().is_some_and(|e| e.reason == Reason::Limit);
        self.shared.program_may_end.store(limit || self.error.is_some(), Ordering::Release);
    }

    fn add(&mut self, event: &Event) -> Result<()> {
        let range = |span: &Span| Range { app: 0, first: span.first, pages: span.pages };
        let mark = match event {
            Event::Access { page, op } => return self.builder.access(0, *page, *op),
            Event::File(name) => {
                self.builder.meta.files.push(name.strip_prefix(&self.root).unwrap_or(name).into());
                return Ok(());
            }
            Event::End(summary) => {
                self.end = Some(summary.clone());
                return Ok(());
            }
            Event::Map { span, class, file, offset } => Mark::Map { range: range(span), class: *class, file: *file, offset: *offset },
            Event::Unmap(span) => Mark::Unmap(range(span)),
            Event::Discard(span) => Mark::Discard(range(span)),
            Event::Remap { from, to } => Mark::Remap { from: range(from), to: range(to) },
            Event::RawReferences(count) => Mark::RawReferences { count: *count },
            Event::Label(number) => match self.shared.label(*number) {
                Some(Label::Launch) => Mark::Launch { app: 0, foreground_ns: 0 },
                Some(Label::Resume) => Mark::Switch { app: 0 },
                None => return Ok(()),
            },
        };
        self.builder.mark(mark)
    }

    /// Whether the file system of the output has hardly more free space than the end of the file
    /// needs.
    fn nearly_full(&self) -> bool {
        let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path is a C string, and the kernel fills `stat` before it returns 0.
        let stat = unsafe {
            if libc::statvfs(self.folder.as_ptr(), stat.as_mut_ptr()) != 0 {
                return false;
            }
            stat.assume_init()
        };
        stat.f_bavail * stat.f_frsize < RESERVE + TABLE_ENTRY * self.builder.footprint() as u64
    }

    fn finish(mut self) -> Result<Recorded> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let crashed = self.shared.program.load(Ordering::Acquire) == CRASHED;
        let reason = self.end.as_ref().map(|e| e.reason);
        let cut = match reason {
            _ if self.disk_full => Some("the disk is nearly full"),
            Some(Reason::Limit) => Some("the requested number of references is reached"),
            Some(Reason::Exec) => Some("the program replaced itself by another one"),
            _ if crashed => Some("the program was ended by a signal"),
            _ => None,
        };
        let measured = self.end.as_ref().map_or(&[][..], |e| &e.measured);
        let error = |m: &crate::probe::Measured| m.faults_recorded as f64 / m.faults_full.max(1) as f64 - 1.0;
        let meta = &mut self.builder.meta;
        meta.filter = Filter {
            lru_entries: (self.limits.filter > 0).then_some(self.limits.filter as u64),
            caches: self.caches,
            measured_error: measured.first().map(error),
        };
        if !measured.is_empty() {
            let each = |m: &crate::probe::Measured| format!("{} frames: {} of {}", m.frames, m.faults_recorded, m.faults_full);
            let text = measured.iter().map(each).collect::<Vec<_>>().join("; ");
            meta.provenance.insert("lru_faults_recorded_of_full".into(), text);
        }
        if let Some(end) = &self.end {
            meta.raw_references = Some(end.raw_references);
        }
        meta.truncated = cut.is_some();
        if let Some(cut) = cut {
            meta.provenance.insert("truncated_because".into(), cut.into());
        }
        Ok(Recorded { meta: self.builder.finish()?, cut })
    }
}

impl Sink for TraceFile<'_> {
    fn put(&mut self, event: &Event) -> bool {
        if self.is_finished() {
            return false;
        }
        self.events += 1;
        if self.events & (CHECK_EVERY - 1) == 0 && self.nearly_full() {
            self.disk_full = true;
            return false;
        }
        if let Err(error) = self.add(event) {
            self.error = Some(error);
        }
        self.error.is_none()
    }

    fn labels(&self) -> u64 {
        self.shared.requested_labels.load(Ordering::Acquire)
    }
}
