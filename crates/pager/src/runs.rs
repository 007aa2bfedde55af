//! A map from every page number below an end to a value, stored as runs. Adjacent runs have
//! different values.

use std::collections::BTreeMap;
use std::ops::Range;

/// A range of page numbers. A page's number is its address divided by the page size.
pub type PageRange = Range<usize>;

/// A map from page numbers to values. See the module.
pub struct RunMap<T> {
    starts: BTreeMap<usize, T>,
    end: usize,
}

impl<T: Copy + PartialEq> RunMap<T> {
    pub fn new(end: usize, value: T) -> RunMap<T> {
        RunMap { starts: BTreeMap::from([(0, value)]), end }
    }

    pub fn end(&self) -> usize {
        self.end
    }

    /// The runs that overlap `range`, clipped to it.
    pub fn pieces(&self, range: PageRange) -> impl Iterator<Item = (PageRange, T)> + '_ {
        let first = self.starts.range(..=range.start).next_back().map_or(0, |(s, _)| *s);
        let mut runs = self.starts.range(first..range.end.max(first)).peekable();
        std::iter::from_fn(move || {
            let (start, value) = runs.next()?;
            let end = runs.peek().map_or(self.end, |(next, _)| **next);
            Some((*start.max(&range.start)..end.min(range.end), *value))
        })
        .filter(|(piece, _)| !piece.is_empty())
    }

    pub fn all(&self) -> impl Iterator<Item = (PageRange, T)> + '_ {
        self.pieces(0..self.end)
    }

    /// The whole run that contains `page`.
    pub fn run_at(&self, page: usize) -> (PageRange, T) {
        let (start, value) = self.starts.range(..=page).next_back().expect("a run starts at 0");
        let end = self.starts.range(page + 1..).next().map_or(self.end, |(next, _)| *next);
        (*start..end, *value)
    }

    pub fn at(&self, page: usize) -> T {
        *self.starts.range(..=page).next_back().expect("a run starts at 0").1
    }

    /// Set all of `range` to `value`.
    pub fn set(&mut self, range: PageRange, value: T) {
        if range.is_empty() {
            return;
        }
        let after = self.at(range.end.min(self.end - 1));
        let before = (range.start > 0).then(|| self.at(range.start - 1));
        let inside: Vec<usize> = self.starts.range(range.clone()).map(|(s, _)| *s).collect();
        for start in inside {
            self.starts.remove(&start);
        }
        if before != Some(value) {
            self.starts.insert(range.start, value);
        }
        if range.end < self.end {
            if after == value {
                self.starts.remove(&range.end);
            } else {
                self.starts.entry(range.end).or_insert(after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_an_array(steps in prop::collection::vec((0usize..64, 1usize..40, 0u8..4), 1..60)) {
            let mut runs = RunMap::new(64, 0);
            let mut model = [0; 64];
            for (start, len, value) in steps {
                let range = start..(start + len).min(64);
                runs.set(range.clone(), value);
                model[range.clone()].fill(value);
                for (page, want) in model.iter().enumerate() {
                    prop_assert_eq!(runs.at(page), *want);
                    let (run, _) = runs.run_at(page);
                    prop_assert!(run.contains(&page) && model[run.clone()].iter().all(|v| v == want));
                    prop_assert!(run.start == 0 || model[run.start - 1] != *want);
                    prop_assert!(run.end == 64 || model[run.end] != *want);
                }
                let pieces: Vec<_> = runs.all().collect();
                prop_assert!(pieces.windows(2).all(|w| w[0].0.end == w[1].0.start && w[0].1 != w[1].1), "{:?}", pieces);
                prop_assert_eq!(pieces.iter().map(|(p, _)| p.len()).sum::<usize>(), 64);
                let inner: usize = runs.pieces(range.clone()).map(|(p, _)| p.len()).sum();
                prop_assert_eq!(inner, range.len());
            }
        }
    }
}
