//! Eviction of pages: those that the policy released by itself, and batches for kswapd and for a
//! direct reclaimer.
//!
//! Source: Linux mm/vmscan.c. `shrink_folio_list` neither frees nor waits for a page under
//! write-back; a scan after that frees it. `reclaim_throttle` stops a direct reclaimer that finds
//! nothing else until `SWAP_CLUSTER_MAX` pages were written, or for HZ / 10
//! (`VMSCAN_THROTTLE_WRITEBACK`).

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::{free, Frames};
use super::hotness::Hotness;
use super::record::{Counts, Record, Stalls};
use super::rules::Rules;
use super::senders::{Held, Outgoing, Sender};
use super::victim::{self, Evicted, Evictions, Keeper};
use crate::ledger::{Charge, Prices};
use crate::phone::spec::PageWork;
use crate::phone::user::apps::Apps;
use swaplab_policy::{bits, Backing};
use swaplab_vocab::PageId;

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
    /// The time of the reclaimer's work, which may be before or after that of the clock if the
    /// reclaimer is kswapd.
    pub now_ns: u64,
}

impl Eviction<'_> {
    /// Number of free frames.
    pub fn free(&self) -> usize {
        free::count(self.frames, self.swap)
    }

    /// Evict the pages that the policy has released. No task waits for their writes.
    pub fn evict_released(&mut self) {
        let mut busy = Charge::default();
        self.evict_or_put_back(&mut busy, usize::MAX);
        self.submit(&busy);
    }

    /// Evict the pages that the policy released in call number `attempt` of a batch, or put them
    /// back. The costs of their transfers are added to `busy`; their senders, and the pages whose
    /// frames wait for a write to storage, are added to `outgoing`.
    fn evict_or_put_back(&mut self, busy: &mut Charge, attempt: usize) -> Evictions {
        let before = busy.cpu;
        let mut outcome = Evictions::default();
        while let Some(page) = self.frames.pages.take_released() {
            outcome.any = true;
            if self.clock.write_back.is_written(page) {
                self.clock.write_back.take_frame(page);
                (outcome.frames, outcome.written) = (outcome.frames + 1, outcome.written + 1);
                continue;
            }
            self.evict(page, attempt, busy, &mut outcome);
        }
        self.counts.system_ns += busy.cpu.0 - before.0;
        outcome
    }

    /// Evict a released page, or put it back.
    fn evict(&mut self, page: PageId, attempt: usize, busy: &mut Charge, outcome: &mut Evictions) {
        let keeper = Keeper { gate: &self.rules.gate, apps: self.apps, hotness: self.hotness, now_ns: self.now_ns };
        let (frames, swap) = (&mut *self.frames, &mut *self.swap);
        frames.count(page, false);
        if let Some(folio) = frames.release_folio(page) {
            let adjacent = swap.side.reserve_run(&folio);
            let counts = &mut frames.folios.counts;
            *(if adjacent { &mut counts.swapped_out } else { &mut counts.swap_out_fallbacks }) += 1;
        }
        let evicted = victim::try_evict(page, frames, swap, self.record, &keeper, attempt, busy);
        if evicted == Evicted::No {
            return frames.put_back(page);
        }
        frames.pages.clear(page, bits::DIRTY);
        if evicted == Evicted::WithTransfers {
            swap.side.writes().for_each(|(of, medium)| self.outgoing.note(medium, Sender::SwapOut(self.apps.layout.owners[of as usize])));
            if let Some(medium) = swap.storage_of(page).filter(|_| self.rules.write_back_holds_frames) {
                let taken_back = frames.policy.takes_back(page, &frames.pages);
                self.outgoing.held.push(Held { page, medium, taken_back });
                if taken_back {
                    outcome.taken_back += 1;
                    return;
                }
            }
        }
        outcome.frames += 1;
        outcome.files += usize::from(frames.pages.backing(page) == Backing::File);
    }

    /// Submit the writes of `busy` to write-back. No task waits for them.
    pub fn submit(&mut self, busy: &Charge) {
        self.clock.write_back.submit(busy, self.outgoing, self.now_ns, self.prices);
        self.outgoing.clear();
        self.frames.follow_writes(&mut self.clock.write_back, self.now_ns);
    }

    /// Evict a batch of pages. Returns the number of frames that are free now (`direct`), or that
    /// are free once the pages are written, and scanned again. In direct reclaim the running task
    /// waits for the processor time, for reads and for writes that hold no frame.
    pub fn reclaim(&mut self, direct: bool) -> usize {
        let mut won = 0;
        loop {
            let (frames, continues) = self.reclaim_batch(direct);
            won += frames;
            if !continues {
                return won;
            }
        }
    }

    /// Evict a batch of pages. Returns the number of frames as `reclaim` does, and whether a direct
    /// reclaimer goes on with its pass, after a batch of writes.
    fn reclaim_batch(&mut self, direct: bool) -> (usize, bool) {
        self.frames.follow_writes(&mut self.clock.write_back, self.now_ns);
        let (batch, policy) = (self.frames.batch, self.frames.policy.as_ref());
        let (scanned_before, refilled_before) = (policy.scanned(), policy.refilled());
        // A policy with passes ends a direct reclaim itself, at the end of a pass.
        let ends_itself = direct && policy.passes().is_some();
        let (mut busy, mut all, mut rejected) = (Charge::default(), Evictions::default(), false);
        for attempt in 0..batch * if direct { victim::DIRECT_ATTEMPTS } else { victim::ATTEMPTS } {
            if all.taken_back >= batch || !ends_itself && all.frames + all.taken_back >= batch {
                break;
            }
            self.frames.policy.reclaim(None, &mut self.frames.pages);
            let outcome = self.evict_or_put_back(&mut busy, attempt);
            all += outcome;
            if !outcome.any && (all.frames + all.taken_back > 0 || !std::mem::take(&mut rejected)) {
                break;
            }
            rejected |= outcome.any;
        }
        let policy = self.frames.policy.as_ref();
        let (scanned, refilled) = (policy.scanned() - scanned_before, policy.refilled() - refilled_before);
        let PageWork { anon_out_ns, file_out_ns, .. } = self.rules.page_work;
        let (evicted, files) = (all.frames, all.files);
        let anon = (evicted - files - all.written + all.taken_back) as u64;
        let cpu_ns = scanned * self.rules.scan_ns + anon * anon_out_ns + files as u64 * file_out_ns;
        self.counts.system_ns += cpu_ns;
        self.counts.scanned += scanned - refilled;
        self.counts.scanned_direct += if direct { scanned - refilled } else { 0 };
        *(if direct { &mut self.counts.reclaimed_direct } else { &mut self.counts.reclaimed_background }) += evicted as u64;
        let writing = self.outgoing.held.len() - all.taken_back;
        if direct {
            let reads_ns: u64 = busy.media().map(|(medium, _)| busy.read_wait(medium, 0, self.prices)).sum();
            let now = if self.rules.write_back_holds_frames { busy.take_storage_writes(self.prices) } else { Charge::default() };
            self.wait(cpu_ns + busy.cpu.0 + reads_ns + busy.write_wait(self.prices));
            self.now_ns = self.clock.now();
            self.submit(&now);
            (evicted - writing, all.taken_back >= batch)
        } else {
            self.counts.background_ns += cpu_ns + busy.cpu.0;
            self.submit(&busy);
            self.frames.in_use.in_batch = evicted - writing;
            (evicted + all.taken_back, false)
        }
    }

    /// Stall the direct reclaimer for `direct_reclaim_ns`.
    pub fn wait(&mut self, direct_reclaim_ns: u64) {
        self.clock.stall_on_memory(&Stalls { direct_reclaim_ns, ..Stalls::default() });
    }

    /// Stall the direct reclaimer until a batch of pages has been written, for `THROTTLE_NS` at
    /// most.
    pub fn throttle(&mut self) {
        let now_ns = self.now_ns;
        let freed_ns = self.clock.write_back.freed_at(self.frames.batch).saturating_sub(now_ns);
        let write_back_ns = freed_ns.clamp(1, THROTTLE_NS);
        self.clock.stall_on_memory(&Stalls { write_back_ns, ..Stalls::default() });
    }
}
