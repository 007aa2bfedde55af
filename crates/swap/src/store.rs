//! Compressed pages by slot, shared by `zram`, `zswap` and `tiered`.

use crate::entry::Setup;
use crate::zsmalloc::Pool;
use crate::{Algorithm, Compressibility, Content, Medium, Slot, Slots, Transfers, Work};
use std::sync::Arc;
use swaplab_vocab::{Kind, PageId, Parameter, Params, Result, PAGE_SIZE};

pub const CONTENT: Parameter =
    Parameter::new("content", Kind::Text, "sampled", "file of compressed sizes, made by `swaplab trace sample-compressibility`");
pub const ALGORITHM: Parameter = Parameter::new("algorithm", Kind::Choice(&Algorithm::NAMES), "lz4", "lzo-rle, lz4 or zstd");

pub struct Store {
    content: Arc<dyn Content>,
    algorithm: Algorithm,
    pool: Pool,
    /// By slot: size of its content in bytes, or `EMPTY`.
    stored: Vec<u16>,
    /// By slot: the algorithm by which its content was recompressed, if it was. Empty until the
    /// first recompression.
    second: Vec<Option<Algorithm>>,
    same_filled: u64,
    incompressible: u64,
}

const EMPTY: u16 = u16::MAX;

impl Store {
    /// A store for a scheme with the parameters `ALGORITHM` and `CONTENT`.
    pub fn new(setup: &Setup, params: &Params) -> Result<Store> {
        let algorithm = Algorithm::ALL[params.choice(ALGORITHM.name)];
        let content: Arc<dyn Content> = match params.text(CONTENT.name) {
            "sampled" => setup.content.clone(),
            path => Arc::new(Compressibility::load(path, 0)?),
        };
        Ok(Store { content, algorithm, pool: Pool::new(), stored: Vec::new(), second: Vec::new(), same_filled: 0, incompressible: 0 })
    }

    /// Bytes that `page` takes in the pool: 0 for a same-filled page, the page size for an
    /// incompressible one.
    pub fn bytes_of(&self, page: PageId) -> u32 {
        self.pool.stored(self.content.compressed(page, self.algorithm))
    }

    /// The algorithm of [`put`](Store::put).
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn holds(&self, slot: Slot) -> bool {
        self.stored.get(slot as usize).is_some_and(|s| *s != EMPTY)
    }

    /// Bytes stored in `slot`; `None` if it is empty.
    pub fn stored(&self, slot: Slot) -> Option<u32> {
        self.holds(slot).then(|| u32::from(self.stored[slot as usize]))
    }

    /// Whether the pool stays within `limit` when an object of `bytes` is added.
    pub fn fits(&self, bytes: u32, limit: u64) -> bool {
        bytes == 0 || limit == u64::MAX || self.pool.bytes_with(bytes) <= limit
    }

    pub fn pool_bytes(&self) -> u64 {
        self.pool.bytes()
    }

    /// Compress `page` into `bytes` in `slot`, unless the pool would exceed `limit`. The
    /// compressor's work is charged in either case.
    pub fn put(&mut self, page: PageId, slot: Slot, bytes: u32, limit: u64, out: &mut Transfers) -> bool {
        if bytes > 0 {
            out.cpu(page, Work::Compress(self.algorithm));
        }
        let room = self.keep(slot, bytes, limit);
        if room {
            out.write(page, Medium::Pool, slot, bytes);
        }
        room
    }

    /// Record an object of `bytes` in `slot`. Returns false if the pool would exceed `limit`.
    pub fn keep(&mut self, slot: Slot, bytes: u32, limit: u64) -> bool {
        debug_assert!(!self.holds(slot), "slot {slot} is taken");
        if !self.fits(bytes, limit) {
            return false;
        }
        if bytes > 0 {
            self.pool.add(bytes);
        }
        if self.stored.len() <= slot as usize {
            self.stored.resize(slot as usize + 1, EMPTY);
        }
        self.stored[slot as usize] = bytes as u16;
        self.same_filled += u64::from(bytes == 0);
        self.incompressible += u64::from(u64::from(bytes) == PAGE_SIZE);
        true
    }

    /// Emit the transfers of reading `slot`. The content stays in the pool.
    pub fn get(&self, page: PageId, slot: Slot, out: &mut Transfers) {
        self.get_raw(page, slot, out);
        if self.is_shrunk(slot) {
            out.cpu(page, Work::Decompress(self.second_of(slot).unwrap_or(self.algorithm)));
        }
    }

    fn second_of(&self, slot: Slot) -> Option<Algorithm> {
        self.second.get(slot as usize).copied().flatten()
    }

    /// Whether the content of `slot` was recompressed.
    pub fn is_recompressed(&self, slot: Slot) -> bool {
        self.second_of(slot).is_some()
    }

    /// Recompress the content of `slot`, which is that of `page`, by `algorithm`. The result is
    /// kept if it has at most `most` bytes and takes less of the pool. Returns the bytes that this
    /// saves.
    pub fn recompress(&mut self, page: PageId, slot: Slot, algorithm: Algorithm, most: u32, out: &mut Transfers) -> Option<u32> {
        self.get(page, slot, out);
        out.cpu(page, Work::Compress(algorithm));
        let old = u32::from(self.stored[slot as usize]);
        let new = self.pool.stored(self.content.compressed(page, algorithm));
        if new > most || !self.pool.is_in_smaller_class(new, old) {
            return None;
        }
        self.free(slot);
        self.keep(slot, new, u64::MAX);
        out.write(page, Medium::Pool, slot, new);
        if self.second.len() <= slot as usize {
            self.second.resize(self.stored.len(), None);
        }
        self.second[slot as usize] = Some(algorithm);
        Some(old - new)
    }

    /// Emit the transfers of reading `slot` as it is stored.
    pub fn get_raw(&self, page: PageId, slot: Slot, out: &mut Transfers) {
        out.read(page, Medium::Pool, slot, u32::from(self.stored[slot as usize]));
    }

    /// Whether `slot` holds a compressed object, rather than an uncompressed or a same-filled page.
    pub fn is_shrunk(&self, slot: Slot) -> bool {
        self.stored(slot).is_some_and(|bytes| bytes > 0 && u64::from(bytes) < PAGE_SIZE)
    }

    pub fn decompress(&self, page: PageId, out: &mut Transfers) {
        out.cpu(page, Work::Decompress(self.algorithm));
    }

    pub fn free(&mut self, slot: Slot) {
        let bytes = std::mem::replace(&mut self.stored[slot as usize], EMPTY);
        if let Some(second) = self.second.get_mut(slot as usize) {
            *second = None;
        }
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

    /// Check that every taken slot is either in the pool or `elsewhere`, and that no free slot is.
    pub fn check(&self, slots: &Slots, elsewhere: impl Fn(Slot) -> bool) -> std::result::Result<(), String> {
        let all = 0..slots.capacity() as Slot;
        for slot in all.clone() {
            let places = u32::from(self.holds(slot)) + u32::from(elsewhere(slot));
            if places != u32::from(slots.owners(slot) > 0) {
                return Err(format!("slot {slot} with {} owners is in {places} places", slots.owners(slot)));
            }
        }
        let objects = all.filter(|s| self.holds(*s)).count() as u64;
        if objects != self.pool.objects() + self.same_filled {
            return Err(format!("{objects} slots have content, but the pool has {} objects", self.pool.objects()));
        }
        Ok(())
    }
}
