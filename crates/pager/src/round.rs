//! One round of the pager thread: a census, its evictions, and the account of both.

use crate::account;
use crate::gate;
use crate::kernel::PAGE;
use crate::managed::bit::PAGED;
use crate::managed::{Backing, ManagedMemory};
use crate::shared::Shared;
use crate::sleep::{cpu_time, Sleep};
use crate::stats::{add, set};
use crate::thread::{faults, Evictor, PagerThread, Seen};
use crate::CHUNK;
use rustix::io::{Errno, Result};
use std::sync::atomic::Ordering;

impl PagerThread {
    /// Take a census and evict its victims.
    pub fn round(&mut self, shared: &Shared) {
        let requested = shared.census_wanted.load(Ordering::Acquire);
        let all = requested > shared.census_done.load(Ordering::Relaxed);
        self.victims.clear();
        let mut stopped = false;
        // Stop the writers and close the gates only if the round will evict. Where the last round
        // evicted fresh memory only, this one is expected to do so, too.
        if self.seen.dram + self.growth(shared) > self.frames - self.kept_free() {
            let stops = self.scattered || self.holds_writers();
            if stops && shared.managed.try_lock().is_err() {
                self.protect_lifted();
            }
            if let Some(mut managed) = shared.lock_soon() {
                if stops {
                    self.stop_writers(&mut managed);
                    stopped = true;
                }
                gate::close(self.uffd(), &mut managed);
            }
        }
        self.evict_due(shared, requested, all, stopped);
        if let Evictor::Direct(evictor) = &mut self.evictor {
            evictor.release_writers(shared.managed.try_lock().ok().as_deref_mut());
        }
        // The next round can begin before another sleep.
        self.sleeps.last = Sleep::begin(0);
    }

    /// Whether writers are held between rounds. A stop then only has to protect what was opened
    /// since.
    fn holds_writers(&self) -> bool {
        matches!(&self.evictor, Evictor::Direct(evictor) if evictor.keep_holding)
    }

    /// Stop the writers that held memory let through, before managed memory is locked.
    fn protect_lifted(&self) {
        match &self.evictor {
            Evictor::Direct(evictor) if evictor.protect && evictor.keep_holding => evictor.protect_lifted(),
            _ => (),
        }
    }

    fn stop_writers(&mut self, managed: &mut ManagedMemory) {
        match &mut self.evictor {
            Evictor::Direct(evictor) if evictor.protect => evictor.stop_writers(managed),
            _ => (),
        }
    }

    /// `stopped`: whether the writers to memory that is mapped from the file are stopped already.
    fn evict_due(&mut self, shared: &Shared, requested: u64, all: bool, mut stopped: bool) {
        let (anonymous, faults, promised) = (self.anonymous(), faults(), self.seen.promised);
        let (dram, forked) = {
            let Some(mut managed) = shared.lock_soon() else { return };
            let (kept_free, unmanaged, slack) = (self.kept_free(), self.seen.unmanaged.all, self.budget / 64);
            // Evicted memory may hold so many pages that no census sees at once. Less would be
            // within what arrives between the census and the kernel's count.
            let misses = |dram: usize| account::anonymous_pages(&self.process.statm) > dram + unmanaged + slack;
            let taken = self.census.take(&mut managed, all, kept_free, misses, &mut self.victims);
            // After an error, the mapping has changed during the scan: the next round retries.
            let Ok(dram) = taken else { return };
            (dram, !managed.forks.evictions_paused && std::mem::take(&mut managed.forks.brought_back))
        };
        let anonymous_after = self.anonymous();
        if self.sleeps.is_late() && !forked {
            shared.stats().late_peak_bytes.fetch_max((dram.saturating_sub(self.budget) * PAGE) as u64, Ordering::Relaxed);
        }
        // Pages that arrived while the writers were being stopped raise the surge at once; without
        // new ones it decays.
        let late = dram.saturating_sub(self.trigger()) * 5 / 4;
        self.surge = late.max(self.surge - self.surge.div_ceil(64)).min(self.budget / 2);
        // With a full store, keep the policy's order: in order of addresses, two pages that one
        // instruction needs could evict each other forever.
        let was_full = std::mem::take(&mut self.full);
        if !was_full {
            self.victims.sort_unstable();
        }
        let mut gone = 0;
        let mut scattered = false;
        let victims = std::mem::take(&mut self.victims);
        for group in victims.chunk_by(|a, b| a / CHUNK == b / CHUNK && a < b) {
            // Now, because evictions have decreased the count since.
            let now = (dram + self.anonymous()).saturating_sub(anonymous);
            let Some(mut managed) = shared.lock_soon() else { return };
            self.open_gates(&mut managed, now + self.seen.promised - promised);
            // Each fresh chunk has a separate window. One window over all memory that is mapped
            // from the file is only needed for scattered victims in it, or before copies on write
            // could use up the reserve.
            scattered |= group.iter().any(|page| managed.state[*page] & PAGED != 0);
            if !stopped && (scattered || is_near_budget(now, self.trigger(), self.budget)) {
                self.stop_writers(&mut managed);
                stopped = true;
            }
            if managed.forks.evictions_paused || (was_full && self.full) {
                break;
            }
            match self.evict(&mut managed, group) {
                Ok(n) => gone += n,
                Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO) => self.full = true,
                Err(_) => (), // These pages stay in DRAM until the next census.
            }
        }
        self.victims = victims;
        self.scattered = scattered;
        let left = dram.saturating_sub(gone);
        let (peak, futile) = (self.seen.peak.max(dram), gone == 0 && left > self.frames);
        let (promised, ahead) = (self.seen.promised - promised, std::mem::take(&mut self.seen.ahead));
        self.seen = Seen { dram: left, anonymous: anonymous.saturating_sub(gone), faults, promised, ahead, peak, futile, ..self.seen };
        let Some(mut managed) = shared.lock_soon() else { return };
        if left > self.budget / 2 {
            gate::close(self.uffd(), &mut managed);
        }
        if let Some(record) = &mut managed.record {
            record.flush();
        }
        self.take_account(&managed, dram, [anonymous, anonymous_after], gone, all);
        self.note(&mut managed, left);
        shared.exhausted.store(managed.exhausted, Ordering::Relaxed);
        shared.census_done.store(requested, Ordering::Release);
    }

    /// Open the gates that threads wait for while there is room, so that a program that fills
    /// memory goes on during a round. `expected` pages are in DRAM, those of the gates opened since
    /// the census included.
    fn open_gates(&mut self, managed: &mut ManagedMemory, mut expected: usize) {
        if !matches!(self.evictor, Evictor::Direct(_)) {
            return;
        }
        self.read_faults();
        for fault in std::mem::take(&mut self.waiting) {
            let page = fault.address / PAGE;
            let room = !fault.protected && expected + CHUNK <= self.budget;
            if room && gate::is_closed(managed, page) {
                let opened = self.open_ahead(managed, page, expected);
                self.seen.promised += opened;
                expected += opened;
            } else {
                self.waiting.push_back(fault);
            }
        }
    }

    fn evict(&mut self, managed: &mut ManagedMemory, group: &[usize]) -> Result<usize> {
        match &mut self.evictor {
            Evictor::Direct(evictor) => evictor.evict(managed, group),
            Evictor::Copying(evictor) => evictor.evict(managed, group),
        }
    }

    /// Update the three counts of anonymous memory. `kernel`: the kernel's count before and after
    /// the census. Unmanaged memory is only scanned if the difference of the other two has changed.
    fn take_account(&mut self, managed: &ManagedMemory, dram: usize, kernel: [usize; 2], gone: usize, all: bool) {
        let ([anonymous, after], known) = (kernel, self.seen.unmanaged.all);
        let few = (known / 128).max(32);
        if all || known + few < anonymous.saturating_sub(dram) || known > after.saturating_sub(dram) + few {
            self.seen.unmanaged = account::unmanaged_pages(&mut self.elsewhere, managed).unwrap_or(self.seen.unmanaged);
        }
        account::note(managed.stats, dram, self.seen.unmanaged, anonymous);
        account::note(managed.stats, dram.saturating_sub(gone), self.seen.unmanaged, anonymous.saturating_sub(gone));
    }

    fn note(&mut self, managed: &mut ManagedMemory, dram: usize) {
        let stats = managed.stats;
        add(&stats.rounds, 1);
        let cpu = cpu_time();
        self.priority.follow(cpu);
        set(&stats.pager_cpu_ns, cpu.as_nanos() as usize);
        let (memory, flash) = match (&self.evictor, &mut managed.backing) {
            (Evictor::Direct(evictor), _) => (rustix::fs::fstat(&evictor.file).map_or(0, |s| s.st_blocks as u64 * 512), 0),
            (_, Backing::Copying(store)) => store.bytes(),
            _ => (0, 0),
        };
        set(&stats.nvm_bytes, memory as usize);
        set(&stats.flash_bytes, flash as usize);
        if self.full {
            add(&stats.store_full, 1);
        }
        // The program gets no more memory once the store is full and DRAM holds twice the budget.
        let stop = self.full && dram > 2 * self.budget;
        managed.exhausted = stop || (managed.exhausted && dram > self.budget);
    }
}

/// Whether `pages` in DRAM are nearer to the budget than to the trigger of a round.
fn is_near_budget(pages: usize, trigger: usize, budget: usize) -> bool {
    pages > trigger + (budget - trigger) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_half_between_trigger_and_budget_is_near_the_budget() {
        assert_eq!([900, 950, 951, 1000, 1100].map(|pages| is_near_budget(pages, 900, 1000)), [false, false, true, true, true]);
    }
}
