//! The exact LRU miss-ratio curve for all memory sizes from one pass (Mattson's stack), also if
//! pages are freed.
//!
//! A page that is freed leaves a hole in the stack: a cache that held it has a free frame, which
//! the next page that it brings in fills. So a reference removes the topmost hole above its page's
//! own place from the stack and leaves a hole at that place; a new page removes the topmost hole of
//! all.

use super::resolve::for_each_resolved;
use super::times::Times;
use std::collections::BTreeSet;
use swaplab_experiment::Mapping;
use swaplab_policy::{bits::COPIED, Backing, Residency};
use swaplab_trace::source::Progress;
use swaplab_trace::Trace;
use swaplab_vocab::{prefetch, Access, BadInput, Class, PageId, Result};

/// Misses by memory size.
pub struct LruCurve {
    pub references: f64,
    /// `misses[c]`: misses with `c` frames, for every size from 0 to the footprint (estimates when
    /// sampled).
    pub misses: Vec<f64>,
    /// Share of sampled pages; with 1 the curve is exact.
    pub rate: f64,
}

/// SHARDS (Waldspurger et al., FAST 2015) samples the pages whose hash is below `rate`, and scales
/// distances by `1 / rate`.
const HASH_SPACE: u64 = 1 << 24;
/// Distance in references at which the stack prefetches.
const AHEAD: usize = 16;

fn sampled(page: PageId, threshold: u64) -> bool {
    (page as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 < threshold
}

/// Compute the curve of `trace` from the share `rate` of its pages.
pub fn lru_curve(trace: &Trace, mapping: Mapping, rate: f64, progress: Progress) -> Result<LruCurve> {
    trace.require_references()?;
    let table = trace.page_table()?;
    let threshold = (rate * HASH_SPACE as f64).round() as u64;
    let mut stack = Stack::new(&table.classes);
    for_each_resolved(trace, mapping, progress, |resolved| {
        for (accesses, event) in resolved.steps() {
            for (at, access) in accesses.iter().enumerate() {
                if threshold == HASH_SPACE {
                    stack.look_ahead(&accesses[at..]);
                } else if !sampled(access.page(), threshold) {
                    continue;
                }
                stack.reference(access.page(), access.is_write());
            }
            for page in event.into_iter().flat_map(|e| &e.freed) {
                stack.free(*page);
            }
        }
        Ok(())
    })?;
    if stack.seen == 0 {
        let found = format!("no page of the trace is in a sample of {rate}");
        return Err(BadInput::new("rate", found, "a larger share of pages"));
    }
    Ok(stack.curve(trace.pages(), trace.meta.references(), rate))
}

struct Stack {
    pages: Residency,
    /// By page, the time of its last reference; 0 if it was never referenced, or was freed since.
    last: Vec<u32>,
    /// Times of the last references to pages, and times of holes.
    times: Times,
    holes: BTreeSet<u32>,
    /// `distances[d]`: references that found their page at depth `d`, from 1. Other references are
    /// misses at any size.
    distances: Vec<u64>,
    /// The last few depths, not counted yet. Each waits until the prefetch of its count is done.
    waiting: [u32; AHEAD],
    turn: usize,
    seen: u64,
}

impl Stack {
    fn new(classes: &[Class]) -> Stack {
        Stack {
            pages: Residency::new(classes.iter().copied()),
            last: vec![0; classes.len()],
            times: Times::new(classes.len()),
            holes: BTreeSet::new(),
            distances: vec![0; classes.len() + 2],
            waiting: [0; AHEAD],
            turn: 0,
            seen: 0,
        }
    }

    /// Prefetch for coming references: first the times of their pages' last references, then the
    /// entries of these times.
    #[inline]
    fn look_ahead(&self, coming: &[Access]) {
        if let Some(access) = coming.get(2 * AHEAD) {
            prefetch(&self.last, access.page() as usize);
            self.pages.prefetch(access.page());
        }
        if let Some(access) = coming.get(AHEAD) {
            self.times.prefetch(self.last[access.page() as usize]);
        }
    }

    #[inline]
    fn reference(&mut self, page: PageId, write: bool) {
        if write && self.pages.class(page) == Class::File {
            self.pages.set(page, COPIED);
        }
        self.seen += 1;
        if self.times.full() {
            self.compact();
        }
        let last = self.last[page as usize];
        if last != 0 {
            let depth = self.times.at_or_after(last).min(self.last.len() as u32 + 1);
            self.count_distance(depth);
        }
        if self.holes.is_empty() {
            if last != 0 {
                self.times.remove(last);
            }
        } else {
            self.fill_hole(last);
        }
        self.last[page as usize] = self.times.push();
    }

    /// Count `depth` after `AHEAD` further references. `waiting` begins with entries of depth 0,
    /// whose count is not used.
    #[inline]
    fn count_distance(&mut self, depth: u32) {
        prefetch(&self.distances, depth as usize);
        let ready = std::mem::replace(&mut self.waiting[self.turn], depth);
        self.distances[ready as usize] += 1;
        self.turn = (self.turn + 1) % AHEAD;
    }

    /// Fill a hole for a page last referenced at `last`. Caches too small for that depth bring the
    /// page in and fill the hole above it; larger ones get a hole at its old place.
    #[cold]
    fn fill_hole(&mut self, last: u32) {
        match self.holes.last().copied().filter(|hole| *hole > last) {
            Some(hole) => {
                self.holes.remove(&hole);
                self.times.remove(hole);
                if last != 0 {
                    self.holes.insert(last);
                }
            }
            None if last != 0 => self.times.remove(last),
            None => {}
        }
    }

    fn free(&mut self, page: PageId) {
        if self.pages.backing(page) == Backing::File {
            return;
        }
        self.pages.clear(page, COPIED);
        let last = std::mem::take(&mut self.last[page as usize]);
        if last != 0 {
            self.holes.insert(last);
        }
    }

    /// Renumber the times in use from 1.
    #[cold]
    fn compact(&mut self) {
        let renamed = self.times.compact();
        self.last.iter_mut().filter(|time| **time != 0).for_each(|time| *time = renamed(*time));
        self.holes = self.holes.iter().map(|time| renamed(*time)).collect();
    }

    fn curve(mut self, footprint: usize, references: u64, rate: f64) -> LruCurve {
        for depth in self.waiting {
            self.distances[depth as usize] += 1;
        }
        // A sample with more or fewer hot pages than expected has a wrong number of references. The
        // difference is added to the smallest distance (SHARDS-adj), so that it does not shift the
        // whole curve.
        let expected = references as f64 * rate;
        let mut hits = vec![0.0; footprint + 1];
        for (depth, count) in self.distances.iter().enumerate().skip(1) {
            let size = (depth as f64 / rate).round() as usize;
            if size <= footprint {
                hits[size] += *count as f64;
            }
        }
        hits[1.min(footprint)] += expected - self.seen as f64;
        let mut misses = Vec::with_capacity(footprint + 1);
        let mut covered = 0.0;
        for hit in hits {
            covered += hit;
            misses.push((expected - covered).max(0.0) / rate);
        }
        LruCurve { references: references as f64, misses, rate }
    }
}

#[cfg(test)]
mod tests;
