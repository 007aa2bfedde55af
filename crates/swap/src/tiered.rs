//! What: zram with write-back of idle and incompressible pages to flash, within a daily budget of
//! writes.
//! Why: phones do this: the pool keeps recently used pages, and the wear of the flash is bounded.
//! Source: Linux `drivers/block/zram/zram_drv.c`, write-back: `idle`, `huge`, `writeback_limit`;
//! Android's daily budget. With `request=android`, AOSP
//! services/core/java/com/android/server/ZramWriteback.java (Android 10 to 15): pages are marked
//! idle 20 minutes after boot, those that are still in the pool are written back after 180 minutes,
//! all others are then marked, and so on each 24 hours (`ro.zram.mark_idle_delay_mins`,
//! `first_wb_delay_mins`, `periodic_wb_delay_hours`). Nothing else is written back.
//! `compressed_writeback` is Linux 6.19's (`zram_writeback_slots`, `decompress_bdev_page`): a
//! compressed object is written back as it is and decompressed when it is read. It takes a page of
//! the flash, and of the budget, all the same.
//! Deviations: with `request=idle`, a page is written back as soon as it is idle, an incompressible
//! one at once, and when the pool is at its limit, the oldest pages, all within the budget. With
//! `request=android`, a request does not wait for the device to be idle. No recompression.
//! Weakness: a swap-in from flash goes through the storage stack; when the budget is spent, a full
//! pool accepts no page.

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
const REQUEST: Parameter = Parameter::new(
    "request",
    Kind::Choice(&["idle", "android"]),
    "idle",
    "when pages are written back: idle (as soon as they are idle), or android (at the times of its jobs)",
);

const COMPRESSED: Parameter = Parameter::new(
    "compressed_writeback",
    Kind::Switch,
    "off",
    "whether pages are written back without decompression, and decompressed when they are read",
)
.sets(Place::Sysfs, "/sys/block/zram0/compressed_writeback");

pub static ENTRY: Entry = Entry {
    key: "tiered",
    what: "zram with write-back of idle and incompressible pages to flash, within a daily budget",
    source: "Linux drivers/block/zram/zram_drv.c, write-back",
    parameters: &[DISK_SIZE, COMPRESSOR, CONTENT, LIMIT, IDLE, BUDGET, REQUEST, COMPRESSED],
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
                compressed: params.switch(COMPRESSED.name),
                now: 0,
                jobs: (params.choice(REQUEST.name) == 1).then(Jobs::default),
                stored_at: vec![0; Slots::count(setup.pages, setup.pages_of(params, "size")?)],
            };
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};

const DAY_NS: u64 = 86_400_000_000_000;

const MINUTE_NS: u64 = 60_000_000_000;

/// Android's jobs that mark pages as idle and request write-back.
struct Jobs {
    /// Pages that entered the pool before this time are marked as idle.
    marked_ns: u64,
    /// The time of the next request.
    next_ns: u64,
}

impl Default for Jobs {
    fn default() -> Jobs {
        Jobs { marked_ns: 20 * MINUTE_NS, next_ns: 180 * MINUTE_NS }
    }
}

impl Jobs {
    /// If a request is due at `now`, return the time before which the pages that it writes back
    /// entered the pool.
    fn due(&mut self, now: u64) -> Option<u64> {
        if now < self.next_ns {
            return None;
        }
        let marked_ns = std::mem::replace(&mut self.marked_ns, self.next_ns);
        self.next_ns += DAY_NS;
        Some(marked_ns)
    }
}

struct Tiered {
    pool: Spill,
    limit: u64,
    idle_ns: u64,
    /// Pages that may be written back per day, and those left today.
    budget: u64,
    left: u64,
    /// Whether the pool's objects are written back as they are.
    compressed: bool,
    now: u64,
    /// The jobs; `None` if a page is written back as soon as it is idle.
    jobs: Option<Jobs>,
    /// By slot: when its content entered the pool.
    stored_at: Vec<u64>,
}

impl Tiered {
    /// Move `slot` from the pool to flash; false if today's budget is spent.
    fn write_back(&mut self, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        match self.compressed {
            true => self.pool.write_back_compressed(slot, slots, out),
            false => self.pool.write_back(slot, slots, out),
        }
        true
    }
}

impl Backend for Tiered {
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        let bytes = self.pool.store.bytes_of(page);
        while !self.pool.store.fits(bytes, self.limit) {
            if self.jobs.is_some() {
                return false;
            }
            // A same-filled page takes no space in the pool.
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

    /// Write back incompressible pages, then idle ones, oldest first; with jobs, the pages that a
    /// request names. The budget is renewed each day.
    fn tick(&mut self, now: Nanos, slots: &Slots, out: &mut Transfers) {
        if now.0 / DAY_NS != self.now / DAY_NS {
            self.left = self.budget;
        }
        self.now = now.0;
        if self.jobs.is_some() {
            while let Some(marked_ns) = self.jobs.as_mut().and_then(|jobs| jobs.due(now.0)) {
                let is_marked = |of: &Tiered, slot: &Slot| of.stored_at[*slot as usize] < marked_ns;
                // `writeback_store` skips same-filled pages.
                while let Some(slot) = self.pool.oldest(&[INCOMPRESSIBLE, SHRUNK]).filter(|slot| is_marked(self, slot)) {
                    if !self.write_back(slot, slots, out) {
                        return;
                    }
                }
            }
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::InTurn;
    use crate::{Algorithm, SchemeSpec, Served, Step, Stored, Work};
    use std::sync::Arc;
    use swaplab_vocab::Op;

    /// Page 0 shrinks to 2000 bytes, page 1 not at all.
    const SIZES: InTurn = InTurn(&[2000, 4096]);

    /// Write two pages back once they are idle, and read them again. In either mode flash writes
    /// and reads a page for each. Page 0 is decompressed before it is written, or after it is read
    /// and then copied from the decompressor's buffer. Page 1 is never decompressed.
    #[test]
    fn write_back_decompresses_before_or_after() {
        for compressed in ["off", "on"] {
            let text = format!("tiered:idle=1,compressed_writeback={compressed}");
            let setup = Setup { content: Arc::new(SIZES), ..Setup::new(2, 2) };
            let (mut tiered, mut out) = (SchemeSpec::parse(&text).unwrap().build(&setup).unwrap(), Transfers::default());
            assert!((0..2).all(|page| tiered.swap_out(page, true, &mut out) == Stored::Written));
            out.clear();
            tiered.tick(Nanos(5_000_000_000), &mut out);
            let cpu = |out: &Transfers| {
                out.steps.iter().filter_map(|t| if let Step::Cpu(work) = t.step { Some((t.page, work)) } else { None }).collect::<Vec<_>>()
            };
            let bytes = |out: &Transfers, read: bool| -> u32 {
                let of = |step: Step| match step {
                    Step::Read { medium: Medium::Flash, bytes, .. } if read => bytes,
                    Step::Write { medium: Medium::Flash, bytes, .. } if !read => bytes,
                    _ => 0,
                };
                out.steps.iter().map(|t| of(t.step)).sum()
            };
            let decompress = Work::Decompress(Algorithm::Lz4);
            let before = if compressed == "off" { vec![(0, decompress)] } else { vec![] };
            let written: Vec<_> = cpu(&out).into_iter().filter(|(_, work)| *work != Work::BlockRequest).collect();
            assert_eq!((written, bytes(&out, false)), (before, 2 * 4096), "{compressed}");
            assert_eq!((tiered.usage().dram_bytes, tiered.usage().flash_bytes), (0, 2 * 4096));
            // For two pages: 4 bytes each for their slots, 8 for each slot's owner count and page,
            // and zram's table entry of 16.
            assert_eq!(tiered.usage().metadata_bytes, 2 * (4 + 8 + 16));
            out.clear();
            assert!((0..2).all(|page| tiered.fault(page, Op::Read, &mut out) == Served::Copied { kept: false }));
            let after = if compressed == "on" { vec![(0, decompress), (0, Work::Copy)] } else { vec![] };
            let read: Vec<_> = cpu(&out).into_iter().filter(|(_, work)| !matches!(work, Work::BlockRequest | Work::SwapIn)).collect();
            assert_eq!((read, bytes(&out, true)), (after, 2 * 4096), "{compressed}");
            tiered.check().unwrap();
        }
    }

    /// A day's budget of one page is renewed at midnight, and not at a tick before.
    #[test]
    fn the_budget_is_renewed_once_a_day() {
        let setup = Setup { content: Arc::new(SIZES), ..Setup::new(4, 4) };
        let mut tiered = SchemeSpec::parse("tiered:idle=1,budget=1p").unwrap().build(&setup).unwrap();
        let mut out = Transfers::default();
        assert!((0..4).all(|page| tiered.swap_out(page, true, &mut out) == Stored::Written));
        let mut flash_pages_after = |ns: u64| {
            tiered.tick(Nanos(ns), &mut out);
            tiered.usage().flash_bytes / PAGE_SIZE
        };
        let times = [5_000_000_000, 10_000_000_000, DAY_NS - 1, DAY_NS, DAY_NS + 1, 2 * DAY_NS - 1, 2 * DAY_NS];
        assert_eq!(times.map(&mut flash_pages_after), [1, 1, 1, 2, 2, 2, 3]);
        assert!(tiered.gauges().contains(&("flash_pages", 3.0)));
    }

    /// The first request, at 180 minutes, writes back the pages that arrived in the first 20. The
    /// next one, a day later, writes back those that arrived before the first request. There is
    /// none in between.
    #[test]
    fn androids_requests_by_hand() {
        let mut jobs = Jobs::default();
        let due: Vec<_> = [179, 180, 181, 180 + 24 * 60 - 1, 180 + 24 * 60].map(|at| jobs.due(at * MINUTE_NS)).into();
        assert_eq!(due, [None, Some(20 * MINUTE_NS), None, None, Some(180 * MINUTE_NS)]);
    }
}
