//! Who owns which pages of the reserved range: a map from every page to an attribute, kept as runs.

use crate::kernel::memory::Prot;
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages of the reserved range, counted from its start.
pub type PageRange = Range<usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Nobody's: reserved address space.
    Free,
    /// Private anonymous memory of the program, with the protection it asked for. `locked` stays in DRAM (`mlock`).
    Managed { prot: Prot, locked: bool },
    /// The program put something else here (a file, shared memory); the kernel alone looks after it.
    Foreign,
}

/// A partition of `0..end` into runs of one attribute; neighbours always differ.
pub struct Spans {
    starts: BTreeMap<usize, Span>,
    end: usize,
    /// Where the search for free pages goes on.
    cursor: usize,
    managed: usize,
}

impl Spans {
    pub fn new(pages: usize) -> Spans {
        Spans { starts: BTreeMap::from([(0, Span::Free)]), end: pages, cursor: 0, managed: 0 }
    }

    /// The runs that overlap `range`, cut to it.
    pub fn pieces(&self, range: PageRange) -> impl Iterator<Item = (PageRange, Span)> + '_ {
        let first = self.starts.range(..=range.start).next_back().map_or(0, |(s, _)| *s);
        let mut runs = self.starts.range(first..range.end.max(first)).peekable();
        std::iter::from_fn(move || {
            let (start, span) = runs.next()?;
            let end = runs.peek().map_or(self.end, |(next, _)| **next);
            Some((*start.max(&range.start)..end.min(range.end), *span))
        })
        .filter(|(piece, _)| !piece.is_empty())
    }

    pub fn all(&self) -> impl Iterator<Item = (PageRange, Span)> + '_ {
        self.pieces(0..self.end)
    }

    pub fn at(&self, page: usize) -> Span {
        self.starts.range(..=page).next_back().map_or(Span::Free, |(_, s)| *s)
    }

    /// Pages of the program's that we manage.
    pub fn managed(&self) -> usize {
        self.managed
    }

    /// Give `range` one attribute.
    pub fn set(&mut self, range: PageRange, span: Span) {
        if range.is_empty() {
            return;
        }
        let is_managed = |span: &Span| matches!(span, Span::Managed { .. });
        self.managed -= self.pieces(range.clone()).filter(|(_, s)| is_managed(s)).map(|(p, _)| p.len()).sum::<usize>();
        self.managed += if is_managed(&span) { range.len() } else { 0 };
        let after = self.at(range.end.min(self.end - 1));
        let before = (range.start > 0).then(|| self.at(range.start - 1));
        let inside: Vec<usize> = self.starts.range(range.clone()).map(|(s, _)| *s).collect();
        for start in inside {
            self.starts.remove(&start);
        }
        if before != Some(span) {
            self.starts.insert(range.start, span);
        }
        if range.end < self.end {
            if after == span {
                self.starts.remove(&range.end);
            } else {
                self.starts.entry(range.end).or_insert(after);
            }
        }
    }

    /// Free pages in a row, at a multiple of `align` pages: next fit, then from the start.
    pub fn find_free(&mut self, pages: usize, align: usize) -> Option<PageRange> {
        let cursor = self.cursor;
        let fits = |from: usize| {
            self.pieces(from..self.end).filter(|(_, span)| *span == Span::Free).find_map(|(piece, _)| {
                let start = piece.start.next_multiple_of(align);
                (start + pages <= piece.end).then_some(start..start + pages)
            })
        };
        let found = fits(cursor).or_else(|| fits(0))?;
        self.cursor = found.end;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPANS: [Span; 4] = [Span::Free, Span::Managed { prot: 3, locked: false }, Span::Managed { prot: 1, locked: true }, Span::Foreign];

    proptest! {
        #[test]
        fn agrees_with_an_array(steps in prop::collection::vec((0usize..64, 1usize..40, 0usize..4), 1..60)) {
            let mut spans = Spans::new(64);
            let mut model = [Span::Free; 64];
            for (start, len, kind) in steps {
                let range = start..(start + len).min(64);
                spans.set(range.clone(), SPANS[kind]);
                model[range.clone()].fill(SPANS[kind]);
                for (page, want) in model.iter().enumerate() {
                    prop_assert_eq!(spans.at(page), *want);
                }
                prop_assert_eq!(spans.managed(), model.iter().filter(|s| matches!(s, Span::Managed { .. })).count());
                let pieces: Vec<_> = spans.all().collect();
                prop_assert!(pieces.windows(2).all(|w| w[0].0.end == w[1].0.start && w[0].1 != w[1].1), "{:?}", pieces);
                prop_assert_eq!(pieces.iter().map(|(p, _)| p.len()).sum::<usize>(), 64);
                let inner: usize = spans.pieces(range.clone()).map(|(p, _)| p.len()).sum();
                prop_assert_eq!(inner, range.len());
                let free = (0..64 - 3).step_by(4).any(|s| model[s..s + 4] == [Span::Free; 4]);
                prop_assert_eq!(spans.find_free(4, 4).is_some(), free);
            }
        }
    }
}
