//! Where managed memory is, for whoever looks from outside: runs of pages that count against the budget, as pairs of a first page
//! and the page behind the last, in the file of counters. A pair of zeros is unused. The order is none.
//!
//! The figures that the pager itself writes are of its last look; with these runs the page table of a program that is stopped, at
//! any moment, tells what they are now.

use crate::runs::{PageRange, RunMap};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most runs that are shown: a program has 65,530 mappings at most.
pub const MOST: usize = 1 << 17;

pub struct Shown {
    slots: &'static [[AtomicU64; 2]],
    runs: RunMap<bool>,
    slot_of: BTreeMap<usize, usize>,
    free: Vec<usize>,
    next: usize,
}

impl Shown {
    pub fn new(pages: usize, slots: &'static [[AtomicU64; 2]]) -> Shown {
        Shown { slots, runs: RunMap::new(pages, false), slot_of: BTreeMap::new(), free: Vec::new(), next: 0 }
    }

    /// For who has no file.
    pub fn nowhere() -> Shown {
        Shown::new(1 << 36, &[])
    }

    /// The pages of `range` count from now on, or no more.
    pub fn set(&mut self, range: PageRange, counts: bool) {
        if self.slots.is_empty() {
            return;
        }
        // Runs that `range` touches change; their neighbours may be joined.
        let around = self.runs.run_at(range.start.saturating_sub(1)).0.start..self.runs.run_at(range.end.min(self.runs.end() - 1)).0.end;
        let starts: Vec<usize> = self.slot_of.range(around.clone()).map(|(start, _)| *start).collect();
        self.runs.set(range, counts);
        let now: Vec<PageRange> = self.runs.pieces(around).filter(|(_, counts)| *counts).map(|(piece, _)| piece).collect();
        for start in starts.into_iter().filter(|start| now.iter().all(|run| run.start != *start)) {
            let slot = self.slot_of.remove(&start).expect("listed above");
            self.write(slot, 0..0);
            self.free.push(slot);
        }
        for run in now {
            let slot = match self.slot_of.get(&run.start) {
                Some(slot) => *slot,
                None if self.next == self.slots.len() && self.free.is_empty() => continue,
                None => {
                    let slot = self.free.pop().unwrap_or_else(|| {
                        self.next += 1;
                        self.next - 1
                    });
                    self.slot_of.insert(run.start, slot);
                    slot
                }
            };
            self.write(slot, run);
        }
    }

    fn write(&self, slot: usize, run: PageRange) {
        let [start, end] = &self.slots[slot];
        start.store(run.start as u64, Ordering::Relaxed);
        end.store(run.end as u64, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_slots_hold_what_counts(steps in prop::collection::vec((0usize..64, 1usize..40, any::<bool>()), 1..60)) {
            let slots: &'static [[AtomicU64; 2]] = Vec::from_iter((0..64).map(|_| [AtomicU64::new(0), AtomicU64::new(0)])).leak();
            let mut shown = Shown::new(64, slots);
            let mut model = [false; 64];
            for (start, len, counts) in steps {
                let range = start..(start + len).min(64);
                shown.set(range.clone(), counts);
                model[range].fill(counts);
                let mut seen = [false; 64];
                for [start, end] in slots {
                    let run = start.load(Ordering::Relaxed) as usize..end.load(Ordering::Relaxed) as usize;
                    prop_assert!(seen[run.clone()].iter().all(|page| !page), "twice");
                    seen[run].fill(true);
                }
                prop_assert_eq!(seen, model);
            }
        }
    }
}
