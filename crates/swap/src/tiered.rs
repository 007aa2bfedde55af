//! What: zram with write-back of idle and incompressible pages to flash, within a daily budget of writes.
//! Why: phones do this: the pool keeps recently used pages, and the wear of the flash is bounded.
//! Source: Linux `drivers/block/zram/zram_drv.c`, write-back: `idle`, `huge`, `writeback_limit`; Android's daily budget.
//! Deviations: when the pool is at its limit, the oldest pages are written back at once, within the budget.
//! Weakness: a swap-in from flash goes through the storage stack; when the budget is spent, a full pool accepts no page.

use crate::area::{Area, Backend};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::spill::{Spill, INCOMPRESSIBLE, SAME_FILLED, SHRUNK};
use crate::store::CONTENT;
use crate::zram::{COMPRESSOR, DISK_SIZE, LIMIT, TABLE_ENTRY};
use crate::{Medium, Scheme, Slot, Slots, Transfers, Usage};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Nanos, PageId, Parameter, Params, Result, World, PAGE_SIZE};

const IDLE: Parameter =
    Parameter::new("idle", Kind::Integer { low: 0, high: 1 << 32 }, "3600", "seconds after which a page in the pool is idle");
const BUDGET: Parameter =
    Parameter::new("budget", Kind::Size, "256MiB", "flash writes a day").sets(Place::Sysfs, "/sys/block/zram0/writeback_limit");

pub static ENTRY: Entry = Entry {
    key: "tiered",
    what: "zram with write-back of idle and incompressible pages to flash, within a daily budget",
    source: "Linux drivers/block/zram/zram_drv.c, write-back",
    parameters: &[DISK_SIZE, COMPRESSOR, CONTENT, LIMIT, IDLE, BUDGET],
    info: Info {
        medium: Some(Medium::Flash),
        areas: &[Reservation::new("size", Medium::Flash)],
        capacity: Some("size"),
        compresses: true,
        reads_in_place: false,
        worlds: &World::SIMULATED,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let budget = setup.pages_of(params, BUDGET.name)?.unwrap_or(u64::MAX);
            let backend = Tiered {
                pool: Spill::new(setup, params)?,
                limit: setup.pages_of(params, LIMIT.name)?.map_or(u64::MAX, |p| p.saturating_mul(PAGE_SIZE)),
                idle_ns: params.integer(IDLE.name) * 1_000_000_000,
                budget,
                left: budget,
                now: 0,
                stored_at: vec![0; Slots::count(setup.pages, setup.pages_of(params, "size")?)],
            };
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};

const DAY_NS: u64 = 86_400_000_000_000;

struct Tiered {
    pool: Spill,
    limit: u64,
    idle_ns: u64,
    /// Pages that may be written back per day, and those left today.
    budget: u64,
    left: u64,
    now: u64,
    /// When each slot's content came to the pool.
    stored_at: Vec<u64>,
}

impl Tiered {
    /// Move `slot` from the pool to flash; false if today's budget is spent.
    fn write_back(&mut self, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.pool.move_on(slot, slots, out);
        true
    }
}

impl Backend for Tiered {
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        let bytes = self.pool.store.bytes_of(page);
        while !self.pool.store.fits(bytes, self.limit) {
            // A page of one word takes nothing of the pool.
            let oldest = self.pool.oldest(&[SHRUNK, INCOMPRESSIBLE]);
            if !oldest.is_some_and(|slot| self.write_back(slot, slots, out)) {
                return false;
            }
        }
        self.stored_at[slot as usize] = self.now;
        self.pool.put(page, slot, bytes, self.limit, out)
    }

    fn load(&mut self, page: PageId, slot: Slot, _: bool, out: &mut Transfers) {
        self.pool.load(page, slot, out);
    }

    fn keeps(&self) -> bool {
        false
    }

    fn adopt(&mut self, page: PageId, slot: Slot) -> bool {
        self.stored_at[slot as usize] = self.now;
        self.pool.adopt(page, slot, self.limit)
    }

    fn free(&mut self, slot: Slot) {
        self.pool.free(slot);
    }

    /// Write back incompressible pages, then idle ones, oldest first. The budget is renewed each day.
    fn tick(&mut self, now: Nanos, slots: &Slots, out: &mut Transfers) {
        if now.0 / DAY_NS != self.now / DAY_NS {
            self.left = self.budget;
        }
        self.now = now.0;
        let idle_before = now.0.saturating_sub(self.idle_ns);
        loop {
            let is_idle = |slot: &Slot| self.stored_at[*slot as usize] < idle_before;
            let next = self.pool.oldest(&[INCOMPRESSIBLE]).or_else(|| self.pool.oldest(&[SAME_FILLED, SHRUNK]).filter(is_idle));
            if !next.is_some_and(|slot| self.write_back(slot, slots, out)) {
                return;
            }
        }
    }

    fn usage(&self, usage: &mut Usage) {
        self.pool.usage(usage);
        usage.metadata_bytes += usage.pages * TABLE_ENTRY;
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.pool.gauges()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        self.pool.check(slots)
    }
}
