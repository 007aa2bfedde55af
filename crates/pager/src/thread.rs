//! The pager thread. It owns every descriptor in a table of its own, so the program can neither close nor see them; it
//! blocks all signals; it never writes to managed memory.

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
    /// For what is not managed.
    pub elsewhere: PageMap,
    pub statm: OwnedFd,
    /// The directory of the process's threads.
    pub tasks: OwnedFd,
    pub tethers: Tethers,
    /// The budget, and what the policy may hold: less, so that there is room for what arrives while the pager sleeps.
    pub budget: usize,
    pub frames: usize,
    pub victims: Vec<usize>,
    pub seen: Seen,
    pub rest: Rest,
    /// Pages that came during late stops of the writers, lately.
    pub surge: usize,
    /// The store had no place for a victim of this round, or, before it, of the last one.
    pub full: bool,
}

/// What the last census found, to judge cheaply whether the next is due.
#[derive(Default)]
pub struct Seen {
    dram: usize,
    anonymous: usize,
    unmanaged: account::Unmanaged,
    faults: usize,
    /// Pages of chunks opened since, which the program may fill at once.
    promised: usize,
    peak: usize,
    /// Nothing could leave: look again later, not at once.
    futile: bool,
}

impl PagerThread {
    pub fn run(mut self, shared: &Shared) {
        while !shared.stop.load(Ordering::Acquire) {
            let guess = self.seen.dram + self.growth(shared);
            let trigger = self.trigger();
            // Also now and then on the way up, for the peak and the gates.
            let due = guess >= trigger || (guess > self.budget / 2 && guess > self.seen.peak + self.budget / 16);
            let asked = shared.census_wanted.load(Ordering::Acquire) > shared.census_done.load(Ordering::Relaxed);
            if due || asked {
                self.round(shared);
            }
            if let Some(mut world) = shared.lock_soon() {
                self.watch_threads(&mut world);
                self.tethers.tend(&mut world);
                if let Some(record) = &mut world.record {
                    record.flush();
                }
            }
            give_up_rights(shared);
            let headroom = (self.budget - self.surge).saturating_sub(self.seen.dram + self.growth(shared));
            self.serve(shared, (headroom as u64 * FASTEST_FAULT_NS).clamp(if self.seen.futile { 5_000_000 } else { 50_000 }, 10_000_000));
        }
    }

    /// A round begins with so many pages in DRAM: half of the reserve before the budget, or as much as came during a late stop.
    fn trigger(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2).min(self.budget - self.surge)
    }

    /// Pages that the policy leaves free besides its reserve, so that the trigger is not reached at once again.
    fn kept_free(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2) - self.trigger()
    }

    fn uffd(&self) -> &Uffd {
        match &self.evictor {
            Evictor::Copying(evictor) => &evictor.uffd,
            Evictor::Direct(evictor) => &evictor.uffd,
        }
    }

    /// Serve who waits; if nobody does, wait for somebody, at most `nap` nanoseconds.
    fn serve(&mut self, shared: &Shared, nap: u64) {
        let mut faults = [None; 16];
        if self.uffd().faults(&mut faults) == 0 {
            self.rest = Rest::of(nap);
            self.uffd().wait(nap);
            self.uffd().faults(&mut faults);
        }
        for fault in faults.into_iter().flatten() {
            if fault.protected {
                self.let_write(shared, fault);
            } else {
                self.open_gate(shared, fault);
            }
        }
    }

    /// A write to a page that is protected.
    fn let_write(&mut self, shared: &Shared, fault: Fault) {
        if let Evictor::Copying(evictor) = &mut self.evictor {
            evictor.written(&mut shared.lock(), fault);
            let _ = evictor.uffd.wake(fault.address..fault.address + PAGE);
            return;
        }
        if !self.seen.futile && self.seen.dram + self.growth(shared) >= self.trigger() {
            self.round(shared);
        }
        if let Evictor::Direct(evictor) = &mut self.evictor {
            // The world may be locked by the very thread that waits here.
            evictor.let_write(shared.world.try_lock().ok().as_deref_mut(), fault.address / PAGE);
        }
    }

    /// A touch of a page that is not there: of one in the store, or of fresh memory, which is given when there is room.
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

    /// Pages by which managed memory may have grown since the last census: no more than the process has faulted on, and
    /// about what the kernel says its anonymous memory grew by.
    fn growth(&self, shared: &Shared) -> usize {
        let faults = faults();
        set(&shared.stats.faults, faults);
        let faulted = faults.saturating_sub(self.seen.faults);
        let grown = self.anonymous().saturating_sub(self.seen.anonymous);
        // Other memory may have shrunk by as much as managed memory grew; many faults are worth a look of their own.
        if faulted > 8 * (self.budget - self.frames) {
            return faulted;
        }
        grown.min(faulted).max(self.seen.promised)
    }

    fn anonymous(&self) -> usize {
        account::anonymous_pages(&self.statm)
    }

    /// One census, and the evictions it calls for.
    fn round(&mut self, shared: &Shared) {
        let asked = shared.census_wanted.load(Ordering::Acquire);
        let all = asked > shared.census_done.load(Ordering::Relaxed);
        self.victims.clear();
        // Only a round that will evict is worth the stop.
        let stops = self.seen.dram + self.growth(shared) > self.frames - self.kept_free();
        if stops {
            self.stop_writers(shared);
            if let Some(mut world) = shared.lock_soon() {
                gate::close(self.uffd(), &mut world);
            }
        }
        self.evict_what_is_due(shared, asked, all);
        if let Evictor::Direct(evictor) = &mut self.evictor {
            evictor.let_writers_go(shared.world.try_lock().ok().as_deref_mut());
        }
    }

    /// With its second thread the program's memory is held from one round to the next.
    fn watch_threads(&mut self, world: &mut World) {
        let Evictor::Direct(evictor) = &mut self.evictor else { return };
        let several = evictor.protect && rustix::fs::fstat(&self.tasks).is_ok_and(|tasks| several_threads(&tasks));
        match (several, evictor.keep_holding) {
            (true, false) => {
                evictor.keep_holding = true;
                evictor.stop_writers(world);
            }
            (false, true) => evictor.hold_no_longer(world),
            _ => (),
        }
    }

    fn stop_writers(&mut self, shared: &Shared) {
        let Evictor::Direct(evictor) = &mut self.evictor else { return };
        if !evictor.protect {
            return;
        }
        if evictor.keep_holding && shared.world.try_lock().is_err() {
            evictor.stop_writers_as_before();
        }
        if let Some(mut world) = shared.lock_soon() {
            evictor.stop_writers(&mut world);
        }
    }

    fn evict_what_is_due(&mut self, shared: &Shared, asked: u64, all: bool) {
        let (anonymous, faults) = (self.anonymous(), faults());
        let dram = {
            let Some(mut world) = shared.lock_soon() else { return };
            match self.census.take(&mut world, all, self.kept_free(), &mut self.victims) {
                Ok(dram) => dram,
                Err(_) => self.seen.dram, // the range was changing under the scan: next time
            }
        };
        if self.rest.was_too_long() {
            shared.stats.late_peak_bytes.fetch_max((dram.saturating_sub(self.budget) * PAGE) as u64, Ordering::Relaxed);
        }
        // What came while the writers were being stopped may come again; what never comes again is forgotten.
        let late = dram.saturating_sub(self.trigger()) * 5 / 4;
        self.surge = late.max(self.surge - self.surge.div_ceil(64)).min(self.budget / 2);
        // The few places of a full store are for the pages that have waited longest: by address, two pages that one instruction needs
        // could push each other out for ever.
        let was_full = std::mem::take(&mut self.full);
        if !was_full {
            self.victims.sort_unstable();
        }
        let mut gone = 0;
        let victims = std::mem::take(&mut self.victims);
        for group in victims.chunk_by(|a, b| a / CHUNK == b / CHUNK && a < b) {
            let Some(mut world) = shared.lock_soon() else { return };
            if world.held || (was_full && self.full) {
                break;
            }
            match self.evict(&mut world, group) {
                Ok(n) => gone += n,
                Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO) => self.full = true,
                Err(_) => (), // these stay for now; the next census finds them again
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
        shared.census_done.store(asked, Ordering::Release);
    }

    fn evict(&mut self, world: &mut World, group: &[usize]) -> Result<usize> {
        match &mut self.evictor {
            Evictor::Direct(evictor) => evictor.evict(world, group),
            Evictor::Copying(evictor) => evictor.evict(world, group),
        }
    }

    /// The three sums of anonymous memory. What is not managed is counted where the other two say that it has changed.
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
        // The hard stop: twice the budget in DRAM and nowhere to go.
        let stop = self.full && dram > 2 * self.budget;
        world.exhausted = stop || (world.exhausted && dram > self.budget);
    }
}

/// What the program's thread has done to its own rights. What fails is left: then the kernel does not let go of less either.
fn give_up_rights(shared: &Shared) {
    let Ok(mut calls) = shared.rights.try_lock() else { return };
    for (number, [first, second, third]) in calls.drain(..) {
        // SAFETY: changes what this thread may do.
        unsafe { libc::syscall(number, first, second, third) };
    }
}

/// Whether the program has more than one thread beside the pager's: each is a directory, which counts as a link.
pub fn several_threads(tasks: &rustix::fs::Stat) -> bool {
    tasks.st_nlink > 2 + 2
}

/// No thread can fill pages faster than the kernel can clear them.
const FASTEST_FAULT_NS: u64 = 250;

/// Page faults of the process so far, all threads.
pub fn faults() -> usize {
    // SAFETY: fills the structure, which is plain numbers.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    (usage.ru_minflt + usage.ru_majflt) as usize
}
