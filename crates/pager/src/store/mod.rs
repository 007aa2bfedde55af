//! The store of evicted pages that cannot be read in place. A scheme of the `swap` crate, the same
//! code as in the simulator, decides on the transfers; the store performs them on real pages.

mod content;
mod direct_file;
mod media;
mod numbers;
mod page;

pub use direct_file::DirectFile;
pub use media::{Media, NvmFile};
pub use page::PageBytes;

use crate::medium;
use crate::stats::{add, Stats};
use content::Current;
use numbers::Numbers;
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use swaplab_swap::{Medium, Scheme, SchemeSpec, Served, Setup, Step, Stored, Transfers};
use swaplab_vocab::Op;

/// A store of pages, addressed by page number. Only the pager thread may call it, except for
/// `discard`, which does no I/O.
pub struct Store {
    scheme: Box<dyn Scheme>,
    out: Transfers,
    numbers: Numbers,
    content: Arc<Current>,
    media: Media,
    latency: medium::Medium,
    /// Content that is being moved to another medium or to DRAM.
    carried: Box<PageBytes>,
}

impl Store {
    /// Build the scheme for at most `most` stored pages and `frames` resident ones.
    pub fn new(
        spec: &SchemeSpec,
        most: usize,
        frames: usize,
        media: Media,
        latency: medium::Medium,
    ) -> std::result::Result<Store, crate::kernel::Missing> {
        let content = Arc::new(Current::default());
        let setup = Setup { content: content.clone(), ..Setup::new(most, frames) };
        let scheme = spec.build(&setup).map_err(|e| crate::kernel::Missing::new("scheme", e.to_string()))?;
        let numbers = Numbers::new(most as u32).map_err(|e| crate::kernel::Missing::new("address space", e.to_string()))?;
        Ok(Store { scheme, out: Transfers::default(), numbers, content, media, latency, carried: PageBytes::zeroed() })
    }

    /// Store `page`, which is being evicted. `dirty`: the store does not have this content. Returns
    /// whether the page was written. After an error the store has no copy, and the page must stay
    /// in DRAM.
    pub fn swap_out(&mut self, page: usize, dirty: bool, content: &PageBytes, stats: &Stats) -> Result<bool> {
        let number = self.numbers.give(page)?;
        self.content.set(content);
        self.out.clear();
        match self.scheme.swap_out(number, dirty, &mut self.out) {
            Stored::Written => {
                let done = self.perform_writes(number, content, stats);
                // After a failed write, the scheme still counts the page as stored: discard it.
                done.inspect_err(|_| self.discard(page)).map(|()| true)
            }
            Stored::Unchanged => self.perform_writes(number, content, stats).map(|()| false),
            Stored::Dropped => unreachable!("a page that was never stored is dirty"),
            Stored::Full => {
                self.discard(page);
                Err(Error::from_raw_os_error(libc::ENOSPC))
            }
        }
    }

    /// Perform the steps of a swap-out of page `number`, whose content is `content`. Steps of
    /// another page move it between media; each write follows its read.
    fn perform_writes(&mut self, number: u32, content: &PageBytes, stats: &Stats) -> Result<()> {
        let Store { out, media, latency, carried, .. } = self;
        for transfer in &out.steps {
            match transfer.step {
                Step::Read { medium, slot, .. } => {
                    media.read(medium, slot, transfer.page, carried)?;
                    charge(medium, latency.read_ns, &stats.medium_read_ns, stats);
                }
                Step::Write { medium, slot, bytes, .. } => {
                    let from = if transfer.page == number { content } else { &**carried };
                    media.write(medium, slot, transfer.page, from, bytes, &self.content)?;
                    charge(medium, latency.write_ns, &stats.medium_write_ns, stats);
                }
                Step::Cpu(_) => (),
            }
        }
        Ok(())
    }

    /// Swap `page` in for an access `op`. `give` receives the page and each page read ahead: its
    /// number, its content, and whether the store keeps a copy.
    pub fn fault(&mut self, page: usize, op: Op, stats: &Stats, mut give: impl FnMut(usize, &PageBytes, bool)) -> Result<()> {
        let number = self.numbers.of(page).ok_or(ErrorKind::NotFound)?;
        self.out.clear();
        let Served::Copied { kept } = self.scheme.fault(number, op, &mut self.out) else {
            unreachable!("a copying scheme copies what it holds")
        };
        let Store { out, media, latency, carried, numbers, .. } = self;
        for transfer in &out.steps {
            if let Step::Read { medium, slot, .. } = transfer.step {
                media.read(medium, slot, transfer.page, carried)?;
                charge(medium, latency.read_ns, &stats.medium_read_ns, stats);
                if transfer.page == number {
                    give(page, carried, kept);
                    add(&stats.copied_pages, 1);
                } else {
                    give(numbers.page(transfer.page), carried, true);
                    add(&stats.read_ahead, 1);
                }
            }
        }
        if !kept {
            self.discard(page);
        }
        Ok(())
    }

    /// Discard the stored content of `page`, if there is any.
    pub fn discard(&mut self, page: usize) {
        if let Some(number) = self.numbers.of(page) {
            self.scheme.discard(number);
            self.media.free(number);
            self.numbers.free(page);
        }
    }

    /// Whether the store has content of `page`.
    pub fn holds(&self, page: usize) -> bool {
        self.numbers.of(page).is_some()
    }

    /// Bytes that the store occupies now: in memory (NVM, or a pool with its tables), and on flash.
    pub fn bytes(&mut self) -> (u64, u64) {
        self.media.free_released_slots();
        let usage = self.scheme.usage();
        (self.media.memory_bytes(), usage.flash_bytes)
    }
}

/// Wait for the emulated latency of NVM. A pool is in DRAM and the flash file is on a real device:
/// they are not emulated.
fn charge(medium: Medium, ns: u64, to: &std::sync::atomic::AtomicU64, stats: &Stats) {
    if medium == Medium::Nvm {
        medium::spin(ns, to, stats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static STATS: Stats = Stats::new();

    fn store(spec: &str, most: usize) -> Store {
        let nvm = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let media = Media::new(Some(NvmFile::new(nvm)), DirectFile::open(crate::FLASH_DIRECTORY.as_ref()).ok());
        Store::new(&SchemeSpec::parse(spec).unwrap(), most, 64, media, medium::Medium::default()).unwrap()
    }

    /// Content of `page` in its `version`: pages of one repeated word, of three words, of noise,
    /// and of slowly increasing words.
    fn content(page: usize, version: u64) -> Box<PageBytes> {
        let mut bytes = PageBytes::zeroed();
        let mut x = (page as u64) << 32 | (version + 1);
        for (i, word) in bytes.0.chunks_exact_mut(8).enumerate() {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let value = match page % 4 {
                0 => version,
                1 => version * 1000 + (i as u64 % 3),
                2 => x,
                _ => page as u64 + version + (i as u64) / 9,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Compares each scheme with a map, through every medium and with content moved between media.
    #[test]
    fn every_scheme_returns_the_content_that_was_stored() {
        for spec in
            ["nvm-copy", "zram", "zram:algorithm=zstd", "flash", "nvm-cache:nvm=9p", "nvm-cache:nvm=9p,replacement=lfu,admission=always"]
        {
            let mut store = store(spec, 256);
            if spec.contains("flash") || spec.contains("cache") {
                if let Err(missing) = DirectFile::open(crate::FLASH_DIRECTORY.as_ref()) {
                    eprintln!("{spec} skipped: {missing}");
                    continue;
                }
            }
            // By page: its version, and whether it is out.
            let mut model = std::collections::BTreeMap::<usize, (u64, bool)>::new();
            let mut x = 88172645463325252u64;
            for step in 0..6000u64 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                let page = (x % 61) as usize * 1000;
                let (version, out) = model.get(&page).copied().unwrap_or((0, false));
                match x >> 40 & 15 {
                    0 => {
                        store.discard(page);
                        model.remove(&page);
                    }
                    op if out => {
                        let write = op % 2 == 0;
                        let mut given = 0;
                        let op = if write { Op::Write } else { Op::Read };
                        store
                            .fault(page, op, &STATS, |p, bytes, _| {
                                given += 1;
                                assert!(p == page && bytes.0 == content(page, version).0, "{spec}: page {page} at step {step}");
                            })
                            .unwrap();
                        assert_eq!(given, 1);
                        model.insert(page, (version, false));
                    }
                    op => {
                        // The page is dirty by chance; a page that the store does not hold has to
                        // be written.
                        let dirty = op % 2 == 0 || !store.holds(page);
                        let version = if dirty { step } else { version };
                        assert_eq!(store.swap_out(page, dirty, &content(page, version), &STATS).unwrap(), dirty, "{spec}");
                        model.insert(page, (version, true));
                    }
                }
            }
            store.scheme.check().unwrap();
            for page in model.keys() {
                store.discard(*page);
            }
            assert_eq!(store.bytes(), (0, 0), "{spec}: an empty store occupies no bytes");
        }
    }

    #[test]
    fn a_full_store_refuses_pages_and_keeps_the_stored_ones() {
        let mut store = store("zram:limit=2p", 16);
        let noise = |page: usize| content(4 * page + 2, 0);
        assert!([0, 1].iter().all(|p| store.swap_out(*p, true, &noise(*p), &STATS).unwrap()));
        assert_eq!(store.swap_out(2, true, &noise(2), &STATS).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert!(!store.holds(2));
        store.fault(0, Op::Read, &STATS, |_, bytes, _| assert!(bytes.0 == noise(0).0)).unwrap();
        assert!(store.swap_out(2, true, &noise(2), &STATS).unwrap());
    }
}
