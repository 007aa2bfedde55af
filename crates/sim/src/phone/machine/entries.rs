//! Swap entries: the swap scheme with its accounts, and each stay of a page in swap, from its
//! swap-out to the release of its slot.

use super::stays::{Freed, Stays};
use crate::replay::SwapSide;
use swaplab_swap::{Medium, Served, Stored};
use swaplab_vocab::{AppId, Nanos, Op, PageId};

/// The number that stands for no stay.
const NONE: u32 = u32::MAX;

pub struct SwapEntries {
    pub side: SwapSide,
    /// Whether there is a swap area, and its capacity in pages if that is limited.
    pub exists: bool,
    pub capacity: Option<u64>,
    /// Whether the scheme's pool takes the phone's frames.
    pub pool_takes_frames: bool,
    pub stays: Stays,
    /// By page, the number of the stay that its slot belongs to.
    stay_of: Vec<u32>,
    /// Number of swap-outs that failed because swap was full.
    pub full: u64,
    /// Number of pages of DRAM that the scheme's contents take.
    dram_pages: usize,
}

impl SwapEntries {
    /// Create the entries of `pages` pages, which belong to `apps` apps and `shared` ranges of
    /// shared pages.
    pub fn new(side: SwapSide, capacity: Option<u64>, pages: usize, apps: usize, shared: usize) -> SwapEntries {
        let (stays, stay_of) = (Stays::new(apps, shared, pages), vec![NONE; pages]);
        SwapEntries { side, exists: true, capacity, pool_takes_frames: false, stays, stay_of, full: 0, dram_pages: 0 }
    }

    /// Number of the phone's frames that the pool takes.
    #[inline]
    pub fn pool_frames(&self) -> usize {
        if self.pool_takes_frames {
            self.dram_pages
        } else {
            0
        }
    }

    /// Note how much the pool takes after the scheme has changed its contents.
    fn note_pool(&mut self) {
        self.dram_pages = self.side.dram_pages() as usize;
    }

    /// Serve a reference to `page`, which is in no frame. `mapped`: it is mapped in place.
    pub fn fault(&mut self, page: PageId, op: Op, mapped: bool) -> Served {
        let served = self.side.fault(page, op, mapped);
        self.note_pool();
        served
    }

    /// Copy `page` into memory in the fault on another page of its large folio.
    pub fn fault_of_folio(&mut self, page: PageId) {
        self.side.fault_of_folio(page);
        self.note_pool();
    }

    /// Give back `page`, which is still in memory under write-back, to a reference. Returns whether
    /// its slot is kept.
    pub fn found_in_memory(&mut self, page: PageId, op: Op) -> bool {
        let kept = self.side.found_in_memory(page, op);
        self.note_pool();
        kept
    }

    /// Run the scheme's background work at time `now`.
    pub fn tick(&mut self, now: Nanos) {
        self.side.tick(now);
        self.note_pool();
    }

    /// Whether `page` has a slot.
    pub fn holds(&self, page: PageId) -> bool {
        self.stay_of[page as usize] != NONE
    }

    /// The share of swap that is free; 1 if its size is not limited.
    pub fn free_share(&self) -> f64 {
        self.capacity.map_or(1.0, |slots| 1.0 - self.used() as f64 / slots.max(1) as f64)
    }

    /// Number of pages in swap.
    pub fn used(&self) -> u64 {
        self.side.usage().pages
    }

    /// Swap `page` out. `side.charged` then has the costs of the transfers.
    pub fn swap_out(&mut self, page: PageId, owner: AppId, dirty: bool, now_ns: u64) -> Stored {
        let stored = self.side.swap_out(page, dirty);
        self.note_pool();
        while let Some(other) = self.side.given_up.pop() {
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
        // The content of its old slot was stale.
        self.free(page, Freed::Discard, now_ns);
        self.stay_of[page as usize] = self.stays.begin(page, owner, now_ns);
    }

    /// The storage medium to which the last swap-out writes `page` itself.
    pub fn storage_of(&self, page: PageId) -> Option<Medium> {
        self.side.storage_of(page)
    }

    /// Note that the content of `page` was read from its slot.
    pub fn note_read(&mut self, page: PageId) {
        self.stays.note_read(self.stay_of[page as usize]);
    }

    /// Free the slot of `page`.
    pub fn free(&mut self, page: PageId, why: Freed, now_ns: u64) {
        let number = std::mem::replace(&mut self.stay_of[page as usize], NONE);
        self.stays.end(number, why, now_ns);
    }

    /// Drop `page`, whose owner has died. Returns whether the page had a slot.
    pub fn drop_page(&mut self, page: PageId, now_ns: u64) -> bool {
        let had_slot = self.holds(page);
        self.free(page, Freed::Owner, now_ns);
        self.side.discard(page);
        if had_slot {
            self.note_pool();
        }
        had_slot
    }

    /// Check the invariants of swap alone. Each stay is an allocated slot, which was freed by a
    /// copy, by a discard or by its owner's death, or is still in use.
    #[cfg(test)]
    pub fn check(&self, now_ns: u64) -> Result<(), String> {
        self.side.check()?;
        if self.dram_pages as u64 != self.side.dram_pages() {
            return Err(format!("the pool takes {} pages, {} are counted", self.side.dram_pages(), self.dram_pages));
        }
        let in_use = self.stays.iter().filter(|(stay, _)| stay.freed().is_none()).count() as u64;
        if in_use != self.side.usage().pages {
            return Err(format!("{in_use} stays in swap have not ended, the scheme holds {} pages", self.side.usage().pages));
        }
        let ends = |freed: Option<(u64, Freed)>, died_ns: Option<u64>| freed.map(|(at, _)| at).into_iter().chain(died_ns);
        match self.stays.iter().find(|(s, died_ns)| s.born_ns > now_ns || ends(s.freed(), *died_ns).any(|end| end < s.born_ns)) {
            Some(stay) => Err(format!("a stay in swap begins after its end, or after the present time, {now_ns} ns: {stay:?}")),
            None => Ok(()),
        }
    }

    /// Whether `app` has a stay whose lifetime has not ended.
    #[cfg(test)]
    pub fn is_open(&self, app: AppId) -> bool {
        self.stays.iter().any(|(stay, died_ns)| stay.owner == app && died_ns.is_none())
    }
}
