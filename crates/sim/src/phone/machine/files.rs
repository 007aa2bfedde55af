//! Reads of file-backed pages, from flash or from an NVM cache of the swap scheme, and writes to
//! files.
//!
//! Source of readahead: Linux mm/filemap.c, `do_sync_mmap_readahead` and `do_async_mmap_readahead`;
//! mm/readahead.c, `page_cache_async_ra`. A fault reads a window. The use of its last quarter
//! starts the read of the next window, and from then on the first use of each window that of the
//! next one.
//! Deviations: windows are aligned; without `reads_ahead` a task waits for each window from its
//! first use on; pages that are read ahead have no frame before they are used.

use crate::ledger::{Charge, Ledger, Prices};
use crate::replay::SwapSide;
use std::collections::HashMap;
use std::ops::Range;
use swaplab_policy::PageView;
use swaplab_swap::{Medium, Step, Transfer, Transfers, Work};
use swaplab_vocab::{AppId, PageId, PAGE_SIZE};

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
    /// By owner of a file: the last window that was read; `None` if nothing is read ahead.
    last: Option<HashMap<AppId, LastWindow>>,
}

/// The last window that was read of a file.
#[derive(Clone, Copy)]
struct LastWindow {
    /// The page after it.
    end: PageId,
    /// The time of its first use.
    used_ns: u64,
    /// Whether it followed the window before it, so that its first use started the next read.
    follows: bool,
}

impl FileReads {
    pub fn new(pages: usize, read_ahead: u32, reads_ahead: bool) -> FileReads {
        let (charged, out) = (Charge::default(), Transfers::default());
        let last = reads_ahead.then(HashMap::new);
        FileReads { ledger: Ledger::default(), charged, out, window: Vec::new(), seen: vec![false; pages], read_ahead, last }
    }

    /// The time for which the window of `page` has been read already, if the file of `owner` is
    /// used in order.
    pub fn ahead_ns(&self, owner: AppId, page: PageId, now_ns: u64) -> u64 {
        match self.last.as_ref().and_then(|last| last.get(&owner)) {
            Some(last) if last.end == page && last.follows => now_ns - last.used_ns,
            Some(last) if last.end == page => (now_ns - last.used_ns) / 4,
            _ => 0,
        }
    }

    /// Note that the window of `page` is used from `now_ns` on.
    pub fn note_use(&mut self, owner: AppId, page: PageId, file: &Range<PageId>, now_ns: u64) {
        let Some(last) = &mut self.last else { return };
        let end = page - (page - file.start) % self.read_ahead + self.read_ahead;
        let follows = last.get(&owner).is_some_and(|last| last.end == page);
        last.insert(owner, LastWindow { end, used_ns: now_ns, follows });
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
