//! What: a compressed swap area in DRAM. Incompressible pages are stored uncompressed, same-filled
//! pages in the table only.
//! Why: today's phones use it: swap without wear, at the cost of processor time and DRAM.
//! Source: Linux `drivers/block/zram/zram_drv.c`, `mm/zsmalloc.c`; compressibility sampled from
//! real pages. Recompression: `recompress.rs`.
//! Deviations: the pool has no internal fragmentation (see `zsmalloc.rs`); a swap-in frees the
//! slot, as for every device with `SWP_SYNCHRONOUS_IO`.
//! Weakness: the pool takes part of the memory that it frees; incompressible pages gain nothing.

use crate::area::{Area, Backend, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::recompress::{self, Recompression};
use crate::store::{Store, ALGORITHM, CONTENT};
use crate::{Medium, Scheme, Slot, Slots, Transfers, Usage};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Nanos, PageId, Parameter, Params, Result, World, PAGE_SIZE};

/// The parameters set by zram's sysfs files.
pub const DISK_SIZE: Parameter = SIZE.sets(Place::Sysfs, "/sys/block/zram0/disksize");
pub const COMPRESSOR: Parameter = ALGORITHM.sets(Place::Sysfs, "/sys/block/zram0/comp_algorithm");
pub const LIMIT: Parameter =
    Parameter::new("limit", Kind::Size, "unlimited", "memory of the pool (mem_limit)").sets(Place::Sysfs, "/sys/block/zram0/mem_limit");

pub static ENTRY: Entry = Entry {
    key: "zram",
    what: "compressed swap area in DRAM",
    source: "Linux drivers/block/zram/zram_drv.c",
    parameters: &[
        DISK_SIZE,
        COMPRESSOR,
        CONTENT,
        LIMIT,
        recompress::RECOMPRESS,
        recompress::TYPE,
        recompress::IDLE,
        recompress::EVERY,
        recompress::THRESHOLD,
    ],
    info: Info {
        medium: Some(Medium::Pool),
        areas: &[Reservation::new("size", Medium::Pool)],
        capacity: Some("limit"),
        compresses: true,
        reads_in_place: false,
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let limit = setup.pages_of(params, LIMIT.name)?.map_or(u64::MAX, |p| p.saturating_mul(PAGE_SIZE));
            let (store, size) = (Store::new(setup, params)?, setup.pages_of(params, "size")?);
            let recompression = Recompression::of(params, store.algorithm(), Slots::count(setup.pages, size))?;
            Ok(Box::new(Area::new(setup.pages, size, Zram { store, limit, recompression })))
        },
    },
};

/// Bytes of a table entry (`struct zram_table_entry`).
pub const TABLE_ENTRY: u64 = 16;

struct Zram {
    store: Store,
    limit: u64,
    recompression: Option<Recompression>,
}

impl Zram {
    fn note_stored(&mut self, slot: Slot) {
        if let Some(recompression) = &mut self.recompression {
            recompression.stored(slot);
        }
    }
}

impl Backend for Zram {
    fn store(&mut self, page: PageId, slot: Slot, _: &Slots, out: &mut Transfers) -> bool {
        self.note_stored(slot);
        self.store.put(page, slot, self.store.bytes_of(page), self.limit, out)
    }

    fn load(&mut self, page: PageId, slot: Slot, _: bool, out: &mut Transfers) {
        self.store.get(page, slot, out);
    }

    /// False, because a device with `SWP_SYNCHRONOUS_IO` bypasses the swap cache.
    fn keeps(&self) -> bool {
        false
    }

    fn adopt(&mut self, page: PageId, slot: Slot) -> bool {
        self.note_stored(slot);
        self.store.keep(slot, self.store.bytes_of(page), self.limit)
    }

    fn free(&mut self, slot: Slot) {
        self.store.free(slot);
    }

    fn tick(&mut self, now: Nanos, slots: &Slots, out: &mut Transfers) {
        if let Some(recompression) = &mut self.recompression {
            recompression.tick(now, &mut self.store, slots, out);
        }
    }

    fn usage(&self, usage: &mut Usage) {
        usage.dram_bytes += self.store.pool_bytes();
        usage.metadata_bytes += usage.pages * TABLE_ENTRY;
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let recompression = self.recompression.as_ref().map(Recompression::gauges);
        self.store.gauges().into_iter().chain(recompression.into_iter().flatten()).collect()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        self.store.check(slots, |_| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::InTurn;
    use crate::{Algorithm, SchemeSpec, Served, Step, Stored, Work};
    use std::sync::Arc;
    use swaplab_vocab::Op;

    /// Page 0 is all zeros, page 1 shrinks to 2000 bytes, page 2 not at all.
    const SIZES: InTurn = InTurn(&[0, 2000, 4096]);

    fn zram(text: &str) -> Box<dyn Scheme> {
        SchemeSpec::parse(text).unwrap().build(&Setup { content: Arc::new(SIZES), ..Setup::new(9, 9) }).unwrap()
    }

    #[test]
    fn each_kind_of_page_costs_what_it_must() {
        let (mut s, mut out) = (zram("zram"), Transfers::default());
        for page in 0..3 {
            assert_eq!(s.swap_out(page, true, &mut out), Stored::Written);
        }
        let work: Vec<_> = out.steps.iter().map(|t| (t.page, t.step)).collect();
        let write = |slot, bytes| Step::Write { medium: Medium::Pool, slot, bytes, continues: false };
        let compress = Step::Cpu(Work::Compress(Algorithm::Lz4));
        assert_eq!(work, [(0, write(0, 0)), (1, compress), (1, write(1, 2000)), (2, compress), (2, write(2, 4096))]);
        // 2008 bytes with the handle: two objects share a page; the incompressible page takes a
        // page of its own.
        assert_eq!((s.usage().pages, s.usage().dram_bytes), (3, 2 * 4096));
        // Of nine pages 4 bytes each for their slots; for three slots 8 each for their owners and
        // page, and zram's entry of 16.
        assert_eq!(s.usage().metadata_bytes, 9 * 4 + 3 * (8 + 16));
        out.clear();
        assert_eq!(s.fault(2, Op::Read, &mut out), Served::Copied { kept: false });
        assert_eq!(out.steps.len(), 2, "the frame and the read: what was stored as it is needs no decompressor");
        assert_eq!((s.usage().pages, s.usage().dram_bytes), (2, 4096));
    }

    #[test]
    fn the_limit_refuses_and_the_content_stays_in_memory() {
        let (mut s, mut out) = (zram("zram:limit=2p"), Transfers::default());
        assert_eq!([2, 5, 8].map(|p| s.swap_out(p, true, &mut out)), [Stored::Written, Stored::Written, Stored::Full]);
        assert_eq!(s.swap_out(0, true, &mut out), Stored::Written, "a page of one word needs no pool");
        s.discard(2);
        assert_eq!(s.swap_out(8, false, &mut out), Stored::Written);
        s.check().unwrap();
    }
}
