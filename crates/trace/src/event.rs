//! What happens in a trace: references, and between them marks.

use swaplab_vocab::{Access, AppId, Class};

/// A run of pages of one app, by page number (not by dense index: a mapping may cover pages never referenced).
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
    /// `madvise(DONTNEED|FREE)`: the content is given up, the mapping stays.
    Discard(Range),
    /// Pages left memory: what a recorded run did, for comparison; no replay follows it.
    Evict(Range),
    /// `mremap`: the pages of `from` go on as those of `to`.
    Remap { from: Range, to: Range },
    /// An app is started or brought to the front by its launcher, and stays there for `foreground_ns`.
    Launch { app: AppId, foreground_ns: u64 },
    /// An app that runs already comes to the front.
    Switch { app: AppId },
    /// An app's process ends.
    Kill { app: AppId },
    /// Time since the start of the trace.
    Time { ns: u64 },
    /// References of the program so far, before any filter (it counts, it is no clock).
    RawReferences { count: u64 },
    /// What a recording samples of an app, or of the machine (an app named [`MACHINE`]).
    Sample { app: AppId, counter: Counter, value: i64 },
}

/// The app whose samples are the machine's own.
pub const MACHINE: &str = "machine";

/// What is sampled. Sizes in KiB; counts and times since the recording's start, or since boot: only differences mean something.
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

/// A piece of a trace, decoded: references, and marks each of which stands before the reference at its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub accesses: Vec<Access>,
    /// Positions never fall; a position equal to `accesses.len()` is after the last reference.
    pub marks: Vec<(u32, Mark)>,
}

/// One step of a block: a run of references without a mark in it, or a mark.
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
