//! A compressed pool in DRAM in front of a swap area on flash, shared by `zswap` and `tiered`. They
//! decide which pages are written back from the pool to flash, and when.

use crate::area::SIZE;
use crate::entry::Setup;
use crate::store::Store;
use crate::{Medium, Slot, Slots, Transfers, Usage, Work};
use swaplab_policy::containers::links::List;
use swaplab_policy::containers::lists::Lists;
use swaplab_vocab::{PageId, Params, Result, PAGE_SIZE};

/// Lists of the pool's slots by their content: same-filled pages (a word in the table only),
/// compressed pages, and pages that do not shrink.
pub const SAME_FILLED: List = List(0);
pub const SHRUNK: List = List(1);
pub const INCOMPRESSIBLE: List = List(2);
pub const ALL: [List; 3] = [SAME_FILLED, SHRUNK, INCOMPRESSIBLE];

pub struct Spill {
    pub store: Store,
    /// The slots of the pool, in each list the last arrival first.
    lists: Lists,
    /// By slot: the number of its arrival in the pool, which orders the slots of different lists.
    arrival: Vec<u64>,
    /// The number of the next arrival.
    next: u64,
    on_flash: Vec<bool>,
    /// By slot: whether flash has its content as a compressed object.
    compressed: Vec<bool>,
    flash_pages: u64,
}

impl Spill {
    /// A pool for a scheme that has the parameter `SIZE` and those of [`Store::new`].
    pub fn new(setup: &Setup, params: &Params) -> Result<Spill> {
        let slots = Slots::count(setup.pages, setup.pages_of(params, SIZE.name)?);
        let (lists, arrival) = (Lists::new(slots, ALL.len()), vec![0; slots]);
        Ok(Spill {
            store: Store::new(setup, params)?,
            lists,
            arrival,
            next: 0,
            on_flash: vec![false; slots],
            compressed: vec![false; slots],
            flash_pages: 0,
        })
    }

    /// Store `page`, compressed to `bytes`, in the pool. Returns false if the pool would exceed
    /// `limit` bytes.
    pub fn put(&mut self, page: PageId, slot: Slot, bytes: u32, limit: u64, out: &mut Transfers) -> bool {
        let room = self.store.put(page, slot, bytes, limit, out);
        if room {
            self.note(slot, bytes);
        }
        room
    }

    /// Put content of `page` from before the run into the pool, without any transfer. Returns false
    /// if the pool would exceed `limit`.
    pub fn adopt(&mut self, page: PageId, slot: Slot, limit: u64) -> bool {
        let bytes = self.store.bytes_of(page);
        let room = self.store.keep(slot, bytes, limit);
        if room {
            self.note(slot, bytes);
        }
        room
    }

    fn note(&mut self, slot: Slot, bytes: u32) {
        self.lists.push_front(list_of(bytes), slot);
        self.arrival[slot as usize] = self.next;
        self.next += 1;
    }

    /// The slot of these lists that entered the pool before all others.
    pub fn oldest(&self, of: &[List]) -> Option<Slot> {
        of.iter().filter_map(|list| self.lists.back(*list)).min_by_key(|slot| self.arrival[*slot as usize])
    }

    pub fn write_flash(&mut self, page: PageId, slot: Slot, out: &mut Transfers) {
        self.on_flash[slot as usize] = true;
        self.flash_pages += 1;
        out.cpu(page, Work::BlockRequest);
        out.write(page, Medium::Flash, slot, PAGE_SIZE as u32);
    }

    /// Write a slot back from the pool to flash. Content that was stored uncompressed is not
    /// decompressed.
    pub fn write_back(&mut self, slot: Slot, slots: &Slots, out: &mut Transfers) {
        let page = slots.page_at(slot);
        self.store.get(page, slot, out);
        self.free(slot);
        self.write_flash(page, slot, out);
    }

    /// Write a slot back in its compressed form. It still takes a whole page of flash.
    pub fn write_back_compressed(&mut self, slot: Slot, slots: &Slots, out: &mut Transfers) {
        let page = slots.page_at(slot);
        self.store.get_raw(page, slot, out);
        self.compressed[slot as usize] = self.store.is_shrunk(slot);
        self.free(slot);
        self.write_flash(page, slot, out);
    }

    pub fn load(&self, page: PageId, slot: Slot, out: &mut Transfers) {
        if self.store.holds(slot) {
            return self.store.get(page, slot, out);
        }
        out.cpu(page, Work::BlockRequest);
        out.read(page, Medium::Flash, slot, PAGE_SIZE as u32);
        if self.compressed[slot as usize] {
            // The object is decompressed into a buffer, which is copied to the page.
            self.store.decompress(page, out);
            out.cpu(page, Work::Copy);
        }
    }

    pub fn free(&mut self, slot: Slot) {
        if self.store.holds(slot) {
            self.lists.remove(slot);
            self.store.free(slot);
        } else {
            (self.on_flash[slot as usize], self.compressed[slot as usize]) = (false, false);
            self.flash_pages -= 1;
        }
    }

    pub fn usage(&self, usage: &mut Usage) {
        usage.dram_bytes += self.store.pool_bytes();
        usage.flash_bytes += self.flash_pages * PAGE_SIZE;
    }

    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.store.gauges();
        gauges.push(("flash_pages", self.flash_pages as f64));
        gauges
    }

    pub fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        self.store.check(slots, |slot| self.on_flash[slot as usize])?;
        self.lists.check()?;
        match (0..slots.capacity() as Slot).find(|slot| self.lists.home(*slot) != self.store.stored(*slot).map(list_of)) {
            Some(slot) => Err(format!("slot {slot} is in list {:?} and stores {:?} bytes", self.lists.home(slot), self.store.stored(slot))),
            None => Ok(()),
        }
    }
}

fn list_of(bytes: u32) -> List {
    match u64::from(bytes) {
        0 => SAME_FILLED,
        PAGE_SIZE => INCOMPRESSIBLE,
        _ => SHRUNK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::InTurn;
    use crate::SchemeSpec;
    use std::sync::Arc;

    /// Pages that compress to 0, 2000 and 4096 bytes, in turn.
    const SIZES: InTurn = InTurn(&[0, 2000, 4096]);

    /// What a page's content is decides its list. The gauges count what is in the pool, and go back
    /// to zero as it is written back.
    #[test]
    fn lists_and_gauges_follow_the_content() {
        let setup = Setup { content: Arc::new(SIZES), ..Setup::new(3, 3) };
        let params = SchemeSpec::parse("tiered").unwrap().params;
        let (mut spill, mut slots, mut out) = (Spill::new(&setup, &params).unwrap(), Slots::new(3, None), Transfers::default());
        for page in 0..3 {
            let slot = slots.take(page).unwrap();
            assert!(spill.put(page, slot, spill.store.bytes_of(page), u64::MAX, &mut out));
            assert_eq!(spill.oldest(&[[SAME_FILLED, SHRUNK, INCOMPRESSIBLE][page as usize]]), Some(slot));
        }
        let gauge = |spill: &Spill, name: &str| spill.gauges().iter().find(|(other, _)| *other == name).unwrap().1;
        let names = ["same_filled_pages", "incompressible_pages", "flash_pages"];
        assert_eq!(names.map(|name| gauge(&spill, name)), [1.0, 1.0, 0.0]);
        assert!(gauge(&spill, "pool_bytes") > 0.0);
        (0..3).for_each(|page| spill.write_back(slots.of(page).unwrap(), &slots, &mut out));
        assert_eq!(names.map(|name| gauge(&spill, name)), [0.0, 0.0, 3.0]);
        assert_eq!(gauge(&spill, "pool_bytes"), 0.0);
        spill.check(&slots).unwrap();
    }
}
