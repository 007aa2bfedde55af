//! `mmap`, `munmap`, `mremap`, `mprotect`, `madvise` and `mlock` of managed memory.

use super::bit::*;
use super::{Gate, ManagedMemory, Mode, LARGE};
use crate::kernel::memory::{self, Bytes, Prot};
use crate::kernel::PAGE;
use crate::record::EventKind;
use crate::spans::{addresses, Attributes, PageRange, Span};
use crate::CHUNK;
use rustix::io::{Errno, Result};

impl ManagedMemory {
    /// Map `len` bytes of zeroed memory in the reserved range; returns the address. NOMEM: no room,
    /// or the store and DRAM are full.
    pub fn take(&mut self, len: usize, prot: Prot) -> Result<usize> {
        if self.refuses() {
            return Err(Errno::NOMEM);
        }
        let pages = len.div_ceil(PAGE);
        let align = [LARGE, CHUNK].into_iter().find(|align| pages >= *align);
        let aligned = align.and_then(|align| self.spans.find_free(pages, align));
        let range = aligned.or_else(|| self.spans.find_free(pages, 1)).ok_or(Errno::NOMEM)?;
        let bytes = addresses(&range);
        // SAFETY: free pages of the reserved range, inaccessible until now.
        unsafe { memory::protect(bytes.clone(), prot) }?;
        self.spans.set(range, self.fresh(prot));
        Ok(bytes.start)
    }

    /// The span of memory that the program has just mapped.
    fn fresh(&self, prot: Prot) -> Span {
        Span::Managed(Attributes { prot, locked: self.lock_new, ..Attributes::default() })
    }

    /// Manage fresh anonymous memory that a system call of the program has mapped while this lock
    /// was held. It may have replaced an earlier mapping.
    pub fn adopt(&mut self, range: PageRange, prot: Prot) {
        self.empty(range.clone());
        self.note(EventKind::Discard, range.clone());
        memory::no_huge_pages(addresses(&range));
        self.spans.set(range, self.fresh(prot));
    }

    /// Map fresh anonymous memory over `range` (`MAP_FIXED`) by emptying the mapping that is there,
    /// which keeps its gates. Returns false, and leaves the mapping to the kernel, unless all of it
    /// is managed memory that can be gated and is not mapped from the store.
    pub fn map_over(&mut self, range: PageRange, prot: Prot) -> Result<bool> {
        let new = self.fresh(prot);
        let ordinary = |span: Span| span.is_managed() && span.gateable() && !span.attributes().unshared;
        let all = self.spans.pieces(range.clone()).all(|(_, span)| ordinary(span)) && ordinary(new);
        if !all || self.state.any(range.clone(), |s| s & PAGED != 0) {
            return Ok(false);
        }
        // SAFETY: the program maps over it.
        if unsafe { self.drop_content(range.clone()) }.is_err() {
            return Ok(false);
        }
        // SAFETY: as above.
        unsafe { memory::protect(addresses(&range), prot) }?;
        self.spans.set(range, new);
        Ok(true)
    }

    /// Drop the pages of `range`, and let the next round gate what is open of it.
    ///
    /// # Safety
    /// The program discards the content.
    unsafe fn drop_content(&mut self, range: PageRange) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { memory::drop_pages(addresses(&range)) }?;
        self.forget(range.clone());
        self.note(EventKind::Discard, range.clone());
        let opened: Vec<PageRange> = self.gates.pieces(range).filter(|(_, g)| *g == Gate::Open).map(|(run, _)| run).collect();
        opened.into_iter().for_each(|run| self.gates.set(run, Gate::Unseen));
        Ok(())
    }

    /// Whether new memory is refused, because the store and DRAM are full. Prints a message the
    /// first time.
    pub fn refuses(&mut self) -> bool {
        if self.exhausted && !std::mem::replace(&mut self.refused, true) {
            crate::say("the store is full and twice the budget is in DRAM: the program gets no more memory");
        }
        self.exhausted
    }

    /// Extend `range` in place to `pages` pages (`mremap`). Returns false, without a change, if
    /// that is impossible.
    pub fn extend(&mut self, range: &PageRange, pages: usize) -> bool {
        let added = range.end..range.start + pages;
        let Some(attributes) = self.attributes(range) else { return false };
        let prot = attributes.prot;
        let bytes = addresses(&added);
        let reserved = self.spans.reserved();
        if added.start < reserved.end && added.end > reserved.start {
            // SAFETY: free pages of the reserved range.
            if self.spans.pieces(added.clone()).any(|(_, s)| s != Span::Free) || unsafe { memory::protect(bytes, prot) }.is_err() {
                return false;
            }
        } else if memory::map_unoccupied(bytes.clone(), prot).is_err() {
            return false;
        } else {
            memory::no_huge_pages(bytes.clone());
        }
        self.spans.set(added.clone(), Span::Managed(attributes));
        // The kernel extends the mapping with its properties.
        attributes.unshared.then(|| self.unshare(added, true));
        true
    }

    /// Unmap `range` (`munmap`). Addresses of the reserved range stay reserved.
    pub fn give_back(&mut self, range: PageRange) -> Result<()> {
        self.before_shrink(range.len());
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

    /// Reserve the reserved range's part of `range` again, after `mremap` has moved its mapping
    /// away.
    pub fn reserve_again(&mut self, range: PageRange) {
        let reserved = self.spans.reserved();
        let hole = range.start.max(reserved.start)..range.end.min(reserved.end);
        if !hole.is_empty() {
            let _ = self.give_back(hole);
        }
    }

    /// Stop managing `range`, which becomes `span`, and release its chunks.
    fn leave(&mut self, range: PageRange, span: Span) {
        let managed: Vec<PageRange> = self.spans.pieces(range.clone()).filter(|(_, s)| s.is_managed()).map(|(piece, _)| piece).collect();
        self.empty(range.clone());
        self.spans.set(range, span);
        for piece in managed {
            self.note(EventKind::Unmap, piece.clone());
            let written: Vec<PageRange> = self.state.written(piece).collect();
            for chunk in written.into_iter().flat_map(|part| part.start / CHUNK..part.end.div_ceil(CHUNK)) {
                self.release_chunk(chunk);
            }
        }
    }

    /// Replace `range` by fresh anonymous memory.
    pub fn renew(&mut self, range: PageRange, prot: Prot) -> Result<()> {
        // SAFETY: the program maps over it.
        unsafe { memory::map_fresh(addresses(&range), prot) }?;
        self.adopt(range, prot);
        Ok(())
    }

    /// Stop managing `range`, over which a system call of the program has mapped something else
    /// while this lock was held.
    pub fn make_foreign(&mut self, range: PageRange) {
        self.leave(range, Span::Foreign);
    }

    /// Perform `MADV_DONTNEED`: managed pages read as zeros afterwards; the kernel handles other
    /// pages. INVAL for locked memory.
    pub fn discard(&mut self, range: PageRange) -> Result<()> {
        self.before_shrink(range.len());
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        for (piece, span) in pieces {
            let Span::Managed(attributes) = span else {
                // SAFETY: the program made this call.
                unsafe { memory::drop_pages(addresses(&piece)) }?;
                continue;
            };
            if attributes.locked {
                return Err(Errno::INVAL); // The kernel's result for locked memory.
            }
            let shared = self.mode == Mode::Child || self.state.any(piece.clone(), |s| s & FROZEN != 0);
            if shared && self.state.any(piece.clone(), |s| s & PAGED != 0) {
                // A parent or child reads the slot too, so it cannot be cleared: map anonymous
                // memory instead.
                self.renew(piece.clone(), attributes.prot)?;
                if attributes.unshared {
                    self.unshare(piece, true)?;
                }
                continue;
            }
            // SAFETY: the program discards the content.
            unsafe { self.drop_content(piece.clone()) }?;
            self.clear_slots(piece);
        }
        Ok(())
    }

    /// Perform `mprotect` or `pkey_mprotect`; `call` makes the system call for each piece. `key`:
    /// whether the memory has a protection key afterwards; `None` leaves it as it was.
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

    /// Perform `MADV_DONTFORK` or `MADV_DOFORK`, on managed and other memory.
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

    /// Prepare `mlock` or `munlock`, before the kernel's call. Returns the pieces that this locks
    /// or unlocks, for the case that the call fails.
    pub fn lock(&mut self, range: PageRange, locked: bool) -> Vec<PageRange> {
        let pieces: Vec<_> = self.spans.pieces(range).collect();
        let mut changed = Vec::new();
        for (piece, span) in pieces {
            match span {
                Span::Managed(now) if now.locked != locked => {
                    if locked {
                        self.forget(piece.clone());
                    }
                    self.spans.set(piece.clone(), Span::Managed(Attributes { locked, ..now }));
                    changed.push(piece);
                }
                _ => (),
            }
        }
        changed
    }

    /// Prepare `mlockall` or `munlockall`: exclude all memory from eviction, or include it again.
    /// Memory that the kernel locks when it is mapped cannot be evicted, so existing memory is
    /// excluded also for `MCL_FUTURE` alone. Returns what [`unlock_all`](Self::unlock_all) takes
    /// back if the call fails.
    pub fn lock_all(&mut self, locked: bool) -> (Vec<PageRange>, bool) {
        let changed = self.lock(0..self.spans.end(), locked);
        (changed, std::mem::replace(&mut self.lock_new, locked))
    }

    /// Take back an `mlockall` that failed.
    pub fn unlock_all(&mut self, (changed, lock_new): (Vec<PageRange>, bool)) {
        for piece in changed {
            self.lock(piece, false);
        }
        self.lock_new = lock_new;
    }

    /// Stop managing `range`, unless some of it is or was in the store. Returns whether it did.
    pub fn disown(&mut self, range: PageRange) -> bool {
        let plain = !self.state.any(range.clone(), |s| s & PAGED != 0);
        if plain {
            self.make_foreign(range);
        }
        plain
    }
}
