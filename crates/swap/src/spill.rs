//! A compressed pool in DRAM with a swap area on flash behind it: what `zswap` and `tiered` share. Which page moves on, and when, is
//! theirs to say.

use crate::entry::Setup;
use crate::store::Store;
use crate::{Medium, Slot, Slots, Transfers, Usage, Work};
use std::collections::BTreeMap;
use swaplab_vocab::{PageId, Params, Result, PAGE_SIZE};

pub struct Spill {
    pub store: Store,
    pub order: Order,
    on_flash: Vec<bool>,
    flash_pages: u64,
}

impl Spill {
    pub fn new(setup: &Setup, params: &Params) -> Result<Spill> {
        Ok(Spill { store: Store::new(setup, params)?, order: Order::default(), on_flash: Vec::new(), flash_pages: 0 })
    }

    /// Into the pool, unless that would outgrow `limit`.
    pub fn put(&mut self, page: PageId, slot: Slot, limit: u64, out: &mut Transfers) -> bool {
        let room = self.store.put(page, slot, limit, out);
        if room {
            self.order.push(slot);
        }
        room
    }

    /// Content of `page` that was there before the run goes into the pool.
    pub fn adopt(&mut self, page: PageId, slot: Slot, limit: u64) -> bool {
        let room = self.store.keep(slot, self.store.bytes_of(page), limit);
        if room {
            self.order.push(slot);
        }
        room
    }

    pub fn write_flash(&mut self, page: PageId, slot: Slot, out: &mut Transfers) {
        if self.on_flash.len() <= slot as usize {
            self.on_flash.resize(slot as usize + 1, false);
        }
        self.on_flash[slot as usize] = true;
        self.flash_pages += 1;
        out.cpu(page, Work::BlockRequest);
        out.write(page, Medium::Flash, slot, PAGE_SIZE as u32);
    }

    /// From the pool to flash. What was stored as it is needs no decompressor.
    pub fn move_on(&mut self, slot: Slot, slots: &Slots, out: &mut Transfers) {
        let page = slots.page_at(slot);
        self.store.get(page, slot, out);
        self.free(slot);
        self.write_flash(page, slot, out);
    }

    pub fn load(&self, page: PageId, slot: Slot, out: &mut Transfers) {
        if self.store.holds(slot) {
            self.store.get(page, slot, out);
        } else {
            out.cpu(page, Work::BlockRequest);
            out.read(page, Medium::Flash, slot, PAGE_SIZE as u32);
        }
    }

    pub fn free(&mut self, slot: Slot) {
        if self.store.holds(slot) {
            self.order.remove(slot);
            self.store.free(slot);
        } else {
            self.on_flash[slot as usize] = false;
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
        self.store.check(slots, |slot| self.on_flash.get(slot as usize).is_some_and(|f| *f))?;
        if self.order.iter().any(|slot| !self.store.holds(slot)) {
            return Err("the order of arrival names a slot that is not in the pool".into());
        }
        Ok(())
    }
}

/// Slots in the order in which they came.
#[derive(Default)]
pub struct Order {
    arrival: Vec<u64>,
    queue: BTreeMap<u64, Slot>,
    next: u64,
}

impl Order {
    pub fn push(&mut self, slot: Slot) {
        if self.arrival.len() <= slot as usize {
            self.arrival.resize(slot as usize + 1, 0);
        }
        self.arrival[slot as usize] = self.next;
        self.queue.insert(self.next, slot);
        self.next += 1;
    }

    pub fn remove(&mut self, slot: Slot) {
        self.queue.remove(&self.arrival[slot as usize]);
    }

    /// From the oldest on.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue.values().copied()
    }
}
