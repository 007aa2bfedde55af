//! Swap: the scheme with its accounts, and a record of each stay of a page in swap: from swap-out to its slot's release.

use super::stays::{Freed, Stays};
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
    /// The scheme's pool is in the phone's frames.
    pub pool_takes_frames: bool,
    pub stays: Stays,
    /// The stay that a page's slot belongs to.
    stay_of: Vec<u32>,
    /// Swap-outs that found swap full.
    pub full: u64,
}

impl SwapEntries {
    /// For so many pages of so many apps and ranges of shared pages.
    pub fn new(side: SwapSide, capacity: Option<u64>, pages: usize, apps: usize, shared: usize) -> SwapEntries {
        let (stays, stay_of) = (Stays::new(apps, shared), vec![NONE; pages]);
        SwapEntries { side, exists: true, capacity, pool_takes_frames: false, stays, stay_of, full: 0 }
    }

    /// Frames that hold compressed pages.
    pub fn pool_frames(&self) -> usize {
        if self.pool_takes_frames {
            self.side.dram_pages() as usize
        } else {
            0
        }
    }

    /// Whether `page` has a slot.
    pub fn holds(&self, page: PageId) -> bool {
        self.stay_of[page as usize] != NONE
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
        self.stay_of[page as usize] = self.stays.begin(page, owner, now_ns);
    }

    /// The storage that the last swap-out writes `page` itself to.
    pub fn storage_of(&self, page: PageId) -> Option<Medium> {
        self.side.storage_of(page)
    }

    /// The content of `page` was read from its slot.
    pub fn note_read(&mut self, page: PageId) {
        self.stays.note_read(self.stay_of[page as usize]);
    }

    /// The slot of `page` is given up.
    pub fn free(&mut self, page: PageId, why: Freed, now_ns: u64) {
        let number = std::mem::replace(&mut self.stay_of[page as usize], NONE);
        self.stays.end(number, why, now_ns);
    }

    /// The owner of `page` has died; whether the page had a slot.
    pub fn drop_page(&mut self, page: PageId, now_ns: u64) -> bool {
        let held = self.holds(page);
        self.free(page, Freed::Owner, now_ns);
        self.side.discard(page);
        held
    }

    /// Every invariant of swap alone. Each stay is a slot allocated: it was freed by copy, by discard or by its owner's death, or it is
    /// held.
    #[cfg(test)]
    pub fn check(&self, now_ns: u64) -> Result<(), String> {
        self.side.check()?;
        let held = self.stays.iter().filter(|(stay, _)| stay.freed().is_none()).count() as u64;
        if held != self.side.usage().pages {
            return Err(format!("{held} stays in swap have not ended, the scheme holds {} pages", self.side.usage().pages));
        }
        let ends = |freed: Option<(u64, Freed)>, died_ns: Option<u64>| freed.map(|(at, _)| at).into_iter().chain(died_ns);
        match self.stays.iter().find(|(s, died_ns)| s.born_ns > now_ns || ends(s.freed(), *died_ns).any(|end| end < s.born_ns)) {
            Some(stay) => Err(format!("a stay in swap begins after its end, or after {now_ns} ns, which it is now: {stay:?}")),
            None => Ok(()),
        }
    }

    /// Whether stays of `app` have not ended.
    #[cfg(test)]
    pub fn is_open(&self, app: AppId) -> bool {
        self.stays.iter().any(|(stay, died_ns)| stay.owner == app && died_ns.is_none())
    }
}
