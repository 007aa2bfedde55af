//! The list of managed ranges, in the counters' file, for other processes: runs of pages that count
//! against the budget, each as a pair of the first page and the page after the last one. A pair of
//! zeros is unused. The pairs are not sorted.
//!
//! The pager's own counters are as of its last census. With this list and a stopped program's page
//! table, another process can compute them at any moment.

use crate::runs::{PageRange, RunMap};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Largest number of runs in the list. By default, Linux limits a program to 65,530 mappings.
pub const MAX_RUNS: usize = 1 << 17;

/// The writer of the list.
pub struct ManagedList {
    slots: &'static [[AtomicU64; 2]],
    runs: RunMap<bool>,
    slot_of: BTreeMap<usize, usize>,
    free: Vec<usize>,
    next: usize,
}

impl ManagedList {
    pub fn new(pages: usize, slots: &'static [[AtomicU64; 2]]) -> ManagedList {
        ManagedList { slots, runs: RunMap::new(pages, false), slot_of: BTreeMap::new(), free: Vec::new(), next: 0 }
    }

    /// A writer without a list, if there is no file.
    pub fn without_file() -> ManagedList {
        ManagedList::new(1 << 36, &[])
    }

    /// Set whether the pages of `range` count against the budget.
    pub fn set(&mut self, range: PageRange, counts: bool) {
        if self.slots.is_empty() {
            return;
        }
        // Runs that overlap `range` change, and adjacent runs may merge with it.
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
        fn the_list_has_the_counted_pages_once(steps in prop::collection::vec((0usize..64, 1usize..40, any::<bool>()), 1..60)) {
            let slots: &'static [[AtomicU64; 2]] = Vec::from_iter((0..64).map(|_| [AtomicU64::new(0), AtomicU64::new(0)])).leak();
            let mut list = ManagedList::new(64, slots);
            let mut model = [false; 64];
            for (start, len, counts) in steps {
                let range = start..(start + len).min(64);
                list.set(range.clone(), counts);
                model[range].fill(counts);
                let mut seen = [false; 64];
                for [start, end] in slots {
                    let run = start.load(Ordering::Relaxed) as usize..end.load(Ordering::Relaxed) as usize;
                    prop_assert!(seen[run.clone()].iter().all(|page| !page), "a page is listed twice");
                    seen[run].fill(true);
                }
                prop_assert_eq!(seen, model);
            }
        }
    }
}
