//! The pager thread. Its descriptors are in a table of its own, so the program can neither close
//! nor see them. It blocks all signals. It never writes to managed memory.

use crate::census::Census;
use crate::copying::CopyEvictor;
use crate::evict::DirectEvictor;
use crate::gate;
use crate::kernel::pagemap::PageMap;
use crate::kernel::uffd::{Fault, Uffd};
use crate::kernel::PAGE;
use crate::rest::{cpu_time, Rest};
use crate::shared::Shared;
use crate::stats::{add, set};
use crate::tether::Tethers;
use crate::world::bit::PAGED;
use crate::world::{Backing, World};
use crate::{account, CHUNK};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, Result};
use std::sync::atomic::Ordering;

pub enum Evictor {
    Direct(DirectEvictor),
    Copying(CopyEvictor),
}

pub struct PagerThread {
    pub evictor: Evictor,
    pub census: Census,
    /// For scans of unmanaged memory.
    pub elsewhere: PageMap,
    pub statm: OwnedFd,
    /// The directory `/proc/self/task`.
    pub tasks: OwnedFd,
    pub tethers: Tethers,
    /// The budget, and the frames that the policy may fill, both in pages. The difference is room
    /// for pages that arrive while the pager sleeps.
    pub budget: usize,
    pub frames: usize,
    pub victims: Vec<usize>,
    pub seen: Seen,
    pub rest: Rest,
    /// Decaying maximum of the pages by which recent rounds exceeded their trigger.
    pub surge: usize,
    /// Whether the store had no room for a victim of this round (before its evictions: of the last
    /// round).
    pub full: bool,
}

/// Results of the last census, from which `growth` estimates cheaply whether the next census is
/// due.
#[derive(Default)]
pub struct Seen {
    dram: usize,
    anonymous: usize,
    unmanaged: account::Unmanaged,
    faults: usize,
    /// Pages of the gates opened since, which the program may fill without another fault to the
    /// pager.
    promised: usize,
    peak: usize,
    /// Whether the last round evicted nothing although it should: wait longer before the next one.
    futile: bool,
}

impl PagerThread {
    pub fn run(mut self, shared: &Shared) {
        while !shared.stop.load(Ordering::Acquire) {
            if let Some(mut world) = shared.lock_soon() {
                self.watch_threads(&mut world);
                self.tethers.tend(&mut world);
                if let Some(record) = &mut world.record {
                    record.flush();
                }
            }
            give_up_rights(shared);
            let mut guess = self.seen.dram + self.growth(shared);
            // Below the trigger, growth by a sixteenth of the budget also starts a round, to update
            // the peak and close the gates.
            let due = guess >= self.trigger() || (guess > self.budget / 2 && guess > self.seen.peak + self.budget / 16);
            let requested = shared.census_wanted.load(Ordering::Acquire) > shared.census_done.load(Ordering::Relaxed);
            if due || requested {
                self.round(shared);
                guess = self.seen.dram + self.growth(shared);
            }
            let headroom = (self.budget - self.surge).saturating_sub(guess);
            self.serve(shared, (headroom as u64 * FASTEST_FAULT_NS).clamp(if self.seen.futile { 5_000_000 } else { 50_000 }, 10_000_000));
        }
    }

    /// Number of pages in DRAM at which a round begins: the budget less half of the reserve, or
    /// less `surge` if that is more.
    fn trigger(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2).min(self.budget - self.surge)
    }

    /// Frames that the policy keeps free in addition to its reserve, so that the trigger is not
    /// reached again at once.
    fn kept_free(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2) - self.trigger()
    }

    fn uffd(&self) -> &Uffd {
        match &self.evictor {
            Evictor::Copying(evictor) => &evictor.uffd,
            Evictor::Direct(evictor) => &evictor.uffd,
        }
    }

    /// Serve pending faults. If there are none, wait for faults for at most `nap` nanoseconds.
    fn serve(&mut self, shared: &Shared, nap: u64) {
        let mut faults = [None; 16];
        if self.uffd().faults(&mut faults) == 0 {
            self.rest = Rest::begin(nap);
            self.uffd().wait(nap);
            self.uffd().faults(&mut faults);
        }
        for fault in faults.into_iter().flatten() {
            if fault.protected {
                self.allow_write(shared, fault);
            } else {
                self.open_gate(shared, fault);
            }
        }
    }

    /// Resolve a write to a protected page.
    fn allow_write(&mut self, shared: &Shared, fault: Fault) {
        if let Evictor::Copying(evictor) = &mut self.evictor {
            evictor.resolve_write(&mut shared.lock(), fault);
            let _ = evictor.uffd.wake(fault.address..fault.address + PAGE);
            return;
        }
        if !self.seen.futile && self.seen.dram + self.growth(shared) >= self.trigger() {
            self.round(shared);
        }
        if let Evictor::Direct(evictor) = &mut self.evictor {
            // The waiting thread itself may hold the lock.
            evictor.allow_write(shared.world.try_lock().ok().as_deref_mut(), fault.address / PAGE);
        }
    }

    /// Resolve an access to a missing page: swap the page in, or make room and open the gate of
    /// fresh memory.
    fn open_gate(&mut self, shared: &Shared, fault: Fault) {
        let page = fault.address / PAGE;
        if let Evictor::Copying(evictor) = &mut self.evictor {
            let mut world = shared.lock();
            if world.state[page] & PAGED != 0 {
                return evictor.resolve(&mut world, fault);
            }
        }
        let closed = |world: &World| gate::is_closed(world, page);
        if shared.lock_soon().is_some_and(|world| closed(&world)) && self.seen.dram + self.growth(shared) + CHUNK > self.budget {
            self.round(shared);
        }
        match shared.lock_soon() {
            Some(mut world) if closed(&world) => self.seen.promised += gate::open(self.uffd(), &mut world, page),
            _ => gate::open_page(self.uffd(), fault.address),
        }
    }

    /// Estimate the growth of managed memory in DRAM since the last census, in pages: the growth of
    /// the kernel's count of anonymous memory, but at most the number of page faults and at least
    /// `promised`.
    fn growth(&self, shared: &Shared) -> usize {
        let faults = faults();
        set(&shared.stats.faults, faults);
        let faulted = faults.saturating_sub(self.seen.faults);
        let grown = self.anonymous().saturating_sub(self.seen.anonymous);
        // Other memory may have shrunk while managed memory grew, so many faults call for a census
        // whatever the kernel's count.
        if faulted > 8 * (self.budget - self.frames) {
            return faulted;
        }
        grown.min(faulted).max(self.seen.promised)
    }

    fn anonymous(&self) -> usize {
        account::anonymous_pages(&self.statm)
    }

    /// Take a census and evict its victims.
    fn round(&mut self, shared: &Shared) {
        let requested = shared.census_wanted.load(Ordering::Acquire);
        let all = requested > shared.census_done.load(Ordering::Relaxed);
        self.victims.clear();
        // Stop the writers only if the round will evict.
        let stops = self.seen.dram + self.growth(shared) > self.frames - self.kept_free();
        if stops {
            self.stop_writers(shared);
            if let Some(mut world) = shared.lock_soon() {
                gate::close(self.uffd(), &mut world);
            }
        }
        self.evict_due(shared, requested, all);
        if let Evictor::Direct(evictor) = &mut self.evictor {
            evictor.release_writers(shared.world.try_lock().ok().as_deref_mut());
        }
    }

    /// Keep writers held between rounds while the program has several threads.
    fn watch_threads(&mut self, world: &mut World) {
        let Evictor::Direct(evictor) = &mut self.evictor else { return };
        let several = evictor.protect && rustix::fs::fstat(&self.tasks).is_ok_and(|tasks| several_threads(&tasks));
        match (several, evictor.keep_holding) {
            (true, false) => {
                evictor.keep_holding = true;
                evictor.stop_writers(world);
            }
            (false, true) => evictor.release_all_writers(world),
            _ => (),
        }
    }

    fn stop_writers(&mut self, shared: &Shared) {
        let Evictor::Direct(evictor) = &mut self.evictor else { return };
        if !evictor.protect {
            return;
        }
        if evictor.keep_holding && shared.world.try_lock().is_err() {
            evictor.protect_lifted();
        }
        if let Some(mut world) = shared.lock_soon() {
            evictor.stop_writers(&mut world);
        }
    }

    fn evict_due(&mut self, shared: &Shared, requested: u64, all: bool) {
        let (anonymous, faults) = (self.anonymous(), faults());
        let dram = {
            let Some(mut world) = shared.lock_soon() else { return };
            match self.census.take(&mut world, all, self.kept_free(), &mut self.victims) {
                Ok(dram) => dram,
                // The mapping changed during the scan: retry in the next round.
                Err(_) => self.seen.dram,
            }
        };
        if self.rest.overslept() {
            shared.stats.late_peak_bytes.fetch_max((dram.saturating_sub(self.budget) * PAGE) as u64, Ordering::Relaxed);
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
        let victims = std::mem::take(&mut self.victims);
        for group in victims.chunk_by(|a, b| a / CHUNK == b / CHUNK && a < b) {
            let Some(mut world) = shared.lock_soon() else { return };
            if world.forks.evictions_paused || (was_full && self.full) {
                break;
            }
            match self.evict(&mut world, group) {
                Ok(n) => gone += n,
                Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO) => self.full = true,
                Err(_) => (), // These pages stay in DRAM until the next census.
            }
        }
        self.victims = victims;
        let left = dram.saturating_sub(gone);
        let (peak, futile) = (self.seen.peak.max(dram), gone == 0 && left > self.frames);
        self.seen = Seen { dram: left, anonymous: anonymous.saturating_sub(gone), faults, promised: 0, peak, futile, ..self.seen };
        let Some(mut world) = shared.lock_soon() else { return };
        if left > self.budget / 2 {
            gate::close(self.uffd(), &mut world);
        }
        if let Some(record) = &mut world.record {
            record.flush();
        }
        self.take_account(&world, dram, anonymous, gone, all);
        self.note(&mut world, left);
        shared.exhausted.store(world.exhausted, Ordering::Relaxed);
        shared.census_done.store(requested, Ordering::Release);
    }

    fn evict(&mut self, world: &mut World, group: &[usize]) -> Result<usize> {
        match &mut self.evictor {
            Evictor::Direct(evictor) => evictor.evict(world, group),
            Evictor::Copying(evictor) => evictor.evict(world, group),
        }
    }

    /// Update the three counts of anonymous memory. Unmanaged memory is only scanned if the
    /// difference of the other two has changed.
    fn take_account(&mut self, world: &World, dram: usize, anonymous: usize, gone: usize, all: bool) {
        let rest = anonymous.saturating_sub(dram);
        if all || rest.abs_diff(self.seen.unmanaged.all) > (rest / 128).max(32) {
            self.seen.unmanaged = account::unmanaged_pages(&mut self.elsewhere, world).unwrap_or(self.seen.unmanaged);
        }
        account::note(world.stats, dram, self.seen.unmanaged, anonymous);
        account::note(world.stats, dram.saturating_sub(gone), self.seen.unmanaged, anonymous.saturating_sub(gone));
    }

    fn note(&mut self, world: &mut World, dram: usize) {
        let stats = world.stats;
        add(&stats.rounds, 1);
        set(&stats.pager_cpu_ns, cpu_time().as_nanos() as usize);
        let (memory, flash) = match (&self.evictor, &mut world.backing) {
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
        world.exhausted = stop || (world.exhausted && dram > self.budget);
    }
}

/// Repeat the program's credential changes in this thread. A failure is ignored: it leaves the
/// thread's credentials unchanged.
fn give_up_rights(shared: &Shared) {
    let Ok(mut calls) = shared.rights.try_lock() else { return };
    for (number, [first, second, third]) in calls.drain(..) {
        // SAFETY: changes only this thread's credentials.
        unsafe { libc::syscall(number, first, second, third) };
    }
}

/// Whether the program has more than one thread besides the pager's. Each thread is a subdirectory
/// of `tasks`, which counts as a link.
pub fn several_threads(tasks: &rustix::fs::Stat) -> bool {
    tasks.st_nlink > 2 + 2
}

/// Lower bound of the time between two faults of a thread: the kernel has to clear each page.
const FASTEST_FAULT_NS: u64 = 250;

/// Page faults of all threads of the process so far.
pub fn faults() -> usize {
    // SAFETY: the call fills the structure, for which zeros are valid.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    (usage.ru_minflt + usage.ru_majflt) as usize
}
