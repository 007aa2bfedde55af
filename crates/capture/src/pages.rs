//! The pages that a recording has seen, each with a dense index in the order of first references.

use crate::stream::Span;
use rustc_hash::FxHashMap;

/// Number of entries of the cache of indices.
const CACHED: usize = 256;

pub struct Pages {
    indices: FxHashMap<u64, u32>,
    /// A direct-mapped cache of `indices`: page number and index, at the low bits of the page
    /// number.
    cache: Vec<(u64, u32)>,
    /// By index: the page number.
    numbers: Vec<u64>,
    /// By index: whether the page's mapping is declared in the trace.
    pub declared: Vec<bool>,
    /// By index: whether the page was written since it entered the filter.
    pub written: Vec<bool>,
    /// By index: the number of the user's labels (launch, resume) before the page's last reference.
    pub labels: Vec<u64>,
}

impl Default for Pages {
    fn default() -> Pages {
        Pages {
            indices: FxHashMap::default(),
            cache: vec![(u64::MAX, 0); CACHED],
            numbers: Vec::new(),
            declared: Vec::new(),
            written: Vec::new(),
            labels: Vec::new(),
        }
    }
}

impl Pages {
    /// The index of the page with this number, which is assigned at the first call.
    #[inline]
    pub fn index(&mut self, number: u64) -> u32 {
        let cached = &mut self.cache[number as usize % CACHED];
        if cached.0 != number {
            let index = *self.indices.entry(number).or_insert_with(|| {
                self.numbers.push(number);
                self.declared.push(false);
                self.written.push(false);
                self.labels.push(0);
                self.numbers.len() as u32 - 1
            });
            *cached = (number, index);
        }
        cached.1
    }

    /// The indices of the pages of `span` that were seen.
    pub fn within(&self, span: Span) -> Vec<u32> {
        let numbers = span.first..span.end();
        if span.pages as usize > self.numbers.len() {
            (0..self.numbers.len() as u32).filter(|index| numbers.contains(&self.numbers[*index as usize])).collect()
        } else {
            numbers.filter_map(|number| self.indices.get(&number).copied()).collect()
        }
    }
}
