//! The phone's machine: frames, stall clock, swap entries, prefetch, apps and files. This file has
//! only the operations that need several of these parts. Each mechanism is in a file of its own and
//! takes the parts that it needs as parameters.

mod build;
mod channel;
pub mod clock;
pub mod compact;
pub mod entries;
mod exit;
mod fault;
pub mod files;
mod foresight;
pub mod frames;
pub mod hotness;
mod io;
mod kill;
mod killer;
mod kswapd;
mod pageout;
pub mod prefetch;
mod pressure;
mod proactive;
mod queue;
mod reclaim;
pub mod record;
mod sample;
pub mod senders;
pub mod stays;
pub mod writes;

use super::spec::Proactive;
use super::user::apps::Apps;
use crate::ledger::{Ledger, Prices};
pub use build::build;
use clock::StallClock;
use entries::SwapEntries;
use fault::Origin;
use files::FileReads;
use frames::Frames;
use killer::KillerTask;
use kswapd::Kswapd;
use prefetch::Prefetch;
use record::{Counts, Record};
use senders::{Outgoing, Sender};
use stays::Freed;
use std::sync::Arc;
use swaplab_apps::a2s::Gate;
use swaplab_policy::{bits, Backing};
use swaplab_swap::Served;
use swaplab_vocab::{AppId, BadInput, Nanos, Op, PageId, Result};
use writes::FileWrites;

/// Settings that decide which pages are evicted, what scanning costs and when frames become free.
pub struct Rules {
    pub gate: Gate,
    pub proactive: Proactive,
    pub scan_ns: u64,
    /// Time that a killed process takes for each of its pages.
    pub exit_ns: u64,
    pub write_back_holds_frames: bool,
    /// Lines that a use of a page mapped in NVM reads.
    pub lines_per_direct_read: u64,
    pub file_writes: FileWrites,
}

pub struct Machine {
    pub apps: Apps,
    pub frames: Frames,
    pub clock: StallClock,
    pub swap: SwapEntries,
    pub prefetch: Prefetch,
    pub files: FileReads,
    pub rules: Rules,
    pub killer: KillerTask,
    pub prices: Arc<Prices>,
    pub record: Record,
    pub counts: Counts,
    kswapd: Kswapd,
    /// Number of further frame requests that do not wake kswapd, after kswapd could free nothing.
    pub backoff: u32,
    /// The writes of the last reclaim batch.
    outgoing: Outgoing,
    /// The reason why the run cannot continue, if it cannot.
    failed: Option<String>,
}

impl Machine {
    /// Number of free frames.
    pub fn free(&self) -> usize {
        reclaim::free(&self.frames, &self.swap)
    }

    /// Refer to `page` as the running task.
    #[inline]
    pub fn touch(&mut self, page: PageId, op: Op) {
        if !self.frames.pages.is_resident(page) {
            return self.fault(page, op);
        }
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        self.frames.policy.touch(page, op, &self.frames.pages);
    }

    /// Refer to consecutive resident pages, beginning with `first`, once for each of `ops`.
    pub fn touch_run(&mut self, first: PageId, ops: &[Op]) {
        self.frames.pages.set_dirty(first, ops);
        self.frames.policy.touch_run(first, ops, &self.frames.pages);
    }

    /// Whether the anonymous `page` has content, in a frame or in swap.
    pub fn has_content(&self, page: PageId) -> bool {
        self.frames.pages.bits(page) & (bits::RESIDENT | bits::SLOT) != 0
    }

    fn fault(&mut self, page: PageId, op: Op) {
        self.prefetch.trail.fetched(page);
        let pages = &mut self.frames.pages;
        if pages.backing(page) == Backing::File {
            return self.file_fault(page, op);
        }
        if pages.bits(page) & bits::SLOT != 0 && self.clock.write_back.take_back_frame(page) {
            return self.swap_cache_fault(page, op);
        }
        let mapped = pages.bits(page) & bits::MAPPED != 0;
        if mapped && !op.is_write() {
            self.swap.side.moves.mapped_references += 1;
            return self.read_in_place();
        }
        pages.clear(page, bits::MAPPED | bits::SLOT);
        let served = self.swap.side.fault(page, op, mapped);
        self.wait(Origin::Swap, true);
        match served {
            Served::MappedInPlace => {
                self.swap.note_read(page);
                self.record.traffic_of(self.apps.layout.owners[page as usize]).direct_reads += 1;
                self.swap.side.moves.mapped_references += 1;
                self.frames.pages.set(page, bits::MAPPED | bits::SLOT);
                return self.read_in_place();
            }
            Served::Copied { kept } => {
                self.count_swap_in(page);
                if !kept {
                    self.swap.free(page, Freed::Copy, self.clock.now());
                    self.frames.policy.swappable(true);
                }
                self.frames.pages.set(page, if kept { bits::SLOT } else { bits::DIRTY });
            }
            Served::ZeroFilled => {}
        }
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        let ahead = std::mem::take(&mut self.swap.side.ahead);
        self.admit(page, op);
        for neighbor in ahead {
            self.count_swap_in(neighbor);
            self.frames.pages.set(neighbor, bits::SLOT);
            self.admit(neighbor, Op::Read);
        }
    }

    /// Handle a fault on a page under write-back. It is in the swap cache: it gets its frame back
    /// without a read, and its slot has the same content (mm/memory.c, `do_swap_page`).
    fn swap_cache_fault(&mut self, page: PageId, op: Op) {
        self.counts.swap_cache_hits += 1;
        let kept = self.swap.side.found_in_memory(page, op);
        self.wait(Origin::Swap, true);
        self.frames.in_use.writing = self.clock.write_back.frames_at(self.clock.now());
        if !kept {
            self.swap.free(page, Freed::Copy, self.clock.now());
            self.frames.policy.swappable(true);
            self.frames.pages.clear(page, bits::SLOT);
            self.frames.pages.set(page, bits::DIRTY);
        }
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        self.frames.insert(page, op);
        self.write_back_released();
    }

    fn count_swap_in(&mut self, page: PageId) {
        self.swap.note_read(page);
        self.record.traffic_of(self.apps.layout.owners[page as usize]).swapped_in += 1;
    }

    /// Charge the running task for a fault, whose transfers were charged last. A fault on a page
    /// that was in memory before (`refault`) is a memory stall.
    fn wait(&mut self, from: Origin, refault: bool) {
        let charge = match from {
            Origin::Swap => &self.swap.side.charged,
            Origin::File => &self.files.charged,
        };
        self.counts.faults += 1;
        self.counts.system_ns += self.prices.processor().fault.0 + charge.cpu.0;
        let stalls = fault::stalls(charge, from, &mut self.clock, &mut self.prefetch.reads, &self.prices);
        self.clock.stall(&stalls);
        self.clock.memory_ns += if refault { stalls.total_ns() - stalls.fault_cpu_ns } else { 0 };
    }

    /// Give `page` a frame; reclaim if there is no free one.
    fn admit(&mut self, page: PageId, op: Op) {
        self.need_frame();
        self.frames.insert(page, op);
        // A policy may also release pages on insert.
        self.write_back_released();
    }

    /// Set the graphics memory of `app` to `frames` frames; reclaim if it grows.
    pub fn set_graphics(&mut self, app: AppId, frames: usize) {
        while self.frames.graphics_of(app) < frames {
            self.need_frame();
            self.frames.pin_graphics(app);
        }
        self.frames.shrink_graphics(app, frames);
    }

    /// Prepage what the last start of `app` fetched and used. The reads overlap with `cpu_ns` of
    /// the app's own work.
    pub fn prepage(&mut self, app: AppId, cpu_ns: u64) {
        self.prefetch.reads.begin(cpu_ns);
        for page in self.prefetch.trail.begin(app) {
            if self.frames.could_be_read(page) {
                self.touch(page, Op::Read);
            }
        }
        self.prefetch.reads.end();
    }

    /// Run proactive reclaim for each interval that ends between two times. The first interval has
    /// the stalls since the last call, the others have none.
    pub fn reclaim_proactively(&mut self, from_ns: u64, to_ns: u64) {
        let proactive = self.rules.proactive;
        for _ in 0..proactive::intervals(&proactive, from_ns, to_ns) {
            let stalled_ns = std::mem::take(&mut self.clock.interval_ns);
            let (target, mut won) = (proactive::target(&proactive, stalled_ns, self.frames.in_use.pages), 0);
            while won < target {
                match self.reclaim(false) {
                    0 => break,
                    pages => won += pages,
                }
            }
        }
    }

    /// Run the swap scheme's background work, such as writing idle pages back.
    pub fn tick(&mut self) {
        self.swap.side.tick(Nanos(self.clock.now_ns));
        let charge = self.swap.side.charged.clone();
        self.counts.system_ns += charge.cpu.0;
        let owners = &self.apps.layout.owners;
        self.swap.side.writes().for_each(|(page, medium)| self.outgoing.note(medium, Sender::SwapOut(owners[page as usize])));
        self.submit(&charge);
    }

    /// Record a sample of the memory in the timeline.
    pub fn sample(&mut self) {
        self.record.sample(sample::now(&self.frames, &self.swap, &self.apps, self.clock.now()));
    }

    /// Discard all counts so far, such as those of the warm-up. Stays in swap and the timeline are
    /// kept.
    pub fn count_from_now(&mut self) {
        self.release_all_killed();
        self.record.forget();
        (self.counts, self.swap.full) = (Counts::default(), 0);
        self.files.ledger = Ledger::default();
        self.swap.side.forget_costs();
    }

    /// An error if the run cannot continue.
    pub fn failed(&mut self) -> Result<()> {
        match self.failed.take() {
            Some(why) => Err(BadInput::new("machine.dram", why, "memory for one app's launch set in addition to the system's")),
            None => Ok(()),
        }
    }
}
