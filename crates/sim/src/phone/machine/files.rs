//! Reads of file-backed pages, from flash or from an NVM cache of the swap scheme, and writes to
//! files.

use crate::ledger::{Charge, Ledger, Prices};
use crate::replay::SwapSide;
use std::ops::Range;
use swaplab_policy::PageView;
use swaplab_swap::{Medium, Step, Transfer, Transfers, Work};
use swaplab_vocab::{PageId, PAGE_SIZE};

pub struct FileReads {
    pub ledger: Ledger,
    /// The costs of the last read.
    pub charged: Charge,
    /// Buffers for the transfers of a read and for the pages of its window, kept to be reused.
    out: Transfers,
    window: Vec<PageId>,
    /// By page, whether it has been in memory before.
    seen: Vec<bool>,
    read_ahead: u32,
}

impl FileReads {
    pub fn new(pages: usize, read_ahead: u32) -> FileReads {
        let (charged, out) = (Charge::default(), Transfers::default());
        FileReads { ledger: Ledger::default(), charged, out, window: Vec::new(), seen: vec![false; pages], read_ahead }
    }

    /// The pages of the aligned readahead window around `page` that belong to the same `file` and
    /// are not resident.
    pub fn window(&mut self, page: PageId, file: &Range<PageId>, pages: &PageView) -> Vec<PageId> {
        let start = page - (page - file.start) % self.read_ahead;
        let mut window = std::mem::take(&mut self.window);
        window.extend((start..(start + self.read_ahead).min(file.end)).filter(|p| *p == page || !pages.is_resident(*p)));
        window
    }

    /// Return the buffer of a window for reuse.
    pub fn take_back(&mut self, mut window: Vec<PageId>) {
        window.clear();
        self.window = window;
    }

    /// Read a window in one request. If `swap` has a cache below files, its pages are read from
    /// there and only the others from flash.
    pub fn read(&mut self, window: &[PageId], swap: &mut SwapSide, prices: &Prices) {
        self.out.clear();
        if swap.caches_files() {
            swap.read_files(window, &mut self.out);
        } else {
            let read = Step::Read { medium: Medium::Flash, slot: 0, bytes: window.len() as u32 * PAGE_SIZE as u32, continues: false };
            self.out.steps.extend([Step::Cpu(Work::BlockRequest), read].map(|step| Transfer { page: window[0], step }));
        }
        self.ledger.charge(&self.out, prices, &mut self.charged);
    }

    /// Write `pages` pages of files to flash, with a request for each.
    pub fn write(&mut self, pages: u64, prices: &Prices) {
        let write = Step::Write { medium: Medium::Flash, slot: 0, bytes: PAGE_SIZE as u32, continues: false };
        self.out.clear();
        for _ in 0..pages {
            self.out.steps.extend([Step::Cpu(Work::BlockRequest), write].map(|step| Transfer { page: 0, step }));
        }
        self.ledger.charge(&self.out, prices, &mut self.charged);
    }

    /// Whether `page` has been in memory before.
    pub fn was_in_memory(&self, page: PageId) -> bool {
        self.seen[page as usize]
    }

    /// Note that `page` is in memory. Returns whether it has been in memory before.
    pub fn refaulted(&mut self, page: PageId) -> bool {
        std::mem::replace(&mut self.seen[page as usize], true)
    }
}
