//! Reads of file pages from flash.

use crate::ledger::{Charge, Ledger, Prices};
use std::ops::Range;
use swaplab_policy::PageView;
use swaplab_swap::{Medium, Step, Transfer, Transfers, Work};
use swaplab_vocab::{PageId, PAGE_SIZE};

pub struct FileReads {
    pub ledger: Ledger,
    /// Pages that have been in memory before.
    seen: Vec<bool>,
    read_ahead: u32,
}

impl FileReads {
    pub fn new(pages: usize, read_ahead: u32) -> FileReads {
        FileReads { ledger: Ledger::default(), seen: vec![false; pages], read_ahead }
    }

    /// The pages of the aligned window around `page` that belong to the same `file` and are in no frame.
    pub fn window(&self, page: PageId, file: &Range<PageId>, pages: &PageView) -> Vec<PageId> {
        let start = page - (page - file.start) % self.read_ahead;
        (start..(start + self.read_ahead).min(file.end)).filter(|p| *p == page || !pages.is_resident(*p)).collect()
    }

    /// Read a window in one request.
    pub fn read(&mut self, window: &[PageId], prices: &Prices) -> Charge {
        let read = Step::Read { medium: Medium::Flash, slot: 0, bytes: window.len() as u32 * PAGE_SIZE as u32, continues: false };
        let steps = [Step::Cpu(Work::BlockRequest), read].map(|step| Transfer { page: window[0], step }).into();
        self.ledger.charge(&Transfers { steps, ..Transfers::default() }, prices)
    }

    /// Whether `page` has been in memory before.
    pub fn was_in_memory(&self, page: PageId) -> bool {
        self.seen[page as usize]
    }

    /// `page` is in memory; whether it had been before.
    pub fn refaulted(&mut self, page: PageId) -> bool {
        std::mem::replace(&mut self.seen[page as usize], true)
    }
}
