//! What `mmap`, `munmap`, `mremap`, `mprotect`, `madvise` and `mlock` of managed memory become.

use super::bit::*;
use super::{Gate, Mode, World, LARGE};
use crate::kernel::memory::{self, Bytes, Prot};
use crate::kernel::PAGE;
use crate::record::What;
use crate::spans::{addresses, Attributes, PageRange, Span};
use crate::CHUNK;
use rustix::io::{Errno, Result};

impl World {
    /// New zeroed memory at an address of ours.
    pub fn take(&mut self, len: usize, prot: Prot) -> Result<usize> {
        if self.refuses() {
            return Err(Errno::NOMEM);
        }
        let pages = len.div_ceil(PAGE);
        let align = [LARGE, CHUNK].into_iter().find(|align| pages >= *align);
        let aligned = align.and_then(|align| self.spans.find_free(pages, align));
        let range = aligned.or_else(|| self.spans.find_free(pages, 1)).ok_or(Errno::NOMEM)?;
        let bytes = addresses(&range);
        // SAFETY: free pages of our own range, inaccessible until now.
        unsafe { memory::protect(bytes.clone(), prot) }?;
        self.spans.set(range, Span::Managed(Attributes { prot, locked: self.lock_new, ..Attributes::default() }));
        Ok(bytes.start)
    }

    /// Fresh anonymous memory that the program has mapped by a call of its own, made under this lock: over what was there before, if
    /// it named the address.
    pub fn adopt(&mut self, range: PageRange, prot: Prot) {
        self.empty(range.clone());
        self.note(What::Discard, range.clone());
        memory::no_huge_pages(addresses(&range));
        self.spans.set(range, Span::Managed(Attributes { prot, locked: self.lock_new, ..Attributes::default() }));
    }

    /// Whether the program gets no more memory, as store and DRAM are full; prints a message the first time.
    pub fn refuses(&mut self) -> bool {
        if self.exhausted && !std::mem::replace(&mut self.refused, true) {
            crate::say("the store is full and twice the budget is in DRAM: the program gets no more memory");
        }
        self.exhausted
    }

    /// The pages right behind `range` too, if nothing is there (`mremap` in place).
    pub fn extend(&mut self, range: &PageRange, pages: usize) -> bool {
        let more = range.end..range.start + pages;
        let Span::Managed(attributes) = self.spans.at(range.start) else { return false };
        let prot = attributes.prot;
        let bytes = addresses(&more);
        let reserved = self.spans.reserved();
        if more.start < reserved.end && more.end > reserved.start {
            // SAFETY: free pages of our own range.
            if self.spans.pieces(more.clone()).any(|(_, s)| s != Span::Free) || unsafe { memory::protect(bytes, prot) }.is_err() {
                return false;
            }
        } else if memory::map_where_nothing_is(bytes.clone(), prot).is_err() {
            return false;
        } else {
            memory::no_huge_pages(bytes);
        }
        self.spans.set(more, Span::Managed(Attributes { unshared: false, ..attributes }));
        true
    }

    /// The program gives `range` back. What was reserved for it stays reserved.
    pub fn give_back(&mut self, range: PageRange) -> Result<()> {
        self.before_less(range.len());
        let reserved = self.spans.reserved().clone();
        let inside = range.start.max(reserved.start)..range.end.min(reserved.end);
        let outside = [range.start..range.end.min(reserved.start), range.start.max(reserved.end)..range.end];
        for part in outside.into_iter().filter(|part| !part.is_empty()) {
            // SAFETY: the program unmaps it.
            unsafe { memory::unmap(addresses(&part)) }?;
            self.leave(part, Span::Foreign);
        }
        if !inside.is_empty() {
            // SAFETY: the program unmaps it.
            unsafe { memory::map_fresh(addresses(&inside), 0) }?;
            self.leave(inside, Span::Free);
        }
        Ok(())
    }

    /// What the kernel has moved out of the pager's own range leaves a hole there.
    pub fn reserve_again(&mut self, range: PageRange) {
        let reserved = self.spans.reserved();
        let hole = range.start.max(reserved.start)..range.end.min(reserved.end);
        if !hole.is_empty() {
            let _ = self.give_back(hole);
        }
    }

    /// Nothing of the program's is in `range` any more.
    fn leave(&mut self, range: PageRange, span: Span) {
        let ours: Vec<PageRange> = self.spans.pieces(range.clone()).filter(|(_, s)| s.is_managed()).map(|(piece, _)| piece).collect();
        self.empty(range.clone());
        self.spans.set(range, span);
        for piece in ours {
            self.note(What::Unmap, piece.clone());
            let written: Vec<PageRange> = self.state.written(piece).collect();
            for chunk in written.into_iter().flat_map(|part| part.start / CHUNK..part.end.div_ceil(CHUNK)) {
                self.release_chunk(chunk);
            }
        }
    }

    /// Fresh anonymous memory over `range`.
    pub fn renew(&mut self, range: PageRange, prot: Prot) -> Result<()> {
        // SAFETY: the program maps over it.
        unsafe { memory::map_fresh(addresses(&range), prot) }?;
        self.adopt(range, prot);
        Ok(())
    }

    /// The program has mapped something else over `range`, by a call of its own, made under this lock.
    pub fn make_foreign(&mut self, range: PageRange) {
        self.leave(range, Span::Foreign);
    }

    /// `MADV_DONTNEED`: managed pages read as zeros from now on. Other pages are the kernel's business.
    pub fn discard(&mut self, range: PageRange) -> Result<()> {
        self.before_less(range.len());
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            let Span::Managed(attributes) = span else {
                // SAFETY: the program asked for exactly this.
                unsafe { memory::drop_pages(addresses(&piece)) }?;
                continue;
            };
            if attributes.locked {
                return Err(Errno::INVAL); // as the kernel answers for locked memory
            }
            let shared = self.mode == Mode::Child || self.state.any(piece.clone(), |s| s & FROZEN != 0);
            if shared && self.state.any(piece.clone(), |s| s & PAGED != 0) {
                // The slot is a relative's too and cannot be emptied: leave it behind for anonymous memory.
                self.renew(piece.clone(), attributes.prot)?;
                if attributes.unshared {
                    self.unshare(piece, true)?;
                }
                continue;
            }
            // SAFETY: the program gives the content up.
            unsafe { memory::drop_pages(addresses(&piece)) }?;
            self.forget(piece.clone());
            self.note(What::Discard, piece.clone());
            let opened: Vec<PageRange> = self.gates.pieces(piece.clone()).filter(|(_, g)| *g == Gate::Open).map(|(run, _)| run).collect();
            opened.into_iter().for_each(|run| self.gates.set(run, Gate::Unseen));
            self.clear_slots(piece);
        }
        Ok(())
    }

    /// `mprotect`, whose system call for each piece is `call`. `key`: whether the memory has a protection key from now on; as it was, if none.
    pub fn protect(&mut self, range: PageRange, prot: Prot, key: Option<bool>, call: impl Fn(Bytes) -> Result<()>) -> Result<()> {
        let pieces: Vec<_> = self.spans.pieces(range.clone()).collect();
        for (piece, span) in pieces {
            match span {
                Span::Free => return Err(Errno::NOMEM),
                Span::Managed(now) if now.prot == prot && key.is_none_or(|keyed| keyed == now.keyed) => (),
                Span::Managed(Attributes { prot: 0, .. }) if prot != 0 && self.refuses() => return Err(Errno::NOMEM),
                _ => {
                    call(addresses(&piece))?;
                    if let Span::Managed(now) = span {
                        let span = Span::Managed(Attributes { prot, keyed: key.unwrap_or(now.keyed), ..now });
                        if !span.evictable() {
                            self.forget(piece.clone());
                        }
                        self.spans.set(piece, span);
                    }
                }
            }
        }
        Ok(())
    }

    /// `MADV_DONTFORK` and `MADV_DOFORK`, of managed memory and other.
    pub fn unshare(&mut self, range: PageRange, unshared: bool) -> Result<()> {
        memory::unshare(addresses(&range), unshared)?;
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            if let Span::Managed(now) = span {
                self.spans.set(piece, Span::Managed(Attributes { unshared, ..now }));
            }
        }
        Ok(())
    }

    /// `mlock` and `munlock`, before the kernel's own.
    pub fn lock(&mut self, range: PageRange, locked: bool) {
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            if let Span::Managed(now) = span {
                if locked {
                    self.forget(piece.clone());
                }
                self.spans.set(piece, Span::Managed(Attributes { locked, ..now }));
            }
        }
    }

    /// `mlockall` and `munlockall`: nothing leaves any more, or all may again. Memory that the kernel locks as it is mapped could not be
    /// evicted either way, so what exists stays also where the program asks for the future alone.
    pub fn lock_all(&mut self, locked: bool) {
        self.lock(0..self.spans.end(), locked);
        self.lock_new = locked;
    }

    /// Leave `range` to the kernel alone, unless some of it is in the store or came from there.
    pub fn disown(&mut self, range: PageRange) -> bool {
        let plain = !self.state.any(range.clone(), |s| s & PAGED != 0);
        if plain {
            self.make_foreign(range);
        }
        plain
    }
}
