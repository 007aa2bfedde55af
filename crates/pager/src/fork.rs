//! The work of a forking thread before and after the fork, and the pager thread's for a fork.
//! `tether.rs` explains why slots are frozen.

use crate::kernel::uffd::Fault;
use crate::kernel::PAGE;
use crate::kernel::{memory, own};
use crate::managed::bit::OUT;
use crate::managed::{Backing, Mode};
use crate::shared::{RightsCall, Shared};
use crate::spawn::Thread;
use crate::stats::add;
use crate::thread::{Evictor, PagerThread};
use crate::{ManagedGuard, Pager, CHUNK};
use std::sync::atomic::Ordering;
use std::sync::MutexGuard;

/// The locks that the forking thread holds during the fork, so that no other thread has them: the
/// child has only the forking thread.
pub struct ForkGuard<'a> {
    /// `None`: another thread starts the pager thread. Such a child is never paged.
    thread: Option<MutexGuard<'a, Option<Thread>>>,
    rights: MutexGuard<'a, Vec<RightsCall>>,
    managed: ManagedGuard<'a>,
}

static CHILD_STATS: crate::stats::Stats = crate::stats::Stats::new();

impl Pager {
    /// Prepare a fork: wait until no eviction runs, and prevent evictions while the guard exists.
    pub fn before_fork(&self) -> ForkGuard<'_> {
        let managed = self.lock_managed_for_fork();
        let rights = self.shared.rights.lock().unwrap_or_else(|e| e.into_inner());
        ForkGuard { thread: self.thread.try_lock().ok(), rights, managed }
    }

    fn lock_managed_for_fork(&self) -> ManagedGuard<'_> {
        loop {
            let mut managed = self.lock_managed();
            if managed.mode == Mode::Child {
                return managed;
            }
            match managed.backing {
                Backing::Nowhere => {
                    add(&managed.stats.forks, 1);
                    return managed;
                }
                // The pager thread has not replaced the last fork's tether yet: wait.
                Backing::Direct { .. } if managed.forks.tether.is_none() && !managed.forks.no_tether => drop(managed),
                Backing::Direct { .. } => {
                    managed.forks.untethered |= managed.forks.tether.is_none();
                    managed.freeze();
                    return managed;
                }
                // The pager does not serve a child's faults: wait until it has swapped everything
                // in, with evictions paused.
                Backing::Copying(_) => {
                    managed.forks.evictions_paused = true;
                    let out = managed.out_pages();
                    if out.is_empty() {
                        add(&managed.stats.forks, 1);
                        return managed;
                    }
                    managed.forks.brought_back = true;
                    drop(managed);
                    // This wakes the pager thread, which brings back all.
                    memory::populate(out[0]..out[0] + PAGE);
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    pub fn after_fork_in_parent(&self, guard: ForkGuard<'_>) {
        let mut managed = guard.managed;
        managed.forks.evictions_paused = false;
        if let (Mode::Paging, Some(address)) = (managed.mode, managed.forks.tether.take()) {
            // SAFETY: mapped by `new_tether`; only descendants keep their mappings.
            let _ = unsafe { own::give_back(address..address + PAGE) };
        }
    }

    pub fn after_fork_in_child(&self, guard: ForkGuard<'_>) {
        let ForkGuard { thread, mut rights, mut managed } = guard;
        self.runs.store(false, Ordering::Relaxed);
        rights.clear();
        let can_be_paged = thread.is_some() && self.config.child_stats.is_some();
        if let Some(thread) = thread.and_then(|mut thread| thread.take()) {
            // SAFETY: the parent's thread, which a child does not have.
            unsafe { thread.give_back_stack() };
        }
        managed.become_child(&CHILD_STATS, if can_be_paged { self.config.frames() } else { usize::MAX });
    }
}

impl PagerThread {
    /// For a fork that waits for it, copy all that is out back to DRAM, in the order of addresses.
    /// If the forking thread touched each page, it would wait for this thread each time. The faults
    /// of other threads are answered in between.
    pub fn bring_back(&mut self, shared: &Shared) {
        let Some(out) = shared.lock_soon().map(|managed| managed.out_pages()) else { return };
        for addresses in out.chunks(CHUNK) {
            let Evictor::Copying(evictor) = &mut self.evictor else { return };
            let Some(mut managed) = shared.lock_soon() else { return };
            for address in addresses {
                if managed.state[address / PAGE] & OUT != 0 {
                    evictor.resolve(&mut managed, Fault { address: *address, write: false, protected: false });
                }
            }
            drop(managed);
            self.read_faults();
            self.answer(shared);
        }
    }
}
