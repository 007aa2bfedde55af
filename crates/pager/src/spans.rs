//! The spans of the address space: which pages are managed, free for new mappings, or not the
//! pager's.

use crate::kernel::memory::{Bytes, Prot, EXECUTE, READ_WRITE};
use crate::kernel::PAGE;
use crate::managed_list::ManagedList;
pub use crate::runs::PageRange;
use crate::runs::RunMap;

/// The addresses of `pages`.
pub fn addresses(pages: &PageRange) -> Bytes {
    pages.start * PAGE..pages.end * PAGE
}

/// Properties that the program has set for a range of its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    pub prot: Prot,
    /// Locked in DRAM (`mlock`).
    pub locked: bool,
    /// Not inherited by forked children (`MADV_DONTFORK`).
    pub unshared: bool,
    /// Has a protection key of the program. The pager thread lacks the key, so the memory stays in
    /// DRAM.
    pub keyed: bool,
}

/// The kind of a range of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Address space that the pager has reserved and the program does not use.
    Free,
    /// Private anonymous memory of the program.
    Managed(Attributes),
    /// Everything else: files, shared memory, stacks, mappings that the pager did not see being
    /// made. Only the kernel manages it.
    Foreign,
}

impl Span {
    /// Whether it counts against the budget: managed memory does, unless it is executable, which is
    /// never evicted.
    pub fn counts(self) -> bool {
        self.is_managed() && self.prot() & EXECUTE == 0
    }

    pub fn is_managed(self) -> bool {
        matches!(self, Span::Managed(_))
    }

    /// The protection of managed memory; 0 for other spans.
    pub fn prot(self) -> Prot {
        self.attributes().prot
    }

    pub fn attributes(self) -> Attributes {
        match self {
            Span::Managed(attributes) => attributes,
            _ => Attributes::default(),
        }
    }

    /// Whether the program can access it now and it counts against the budget.
    fn is_fillable(self) -> bool {
        self.counts() && self.prot() & READ_WRITE != 0
    }

    /// Whether its pages can be evicted: the pager can read them, and they are neither code, locked
    /// nor protected by a key.
    pub fn evictable(self) -> bool {
        self.is_fillable() && self.is_ordinary()
    }

    /// Whether its untouched pages can wait for the pager: those that can be evicted, and those
    /// that the program cannot access yet, which could be evicted once it has made them accessible.
    pub fn gateable(self) -> bool {
        self == Span::Free || (self.counts() && self.is_ordinary())
    }

    fn is_ordinary(self) -> bool {
        !self.attributes().locked && !self.attributes().keyed
    }
}

/// The spans of the whole address space.
pub struct Spans {
    runs: RunMap<Span>,
    /// The address range that the pager has reserved.
    reserved: PageRange,
    /// Page at which the next search for free pages starts.
    cursor: usize,
    /// Number of managed pages, and of those that the program can access now and that count against
    /// the budget.
    managed: usize,
    fillable: usize,
    managed_list: ManagedList,
}

impl Spans {
    /// Spans of an address space of `pages` pages: those in `reserved` are free, all others
    /// foreign.
    pub fn new(pages: usize, reserved: PageRange, managed_list: ManagedList) -> Spans {
        let mut runs = RunMap::new(pages, Span::Foreign);
        runs.set(reserved.clone(), Span::Free);
        Spans { runs, cursor: reserved.start, reserved, managed: 0, fillable: 0, managed_list }
    }

    /// The runs that overlap `range`, clipped to it.
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

    /// Number of managed pages, including those without access.
    pub fn managed(&self) -> usize {
        self.managed
    }

    /// Number of pages that the program can access now and that count against the budget.
    pub fn fillable(&self) -> usize {
        self.fillable
    }

    /// Make `range` a `span`.
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
            self.managed_list.set(range, span.counts());
        }
    }

    /// Stop publishing the managed ranges: in a forked child, the list belongs to the parent.
    pub fn hide(&mut self) {
        self.managed_list = ManagedList::without_file();
    }

    /// Publish the managed ranges in `list`, which is empty.
    pub fn publish(&mut self, mut list: ManagedList) {
        self.all().filter(|(_, span)| span.counts()).for_each(|(piece, _)| list.set(piece, true));
        self.managed_list = list;
    }

    /// Find `pages` contiguous free pages at a multiple of `align` pages: next fit, then first fit.
    pub fn find_free(&mut self, pages: usize, align: usize) -> Option<PageRange> {
        let cursor = self.cursor;
        let fits = |from: usize| {
            self.pieces(from..self.reserved.end).filter(|(_, span)| *span == Span::Free).find_map(|(piece, _)| {
                let start = piece.start.next_multiple_of(align);
                (start + pages <= piece.end).then_some(start..start + pages)
            })
        };
        let fit = fits(cursor).or_else(|| fits(self.reserved.start))?;
        self.cursor = fit.end;
        Some(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn managed(prot: Prot, locked: bool) -> Span {
        Span::Managed(Attributes { prot, locked, ..Attributes::default() })
    }

    #[test]
    fn find_free_searches_only_the_reserved_range() {
        let mut spans = Spans::new(64, 16..48, ManagedList::without_file());
        assert_eq!((spans.find_free(32, 16), spans.find_free(33, 1)), (Some(16..48), None));
        spans.set(16..20, managed(READ_WRITE, false));
        spans.set(2..6, managed(READ_WRITE, false));
        assert_eq!((spans.find_free(4, 16), spans.fillable()), (Some(32..36), 8));
        assert_eq!(spans.find_free(16, 1), Some(20..36), "first fit, as no free pages are left after the cursor");
    }

    #[test]
    fn managed_and_fillable_pages_are_counted() {
        let mut spans = Spans::new(64, 16..48, ManagedList::without_file());
        let counts = |spans: &Spans| (spans.managed(), spans.fillable());
        spans.set(16..20, managed(READ_WRITE, false));
        assert_eq!(counts(&spans), (4, 4));
        // Two of the four become inaccessible, and two more are mapped without access.
        spans.set(18..22, managed(0, false));
        assert_eq!(counts(&spans), (6, 2));
        // Of 17 and 18 one was accessible.
        spans.set(17..19, Span::Free);
        assert_eq!(counts(&spans), (4, 1));
        spans.set(30..30, managed(READ_WRITE, false));
        spans.set(40..43, managed(READ_WRITE | EXECUTE, false));
        assert_eq!(counts(&spans), (7, 1));
        assert_eq!((spans.at(17), spans.at(16).prot(), spans.at(42).prot()), (Span::Free, READ_WRITE, READ_WRITE | EXECUTE));
        assert_eq!((spans.end(), spans.reserved().clone(), addresses(&(2..3))), (64, 16..48, 2 * PAGE..3 * PAGE));
    }

    #[test]
    fn memory_with_a_protection_key_is_not_evictable() {
        let keyed = Span::Managed(Attributes { prot: READ_WRITE, keyed: true, ..Attributes::default() });
        assert!(keyed.counts() && !keyed.evictable());
    }

    #[test]
    fn code_does_not_count_and_locked_or_inaccessible_memory_is_not_evictable() {
        let code = managed(READ_WRITE | EXECUTE, false);
        let (open, read, closed, locked) = (managed(READ_WRITE, false), managed(1, false), managed(0, false), managed(READ_WRITE, true));
        assert!([open, read, closed, locked].iter().all(|s| s.counts()) && !code.counts() && !Span::Free.counts());
        assert_eq!([open, read, closed, locked, code].map(Span::evictable), [true, true, false, false, false]);
    }
}
