//! What the program's threads and the pager share, under one lock: who owns which addresses, the state of every page, the
//! policy. Pages are numbered by their addresses. What the program does to its memory is in `calls`.
//! Nobody who holds the lock may write to managed memory: the eviction window is closed only by who holds it.

mod calls;

use crate::frames::Frames;
use crate::kernel::memory::{self, Prot};
use crate::kernel::sparse::Sparse;
use crate::kernel::{Missing, PAGE};
use crate::record::{Record, What};
use crate::runs::RunMap;
use crate::shown::Shown;
use crate::spans::{PageRange, Span, Spans};
use crate::stats::Stats;
use crate::store::Store;
use crate::{CHUNK, PAGES};
use rustix::io::Errno;

/// State bits of a page.
pub mod bit {
    /// The policy holds it as resident.
    pub const KNOWN: u8 = 1;
    /// It was evicted, and was not seen in DRAM since: the store has its content.
    pub const OUT: u8 = 2;
    /// Its slot may hold something, fresh or stale.
    pub const SLOT: u8 = 4;
    /// Its mapping is of the store (direct), or its faults come to the pager (copying), instead of plain anonymous memory.
    pub const PAGED: u8 = 8;
    /// Counted as a direct read since its eviction; with a copying store, recorded as having come back.
    pub const SEEN: u8 = 16;
    /// A forked child reads its slot too, which must not change.
    pub const FROZEN: u8 = 32;
    /// The policy may remember it.
    pub const REMEMBERED: u8 = 64;
    /// In DRAM, and a copying store has the same content: not written since it came back, and write-protected.
    pub const CLEAN: u8 = 128;
}
use bit::*;

/// Who may touch a page without waiting for the pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Unseen,
    /// Fresh memory: its first touch waits.
    Gated,
    /// In the store or back from it: readers go on, the first writer waits.
    Held,
    Open,
}

/// Where evicted pages are.
pub enum Backing {
    /// Nothing has left DRAM: the pager thread has not started.
    Nowhere,
    /// In a file mapped by the program itself; chunk `c` lives at `home[c]`. `mirror` is a shared mapping of the file.
    Direct { mirror: usize, home: Sparse<u32>, homes: Homes },
    /// Somewhere that has to be copied from.
    Copying(Box<Store>),
}

/// Chunks of the NVM file: numbers from 1.
pub struct Homes {
    pub next: u32,
    pub free: Vec<u32>,
    /// Left behind, but a forked child reads them still.
    pub frozen: Vec<u32>,
    pub limit: u32,
    /// The file system may run full: a home is allocated whole, and stays so. A page that is only read needs its place in the file,
    /// too, and the kernel answers a lack of it with SIGBUS.
    pub reserved: bool,
}

impl Homes {
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            (self.next < self.limit).then(|| {
                self.next += 1;
                self.next
            })
        })
    }
}

/// Pieces of so many pages (32 MiB) are aligned to their size, as mimalloc wants its segments; otherwise it would take more, and trim.
const LARGE: usize = 8192;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A pager thread looks after this memory.
    Paging,
    /// A forked child: memory is handed out and taken back, nothing is ever evicted.
    Child,
}

pub struct World {
    pub spans: Spans,
    pub state: Sparse<u8>,
    /// See `gate.rs`.
    pub gates: RunMap<Gate>,
    pub backing: Backing,
    /// None before the pager thread has started.
    pub frames: Option<Frames>,
    /// Pages that the program may be given before the pager thread has to run.
    pub allowance: usize,
    pub mode: Mode,
    pub stats: &'static Stats,
    /// No evictions now (a fork of a copying store is under way).
    pub held: bool,
    /// A page that every forked child maps from its birth to its end; see `tether.rs`. And whether none could be made.
    pub tether: Option<usize>,
    pub no_tether: bool,
    /// A child was forked without one: nobody knows how long it reads the slots.
    pub untethered: bool,
    /// New memory is locked, as all of it was (`mlockall`).
    lock_new: bool,
    /// The store had no room, and the budget's double is in DRAM: no new memory.
    pub exhausted: bool,
    refused: bool,
    /// Pages that the program gave back since peaks were last looked for; see `account.rs`.
    pub given_back: usize,
    pub record: Option<Record>,
}

impl World {
    /// A world that gives the program `reserved` pages where it does not ask for an address.
    pub fn new(reserved: usize, allowance: usize, stats: &'static Stats) -> std::result::Result<World, Missing> {
        let no_room = |e: Errno| Missing::new("address space", format!("{e}; raise the limit on virtual memory (ulimit -v)"));
        let base = memory::reserve((reserved + LARGE) * PAGE).map_err(no_room)?.next_multiple_of(LARGE * PAGE);
        memory::no_huge_pages(base..base + reserved * PAGE);
        // SAFETY: zero is a u8.
        let state = unsafe { Sparse::new(PAGES) }.map_err(no_room)?;
        let mode = Mode::Paging;
        let shown = Shown::new(PAGES, stats.shown());
        Ok(World {
            spans: Spans::new(PAGES, base / PAGE..base / PAGE + reserved, shown),
            state,
            gates: RunMap::new(PAGES, Gate::Unseen),
            backing: Backing::Nowhere,
            frames: None,
            allowance,
            mode,
            stats,
            held: false,
            tether: None,
            no_tether: false,
            untethered: false,
            lock_new: false,
            exhausted: false,
            refused: false,
            given_back: 0,
            record: None,
        })
    }

    /// Whether a pager thread may be started: there is none, and none has failed to start.
    pub fn unpaged(&self) -> bool {
        self.frames.is_none() && self.mode == Mode::Paging && self.allowance != usize::MAX
    }

    /// Whether the program could fill more memory than it may without a pager thread, and has none.
    pub fn outgrown(&self) -> bool {
        self.unpaged() && self.spans.fillable() > self.allowance
    }

    pub fn managed_bytes(&self) -> usize {
        self.spans.managed() * PAGE
    }

    /// The place of `page` in the NVM file, from the file's start. Its chunk must have a home.
    pub fn slot(home: &Sparse<u32>, page: usize) -> usize {
        (home[page / CHUNK] as usize - 1) * CHUNK + page % CHUNK
    }

    /// Write down what happened, if this run is recorded.
    pub fn note(&mut self, what: What, pages: PageRange) {
        if let (Some(record), Mode::Paging) = (&mut self.record, self.mode) {
            record.note(what, pages);
        }
    }

    /// The protection that all of `range` has, if it is managed memory with one.
    pub fn protection(&self, range: &PageRange) -> Option<Prot> {
        match self.spans.pieces(range.clone()).next()? {
            (piece, Span::Managed(attributes)) if piece == *range => Some(attributes.prot),
            _ => None,
        }
    }

    /// Whether all of `range` is what the program mapped there itself.
    pub fn is_foreign(&self, range: &PageRange) -> bool {
        self.spans.pieces(range.clone()).all(|(_, span)| span == Span::Foreign)
    }

    /// What the pager thread runs the policy with.
    pub fn frames(&mut self) -> &mut Frames {
        self.frames.as_mut().expect("asked by the pager thread, which made them")
    }

    /// The policy stops holding these pages; they arrive again if a census finds them.
    pub fn forget(&mut self, range: PageRange) {
        let (Mode::Paging, Some(frames)) = (self.mode, &mut self.frames) else { return };
        let mut start = range.start;
        while start < range.end {
            start += self.state.leading(start..range.end, |s| s & (KNOWN | REMEMBERED) == 0);
            if start < range.end {
                frames.forget(start);
                self.state[start] &= !(KNOWN | REMEMBERED);
            }
        }
    }

    /// The mapping behind `range` was replaced: no page of it is out or paged any more.
    fn empty(&mut self, range: PageRange) {
        self.forget(range.clone());
        self.clear_slots(range.clone());
        self.state.update(range.clone(), |state| *state &= !(PAGED | OUT | SEEN | CLEAN));
        self.gates.set(range, Gate::Unseen);
    }

    /// Nothing is kept for these pages, frozen slots excepted (they are cleared at the thaw).
    pub fn clear_slots(&mut self, range: PageRange) {
        if self.mode == Mode::Child {
            return;
        }
        let mut page = range.start;
        while page < range.end {
            let holds = |s: u8| s & SLOT != 0 && s & FROZEN == 0;
            let without = self.state.leading(page..range.end, |s| !holds(s));
            self.state.update(page..page + without, |s| *s &= !(OUT | SEEN | CLEAN));
            page += without;
            let len = self.state.leading(page..range.end, holds);
            if len == 0 {
                break;
            }
            // A run may not leave its chunk: the next one's home is elsewhere.
            let run = page..(page + len).min((page / CHUNK + 1) * CHUNK);
            match &mut self.backing {
                Backing::Direct { mirror, home, homes } => {
                    let at = *mirror + Self::slot(home, run.start) * PAGE;
                    if homes.reserved {
                        // SAFETY: slots in the mirror of these pages, whose content is given up.
                        unsafe { std::ptr::write_bytes(at as *mut u8, 0, run.len() * PAGE) };
                    } else {
                        // SAFETY: as above.
                        let punched = unsafe { memory::punch(at..at + run.len() * PAGE) };
                        debug_assert!(punched.is_ok(), "{punched:?}");
                    }
                }
                Backing::Copying(store) => run.clone().for_each(|p| store.discard(p)),
                Backing::Nowhere => (),
            }
            self.state.update(run.clone(), |s| *s &= !(SLOT | OUT | SEEN | CLEAN));
            page = run.end;
        }
    }

    /// Give a wholly unused chunk's home and number back.
    pub fn release_chunk(&mut self, chunk: usize) {
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        if self.mode == Mode::Child || self.state.any(range.clone(), |s| s != 0) || self.spans.pieces(range).any(|(_, s)| s.is_managed()) {
            return;
        }
        if let Some(frames) = &mut self.frames {
            frames.release_chunk(chunk);
        }
        if let Backing::Direct { home, homes, mirror } = &mut self.backing {
            if home[chunk] != 0 {
                let at = *mirror + Self::slot(home, chunk * CHUNK) * PAGE;
                // SAFETY: no page of the chunk exists. What reads of untouched pages left there goes too.
                let _ = unsafe { memory::punch(at..at + CHUNK * PAGE) };
                homes.free.push(home[chunk]);
                home[chunk] = 0;
            }
        }
    }

    /// Addresses of the pages that are out.
    pub fn out_pages(&self) -> Vec<usize> {
        let managed = self.spans.all().filter(|(_, s)| s.is_managed()).flat_map(|(piece, _)| self.state.written(piece));
        managed.flatten().filter(|p| self.state[*p] & OUT != 0).map(|p| p * PAGE).collect()
    }
}
