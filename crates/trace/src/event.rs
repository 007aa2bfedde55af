//! The events of a trace: references, and marks between them.

use swaplab_vocab::{Access, AppId, Class};

/// A run of pages of one app, by page number (not by dense index: a mapping may cover pages never
/// referenced).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub app: AppId,
    pub first: u64,
    pub pages: u64,
}

/// An event that is not a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `mmap`: the range now means `file` from page `offset` on (file 0: no file).
    Map { range: Range, class: Class, file: u32, offset: u64 },
    /// `munmap`, or the end of the owner.
    Unmap(Range),
    /// `madvise(DONTNEED|FREE)`: the content is discarded, the mapping stays.
    Discard(Range),
    /// Pages were evicted in the recorded run. For comparison only: replays ignore it.
    Evict(Range),
    /// `mremap`: the pages of `from` move to `to`.
    Remap { from: Range, to: Range },
    /// An app is started or brought to the front by its launcher, and stays there for
    /// `foreground_ns`.
    Launch { app: AppId, foreground_ns: u64 },
    /// An app that is already running comes to the front.
    Switch { app: AppId },
    /// An app's process ends.
    Kill { app: AppId },
    /// Time since the start of the trace.
    Time { ns: u64 },
    /// Number of references of the program so far, before any filter. It is a count, not a time.
    RawReferences { count: u64 },
    /// A sample of a counter of an app, or of the machine (an app named [`MACHINE`]).
    Sample { app: AppId, counter: Counter, value: i64 },
}

/// The name of the app to which samples of the machine belong.
pub const MACHINE: &str = "machine";

/// A sampled counter. Sizes are in KiB. Counts and times start at the recording's start or at boot,
/// so only differences are meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Counter {
    Anon,
    File,
    Shmem,
    Swap,
    Graphics,
    /// `oom_score_adj`.
    Adjustment,
    /// Processes of the app started so far.
    Starts,
    MemTotal,
    MemFree,
    Cached,
    SwapTotal,
    SwapFree,
    PagesIn,
    PagesOut,
    MajorFaults,
    KswapdWakes,
    DirectReclaims,
    /// Pressure stall information of memory: nanoseconds in which some, or all, tasks waited.
    StallSomeNs,
    StallFullNs,
    /// Page cache of block devices, which `Cached` leaves out.
    Buffers,
    /// Resident anonymous memory of all processes.
    AnonPages,
}

impl Counter {
    pub const ALL: [(Counter, &'static str); 21] = [
        (Counter::Anon, "anon_kib"),
        (Counter::File, "file_kib"),
        (Counter::Shmem, "shmem_kib"),
        (Counter::Swap, "swap_kib"),
        (Counter::Graphics, "graphics_kib"),
        (Counter::Adjustment, "oom_score_adj"),
        (Counter::Starts, "starts"),
        (Counter::MemTotal, "mem_total_kib"),
        (Counter::MemFree, "mem_free_kib"),
        (Counter::Cached, "cached_kib"),
        (Counter::SwapTotal, "swap_total_kib"),
        (Counter::SwapFree, "swap_free_kib"),
        (Counter::PagesIn, "pswpin"),
        (Counter::PagesOut, "pswpout"),
        (Counter::MajorFaults, "pgmajfault"),
        (Counter::KswapdWakes, "kswapd_wakes"),
        (Counter::DirectReclaims, "direct_reclaims"),
        (Counter::StallSomeNs, "psi_some_ns"),
        (Counter::StallFullNs, "psi_full_ns"),
        (Counter::Buffers, "buffers_kib"),
        (Counter::AnonPages, "anon_pages_kib"),
    ];

    pub fn from_code(code: u8) -> Option<Counter> {
        Counter::ALL.get(usize::from(code)).map(|(counter, _)| *counter)
    }

    pub fn name(self) -> &'static str {
        Counter::ALL[self as usize].1
    }
}

/// A decoded block of a trace: references, and marks with the position of the reference that they
/// precede.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub accesses: Vec<Access>,
    /// Marks in ascending order of position. The position `accesses.len()` is after the last
    /// reference.
    pub marks: Vec<(u32, Mark)>,
}

/// A step of a block: a run of references without marks in between, or a mark.
pub enum Step<'a> {
    Accesses(&'a [Access]),
    Mark(&'a Mark),
}

impl Block {
    /// The block's references and marks in their order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut from = 0;
        let runs = self.marks.iter().flat_map(move |(at, mark)| {
            let run = &self.accesses[from..*at as usize];
            from = *at as usize;
            [Step::Accesses(run), Step::Mark(mark)]
        });
        let last = self.marks.last().map_or(0, |(at, _)| *at as usize);
        runs.chain(std::iter::once(Step::Accesses(&self.accesses[last..])))
    }

    pub fn clear(&mut self) {
        self.accesses.clear();
        self.marks.clear();
    }
}
