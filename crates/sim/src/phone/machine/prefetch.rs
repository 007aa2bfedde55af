//! What: prepaging at a switch: pages that the app's last start had to fetch are read when it is started, while it does its own work.
//! Why: a switch faults page by page and waits for each; what it needs is much the same every time.
//! Source: ASAP ("ASAP: Fast Mobile Application Switch via Adaptive Prepaging", USENIX ATC 2021).
//! Deviations: written after the paper's abstract. One list for pages of swap and of files: those that the last start fetched,
//! ahead or by fault, and used. The reads of a start are under way together, as many as the device serves at a time, and run beside
//! its processor time; it waits for what is left of them. No estimate from the page table's neighbourhood.
//! Weakness: what is read and not used took a frame and a read; the list lags by one start.

use super::hotness::Hotness;
use crate::ledger::{Charge, Prices};
use std::ops::Range;
use swaplab_swap::Medium;
use swaplab_vocab::{AppId, PageId};

/// What the last starts used, and reads before a start asks for their pages.
pub struct Prefetch {
    pub trail: Trail,
    pub hotness: Hotness,
    pub reads: Overlap,
}

impl Prefetch {
    pub fn new(apps: usize, hotness: Hotness) -> Prefetch {
        Prefetch { trail: Trail::new(apps), hotness, reads: Overlap::default() }
    }

    /// Whoever is started or in front uses `pages`.
    pub fn used(&mut self, pages: Range<PageId>) {
        self.trail.used(pages.clone());
        self.hotness.used(pages);
    }
}

/// Reads that are under way together, while pages are brought in before they are asked for.
#[derive(Default)]
pub struct Overlap {
    /// By medium; nothing where reads follow one another.
    together: Option<[u64; 5]>,
    /// Of their time, so much passes during the app's own work: nobody waits for it, and the clock does not show it twice.
    hidden_ns: u64,
}

impl Overlap {
    /// Reads from now on run together, and during `cpu_ns` of the app's own work.
    pub fn begin(&mut self, cpu_ns: u64) {
        *self = Overlap { together: Some([0; 5]), hidden_ns: cpu_ns };
    }

    pub fn end(&mut self) {
        *self = Overlap::default();
    }

    /// What the reads of `charge` on `medium` are waited for.
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

/// Per app, what its last start fetched and used; and what the present one does.
#[derive(Default)]
pub struct Trail {
    lists: Vec<Vec<PageId>>,
    /// Fetched by the present start.
    fetched: Vec<PageId>,
    used: Vec<PageId>,
    on: bool,
}

impl Trail {
    pub fn new(apps: usize) -> Trail {
        Trail { lists: vec![Vec::new(); apps], ..Trail::default() }
    }

    /// `app` is started: what its last start fetched and used.
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

    /// The start of `app` is over.
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
