//! Swap: the scheme with its accounts, and a record ([`Entry`]) of each stay of a page in swap: from swap-out to its slot's release.

use super::record::{Entry, Freed};
use crate::phone::user::owner::{shared_number, SYSTEM};
use crate::replay::SwapSide;
use swaplab_swap::{Medium, Stored};
use swaplab_vocab::{AppId, PageId};

/// No stay in swap.
const NONE: u32 = u32::MAX;

pub struct SwapEntries {
    pub side: SwapSide,
    /// There is a swap area; how many pages it holds, if that is limited.
    pub exists: bool,
    pub capacity: Option<u64>,
    /// Bytes of a frame that the scheme's pool takes, where it takes frames at all.
    pub pool_frame_bytes: Option<u64>,
    /// Every stay, ended or not, by the time that it began.
    pub entries: Vec<Entry>,
    /// The stay that a page's slot belongs to.
    entry_of: Vec<u32>,
    /// Stays whose owner lives, by app, then by range of shared pages.
    open: Vec<Vec<u32>>,
    apps: usize,
    /// Swap-outs that found swap full.
    pub full: u64,
}

impl SwapEntries {
    /// For so many pages of so many apps and ranges of shared pages.
    pub fn new(side: SwapSide, capacity: Option<u64>, pages: usize, apps: usize, shared: usize) -> SwapEntries {
        let (entry_of, open) = (vec![NONE; pages], vec![Vec::new(); apps + shared]);
        SwapEntries { side, exists: true, capacity, pool_frame_bytes: None, entries: Vec::new(), entry_of, open, apps, full: 0 }
    }

    /// Frames that hold compressed pages.
    pub fn pool_frames(&self) -> usize {
        self.pool_frame_bytes.map_or(0, |bytes| self.side.usage().dram_bytes.div_ceil(bytes) as usize)
    }

    /// Whether `page` has a slot.
    pub fn holds(&self, page: PageId) -> bool {
        self.entry_of[page as usize] != NONE
    }

    /// Pages in swap.
    pub fn used(&self) -> u64 {
        self.side.usage().pages
    }

    /// The scheme takes `page`, or does not. What its transfers took is `side.charged`.
    pub fn swap_out(&mut self, page: PageId, owner: AppId, dirty: bool, now_ns: u64) -> Stored {
        let stored = self.side.swap_out(page, dirty);
        for other in std::mem::take(&mut self.side.given_up) {
            self.free(other, Freed::Discard, now_ns);
        }
        match stored {
            Stored::Written => self.begin(page, owner, now_ns),
            Stored::Full => {
                self.free(page, Freed::Discard, now_ns);
                self.full += 1;
            }
            Stored::Unchanged | Stored::Dropped => {}
        }
        stored
    }

    fn begin(&mut self, page: PageId, owner: AppId, now_ns: u64) {
        // What its old slot held was stale.
        self.free(page, Freed::Discard, now_ns);
        let number = self.entries.len() as u32;
        self.entries.push(Entry { page, owner, reads: 0, born_ns: now_ns, freed: None, died_ns: None });
        self.entry_of[page as usize] = number;
        if let Some(open) = self.open_of(owner) {
            self.open[open].push(number);
        }
    }

    /// The storage that the last swap-out writes `page` itself to.
    pub fn storage_of(&self, page: PageId) -> Option<Medium> {
        self.side.storage_of(page)
    }

    /// The content of `page` was read from its slot.
    pub fn note_read(&mut self, page: PageId) {
        if let Some(entry) = self.entries.get_mut(self.entry_of[page as usize] as usize) {
            entry.reads += 1;
        }
    }

    /// The slot of `page` is given up.
    pub fn free(&mut self, page: PageId, why: Freed, now_ns: u64) {
        let number = std::mem::replace(&mut self.entry_of[page as usize], NONE);
        if let Some(entry) = self.entries.get_mut(number as usize) {
            entry.freed = Some((now_ns, why));
        }
    }

    /// The owner of `page` has died; whether the page had a slot.
    pub fn drop_page(&mut self, page: PageId, now_ns: u64) -> bool {
        let held = self.holds(page);
        self.free(page, Freed::Owner, now_ns);
        self.side.discard(page);
        held
    }

    /// An owner has died: its stays end.
    pub fn owner_died(&mut self, owner: AppId, now_ns: u64) {
        let Some(open) = self.open_of(owner) else { return };
        for number in std::mem::take(&mut self.open[open]) {
            self.entries[number as usize].died_ns = Some(now_ns);
        }
    }

    /// Where the stays of an owner's pages are listed; the system's, which never ends, are not.
    fn open_of(&self, owner: AppId) -> Option<usize> {
        (owner != SYSTEM).then(|| shared_number(owner).map_or(usize::from(owner), |number| self.apps + number))
    }

    /// Every invariant of swap alone. Each stay is a slot allocated: it was freed by copy, by discard or by its owner's death, or it is
    /// held.
    #[cfg(test)]
    pub fn check(&self, now_ns: u64) -> Result<(), String> {
        self.side.check()?;
        let held = self.entries.iter().filter(|e| e.freed.is_none()).count() as u64;
        if held != self.side.usage().pages {
            return Err(format!("{held} stays in swap have not ended, the scheme holds {} pages", self.side.usage().pages));
        }
        let ends = |e: &Entry| e.freed.map(|(at, _)| at).into_iter().chain(e.died_ns);
        match self.entries.iter().find(|e| e.born_ns > now_ns || ends(e).any(|end| end < e.born_ns)) {
            Some(entry) => Err(format!("a stay in swap begins after its end, or after {now_ns} ns, which it is now: {entry:?}")),
            None => Ok(()),
        }
    }

    /// Whether stays of `app` have not ended.
    #[cfg(test)]
    pub fn is_open(&self, app: AppId) -> bool {
        !self.open[usize::from(app)].is_empty()
    }
}
