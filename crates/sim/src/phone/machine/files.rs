//! Reads of file-backed pages, from flash or from an NVM cache of the swap scheme, and writes to
//! files.
//!
//! Deviations: a phone that does not read ahead reads aligned windows, and a task waits for each.

use super::read_ahead::{Arrival, ReadAhead};
use crate::ledger::{Charge, Ledger, Prices};
use crate::replay::SwapSide;
use std::ops::Range;
use swaplab_policy::PageView;
use swaplab_swap::{Medium, Step, Transfer, Transfers, Work};
use swaplab_vocab::{AppId, PageId, PAGE_SIZE};

pub struct FileReads {
    pub ledger: Ledger,
    /// The costs of the last read.
    pub charged: Charge,
    /// `None` if nothing is read before it is used.
    pub ahead: Option<ReadAhead>,
    /// Buffers for the transfers of a read and for the pages of its window, kept to be reused.
    out: Transfers,
    window: Vec<PageId>,
    /// By page, whether it has been in memory before.
    seen: Vec<bool>,
    window_pages: u32,
}

impl FileReads {
    pub fn new(pages: usize, window_pages: u32, reads_ahead: bool) -> FileReads {
        let (charged, out) = (Charge::default(), Transfers::default());
        let ahead = reads_ahead.then(|| ReadAhead::new(pages, window_pages));
        FileReads { ledger: Ledger::default(), charged, ahead, out, window: Vec::new(), seen: vec![false; pages], window_pages }
    }

    /// A process of `owner` opens its file anew.
    pub fn open(&mut self, owner: AppId) {
        if let Some(ahead) = &mut self.ahead {
            ahead.open(owner);
        }
    }

    /// The pages that a fault on `page` reads, which belong to the same `file` and are not in
    /// memory, and the page of them that is marked.
    pub fn window(&mut self, owner: AppId, page: PageId, file: &Range<PageId>, pages: &PageView) -> (Vec<PageId>, Option<PageId>) {
        let (window, mark) = match &mut self.ahead {
            Some(ahead) => ahead.around(owner, page, file),
            None => {
                let start = page - (page - file.start) % self.window_pages;
                (start..(start + self.window_pages).min(file.end), None)
            }
        };
        (self.absent(window, pages), mark)
    }

    /// The pages that the use of `page` reads before they are wanted, and the page of them that is
    /// marked.
    pub fn next_window(&mut self, owner: AppId, page: PageId, file: &Range<PageId>, pages: &PageView) -> (Vec<PageId>, Option<PageId>) {
        match self.ahead.as_mut().and_then(|ahead| ahead.after(owner, page, file, pages)) {
            Some((window, mark)) => (self.absent(window, pages), mark),
            None => (Vec::new(), None),
        }
    }

    fn absent(&mut self, window: Range<PageId>, pages: &PageView) -> Vec<PageId> {
        let mut absent = std::mem::take(&mut self.window);
        absent.extend(window.filter(|page| !pages.is_resident(*page)));
        absent
    }

    /// See [`ReadAhead::note_read`].
    pub fn note_read(&mut self, owner: AppId, pages: &[PageId], mark: Option<PageId>, found: u32) {
        if let Some(ahead) = &mut self.ahead {
            ahead.note_read(owner, pages, mark, found);
        }
    }

    /// See [`ReadAhead::arrives`].
    pub fn note_arrival(&mut self, page: PageId, arrival: Arrival) {
        if let Some(ahead) = &mut self.ahead {
            ahead.arrives(page, arrival);
        }
    }

    /// Return the buffer of a window for reuse.
    pub fn take_back(&mut self, mut window: Vec<PageId>) {
        window.clear();
        self.window = window;
    }

    /// Read the pages of a window: in one request, or, for a phone that reads ahead, with one for
    /// each part of it that is adjacent (mm/readahead.c, `read_pages`). If `swap` has a cache below
    /// files, its pages are read from there and only the others from flash.
    pub fn read(&mut self, window: &[PageId], swap: &mut SwapSide, prices: &Prices) {
        self.out.clear();
        if swap.caches_files() {
            swap.read_files(window, &mut self.out);
        } else {
            let is_cut = self.ahead.is_some();
            for part in window.chunk_by(|a, b| !is_cut || a + 1 == *b) {
                let read = Step::Read { medium: Medium::Flash, slot: 0, bytes: part.len() as u32 * PAGE_SIZE as u32, continues: false };
                self.out.steps.extend([Step::Cpu(Work::BlockRequest), read].map(|step| Transfer { page: part[0], step }));
            }
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
