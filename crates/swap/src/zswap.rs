//! What: a compressed pool in DRAM in front of a swap area on flash; when the pool is full its oldest pages move on to the flash.
//! Why: the speed of zram for what comes back soon, the room of flash for what does not.
//! Source: Linux `mm/zswap.c`: pool limit, acceptance threshold, write-back in order of arrival, exclusive loads.
//! Deviations: write-back happens at once, not in a worker; a page that does not shrink goes straight to flash.
//! Weakness: a pool that is too small writes everything twice: compressed, then to flash.

use crate::area::{pages, Area, Backend, SIZE};
use crate::registry::{Info, Setup};
use crate::store::{Store, ALGORITHM, CONTENT};
use crate::{Medium, Scheme, Slot, Slots, Transfers, Usage, Work};
use std::collections::BTreeMap;
use swaplab_policy::{Parameter, Params};
use swaplab_vocab::{PageId, Result, PAGE_SIZE};

const POOL: Parameter = Parameter { name: "pool", default: "20%", meaning: "largest pool: percent of the frames, or a size" };
const ACCEPT: Parameter = Parameter { name: "accept", default: "90", meaning: "percent of the pool at which a full one takes pages again" };

pub const INFO: Info = Info {
    key: "zswap",
    what: "compressed pool in DRAM before a swap area on flash",
    source: "Linux mm/zswap.c",
    parameters: &[SIZE, ALGORITHM, CONTENT, POOL, ACCEPT],
    medium: Some(Medium::Flash),
    build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
        let limit = match params.text(POOL.name).strip_suffix('%') {
            Some(percent) => {
                let share: f64 =
                    percent.parse().ok().filter(|p| (0.0..=100.0).contains(p)).ok_or_else(|| params.bad(POOL.name, "0% to 100%"))?;
                (setup.frames as f64 * share / 100.0) as u64 * PAGE_SIZE
            }
            None => pages("zswap", POOL.name, params)?.map_or(u64::MAX, |p| p.saturating_mul(PAGE_SIZE)),
        };
        let accept = limit / 100 * params.integer(ACCEPT.name, 1, 100)?;
        let backend =
            Zswap { store: Store::new(setup, params)?, limit, accept, order: Order::default(), on_flash: Vec::new(), flash_pages: 0 };
        Ok(Box::new(Area::new(setup.pages, pages("zswap", "size", params)?, backend)))
    },
};

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

struct Zswap {
    store: Store,
    limit: u64,
    accept: u64,
    order: Order,
    on_flash: Vec<bool>,
    flash_pages: u64,
}

impl Zswap {
    fn write_flash(&mut self, page: PageId, slot: Slot, out: &mut Transfers) {
        if self.on_flash.len() <= slot as usize {
            self.on_flash.resize(slot as usize + 1, false);
        }
        self.on_flash[slot as usize] = true;
        self.flash_pages += 1;
        out.cpu(page, Work::BlockRequest);
        out.write(page, Medium::Flash, slot, PAGE_SIZE as u32);
    }

    fn flash_holds(&self, slot: Slot) -> bool {
        self.on_flash.get(slot as usize).is_some_and(|f| *f)
    }

    /// Make room in a pool that has reached its limit: the oldest pages go to flash until it accepts again.
    fn shrink(&mut self, slots: &Slots, out: &mut Transfers) {
        while self.store.pool_bytes() > self.accept {
            let Some(slot) = self.order.iter().next() else { return };
            let page = slots.page_at(slot);
            self.store.get(page, slot, out);
            self.drop_from_pool(slot);
            self.write_flash(page, slot, out);
        }
    }

    fn drop_from_pool(&mut self, slot: Slot) {
        self.order.remove(slot);
        self.store.free(slot);
    }
}

impl Backend for Zswap {
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        let shrinks = u64::from(self.store.bytes_of(page)) < PAGE_SIZE;
        if self.store.pool_bytes() < self.limit && shrinks && self.store.put(page, slot, self.limit, out) {
            self.order.push(slot);
        } else {
            if shrinks {
                self.shrink(slots, out);
            }
            self.write_flash(page, slot, out);
        }
        true
    }

    fn load(&mut self, page: PageId, slot: Slot, _: bool, out: &mut Transfers) {
        if self.store.holds(slot) {
            self.store.get(page, slot, out);
        } else {
            out.cpu(page, Work::BlockRequest);
            out.read(page, Medium::Flash, slot, PAGE_SIZE as u32);
        }
    }

    /// Loads are exclusive: the pool gives a page up when it comes back. Flash is treated alike.
    fn keeps(&self) -> bool {
        false
    }

    fn adopt(&mut self, page: PageId, slot: Slot) -> bool {
        self.write_flash(page, slot, &mut Transfers::default());
        true
    }

    fn free(&mut self, slot: Slot) {
        if self.store.holds(slot) {
            self.drop_from_pool(slot);
        } else {
            self.on_flash[slot as usize] = false;
            self.flash_pages -= 1;
        }
    }

    fn usage(&self, usage: &mut Usage) {
        usage.dram_bytes += self.store.pool_bytes();
        usage.flash_bytes += self.flash_pages * PAGE_SIZE;
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.store.gauges()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        self.store.check(slots, |slot| self.flash_holds(slot))?;
        if self.store.pool_bytes() > self.limit || self.order.iter().any(|slot| !self.store.holds(slot)) {
            return Err(format!("a pool of {} bytes, limit {}", self.store.pool_bytes(), self.limit));
        }
        Ok(())
    }
}
