//! What: a compressed pool in DRAM in front of a swap area on flash. When the pool is full, its
//! oldest pages are written to flash.
//! Why: the speed of zram for pages that return soon, the capacity of flash for the others.
//! Source: Linux `mm/zswap.c`: pool limit, acceptance threshold, write-back in order of arrival,
//! exclusive loads.
//! Deviations: write-back happens at once, not in a worker; an incompressible page is written to
//! flash directly.
//! Weakness: with a pool that is too small every page is first compressed and then written to
//! flash.

use crate::area::{Area, Backend, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::spill::{Spill, ALL};
use crate::store::{ALGORITHM, CONTENT};
use crate::{Medium, Scheme, Slot, Slots, Transfers, Usage};
use swaplab_vocab::{Kind, Memory, PageId, Parameter, Params, Result, World, PAGE_SIZE};

const POOL: Parameter = Parameter::new("pool", Kind::Size, "20%", "largest pool: percent of the frames, or a size");
const ACCEPT: Parameter =
    Parameter::new("accept", Kind::Integer { low: 1, high: 100 }, "90", "percent of the pool at which a full one takes pages again");

pub static ENTRY: Entry = Entry {
    key: "zswap",
    what: "compressed pool in DRAM before a swap area on flash",
    source: "Linux mm/zswap.c",
    parameters: &[SIZE, ALGORITHM, CONTENT, POOL, ACCEPT],
    info: Info {
        medium: Some(Medium::Flash),
        areas: &[Reservation::new("size", Medium::Flash)],
        capacity: Some("size"),
        compresses: true,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Kernel, World::Vm],
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            // Unlike in other sizes, a percentage is of the page frames, and 0 % is allowed.
            let limit = match params.size(POOL.name) {
                Some(Memory::Percent(percent)) if percent > 100.0 => return Err(params.bad(POOL.name, "0% to 100%")),
                Some(Memory::Percent(percent)) => (setup.frames as f64 * percent / 100.0) as u64 * PAGE_SIZE,
                _ => setup.pages_of(params, POOL.name)?.map_or(u64::MAX, |p| p.saturating_mul(PAGE_SIZE)),
            };
            let accept = limit / 100 * params.integer(ACCEPT.name);
            let backend = Zswap { pool: Spill::new(setup, params)?, limit, accept };
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};

struct Zswap {
    pool: Spill,
    limit: u64,
    accept: u64,
}

impl Zswap {
    /// Write the oldest pages of a full pool to flash until the pool is no larger than the
    /// acceptance threshold.
    fn shrink(&mut self, slots: &Slots, out: &mut Transfers) {
        while self.pool.store.pool_bytes() > self.accept {
            let Some(slot) = self.pool.oldest(&ALL) else { return };
            self.pool.write_back(slot, slots, out);
        }
    }
}

impl Backend for Zswap {
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        let bytes = self.pool.store.bytes_of(page);
        let is_compressible = u64::from(bytes) < PAGE_SIZE;
        if self.pool.store.pool_bytes() >= self.limit || !is_compressible || !self.pool.put(page, slot, bytes, self.limit, out) {
            if is_compressible {
                self.shrink(slots, out);
            }
            self.pool.write_flash(page, slot, out);
        }
        true
    }

    fn load(&mut self, page: PageId, slot: Slot, _: bool, out: &mut Transfers) {
        self.pool.load(page, slot, out);
    }

    /// False, because loads are exclusive: a swap-in removes the page from the pool. Flash is
    /// treated in the same way.
    fn keeps(&self) -> bool {
        false
    }

    fn adopt(&mut self, page: PageId, slot: Slot) -> bool {
        self.pool.write_flash(page, slot, &mut Transfers::default());
        true
    }

    fn free(&mut self, slot: Slot) {
        self.pool.free(slot);
    }

    fn usage(&self, usage: &mut Usage) {
        self.pool.usage(usage);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.pool.gauges()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        if self.pool.store.pool_bytes() > self.limit {
            return Err(format!("a pool of {} bytes, limit {}", self.pool.store.pool_bytes(), self.limit));
        }
        self.pool.check(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::InTurn;
    use crate::{SchemeSpec, Served};
    use std::sync::Arc;
    use swaplab_vocab::Op;

    /// Two pages of this size share a page of the pool.
    const SIZES: InTurn = InTurn(&[2000]);

    /// With 199 pages the pool of 100 is full. The next one goes to flash, and so do the oldest 99,
    /// until the pool is no larger than half of its limit.
    #[test]
    fn a_full_pool_gives_its_oldest_pages_to_flash() {
        let setup = Setup { content: Arc::new(SIZES), ..Setup::new(200, 1000) };
        let (mut zswap, mut out) = (SchemeSpec::parse("zswap:pool=400KiB,accept=50").unwrap().build(&setup).unwrap(), Transfers::default());
        (0..199).for_each(|page| assert_eq!(zswap.swap_out(page, true, &mut out), crate::Stored::Written));
        assert_eq!((zswap.usage().dram_bytes, zswap.usage().flash_bytes), (100 * PAGE_SIZE, 0));
        zswap.swap_out(199, true, &mut out);
        assert_eq!((zswap.usage().dram_bytes, zswap.usage().flash_bytes), (50 * PAGE_SIZE, 100 * PAGE_SIZE));
        assert!(zswap.gauges().contains(&("flash_pages", 100.0)));
    }

    #[test]
    fn a_swap_in_empties_the_pool() {
        let (mut zswap, mut out) =
            (SchemeSpec::parse("zswap:pool=100%").unwrap().build(&Setup::new(1, 100)).unwrap(), Transfers::default());
        zswap.swap_out(0, true, &mut out);
        assert!(zswap.usage().dram_bytes > 0);
        assert_eq!(zswap.fault(0, Op::Read, &mut out), Served::Copied { kept: false });
        assert_eq!((zswap.usage().dram_bytes, zswap.usage().flash_bytes), (0, 0));
        zswap.check().unwrap();
    }
}
