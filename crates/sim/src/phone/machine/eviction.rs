//! Eviction of pages: those that the policy released by itself, and batches for kswapd and for a
//! direct reclaimer.
//!
//! Source: Linux mm/vmscan.c. `shrink_folio_list` neither frees nor waits for a page under
//! write-back. `reclaim_throttle` stops a direct reclaimer that finds nothing else until
//! `SWAP_CLUSTER_MAX` pages were written, or for HZ / 10 (`VMSCAN_THROTTLE_WRITEBACK`).

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::Frames;
use super::hotness::Hotness;
use super::reclaim::{self, Keeper, Outcome};
use super::record::{Counts, Record, Stalls};
use super::rules::Rules;
use super::senders::Outgoing;
use crate::ledger::{Charge, Prices};
use crate::phone::spec::PageWork;
use crate::phone::user::apps::Apps;

/// The longest wait of a direct reclaimer for write-back: HZ / 10.
const THROTTLE_NS: u64 = 100_000_000;

/// The parts that eviction works on.
pub struct Eviction<'a> {
    pub frames: &'a mut Frames,
    pub swap: &'a mut SwapEntries,
    pub clock: &'a mut StallClock,
    pub record: &'a mut Record,
    pub counts: &'a mut Counts,
    /// The writes of the last batch.
    pub outgoing: &'a mut Outgoing,
    pub apps: &'a Apps,
    pub hotness: &'a Hotness,
    pub rules: &'a Rules,
    pub prices: &'a Prices,
}

impl Eviction<'_> {
    /// Number of free frames.
    pub fn free(&self) -> usize {
        reclaim::free(self.frames, self.swap)
    }

    /// Evict the pages that the policy has released. No task waits for their writes.
    pub fn evict_released(&mut self) {
        let mut busy = Charge::default();
        self.evict_or_put_back(&mut busy, usize::MAX);
        self.submit(&busy);
    }

    fn evict_or_put_back(&mut self, busy: &mut Charge, attempt: usize) -> Outcome {
        let keeper = Keeper {
            gate: &self.rules.gate,
            apps: self.apps,
            hotness: self.hotness,
            now_ns: self.clock.now(),
            holds_frames: self.rules.write_back_holds_frames,
        };
        let before = busy.cpu;
        let outcome = reclaim::evict_or_put_back(self.frames, self.swap, self.record, &keeper, attempt, busy, self.outgoing);
        self.counts.system_ns += busy.cpu.0 - before.0;
        outcome
    }

    /// Submit the writes of `busy` to write-back. No task waits for them.
    pub fn submit(&mut self, busy: &Charge) {
        let now_ns = self.clock.now();
        self.clock.write_back.submit(busy, self.outgoing, now_ns, self.prices);
        self.outgoing.clear();
        self.frames.in_use.writing = self.clock.write_back.frames_at(now_ns);
    }

    /// Evict a batch of pages. Returns the number of frames that are free now (`direct`), or that
    /// are free once the pages are written. In direct reclaim the running task waits for the
    /// processor time, for reads and for writes that hold no frame.
    pub fn reclaim(&mut self, direct: bool) -> usize {
        let (batch, policy) = (self.frames.batch, self.frames.policy.as_ref());
        let (scanned_before, refilled_before) = (policy.scanned(), policy.refilled());
        // A policy with passes ends a direct reclaim itself, at the end of a pass.
        let ends_itself = direct && policy.passes().is_some();
        let (mut busy, mut evicted, mut files, mut rejected) = (Charge::default(), 0, 0, false);
        for attempt in 0..batch * if direct { reclaim::DIRECT_ATTEMPTS } else { reclaim::ATTEMPTS } {
            if evicted >= batch && !ends_itself {
                break;
            }
            self.frames.policy.reclaim(None, &mut self.frames.pages);
            let outcome = self.evict_or_put_back(&mut busy, attempt);
            (evicted, files) = (evicted + outcome.frames, files + outcome.files);
            if !outcome.any && (evicted > 0 || !std::mem::take(&mut rejected)) {
                break;
            }
            rejected |= outcome.any;
        }
        let policy = self.frames.policy.as_ref();
        let (scanned, refilled) = (policy.scanned() - scanned_before, policy.refilled() - refilled_before);
        let PageWork { anon_out_ns, file_out_ns, .. } = self.rules.page_work;
        let cpu_ns = scanned * self.rules.scan_ns + (evicted - files) as u64 * anon_out_ns + files as u64 * file_out_ns;
        self.counts.system_ns += cpu_ns;
        self.counts.scanned += scanned - refilled;
        self.counts.scanned_direct += if direct { scanned - refilled } else { 0 };
        *(if direct { &mut self.counts.reclaimed_direct } else { &mut self.counts.reclaimed_background }) += evicted as u64;
        let writing = self.outgoing.held.len();
        if direct {
            let reads_ns: u64 = busy.media().map(|(medium, _)| busy.read_wait(medium, 0, self.prices)).sum();
            let now = if self.rules.write_back_holds_frames { busy.take_storage_writes(self.prices) } else { Charge::default() };
            self.wait(cpu_ns + busy.cpu.0 + reads_ns + busy.write_wait(self.prices));
            self.submit(&now);
            evicted - writing
        } else {
            self.counts.background_ns += cpu_ns + busy.cpu.0;
            self.submit(&busy);
            self.frames.in_use.in_batch = evicted - writing;
            evicted
        }
    }

    /// Stall the direct reclaimer for `direct_reclaim_ns`.
    pub fn wait(&mut self, direct_reclaim_ns: u64) {
        self.clock.stall(&Stalls { direct_reclaim_ns, ..Stalls::default() });
        self.clock.memory_ns += direct_reclaim_ns;
    }

    /// Stall the direct reclaimer until a batch of pages has been written, for `THROTTLE_NS` at
    /// most.
    pub fn throttle(&mut self) {
        let now_ns = self.clock.now();
        let freed_ns = self.clock.write_back.freed_at(self.frames.batch).saturating_sub(now_ns);
        let write_back_ns = freed_ns.clamp(1, THROTTLE_NS);
        self.clock.stall(&Stalls { write_back_ns, ..Stalls::default() });
        self.clock.memory_ns += write_back_ns;
    }
}
