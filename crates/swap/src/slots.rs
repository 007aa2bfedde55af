//! Slots of a swap area: their owners, and the allocation of free slots.
//!
//! Allocation follows the kernel (`mm/swapfile.c`). The area is divided into clusters of 256 slots.
//! One cluster at a time is filled from its start, so that pages that leave together get adjacent
//! slots. Then a completely free cluster is taken, and if there is none, any free slot. Runs of
//! adjacent slots for large folios fill clusters of their own.

use crate::Slot;
use std::collections::{BTreeMap, VecDeque};
use swaplab_vocab::PageId;

/// Slots in a cluster (`SWAPFILE_CLUSTER`).
pub const CLUSTER: usize = 256;
const NONE: u32 = u32::MAX;

pub struct Slots {
    slot_of: Vec<Slot>,
    /// By slot: the number of its owners; 0 if the slot is free.
    owners: Vec<u32>,
    /// By slot: one of its owners. The value is stale while the slot is free.
    page_at: Vec<PageId>,
    /// By shared slot: the pages that became its owners by `share`. Some may have released it
    /// since.
    heirs: BTreeMap<Slot, Vec<PageId>>,
    /// By cluster: the number of taken slots.
    taken: Vec<u32>,
    /// Completely free clusters, in order of allocation.
    empty: VecDeque<u32>,
    /// The slot at which the next search starts, and the next one for a run.
    next: usize,
    next_run: usize,
    /// The reserved run: its first slot, and the first page and number of pages that it is for.
    reserved: (usize, PageId, u32),
    used: usize,
}

impl Slots {
    /// An area of `capacity` slots for page numbers below `pages`. `None`, or a larger capacity
    /// than needed, gives as many slots as can ever be in use.
    pub fn new(pages: usize, capacity: Option<u64>) -> Slots {
        let slots = Slots::count(pages, capacity);
        let clusters = slots.div_ceil(CLUSTER);
        Slots {
            slot_of: vec![NONE; pages],
            owners: vec![0; slots],
            page_at: vec![0; slots],
            heirs: BTreeMap::new(),
            taken: vec![0; clusters],
            empty: (0..clusters as u32).collect(),
            next: 0,
            next_run: 0,
            reserved: (0, 0, 0),
            used: 0,
        }
    }

    /// Number of slots of an area for `pages` pages with this `capacity`.
    pub fn count(pages: usize, capacity: Option<u64>) -> usize {
        // Twice the pages, so that usually a cluster is free and no search in others is needed.
        let enough = (2 * pages + 2 * CLUSTER).min(NONE as usize);
        capacity.map_or(enough, |c| c.min(enough as u64) as usize)
    }

    #[inline]
    pub fn of(&self, page: PageId) -> Option<Slot> {
        let slot = self.slot_of[page as usize];
        (slot != NONE).then_some(slot)
    }

    pub fn used(&self) -> u64 {
        self.used as u64
    }

    pub fn capacity(&self) -> u64 {
        self.owners.len() as u64
    }

    /// Whether more than half of the slots are taken. The kernel then frees a slot as soon as its
    /// page is in memory.
    pub fn crowded(&self) -> bool {
        2 * self.used > self.owners.len()
    }

    /// Allocate a slot for `page`, which has none. Returns `None` if the area is full.
    pub fn take(&mut self, page: PageId) -> Option<Slot> {
        debug_assert!(self.of(page).is_none());
        let slot = match self.reserved_for(page) {
            Some(slot) => slot,
            None => {
                let slot = self.find()?;
                self.next = slot + 1;
                slot
            }
        };
        self.owners[slot] = 1;
        self.page_at[slot] = page;
        self.slot_of[page as usize] = slot as Slot;
        self.taken[slot / CLUSTER] += 1;
        self.used += 1;
        Some(slot as Slot)
    }

    /// The slot that is reserved for `page`, if it is still free.
    fn reserved_for(&self, page: PageId) -> Option<usize> {
        let (slot, first, count) = self.reserved;
        let at = page.checked_sub(first).filter(|at| *at < count)?;
        Some(slot + at as usize).filter(|slot| self.owners[*slot] == 0)
    }

    /// Reserve an aligned run of free slots for the `count` pages from `first` on: in the cluster
    /// of the run before, then in a completely free one, then in any. `count` divides the size of a
    /// cluster.
    pub fn reserve_run(&mut self, first: PageId, count: u32) -> bool {
        let (width, slots) = (count as usize, self.owners.len());
        let found = self.free_run(self.next_run, self.next_run.next_multiple_of(CLUSTER), width).or_else(|| {
            let cluster = self.empty.iter().position(|cluster| self.taken[*cluster as usize] == 0)?;
            let start = self.empty.remove(cluster)? as usize * CLUSTER;
            self.free_run(start, start + CLUSTER, width)
        });
        let found = found.or_else(|| self.free_run(0, slots, width));
        self.reserved = found.map_or((0, 0, 0), |slot| (slot, first, count));
        self.next_run = found.map_or(self.next_run, |slot| slot + width);
        found.is_some()
    }

    /// The first run of `width` free slots that begins at a multiple of it in `from..to`.
    fn free_run(&self, from: usize, to: usize, width: usize) -> Option<usize> {
        let is_free = |start: &usize| {
            let cluster_has_room = self.taken[*start / CLUSTER] as usize + width <= CLUSTER;
            cluster_has_room && self.owners[*start..*start + width].iter().all(|owners| *owners == 0)
        };
        let last = (to.min(self.owners.len()) + 1).saturating_sub(width);
        (from.next_multiple_of(width)..last).step_by(width).find(is_free)
    }

    /// Whether the `count` pages from `first` on have the slots of an aligned run, in their order
    /// and each its own.
    pub fn is_run(&self, first: PageId, count: u32) -> bool {
        let Some(start) = self.of(first).filter(|slot| slot % count == 0) else { return false };
        (0..count).all(|at| self.of(first + at) == Some(start + at) && self.owners(start + at) == 1)
    }

    fn find(&mut self) -> Option<usize> {
        if self.used == self.owners.len() {
            return None;
        }
        // The rest of the current cluster. The range is empty if `next` is the start of a cluster.
        if let Some(slot) = self.first_free(self.next, self.next.next_multiple_of(CLUSTER)) {
            return Some(slot);
        }
        while let Some(cluster) = self.empty.pop_front() {
            // The search below may have taken slots of a cluster in this queue, which is then no
            // longer empty.
            if self.taken[cluster as usize] == 0 {
                return self.first_free(cluster as usize * CLUSTER, self.owners.len());
            }
        }
        self.first_free(self.next, self.owners.len()).or_else(|| self.first_free(0, self.next))
    }

    /// The first free slot in `from..to`. Full clusters are skipped as a whole.
    fn first_free(&self, from: usize, to: usize) -> Option<usize> {
        let (mut at, to) = (from, to.min(self.owners.len()));
        while at < to {
            let end = (at + 1).next_multiple_of(CLUSTER).min(to);
            if (self.taken[at / CLUSTER] as usize) < CLUSTER {
                if let Some(offset) = self.owners[at..end].iter().position(|owners| *owners == 0) {
                    return Some(at + offset);
                }
            }
            at = end;
        }
        None
    }

    /// Remove `page` from the owners of its slot, if it has one. Returns whether that freed the
    /// slot.
    pub fn release(&mut self, page: PageId) -> bool {
        let slot = std::mem::replace(&mut self.slot_of[page as usize], NONE);
        if slot == NONE {
            return false;
        }
        let slot = slot as usize;
        self.owners[slot] -= 1;
        if self.owners[slot] > 0 {
            if self.page_at[slot] == page {
                self.page_at[slot] = self.heir(slot as Slot);
            }
            return false;
        }
        self.heirs.remove(&(slot as Slot));
        self.used -= 1;
        let cluster = slot / CLUSTER;
        self.taken[cluster] -= 1;
        let is_being_filled = self.next % CLUSTER != 0 && self.next / CLUSTER == cluster;
        if self.taken[cluster] == 0 && !is_being_filled {
            self.empty.push_back(cluster as u32);
        }
        true
    }

    /// A remaining owner of a slot that its first owner has released.
    fn heir(&mut self, slot: Slot) -> PageId {
        let heirs = self.heirs.get_mut(&slot).expect("every owner except the first one is listed as an heir");
        heirs.retain(|page| self.slot_of[*page as usize] == slot);
        heirs[0]
    }

    /// Make `heir` another owner of the slot of `page`.
    pub fn share(&mut self, page: PageId, heir: PageId) {
        debug_assert!(self.of(heir).is_none());
        if let Some(slot) = self.of(page) {
            self.owners[slot as usize] += 1;
            self.slot_of[heir as usize] = slot;
            self.heirs.entry(slot).or_default().push(heir);
        }
    }

    /// One of the owners of a taken slot.
    pub fn page_at(&self, slot: Slot) -> PageId {
        self.page_at[slot as usize]
    }

    pub fn owners(&self, slot: Slot) -> u32 {
        self.owners[slot as usize]
    }

    /// The slots that the kernel reads ahead (`swapin_readahead`, cluster variant): the taken slots
    /// in the aligned window of `width` slots around `slot`, without `slot` itself, each with one
    /// of its owners.
    pub fn window(&self, slot: Slot, width: u32) -> impl Iterator<Item = (Slot, PageId)> + '_ {
        let start = slot - slot % width;
        let end = (start + width).min(self.owners.len() as u32);
        (start..end).filter(move |s| *s != slot && self.owners[*s as usize] > 0).map(|s| (s, self.page_at[s as usize]))
    }

    /// Size of the tables in bytes: a slot number for each page, and an owner count and a page
    /// number for each taken slot. The kernel's tables are smaller.
    pub fn metadata_bytes(&self) -> u64 {
        (self.slot_of.len() * 4 + self.used * 8) as u64
    }

    pub fn check(&self) -> Result<(), String> {
        let mut owners = vec![0u32; self.owners.len()];
        for slot in self.slot_of.iter().filter(|s| **s != NONE) {
            owners[*slot as usize] += 1;
        }
        if owners != self.owners {
            return Err("owners of slots do not match the pages that point at them".into());
        }
        if let Some(slot) = (0..owners.len()).find(|s| owners[*s] > 0 && self.of(self.page_at[*s]) != Some(*s as Slot)) {
            return Err(format!("slot {slot} names page {}, which does not own it", self.page_at[slot]));
        }
        let used = owners.iter().filter(|o| **o > 0).count();
        if used != self.used {
            return Err(format!("{used} slots are taken, {} counted", self.used));
        }
        for (cluster, taken) in self.taken.iter().enumerate() {
            let end = ((cluster + 1) * CLUSTER).min(owners.len());
            let real = owners[cluster * CLUSTER..end].iter().filter(|o| **o > 0).count();
            if real != *taken as usize {
                return Err(format!("cluster {cluster} has {real} taken slots, {taken} counted"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
