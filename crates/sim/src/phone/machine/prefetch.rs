//! What: prepaging at an app switch: the pages that the app's last start fetched are read while the
//! app does its own work.
//! Why: a switch faults page by page and waits for each; it needs much the same pages every time.
//! Source: ASAP ("ASAP: Fast Mobile Application Switch via Adaptive Prepaging", USENIX ATC 2021).
//! Deviations: written after the paper's abstract. There is one list for anonymous and file-backed
//! pages: those that the last start fetched, ahead or by fault, and used. The reads of a start are
//! pending together, as many as the device serves at a time, and overlap with its processor time;
//! it waits for the rest of them. There is no estimate from neighbors in the page table.
//! Weakness: a page that is read and not used costs a frame and a read; the list lags by one start.

use super::hotness::Hotness;
use crate::ledger::{Charge, Prices};
use std::ops::Range;
use swaplab_swap::Medium;
use swaplab_vocab::{AppId, PageId};

/// Pages that the last starts used, and the reads of prepaging.
pub struct Prefetch {
    pub trail: Trail,
    pub hotness: Hotness,
    pub reads: Overlap,
}

impl Prefetch {
    pub fn new(apps: usize, hotness: Hotness) -> Prefetch {
        Prefetch { trail: Trail::new(apps), hotness, reads: Overlap::default() }
    }

    /// Note that the running task uses `pages`.
    pub fn used(&mut self, pages: Range<PageId>) {
        self.trail.used(pages.clone());
        self.hotness.used(pages);
    }
}

/// Overlap of the reads of prepaging with each other and with the app's own work.
#[derive(Default)]
pub struct Overlap {
    /// By medium, the number of reads that are pending together; `None` if reads follow one
    /// another.
    together: Option<[u64; 5]>,
    /// Read time that overlaps with the app's own work. The app does not wait for it, so it must
    /// not be added to the clock again.
    hidden_ns: u64,
}

impl Overlap {
    /// Let reads from now on overlap with each other and with `cpu_ns` of the app's own work.
    pub fn begin(&mut self, cpu_ns: u64) {
        *self = Overlap { together: Some([0; 5]), hidden_ns: cpu_ns };
    }

    pub fn end(&mut self) {
        *self = Overlap::default();
    }

    /// The time that the app waits for the reads of `charge` on `medium`.
    pub fn wait_ns(&mut self, charge: &Charge, medium: Medium, prices: &Prices) -> u64 {
        let before = self.together.map_or(0, |reads| reads[medium as usize]);
        let read = charge.read_wait(medium, before, prices);
        let hidden = read.min(self.hidden_ns);
        self.hidden_ns -= hidden;
        if let Some(reads) = &mut self.together {
            reads[medium as usize] += charge.of(medium).reads;
        }
        read - hidden
    }
}

/// By app: the pages that its last start fetched and used; and the pages of the present start.
#[derive(Default)]
pub struct Trail {
    lists: Vec<Vec<PageId>>,
    /// Pages that the present start has fetched, and that it has used.
    fetched: Vec<PageId>,
    used: Vec<PageId>,
    on: bool,
}

impl Trail {
    pub fn new(apps: usize) -> Trail {
        Trail { lists: vec![Vec::new(); apps], ..Trail::default() }
    }

    /// Begin the start of `app`. Returns the pages that its last start fetched and used.
    pub fn begin(&mut self, app: AppId) -> Vec<PageId> {
        self.on = true;
        std::mem::take(&mut self.lists[usize::from(app)])
    }

    pub fn fetched(&mut self, page: PageId) {
        if self.on {
            self.fetched.push(page);
        }
    }

    pub fn used(&mut self, pages: Range<PageId>) {
        if self.on {
            self.used.extend(pages);
        }
    }

    /// End the start of `app` and keep its list.
    pub fn finish(&mut self, app: AppId) {
        self.on = false;
        let (mut fetched, mut used) = (std::mem::take(&mut self.fetched), std::mem::take(&mut self.used));
        fetched.sort_unstable();
        used.sort_unstable();
        fetched.retain(|page| used.binary_search(page).is_ok());
        fetched.dedup();
        self.lists[usize::from(app)] = fetched;
    }
}
