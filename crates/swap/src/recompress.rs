//! Recompression of zram: pages that are idle or did not shrink are compressed again by a second
//! algorithm, which is slower and makes them smaller.
//!
//! Source: Linux Documentation/admin-guide/blockdev/zram.rst (recompression) and
//! drivers/block/zram/zram_drv.c, `recompress_store` and `recompress_slot`. The driver does it at a
//! request of user space only. The times and the threshold are the defaults of Android's memory
//! daemon (README.md of AOSP system/memory/mmd): requests every hour, the first after an hour, for
//! pages that are idle for two hours or that did not shrink, and that take 1 KiB or more.
//! Deviations: mmd's idle age lies between two and four hours and approaches two as memory fills
//! up; here it is fixed. A request does not wait for the phone to be idle. Pages that are
//! compressed by the second algorithm already are passed over, as since Linux 6.14; 6.12
//! decompresses them again. A page's age begins at the last tick before its swap-out.

use crate::store::Store;
use crate::{Algorithm, Slot, Slots, Transfers};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Nanos, Parameter, Params, Result};

/// `off`, and the algorithms in the order of [`Algorithm::ALL`].
const CHOICES: [&str; 4] = ["off", Algorithm::NAMES[0], Algorithm::NAMES[1], Algorithm::NAMES[2]];

pub const RECOMPRESS: Parameter =
    Parameter::new("recompress", Kind::Choice(&CHOICES), "off", "algorithm that compresses idle and incompressible pages again, or off")
        .sets(Place::Sysfs, "/sys/block/zram0/recomp_algorithm");
pub const TYPE: Parameter = Parameter::new(
    "recompress_type",
    Kind::Choice(&["all", "idle", "huge", "huge_idle"]),
    "all",
    "which pages are compressed again: idle, huge (those that did not shrink), huge_idle (both at once), or all (idle or huge, as mmd)",
);
pub const IDLE: Parameter = Parameter::new(
    "recompress_idle",
    Kind::Integer { low: 0, high: 1 << 32 },
    "7200",
    "seconds after which a page in the pool is idle to recompression",
);
pub const EVERY: Parameter =
    Parameter::new("recompress_every", Kind::Integer { low: 1, high: 1 << 32 }, "3600", "seconds between requests for recompression");
pub const THRESHOLD: Parameter = Parameter::new(
    "recompress_threshold",
    Kind::Integer { low: 0, high: 4096 },
    "1024",
    "bytes: smaller objects are not compressed again, and larger results are not kept; 0: no threshold",
);

/// The requests for recompression, and their results so far.
pub struct Recompression {
    algorithm: Algorithm,
    types: Types,
    idle_ns: u64,
    every_ns: u64,
    threshold: u32,
    next_ns: u64,
    now_ns: u64,
    /// By slot: when its content entered the pool.
    stored_at: Vec<u64>,
    /// By slot: whether the second algorithm could not make its content small enough
    /// (`ZRAM_INCOMPRESSIBLE`).
    failed: Vec<bool>,
    recompressed: u64,
    in_vain: u64,
    saved_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    All,
    Idle,
    Huge,
    HugeIdle,
}

impl Recompression {
    /// The recompression of `params` for an area of `slots` slots; `None` if it is off. `first` is
    /// the algorithm of swap-outs.
    pub fn of(params: &Params, first: Algorithm, slots: usize) -> Result<Option<Recompression>> {
        let Some(algorithm) = params.choice(RECOMPRESS.name).checked_sub(1).map(|choice| Algorithm::ALL[choice]) else { return Ok(None) };
        if algorithm == first {
            return Err(params.bad(RECOMPRESS.name, "another algorithm than that of swap-outs"));
        }
        let ns = |parameter: Parameter| params.integer(parameter.name) * 1_000_000_000;
        Ok(Some(Recompression {
            algorithm,
            types: [Types::All, Types::Idle, Types::Huge, Types::HugeIdle][params.choice(TYPE.name)],
            idle_ns: ns(IDLE),
            every_ns: ns(EVERY),
            threshold: params.integer(THRESHOLD.name) as u32,
            next_ns: ns(EVERY),
            now_ns: 0,
            stored_at: vec![0; slots],
            failed: vec![false; slots],
            recompressed: 0,
            in_vain: 0,
            saved_bytes: 0,
        }))
    }

    /// Note that content entered `slot`.
    pub fn stored(&mut self, slot: Slot) {
        (self.stored_at[slot as usize], self.failed[slot as usize]) = (self.now_ns, false);
    }

    /// Carry out the requests that are due at `now`. Several requests that are due at once count as
    /// one.
    pub fn tick(&mut self, now: Nanos, store: &mut Store, slots: &Slots, out: &mut Transfers) {
        self.now_ns = now.0;
        if now.0 < self.next_ns {
            return;
        }
        let request_ns = now.0 - (now.0 - self.next_ns) % self.every_ns;
        self.next_ns = request_ns + self.every_ns;
        for slot in 0..slots.capacity() as Slot {
            if self.selects(slot, request_ns, store) {
                self.recompress(slot, store, slots, out);
            }
        }
    }

    /// Whether a request at `request_ns` is for `slot`.
    fn selects(&self, slot: Slot, request_ns: u64, store: &Store) -> bool {
        let Some(bytes) = store.stored(slot).filter(|bytes| *bytes > 0) else { return false };
        let idle = self.stored_at[slot as usize] + self.idle_ns <= request_ns;
        let huge = !store.is_shrunk(slot);
        let is_of_type = match self.types {
            Types::All => idle || huge,
            Types::Idle => idle,
            Types::Huge => huge,
            Types::HugeIdle => idle && huge,
        };
        is_of_type && bytes >= self.threshold && !self.failed[slot as usize] && !store.is_recompressed(slot)
    }

    fn recompress(&mut self, slot: Slot, store: &mut Store, slots: &Slots, out: &mut Transfers) {
        let most = if self.threshold == 0 { u32::MAX } else { self.threshold - 1 };
        match store.recompress(slots.page_at(slot), slot, self.algorithm, most, out) {
            Some(saved) => {
                self.recompressed += 1;
                self.saved_bytes += u64::from(saved);
            }
            None => {
                self.failed[slot as usize] = true;
                self.in_vain += 1;
            }
        }
    }

    pub fn gauges(&self) -> [(&'static str, f64); 3] {
        [
            ("recompressed_pages", self.recompressed as f64),
            ("recompressed_in_vain_pages", self.in_vain as f64),
            ("recompression_saved_bytes", self.saved_bytes as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Algorithm, Content, Medium, Scheme, SchemeSpec, Served, Setup, Step, Transfers, Work};
    use std::sync::Arc;
    use swaplab_vocab::{Nanos, Op, PageId};

    /// Sizes by lz4 and by zstd: page 0 becomes small enough; page 1 becomes smaller, but not below
    /// 1 KiB; page 2 is small already; page 3 is same-filled; page 4 shrinks by zstd alone.
    struct Five;
    impl Content for Five {
        fn compressed(&self, page: PageId, algorithm: Algorithm) -> u32 {
            match algorithm {
                Algorithm::Zstd => [1000, 1500, 400, 0, 1000][page as usize],
                _ => [2000, 2000, 1000, 0, 4096][page as usize],
            }
        }
    }

    const HOUR: u64 = 3600 * 1_000_000_000;

    fn zram(text: &str) -> Box<dyn Scheme> {
        let mut scheme = SchemeSpec::parse(text).unwrap().build(&Setup { content: Arc::new(Five), ..Setup::new(5, 5) }).unwrap();
        let mut out = Transfers::default();
        for page in 0..5 {
            scheme.swap_out(page, true, &mut out);
        }
        scheme
    }

    /// The steps of a tick at `hours`.
    fn tick(scheme: &mut dyn Scheme, hours: f64) -> Vec<(PageId, Step)> {
        let mut out = Transfers::default();
        scheme.tick(Nanos((hours * HOUR as f64) as u64), &mut out);
        scheme.check().unwrap();
        out.steps.iter().map(|transfer| (transfer.page, transfer.step)).collect()
    }

    fn figures(scheme: &dyn Scheme) -> [f64; 3] {
        let of = |key: &str| scheme.gauges().into_iter().find(|(name, _)| *name == key).unwrap().1;
        ["recompressed_pages", "recompressed_in_vain_pages", "recompression_saved_bytes"].map(of)
    }

    #[test]
    fn a_late_tick_carries_out_the_request_that_was_due() {
        let mut scheme = zram("zram:recompress=zstd");
        // The request is of one hour, when no page was idle; the next one is of two hours.
        let of_one_hour = tick(scheme.as_mut(), 1.9);
        assert!(!of_one_hour.is_empty() && of_one_hour.iter().all(|(page, _)| *page == 4));
        assert!(tick(scheme.as_mut(), 2.0).iter().any(|(page, _)| *page == 0));
    }

    /// At one hour only page 4 is selected, which did not shrink: it is read uncompressed and
    /// becomes 1000 bytes. At two hours pages 0 and 1 are idle: both are decompressed and
    /// compressed again, but 1500 bytes are not below the threshold. No page is tried twice.
    #[test]
    fn requests_by_hand() {
        let mut scheme = zram("zram:recompress=zstd");
        let read = |slot, bytes| Step::Read { medium: Medium::Pool, slot, bytes, continues: false };
        let write = |slot, bytes| Step::Write { medium: Medium::Pool, slot, bytes, continues: false };
        let (decompress, compress) = (Step::Cpu(Work::Decompress(Algorithm::Lz4)), Step::Cpu(Work::Compress(Algorithm::Zstd)));
        // With their handles, two objects of 2008 bytes share a page, and four of 1008; page 4 has
        // one of its own.
        assert_eq!(scheme.usage().dram_bytes, (1 + 1 + 1) * 4096);
        assert_eq!(tick(scheme.as_mut(), 0.9), []);
        assert_eq!(tick(scheme.as_mut(), 1.0), [(4, read(4, 4096)), (4, compress), (4, write(4, 1000))]);
        assert_eq!((figures(scheme.as_ref()), scheme.usage().dram_bytes), ([1.0, 0.0, 3096.0], (1 + 1) * 4096));
        let of_0 = [(0, read(0, 2000)), (0, decompress), (0, compress), (0, write(0, 1000))];
        let of_1 = [(1, read(1, 2000)), (1, decompress), (1, compress)];
        assert_eq!(tick(scheme.as_mut(), 2.0), of_0.into_iter().chain(of_1).collect::<Vec<_>>());
        assert_eq!(figures(scheme.as_ref()), [2.0, 1.0, 3096.0 + 1000.0]);
        assert_eq!(tick(scheme.as_mut(), 9.0), []);
        // A fault decompresses by the algorithm that compressed the page last.
        for (page, algorithm) in [(0, Algorithm::Zstd), (1, Algorithm::Lz4), (4, Algorithm::Zstd)] {
            let mut out = Transfers::default();
            assert_eq!(scheme.fault(page, Op::Read, &mut out), Served::Copied { kept: false });
            assert!(out.steps.iter().any(|t| t.step == Step::Cpu(Work::Decompress(algorithm))), "page {page}");
        }
    }

    /// By `recompress` value, with all pages idle: the pages that are tried, and those that are
    /// recompressed. Without a threshold pages 1 and 2 become smaller, too.
    #[test]
    fn types_and_threshold() {
        let of = |options: &str| {
            let mut scheme = zram(&format!("zram:recompress=zstd,{options}"));
            tick(scheme.as_mut(), 2.0);
            let [done, in_vain, _] = figures(scheme.as_ref());
            (done, in_vain)
        };
        assert_eq!(of("recompress_type=idle"), (2.0, 1.0));
        assert_eq!((of("recompress_type=huge"), of("recompress_type=huge_idle")), ((1.0, 0.0), (1.0, 0.0)));
        assert_eq!(of("recompress_threshold=0"), (4.0, 0.0));
        assert_eq!(of("recompress_idle=7201,recompress_type=idle"), (0.0, 0.0));
        assert_eq!(of("recompress_every=7201"), (0.0, 0.0));
    }

    /// A page that returns and is swapped out again is new: its age begins again, and it may be
    /// tried again.
    #[test]
    fn a_new_content_is_compressed_by_the_first_algorithm() {
        let mut scheme = zram("zram:recompress=zstd,recompress_type=idle");
        tick(scheme.as_mut(), 2.0);
        let mut out = Transfers::default();
        scheme.fault(0, Op::Write, &mut out);
        scheme.swap_out(0, true, &mut out);
        assert_eq!(tick(scheme.as_mut(), 3.0), []);
        assert_eq!(tick(scheme.as_mut(), 4.0).len(), 4);
    }

    #[test]
    fn the_second_algorithm_is_another_one() {
        let error = SchemeSpec::parse("zram:recompress=lz4").unwrap().build(&Setup::new(5, 5)).err().unwrap().to_string();
        assert!(error.contains("recompress") && error.contains("another algorithm"), "{error}");
    }
}
