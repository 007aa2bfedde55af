//! The pager thread. It has a separate table of descriptors, so the program can neither close nor
//! see them. It blocks all signals, and it never writes to managed memory. `round.rs` has its
//! rounds.

use crate::census::Census;
use crate::copying::CopyEvictor;
use crate::evict::DirectEvictor;
use crate::gate;
use crate::kernel::pagemap::PageMap;
use crate::kernel::uffd::{Fault, Uffd};
use crate::kernel::PAGE;
use crate::managed::bit::PAGED;
use crate::managed::ManagedMemory;
use crate::priority::Priority;
use crate::shared::Shared;
use crate::sleep::{Sleep, Sleeps};
use crate::stats::set;
use crate::tether::Tethers;
use crate::{account, CHUNK};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

pub enum Evictor {
    Direct(DirectEvictor),
    Copying(CopyEvictor),
}

impl Evictor {
    fn uffd(&self) -> &Uffd {
        match self {
            Evictor::Copying(evictor) => &evictor.uffd,
            Evictor::Direct(evictor) => &evictor.uffd,
        }
    }
}

pub struct PagerThread {
    pub evictor: Evictor,
    pub census: Census,
    /// For scans of unmanaged memory.
    pub elsewhere: PageMap,
    pub process: ProcessFiles,
    pub tethers: Tethers,
    /// The budget, and the frames that the policy may fill, both in pages. The difference is the
    /// reserve: room for pages that arrive while the pager sleeps.
    pub budget: usize,
    pub frames: usize,
    pub victims: Vec<usize>,
    /// Faults that were read and not resolved yet, the oldest first.
    pub waiting: VecDeque<Fault>,
    pub seen: Seen,
    pub sleeps: Sleeps,
    pub priority: Priority,
    /// Whether the last round had victims in memory that is mapped from the file.
    pub scattered: bool,
    /// Decaying maximum of the pages by which recent rounds exceeded their trigger.
    pub surge: usize,
    /// Whether the store had no room for a victim of this round (before its evictions: of the last
    /// round).
    pub full: bool,
}

/// Open files of the process in `/proc/self`.
pub struct ProcessFiles {
    pub statm: OwnedFd,
    /// The directory `task`.
    pub tasks: OwnedFd,
}

/// Results of the last census, from which `growth` estimates cheaply whether the next census is
/// due. Amounts of memory are in pages.
#[derive(Default)]
pub struct Seen {
    /// Managed pages in DRAM after the evictions that followed the census.
    pub dram: usize,
    /// Anonymous pages of the process by the kernel's count (`RssAnon`).
    pub anonymous: usize,
    pub unmanaged: account::Unmanaged,
    /// Number of page faults of the process.
    pub faults: usize,
    /// Pages of the gates opened since, which the program may fill without another fault to the
    /// pager.
    pub promised: usize,
    /// What the last wait for a gate opened.
    pub ahead: gate::Ahead,
    /// The largest number of managed pages in DRAM of all censuses.
    pub peak: usize,
    /// Whether the last round evicted nothing although it should: wait longer before the next one.
    pub futile: bool,
}

impl PagerThread {
    pub fn run(mut self, shared: &Shared) {
        while !shared.stop.load(Ordering::Acquire) {
            let mut paused = false;
            if let Some(mut managed) = shared.lock_soon() {
                paused = managed.forks.evictions_paused;
                self.watch_threads(&mut managed);
                self.tethers.renew(&mut managed);
                if let Some(record) = &mut managed.record {
                    record.flush();
                }
            }
            if paused {
                self.bring_back(shared);
            }
            give_up_rights(shared);
            let mut guess = self.seen.dram + self.growth(shared);
            // Between half of the budget and the trigger, growth by a sixteenth of the budget above
            // the peak also starts a round, which updates the peak and closes the gates.
            let due = guess >= self.trigger() || (guess > self.budget / 2 && guess > self.seen.peak + self.budget / 16);
            let requested = shared.census_wanted.load(Ordering::Acquire) > shared.census_done.load(Ordering::Relaxed);
            // A round that may not evict would only take a census for each page that a fork brings
            // back.
            if due && !paused || requested {
                self.round(shared);
                guess = self.seen.dram + self.growth(shared);
            }
            self.watch_reads(shared);
            let headroom = (self.budget - self.surge).saturating_sub(guess);
            self.watch_idleness(shared, headroom);
            // The pager may sleep for as long as threads need to fill the headroom: 0.05 to 10 ms,
            // at least 5 ms if the last round evicted nothing or none may, 10 ms if growth waits.
            let least = match (self.sleeps.idle.is_guarded, self.seen.futile || paused) {
                (true, _) => LONGEST_NAP_NS,
                (false, true) => 5_000_000,
                (false, false) => 50_000,
            };
            self.serve(shared, nap_ns(headroom).clamp(least, LONGEST_NAP_NS));
        }
    }

    /// Number of pages in DRAM at which a round begins: the budget less half of the reserve, or
    /// less `surge` if that is more.
    pub fn trigger(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2).min(self.budget - self.surge)
    }

    /// Frames that the policy keeps free in addition to its reserve, so that the trigger is not
    /// reached again at once.
    pub fn kept_free(&self) -> usize {
        (self.frames + (self.budget - self.frames) / 2) - self.trigger()
    }

    pub fn uffd(&self) -> &Uffd {
        self.evictor.uffd()
    }

    /// Serve pending faults. If there are none, wait for faults for at most `nap` nanoseconds.
    fn serve(&mut self, shared: &Shared, nap: u64) {
        self.read_faults();
        if self.waiting.is_empty() {
            self.sleeps.last = Sleep::begin(nap);
            self.uffd().wait(nap);
            self.read_faults();
        }
        self.answer(shared);
    }

    /// Resolve the faults that have been read. Those that a round reads meanwhile wait for the next
    /// call, because `run` has other duties, too.
    pub fn answer(&mut self, shared: &Shared) {
        for _ in 0..self.waiting.len() {
            let Some(fault) = self.waiting.pop_front() else { return };
            self.sleeps.idle.end();
            if fault.protected {
                self.allow_write(shared, fault);
            } else {
                self.open_gate(shared, fault);
            }
        }
    }

    /// Add pending faults to `waiting`.
    pub fn read_faults(&mut self) {
        let mut faults = [None; 16];
        self.uffd().faults(&mut faults);
        self.waiting.extend(faults.into_iter().flatten());
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
            evictor.allow_write(shared.managed.try_lock().ok().as_deref_mut(), fault.address / PAGE);
        }
    }

    /// Resolve an access to a missing page: swap the page in, or make room and open the gate of
    /// fresh memory.
    fn open_gate(&mut self, shared: &Shared, fault: Fault) {
        let page = fault.address / PAGE;
        if let Evictor::Copying(evictor) = &mut self.evictor {
            let mut managed = shared.lock();
            if managed.state[page] & PAGED != 0 {
                return evictor.resolve(&mut managed, fault);
            }
        }
        let closed = |managed: &ManagedMemory| gate::is_closed(managed, page);
        let mut expected = self.seen.dram + self.growth(shared);
        let may_wait = |managed: &ManagedMemory| closed(managed) && !managed.forks.evictions_paused;
        if expected + CHUNK > self.budget && shared.lock_soon().is_some_and(|managed| may_wait(&managed)) {
            // The round opens the gate as soon as there is room.
            self.waiting.push_front(fault);
            self.round(shared);
            let Some(left) = self.waiting.iter().position(|waiting| *waiting == fault) else { return };
            self.waiting.remove(left);
            expected = self.seen.dram + self.growth(shared);
        }
        match shared.lock_soon() {
            Some(mut managed) if closed(&managed) => self.seen.promised += self.open_ahead(&mut managed, page, expected),
            _ => gate::open_page(self.uffd(), fault.address),
        }
    }

    /// Open the gates for a thread that waits at `page`, while `expected` pages are in DRAM.
    /// Returns the number of opened pages.
    pub fn open_ahead(&mut self, managed: &mut ManagedMemory, page: usize, expected: usize) -> usize {
        let room = self.trigger().saturating_sub(expected);
        self.seen.ahead.open(self.evictor.uffd(), managed, page, room)
    }

    /// Estimate the growth of managed memory in DRAM since the last census, in pages: the growth of
    /// the kernel's count of anonymous memory, but at most the number of page faults and at least
    /// `promised`.
    pub fn growth(&self, shared: &Shared) -> usize {
        let faults = faults();
        set(&shared.stats().faults, faults);
        let (faulted, grown) = self.since_census(faults);
        // If other anonymous memory shrinks while managed memory grows, the kernel's count does not
        // show the growth. So a large number of faults alone makes a census due.
        if faulted > 8 * (self.budget - self.frames) {
            return faulted;
        }
        grown.min(faulted).max(self.seen.promised)
    }

    /// Page faults since the last census, of `faults` in all, and the growth of the kernel's count
    /// of anonymous memory in pages.
    fn since_census(&self, faults: usize) -> (usize, usize) {
        (faults.saturating_sub(self.seen.faults), self.anonymous().saturating_sub(self.seen.anonymous))
    }

    /// Release the writers of a program with one thread that reads what was evicted and writes
    /// little: the kernel does not map the neighbors of a page that is read while they are held.
    fn watch_reads(&mut self, shared: &Shared) {
        if !matches!(&self.evictor, Evictor::Direct(evictor) if evictor.holds_evicted && !evictor.keep_holding) {
            return;
        }
        let (faulted, grown) = self.since_census(faults());
        if faulted < MANY_READS || faulted / 8 < grown {
            return;
        }
        if let (Evictor::Direct(evictor), Some(mut managed)) = (&mut self.evictor, shared.lock_soon()) {
            evictor.release_all_writers(&mut managed);
        }
    }

    pub fn anonymous(&self) -> usize {
        account::anonymous_pages(&self.process.statm)
    }

    /// Hold writers between rounds, too, while the program has several threads or is guarded.
    fn watch_threads(&mut self, managed: &mut ManagedMemory) {
        let Evictor::Direct(evictor) = &mut self.evictor else { return };
        let several = || rustix::fs::fstat(&self.process.tasks).is_ok_and(|tasks| several_threads(&tasks));
        match (evictor.protect && (self.sleeps.idle.is_guarded || several()), evictor.keep_holding) {
            (true, false) => {
                evictor.keep_holding = true;
                evictor.stop_writers(managed);
            }
            (false, true) => evictor.release_all_writers(managed),
            _ => (),
        }
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

/// Whether the program has more than one thread besides the pager's. A directory has two links, and
/// each thread is a subdirectory of `tasks`, which adds a link.
pub fn several_threads(tasks: &rustix::fs::Stat) -> bool {
    tasks.st_nlink > 2 + 2
}

/// Number of page faults since a round from which on a program counts as one that reads.
const MANY_READS: usize = 512;

/// Lower bound of the time between two faults of a thread: the kernel has to clear each page.
const FASTEST_FAULT_NS: u64 = 250;

/// The longest sleep: the thread has other duties, too.
pub const LONGEST_NAP_NS: u64 = 10_000_000;

/// The time that threads need at least to fill `headroom` pages.
pub fn nap_ns(headroom: usize) -> u64 {
    headroom as u64 * FASTEST_FAULT_NS
}

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
