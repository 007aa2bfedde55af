//! Who owns which pages of the address space.

use crate::kernel::memory::{Bytes, Prot, EXECUTE, READ_WRITE};
use crate::kernel::PAGE;
pub use crate::runs::PageRange;
use crate::runs::RunMap;
use crate::shown::Shown;

/// Where `pages` lie.
pub fn addresses(pages: &PageRange) -> Bytes {
    pages.start * PAGE..pages.end * PAGE
}

/// What the program has asked for a piece of its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub prot: Prot,
    /// It stays in DRAM (`mlock`).
    pub locked: bool,
    /// Forked children do not get it (`MADV_DONTFORK`).
    pub unshared: bool,
    /// It has a protection key of the program's, which the pager thread has not: it stays in DRAM.
    pub keyed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Nobody's: address space that the pager has reserved, to be given to the program.
    Free,
    /// Private anonymous memory of the program.
    Managed(Attributes),
    /// Everything else: files, shared memory, stacks, what no call of ours has made. The kernel alone looks after it.
    Foreign,
}

impl Span {
    /// Private anonymous memory that counts against the budget. Memory that holds code does not: it is left alone.
    pub fn counts(self) -> bool {
        self.is_managed() && self.prot() & EXECUTE == 0
    }

    pub fn is_managed(self) -> bool {
        matches!(self, Span::Managed(_))
    }

    /// What the program may do with it; nothing where it is not managed.
    pub fn prot(self) -> Prot {
        self.attributes().prot
    }

    pub fn attributes(self) -> Attributes {
        match self {
            Span::Managed(attributes) => attributes,
            _ => Attributes::default(),
        }
    }

    /// Whether the program may fill it with memory that counts.
    fn is_fillable(self) -> bool {
        self.counts() && self.prot() & READ_WRITE != 0
    }

    /// Whether pages of such a span may leave DRAM: the pager can read them, they are not code, and not locked.
    pub fn evictable(self) -> bool {
        self.is_fillable() && !self.attributes().locked && !self.attributes().keyed
    }
}

/// The address space in runs of one attribute.
pub struct Spans {
    runs: RunMap<Span>,
    /// What the pager has reserved.
    reserved: PageRange,
    /// Where the search for free pages goes on.
    cursor: usize,
    /// Pages of the program's private anonymous memory, and of them those that it may fill now.
    managed: usize,
    fillable: usize,
    shown: Shown,
}

impl Spans {
    /// `reserved` pages of an address space of `pages` are the pager's to give.
    pub fn new(pages: usize, reserved: PageRange, shown: Shown) -> Spans {
        let mut runs = RunMap::new(pages, Span::Foreign);
        runs.set(reserved.clone(), Span::Free);
        Spans { runs, cursor: reserved.start, reserved, managed: 0, fillable: 0, shown }
    }

    /// The runs that overlap `range`, cut to it.
    pub fn pieces(&self, range: PageRange) -> impl Iterator<Item = (PageRange, Span)> + '_ {
        self.runs.pieces(range)
    }

    pub fn all(&self) -> impl Iterator<Item = (PageRange, Span)> + '_ {
        self.runs.all()
    }

    pub fn at(&self, page: usize) -> Span {
        self.runs.at(page)
    }

    pub fn end(&self) -> usize {
        self.runs.end()
    }

    pub fn reserved(&self) -> &PageRange {
        &self.reserved
    }

    /// Pages of private anonymous memory, also where the program has no access yet.
    pub fn managed(&self) -> usize {
        self.managed
    }

    /// Pages that the program may fill, now, with memory that counts.
    pub fn fillable(&self) -> usize {
        self.fillable
    }

    /// Give `range` one attribute.
    pub fn set(&mut self, range: PageRange, span: Span) {
        if range.is_empty() {
            return;
        }
        let mut same = true;
        for (piece, was) in self.runs.pieces(range.clone()) {
            self.managed -= if was.is_managed() { piece.len() } else { 0 };
            self.fillable -= if was.is_fillable() { piece.len() } else { 0 };
            same &= was.counts() == span.counts();
        }
        self.managed += if span.is_managed() { range.len() } else { 0 };
        self.fillable += if span.is_fillable() { range.len() } else { 0 };
        self.runs.set(range.clone(), span);
        if !same {
            self.shown.set(range, span.counts());
        }
    }

    /// Show nobody any more where managed memory is: what is shown is the parent's.
    pub fn hide(&mut self) {
        self.shown = Shown::nowhere();
    }

    /// Free pages in a row, at a multiple of `align` pages: next fit, then from the start.
    pub fn find_free(&mut self, pages: usize, align: usize) -> Option<PageRange> {
        let cursor = self.cursor;
        let fits = |from: usize| {
            self.pieces(from..self.reserved.end).filter(|(_, span)| *span == Span::Free).find_map(|(piece, _)| {
                let start = piece.start.next_multiple_of(align);
                (start + pages <= piece.end).then_some(start..start + pages)
            })
        };
        let found = fits(cursor).or_else(|| fits(self.reserved.start))?;
        self.cursor = found.end;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn managed(prot: Prot, locked: bool) -> Span {
        Span::Managed(Attributes { prot, locked, ..Attributes::default() })
    }

    #[test]
    fn free_pages_are_found_in_what_is_reserved_alone() {
        let mut spans = Spans::new(64, 16..48, Shown::nowhere());
        assert_eq!((spans.find_free(32, 16), spans.find_free(33, 1)), (Some(16..48), None));
        spans.set(16..20, managed(READ_WRITE, false));
        spans.set(2..6, managed(READ_WRITE, false));
        assert_eq!((spans.find_free(4, 16), spans.fillable()), (Some(32..36), 8));
        assert_eq!(spans.find_free(16, 1), Some(20..36), "from the start, as nothing is left behind the last");
    }

    #[test]
    fn what_counts_and_what_may_leave() {
        let code = managed(READ_WRITE | EXECUTE, false);
        let (open, read, closed, locked) = (managed(READ_WRITE, false), managed(1, false), managed(0, false), managed(READ_WRITE, true));
        assert!([open, read, closed, locked].iter().all(|s| s.counts()) && !code.counts() && !Span::Free.counts());
        assert_eq!([open, read, closed, locked, code].map(Span::evictable), [true, true, false, false, false]);
    }
}
