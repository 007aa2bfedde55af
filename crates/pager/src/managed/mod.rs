//! The state that the program's threads and the pager share under one lock: the spans of the
//! address space, the state of every page, the policy. A page's number is its address divided by
//! the page size. `calls` implements the program's memory calls.
//!
//! A thread that holds the lock must not write to managed memory: it could wait for an eviction
//! window to close, and the pager needs the lock to close it.

mod calls;
mod child;
#[cfg(test)]
mod tests;

use crate::frames::Frames;
use crate::kernel::memory::{self, Prot};
use crate::kernel::own;
use crate::kernel::sparse::Sparse;
use crate::kernel::{Missing, PAGE};
use crate::managed_list::ManagedList;
use crate::record::{EventKind, Record};
use crate::runs::RunMap;
use crate::spans::{Attributes, PageRange, Span, Spans};
use crate::stats::Stats;
use crate::store::Store;
use crate::{CHUNK, PAGES};
use rustix::io::Errno;
use std::collections::BTreeSet;

/// State bits of a page.
pub mod bit {
    /// The policy has it as resident.
    pub const KNOWN: u8 = 1;
    /// It was evicted, and no census has seen it in DRAM since: the store has its content.
    pub const OUT: u8 = 2;
    /// Its slot may have content, current or stale.
    pub const SLOT: u8 = 4;
    /// It is mapped from the NVM file (direct store), or registered so that the pager resolves its
    /// faults (copying store). Otherwise it is plain anonymous memory.
    pub const PAGED: u8 = 8;
    /// Counted as a direct read since its eviction; with a copying store, its swap-in is in the
    /// record.
    pub const SEEN: u8 = 16;
    /// A forked child may read its slot too, so the slot must not change.
    pub const FROZEN: u8 = 32;
    /// The policy may have a ghost entry of it.
    pub const REMEMBERED: u8 = 64;
    /// In DRAM, write-protected, and not written since its swap-in: a copying store has the same
    /// content.
    pub const CLEAN: u8 = 128;
}
use bit::*;

/// Which accesses to a page wait for the pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// None: no gate was set yet.
    Unseen,
    /// The first access to fresh memory.
    Gated,
    /// The first write to a page of the NVM file. Reads do not wait.
    Held,
    /// None.
    Open,
}

/// The place of evicted pages.
pub enum Backing {
    /// There are none: the pager thread has not started.
    Nowhere,
    /// A file that is mapped into the program. `home[c]` is the home of chunk `c`; `mirror` is the
    /// address of a shared mapping of the file.
    Direct { mirror: usize, home: Sparse<u32>, homes: Homes },
    /// A store whose pages have to be copied back to DRAM.
    Copying(Box<Store>),
}

/// The homes of the NVM file: pieces of `CHUNK` slots, numbered from 1.
pub struct Homes {
    pub next: u32,
    pub free: Vec<u32>,
    /// No longer used by the program, but a forked child may still read them.
    pub frozen: Vec<u32>,
    /// Largest number of homes.
    pub limit: u32,
    /// Whether to allocate the file's blocks for all of a home when it is taken, because the file
    /// system may become full. Reading a hole of the file allocates a page too, and the kernel
    /// sends SIGBUS if it cannot.
    pub reserved: bool,
}

impl Homes {
    /// Take an unused home; `None` if the limit is reached.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            (self.next < self.limit).then(|| {
                self.next += 1;
                self.next
            })
        })
    }
}

/// Mappings of at least this number of pages (32 MiB) are aligned to it, as mimalloc's segments
/// are. Otherwise mimalloc would map more than it needs and trim the rest.
const LARGE: usize = 8192;

/// Whether pages can be evicted in this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A pager thread evicts pages once it has started.
    Paging,
    /// A forked child without a pager thread: memory is mapped and unmapped, but not evicted.
    Child,
}

/// The state of the program's forks. See `fork.rs` and `tether.rs`.
#[derive(Default)]
pub struct Forks {
    /// No page may be evicted, as a fork with a copying store is in progress.
    pub evictions_paused: bool,
    /// Since the last census a fork has brought back what was out.
    pub brought_back: bool,
    /// The address of the next fork's tether.
    pub tether: Option<usize>,
    /// No tether could be made for the next fork.
    pub no_tether: bool,
    /// A child was forked without a tether, so the end of its reads is unknown.
    pub untethered: bool,
}

/// The managed memory of a process, see the module.
pub struct ManagedMemory {
    pub spans: Spans,
    pub state: Sparse<u8>,
    /// See `gate.rs`.
    pub gates: RunMap<Gate>,
    pub backing: Backing,
    /// The policy and its pages; `None` before the pager thread has started.
    pub frames: Option<Frames>,
    /// Fillable pages at which the pager thread has to be started; `usize::MAX` if it failed to
    /// start.
    pub allowance: usize,
    pub mode: Mode,
    pub stats: &'static Stats,
    pub forks: Forks,
    /// Chunks that a forked child has inherited, with pages that are mapped from the file of its
    /// parent. They have no home until they are evicted.
    pub inherited: BTreeSet<usize>,
    /// New memory is locked (`mlockall`).
    lock_new: bool,
    /// The store is full and managed memory in DRAM exceeds twice the budget: the program gets no
    /// new memory.
    pub exhausted: bool,
    /// Whether the message about `exhausted` was printed.
    refused: bool,
    /// Pages that the program freed since the last check for a new peak; see `account.rs`.
    pub freed_since_peak: usize,
    pub record: Option<Record>,
}

impl ManagedMemory {
    /// Reserve `reserved` pages for mappings without an address. `allowance`: fillable pages at
    /// which the pager thread has to start.
    pub fn new(reserved: usize, allowance: usize, stats: &'static Stats) -> std::result::Result<ManagedMemory, Missing> {
        let no_room = |e: Errno| Missing::new("address space", format!("{e}; raise the limit on virtual memory (ulimit -v)"));
        let base = memory::reserve((reserved + LARGE) * PAGE).map_err(no_room)?.next_multiple_of(LARGE * PAGE);
        memory::no_huge_pages(base..base + reserved * PAGE);
        // The pager's tables and the mirror of the NVM file.
        own::reserve((reserved + reserved / 64) * PAGE).map_err(no_room)?;
        // SAFETY: zero is a u8.
        let state = unsafe { Sparse::new(PAGES) }.map_err(no_room)?;
        let mode = Mode::Paging;
        let managed_list = ManagedList::new(PAGES, stats.managed_list());
        Ok(ManagedMemory {
            spans: Spans::new(PAGES, base / PAGE..base / PAGE + reserved, managed_list),
            state,
            gates: RunMap::new(PAGES, Gate::Unseen),
            backing: Backing::Nowhere,
            frames: None,
            allowance,
            mode,
            stats,
            forks: Forks::default(),
            inherited: BTreeSet::new(),
            lock_new: false,
            exhausted: false,
            refused: false,
            freed_since_peak: 0,
            record: None,
        })
    }

    /// Whether the pager thread can be started: it does not run, and has not failed to start.
    pub fn can_start_thread(&self) -> bool {
        (self.frames.is_none() || self.mode == Mode::Child) && self.allowance != usize::MAX
    }

    /// Whether the pager thread has to be started: the program can fill more memory than its
    /// allowance.
    pub fn needs_pager_thread(&self) -> bool {
        self.can_start_thread() && self.spans.fillable() > self.allowance
    }

    pub fn managed_bytes(&self) -> usize {
        self.spans.managed() * PAGE
    }

    /// The slot of `page` in the NVM file, in pages from the file's start. Its chunk must have a
    /// home.
    pub fn slot(home: &Sparse<u32>, page: usize) -> usize {
        (home[page / CHUNK] as usize - 1) * CHUNK + page % CHUNK
    }

    /// Append an event to the record, if this run is recorded.
    pub fn note(&mut self, what: EventKind, pages: PageRange) {
        if let (Some(record), Mode::Paging) = (&mut self.record, self.mode) {
            record.note(what, pages);
        }
    }

    /// The attributes of `range`, if all of it is managed memory with the same ones.
    pub fn attributes(&self, range: &PageRange) -> Option<Attributes> {
        match self.spans.pieces(range.clone()).next()? {
            (piece, Span::Managed(attributes)) if piece == *range => Some(attributes),
            _ => None,
        }
    }

    /// The managed pieces of `range`, each with its protection.
    pub fn managed_pieces(&self, range: PageRange) -> Vec<(PageRange, Prot)> {
        self.spans.pieces(range).filter(|(_, span)| span.is_managed()).map(|(piece, span)| (piece, span.prot())).collect()
    }

    /// Whether all of `range` is foreign.
    pub fn is_foreign(&self, range: &PageRange) -> bool {
        self.spans.pieces(range.clone()).all(|(_, span)| span == Span::Foreign)
    }

    /// The policy and its pages. Only the pager thread may call this.
    pub fn frames(&mut self) -> &mut Frames {
        self.frames.as_mut().expect("the pager thread has created the frames")
    }

    /// Make the policy forget these pages. They are new arrivals if a later census finds them in
    /// DRAM.
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

    /// Reset the state of `range`, whose mapping was replaced: none of its pages is out or paged.
    fn empty(&mut self, range: PageRange) {
        self.forget(range.clone());
        self.clear_slots(range.clone());
        self.state.update(range.clone(), |state| *state &= !(PAGED | OUT | SEEN | CLEAN));
        self.gates.set(range, Gate::Unseen);
    }

    /// Clear the slots of these pages. Frozen slots are kept until `thaw`.
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
            // A run must end with its chunk, as the next chunk has another home.
            let run = page..(page + len).min((page / CHUNK + 1) * CHUNK);
            match &mut self.backing {
                Backing::Direct { mirror, home, homes } => {
                    let at = *mirror + Self::slot(home, run.start) * PAGE;
                    if homes.reserved {
                        // SAFETY: the slots of these pages in the mirror; nobody needs their
                        // content.
                        unsafe { std::ptr::write_bytes(at as *mut u8, 0, run.len() * PAGE) };
                    } else {
                        // SAFETY: as above.
                        let punched = unsafe { memory::punch_hole(at..at + run.len() * PAGE) };
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

    /// Release the home and the number of `chunk`, if no page of it is in use.
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
                // SAFETY: no page of the chunk exists. The hole also frees pages that reads of
                // untouched memory have allocated.
                let _ = unsafe { memory::punch_hole(at..at + CHUNK * PAGE) };
                homes.free.push(home[chunk]);
                home[chunk] = 0;
            }
        }
    }

    /// The addresses of the pages that are out.
    pub fn out_pages(&self) -> Vec<usize> {
        let managed = self.spans.all().filter(|(_, s)| s.is_managed()).flat_map(|(piece, _)| self.state.written(piece));
        managed.flatten().filter(|p| self.state[*p] & OUT != 0).map(|p| p * PAGE).collect()
    }
}
