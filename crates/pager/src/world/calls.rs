//! What `mmap`, `munmap`, `mremap`, `mprotect`, `madvise` and `mlock` of managed memory become.

use super::bit::*;
use super::{evictable, Mode, World, LARGE};
use crate::kernel::memory::{self, Prot};
use crate::kernel::PAGE;
use crate::record::What;
use crate::spans::{PageRange, Span};
use crate::CHUNK;
use rustix::io::{Errno, Result};

impl World {
    /// New zeroed memory.
    pub fn take(&mut self, len: usize, prot: Prot) -> Result<usize> {
        if self.refuses() {
            return Err(Errno::NOMEM);
        }
        let pages = len.div_ceil(PAGE);
        let align = [LARGE, CHUNK].into_iter().find(|align| pages >= *align);
        let aligned = align.and_then(|align| self.spans.find_free(pages, align));
        let range = aligned.or_else(|| self.spans.find_free(pages, 1)).ok_or(Errno::NOMEM)?;
        let bytes = self.bytes(&range);
        // SAFETY: free pages of our own range, inaccessible until now.
        unsafe { memory::protect(bytes.clone(), prot) }?;
        self.spans.set(range, Span::Managed { prot, locked: self.lock_new });
        Ok(bytes.start)
    }

    /// Whether the program has come to the hard stop; says so once.
    pub fn refuses(&mut self) -> bool {
        if self.exhausted && !std::mem::replace(&mut self.refused, true) {
            crate::say("the store is full and twice the budget is in DRAM: the program gets no more memory");
        }
        self.exhausted
    }

    /// The pages right behind `range` too, if they are free (`mremap` in place).
    pub fn extend(&mut self, range: &PageRange, pages: usize) -> bool {
        let more = range.end..range.start + pages;
        let Span::Managed { prot, locked } = self.spans.at(range.start) else { return false };
        if more.end > self.state.len() || self.spans.pieces(more.clone()).any(|(_, s)| s != Span::Free) {
            return false;
        }
        // SAFETY: free pages of our own range.
        if unsafe { memory::protect(self.bytes(&more), prot) }.is_err() {
            return false;
        }
        self.spans.set(more, Span::Managed { prot, locked });
        true
    }

    /// The program gives `range` back.
    pub fn give_back(&mut self, range: PageRange) -> Result<()> {
        // SAFETY: the program unmaps it.
        unsafe { memory::map_fresh(self.bytes(&range), 0) }?;
        self.empty(range.clone());
        self.spans.set(range.clone(), Span::Free);
        self.note(What::Unmap, range.clone());
        for chunk in range.start / CHUNK..range.end.div_ceil(CHUNK) {
            self.release_chunk(chunk);
        }
        Ok(())
    }

    /// Fresh anonymous memory over `range` (`mmap` with MAP_FIXED).
    pub fn renew(&mut self, range: PageRange, prot: Prot) -> Result<()> {
        // SAFETY: the program maps over it.
        unsafe { memory::map_fresh(self.bytes(&range), prot) }?;
        self.empty(range.clone());
        self.note(What::Discard, range.clone());
        self.spans.set(range, Span::Managed { prot, locked: self.lock_new });
        Ok(())
    }

    /// The program maps something else over `range`, by its own call, which follows.
    pub fn make_foreign(&mut self, range: PageRange) {
        self.empty(range.clone());
        self.note(What::Unmap, range.clone());
        self.spans.set(range, Span::Foreign);
    }

    /// `MADV_DONTNEED`: managed pages read as zeros from now on. Other pages are the kernel's business.
    pub fn discard(&mut self, range: PageRange) -> Result<()> {
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            let Span::Managed { prot, locked } = span else {
                // SAFETY: the program asked for exactly this.
                unsafe { memory::drop_pages(self.bytes(&piece)) }?;
                continue;
            };
            if locked {
                return Err(Errno::INVAL); // as the kernel answers for locked memory
            }
            let shared = self.mode == Mode::Child || self.state[piece.clone()].iter().any(|s| s & FROZEN != 0);
            if shared && self.state[piece.clone()].iter().any(|s| s & PAGED != 0) {
                // The slot is a relative's too and cannot be emptied: leave it behind for anonymous memory.
                self.renew(piece, prot)?;
                continue;
            }
            // SAFETY: the program gives the content up.
            unsafe { memory::drop_pages(self.bytes(&piece)) }?;
            self.forget(piece.clone());
            self.note(What::Discard, piece.clone());
            self.clear_slots(piece);
        }
        Ok(())
    }

    pub fn protect(&mut self, range: PageRange, prot: Prot) -> Result<()> {
        let pieces: Vec<_> = self.spans.pieces(range.clone()).collect();
        for (piece, span) in pieces {
            match span {
                Span::Free => return Err(Errno::NOMEM),
                Span::Managed { prot: now, .. } if now == prot => (),
                _ => {
                    // SAFETY: the program asked for it.
                    unsafe { memory::protect(self.bytes(&piece), prot) }?;
                    if let Span::Managed { locked, .. } = span {
                        if !evictable(Span::Managed { prot, locked }) {
                            self.forget(piece.clone());
                        }
                        self.spans.set(piece, Span::Managed { prot, locked });
                    }
                }
            }
        }
        Ok(())
    }

    /// `mlock` and `munlock`, before the kernel's own.
    pub fn lock(&mut self, range: PageRange, locked: bool) {
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            if let Span::Managed { prot, .. } = span {
                if locked {
                    self.forget(piece.clone());
                }
                self.spans.set(piece, Span::Managed { prot, locked });
            }
        }
    }

    /// `mlockall` and `munlockall`: nothing leaves any more, or all may again. Memory that the kernel locks as it is mapped could not be
    /// evicted either way, so what exists stays also where the program asks for the future alone.
    pub fn lock_all(&mut self, locked: bool) {
        self.lock(0..self.state.len(), locked);
        self.lock_new = locked;
    }

    /// Leave `range` to the kernel alone, unless some of it is in the store or came from there.
    pub fn disown(&mut self, range: PageRange) -> bool {
        let plain = self.state[range.clone()].iter().all(|s| s & PAGED == 0);
        if plain {
            self.make_foreign(range);
        }
        plain
    }
}
