//! What: a swap area in DRAM whose pages are compressed; what does not shrink is stored as it is, pages of one word in the table.
//! Why: what phones do today: swap without wear, paid with processor time and with DRAM.
//! Source: Linux `drivers/block/zram/zram_drv.c`, `mm/zsmalloc.c`; compressibility sampled from real pages.
//! Deviations: the pool counts as packed (see `zsmalloc.rs`); one swap-in frees the slot, as for every device with
//! `SWP_SYNCHRONOUS_IO`.
//! Weakness: the pool takes the memory it is to save; incompressible pages gain nothing.

use crate::area::{pages, SIZE};
use crate::registry::{Info, Setup};
use crate::zsmalloc::Pool;
use crate::{Algorithm, Compressibility, Content, Medium, Scheme, Served, Slot, Slots, Stored, Transfers, Usage, Work};
use std::sync::Arc;
use swaplab_policy::{Parameter, Params};
use swaplab_vocab::{Op, PageId, Result, PAGE_SIZE};

pub const CONTENT: Parameter =
    Parameter { name: "content", default: "sampled", meaning: "file of compressed sizes, made by `swaplab compressibility`" };
pub const ALGORITHM: Parameter = Parameter { name: "algorithm", default: "lz4", meaning: "lzo-rle, lz4 or zstd" };

pub const INFO: Info = Info {
    key: "zram",
    what: "compressed swap area in DRAM",
    source: "Linux drivers/block/zram/zram_drv.c",
    parameters: &[SIZE, ALGORITHM, CONTENT, Parameter { name: "limit", default: "unlimited", meaning: "memory of the pool (mem_limit)" }],
    build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
        Ok(Box::new(Zram {
            slots: Slots::new(setup.pages, pages("zram", "size", params)?),
            store: Store::new(setup, params)?,
            in_memory: vec![false; setup.pages],
            limit: pages("zram", "limit", params)?.map_or(u64::MAX, |p| p * PAGE_SIZE),
        }))
    },
};

/// Bytes of a table entry (`struct zram_table_entry`).
const TABLE_ENTRY: u64 = 16;

/// Compressed pages by slot: what zram, zswap and the tiered scheme share.
pub struct Store {
    content: Arc<dyn Content>,
    algorithm: Algorithm,
    pool: Pool,
    /// Bytes stored in each slot; `EMPTY` where none is.
    stored: Vec<u16>,
    same_filled: u64,
    incompressible: u64,
}

const EMPTY: u16 = u16::MAX;

impl Store {
    /// For a scheme that lists `ALGORITHM` and `CONTENT` among its parameters.
    pub fn new(setup: &Setup, params: &Params) -> Result<Store> {
        let algorithm = Algorithm::ALL[params.choice(ALGORITHM.name, &Algorithm::NAMES)?];
        let content: Arc<dyn Content> = match params.text(CONTENT.name) {
            "sampled" => setup.content.clone(),
            path => Arc::new(Compressibility::load(path, 0)?),
        };
        Ok(Store { content, algorithm, pool: Pool::new(), stored: Vec::new(), same_filled: 0, incompressible: 0 })
    }

    /// Bytes that `page` would take: 0 in the table alone, a page's if it does not shrink.
    pub fn bytes_of(&self, page: PageId) -> u32 {
        self.pool.stored(self.content.compressed(page, self.algorithm))
    }

    pub fn holds(&self, slot: Slot) -> bool {
        self.stored.get(slot as usize).is_some_and(|s| *s != EMPTY)
    }

    pub fn is_incompressible(&self, slot: Slot) -> bool {
        self.holds(slot) && u64::from(self.stored[slot as usize]) == PAGE_SIZE
    }

    pub fn pool_bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// Compress `page` into `slot`. The work was done even if the caller then finds the pool too large.
    pub fn put(&mut self, page: PageId, slot: Slot, out: &mut Transfers) {
        let bytes = self.bytes_of(page);
        if bytes > 0 {
            out.cpu(page, Work::Compress(self.algorithm));
        }
        out.write(page, Medium::Pool, slot, bytes);
        self.keep(slot, bytes);
    }

    pub fn keep(&mut self, slot: Slot, bytes: u32) {
        debug_assert!(!self.holds(slot), "slot {slot} is taken");
        if self.stored.len() <= slot as usize {
            self.stored.resize(slot as usize + 1, EMPTY);
        }
        self.stored[slot as usize] = bytes as u16;
        match u64::from(bytes) {
            0 => self.same_filled += 1,
            bytes => {
                self.incompressible += u64::from(bytes == PAGE_SIZE);
                self.pool.add(bytes as u32);
            }
        }
    }

    /// Emit the reading of `slot`; the content stays.
    pub fn get(&self, page: PageId, slot: Slot, out: &mut Transfers) {
        let bytes = u32::from(self.stored[slot as usize]);
        out.read(page, Medium::Pool, slot, bytes);
        if bytes > 0 && u64::from(bytes) < PAGE_SIZE {
            out.cpu(page, Work::Decompress(self.algorithm));
        }
    }

    pub fn free(&mut self, slot: Slot) {
        let bytes = std::mem::replace(&mut self.stored[slot as usize], EMPTY);
        match u64::from(bytes) {
            0 => self.same_filled -= 1,
            bytes => {
                self.incompressible -= u64::from(bytes == PAGE_SIZE);
                self.pool.remove(bytes as u32);
            }
        }
    }

    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("pool_bytes", self.pool.bytes() as f64),
            ("same_filled_pages", self.same_filled as f64),
            ("incompressible_pages", self.incompressible as f64),
        ]
    }

    /// Every slot for which `expected` holds is stored, and no other.
    pub fn check(&self, slots: u64, expected: impl Fn(Slot) -> bool) -> std::result::Result<(), String> {
        for slot in 0..slots as Slot {
            if self.holds(slot) != expected(slot) {
                return Err(format!("slot {slot} is in the pool: {}", self.holds(slot)));
            }
        }
        let held = (0..slots as Slot).filter(|s| self.holds(*s)).count() as u64;
        if held != self.pool.objects() + self.same_filled {
            return Err(format!("{held} slots hold content, the pool {} objects", self.pool.objects()));
        }
        Ok(())
    }
}

struct Zram {
    slots: Slots,
    store: Store,
    /// Content that is in a frame alone.
    in_memory: Vec<bool>,
    limit: u64,
}

impl Zram {
    fn release(&mut self, page: PageId) {
        if let Some(slot) = self.slots.of(page) {
            if self.slots.release(page) {
                self.store.free(slot);
            }
        }
    }
}

impl Scheme for Zram {
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored {
        if !dirty && !self.in_memory[page as usize] {
            return Stored::Dropped;
        }
        self.in_memory[page as usize] = true;
        let Some(slot) = self.slots.take(page) else { return Stored::Full };
        self.store.put(page, slot, out);
        if self.store.pool_bytes() > self.limit {
            self.release(page);
            // The write failed behind the compressor: that work is lost, the transfer was not made.
            out.steps.retain(|t| t.page != page || !matches!(t.step, crate::Step::Write { .. }));
            return Stored::Full;
        }
        self.in_memory[page as usize] = false;
        Stored::Written
    }

    fn fault(&mut self, page: PageId, _: Op, out: &mut Transfers) -> Served {
        let Some(slot) = self.slots.of(page) else {
            return Served::ZeroFilled;
        };
        self.store.get(page, slot, out);
        self.release(page);
        self.in_memory[page as usize] = true;
        Served::Copied { kept: false }
    }

    fn discard(&mut self, page: PageId) {
        self.release(page);
        self.in_memory[page as usize] = false;
    }

    fn share(&mut self, page: PageId, heir: PageId) {
        self.slots.share(page, heir);
    }

    fn adopt(&mut self, page: PageId) -> bool {
        let Some(slot) = self.slots.take(page) else { return false };
        self.store.keep(slot, self.store.bytes_of(page));
        if self.store.pool_bytes() > self.limit {
            self.release(page);
        }
        self.slots.of(page).is_some()
    }

    fn usage(&self) -> Usage {
        Usage {
            pages: self.slots.used(),
            dram_bytes: self.store.pool_bytes(),
            metadata_bytes: self.slots.used() * TABLE_ENTRY + self.slots.metadata_bytes(),
            ..Usage::default()
        }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.store.gauges()
    }

    fn check(&self) -> std::result::Result<(), String> {
        self.slots.check()?;
        self.store.check(self.slots.capacity(), |slot| self.slots.owners(slot) > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SchemeSpec, Step};

    /// Page 0 is all zeros, page 1 shrinks to 2000 bytes, page 2 not at all.
    struct Three;
    impl Content for Three {
        fn compressed(&self, page: PageId, _: Algorithm) -> u32 {
            [0, 2000, 4096][page as usize % 3]
        }
    }

    fn zram(text: &str) -> Box<dyn Scheme> {
        SchemeSpec::parse(text).unwrap().build(&Setup { content: Arc::new(Three), ..Setup::new(9, 9) }).unwrap()
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
        // 2008 bytes with the handle: two in a page; a page for the third
        assert_eq!((s.usage().pages, s.usage().dram_bytes), (3, 2 * 4096));
        out.clear();
        assert_eq!(s.fault(2, Op::Read, &mut out), Served::Copied { kept: false });
        assert_eq!(out.steps.len(), 1, "what was stored as it is needs no decompressor");
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
