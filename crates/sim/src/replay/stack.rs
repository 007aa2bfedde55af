//! The exact LRU miss-ratio curve, every size from one pass (Mattson's stack), also where pages are freed.
//!
//! A page that is freed leaves a hole in the stack: a cache that held it has a free frame, and the next page that such a
//! cache brings in fills it. So a reference takes the topmost hole above its page's own place out of the stack and leaves a
//! hole at that place; a new page takes the topmost hole of all.

use super::resolve::for_each_resolved;
use super::times::Times;
use std::collections::BTreeSet;
use swaplab_experiment::Mapping;
use swaplab_policy::{bits::COPIED, Backing, Residency};
use swaplab_trace::source::Progress;
use swaplab_trace::Trace;
use swaplab_vocab::{prefetch, Access, Class, PageId, Result};

/// Misses by memory size.
pub struct LruCurve {
    pub references: f64,
    /// `misses[c]`: misses with `c` frames, for every size from 0 to the footprint (estimates when sampled).
    pub misses: Vec<f64>,
    /// Share of pages that were looked at; 1 is exact.
    pub rate: f64,
}

/// SHARDS (Waldspurger et al., FAST 2015): look at the pages whose hash is below `rate`, and scale distances by `1 / rate`.
const HASH_SPACE: u64 = 1 << 24;
/// References by which the stack looks ahead.
const AHEAD: usize = 16;

fn sampled(page: PageId, threshold: u64) -> bool {
    (page as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40 < threshold
}

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
    Ok(stack.curve(trace.pages(), trace.meta.references(), rate))
}

struct Stack {
    pages: Residency,
    /// When each page was last referenced; 0 is never (or freed since).
    last: Vec<u32>,
    /// Times that are taken by a page or a hole.
    times: Times,
    holes: BTreeSet<u32>,
    /// `distances[d]`: references that found their page at depth `d`, from 1; longer ones and first touches are misses at any size.
    distances: Vec<u64>,
    /// The last few depths, not yet counted: which counts they need can't be foreseen, so each is asked for and waits.
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

    /// Have what the references to come need brought near: first when their pages were last seen, then what stands there.
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

    /// Count `depth`, in a while. What the waiting ones begin with is depth 0, which nothing has and nobody reads.
    #[inline]
    fn count_distance(&mut self, depth: u32) {
        prefetch(&self.distances, depth as usize);
        let ready = std::mem::replace(&mut self.waiting[self.turn], depth);
        self.distances[ready as usize] += 1;
        self.turn = (self.turn + 1) % AHEAD;
    }

    /// Caches too small for depth `last` bring the page in and fill the hole above it; the larger ones have a hole where it was.
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

    /// Renumber the times that are taken from 1 on.
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
        // Scaled by what was expected, not by what was seen, a sample with a hot page too many would be off everywhere
        // (SHARDS-adj): the difference is put to the smallest distance.
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
