//! What the program's threads and the pager share, under one lock: the address range, the state of every page, the
//! policy. What the program does to its memory is in `calls`.
//! Nobody who holds the lock may write to managed memory: the eviction window is closed only by who holds it.

mod calls;

use crate::frames::Frames;
use crate::kernel::memory::{self, Bytes, Prot, Zeroed, READ_WRITE};
use crate::kernel::{Missing, PAGE};
use crate::record::{Record, What};
use crate::spans::{PageRange, Span, Spans};
use crate::stats::Stats;
use crate::store::Store;
use crate::CHUNK;
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

/// Where evicted pages are.
pub enum Backing {
    /// Nothing has left DRAM: the pager thread has not started.
    Nowhere,
    /// In a file mapped by the program itself; chunk `c` lives at `home[c]`. `mirror` is a shared mapping of the file.
    Direct { mirror: usize, home: Zeroed<u32>, homes: Homes },
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
    pub base: usize,
    pub spans: Spans,
    pub state: Zeroed<u8>,
    /// By chunk; see `gate.rs`.
    pub gates: Zeroed<u8>,
    pub backing: Backing,
    /// None before the pager thread has started.
    pub frames: Option<Frames>,
    /// Pages that the program may be given before the pager thread has to run.
    pub allowance: usize,
    pub mode: Mode,
    pub stats: &'static Stats,
    /// No evictions now (a fork of a copying store is under way).
    pub held: bool,
    /// A page that every forked child maps from its birth to its end; see `fork.rs`. And whether none could be made.
    pub tether: Option<usize>,
    pub no_tether: bool,
    /// A child was forked without one: nobody knows how long it reads the slots.
    pub untethered: bool,
    /// New memory is locked, as all of it was (`mlockall`).
    lock_new: bool,
    /// The store had no room, and the budget's double is in DRAM: no new memory.
    pub exhausted: bool,
    refused: bool,
    pub record: Option<Record>,
}

impl World {
    pub fn new(pages: usize, allowance: usize, stats: &'static Stats) -> std::result::Result<World, Missing> {
        let no_room = |e: Errno| Missing::new("address space", format!("{e}; raise the limit on virtual memory (ulimit -v)"));
        let base = memory::reserve((pages + LARGE) * PAGE).map_err(no_room)?.next_multiple_of(LARGE * PAGE);
        memory::no_huge_pages(base..base + pages * PAGE);
        // SAFETY: zero is a u8.
        let state = unsafe { Zeroed::new(pages) }.map_err(no_room)?;
        let mode = Mode::Paging;
        // SAFETY: zero is a u8.
        let gates = unsafe { Zeroed::new(pages / CHUNK) }.map_err(no_room)?;
        Ok(World {
            base,
            spans: Spans::new(pages),
            state,
            gates,
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
            record: None,
        })
    }

    /// Whether a pager thread may be started: there is none, and none has failed to start.
    pub fn unpaged(&self) -> bool {
        self.frames.is_none() && self.mode == Mode::Paging && self.allowance != usize::MAX
    }

    /// Whether the program could fill more memory than it may without a pager thread, and has none.
    pub fn outgrown(&self) -> bool {
        self.unpaged() && self.spans.managed() > self.allowance
    }

    pub fn managed_bytes(&self) -> usize {
        self.spans.managed() * PAGE
    }

    pub fn bytes(&self, pages: &PageRange) -> Bytes {
        self.base + pages.start * PAGE..self.base + pages.end * PAGE
    }

    /// The place of `page` in the NVM file, from the file's start. Its chunk must have a home.
    pub fn slot(home: &Zeroed<u32>, page: usize) -> usize {
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
            (piece, Span::Managed { prot, .. }) if piece == *range => Some(prot),
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
        for page in range {
            if self.state[page] & (KNOWN | REMEMBERED) != 0 {
                frames.forget(page);
                self.state[page] &= !(KNOWN | REMEMBERED);
            }
        }
    }

    /// The mapping behind `range` was replaced: no page of it is out or paged any more.
    fn empty(&mut self, range: PageRange) {
        self.forget(range.clone());
        self.clear_slots(range.clone());
        for state in &mut self.state[range.clone()] {
            *state &= !(PAGED | OUT | SEEN | CLEAN);
        }
        self.gates[range.start / CHUNK..range.end.div_ceil(CHUNK)].fill(crate::gate::UNSEEN);
    }

    /// Nothing is kept for these pages, frozen slots excepted (they are cleared at the thaw).
    pub fn clear_slots(&mut self, range: PageRange) {
        if self.mode == Mode::Child {
            return;
        }
        let mut page = range.start;
        while page < range.end {
            let holds = |s: u8| s & SLOT != 0 && s & FROZEN == 0;
            let len = self.state[page..range.end].iter().take_while(|s| holds(**s)).count();
            if len == 0 {
                self.state[page] &= !(OUT | SEEN | CLEAN);
                page += 1;
                continue;
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
            self.state[run.clone()].iter_mut().for_each(|s| *s &= !(SLOT | OUT | SEEN | CLEAN));
            page = run.end;
        }
    }

    /// Give a wholly unused chunk's home and number back.
    pub fn release_chunk(&mut self, chunk: usize) {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.state.len());
        if self.mode == Mode::Child || self.state[range.clone()].iter().any(|s| *s != 0) {
            return;
        }
        if self.spans.pieces(range).any(|(_, s)| s != Span::Free) {
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
        let managed = self.spans.all().filter(|(_, s)| evictable(*s)).flat_map(|(piece, _)| piece);
        managed.filter(|p| self.state[*p] & OUT != 0).map(|p| self.base + p * PAGE).collect()
    }
}

/// Whether pages of such a span may leave DRAM: readable by the pager, writable (so that a file can stand behind them),
/// never code, not locked.
pub fn evictable(span: Span) -> bool {
    span == Span::Managed { prot: READ_WRITE, locked: false }
}
