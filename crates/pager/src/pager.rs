//! The pager as its program sees it.

use crate::kernel::memory::Bytes;
use crate::kernel::PAGE;
use crate::shared::Shared;
use crate::spans::PageRange;
use crate::stats::{self, set};
use crate::world::{self, World};
use crate::{signals, thread, Config};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The world as a thread of the program holds it: no signal handler runs meanwhile, which might want it as well.
pub struct Held<'a> {
    world: MutexGuard<'a, World>,
    _signals: signals::Waiting, // after the lock: fields are dropped in their order
}

impl std::ops::Deref for Held<'_> {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

impl std::ops::DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

/// Managed memory and, once it is needed, the thread that pages it. The memory outlives the thread only in a forked child.
pub struct Pager {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Config,
    /// The pager thread was started.
    pub(crate) runs: AtomicBool,
    pub(crate) thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Pager {
    /// The managed memory, locked, for a thread of the program. Do not write to managed memory while holding it.
    pub fn world(&self) -> Held<'_> {
        let signals = signals::Waiting::all();
        Held { world: self.shared.lock(), _signals: signals }
    }

    /// Whether the thread has to run before the program goes on: see [`run`](Pager::run).
    pub fn outgrown(&self) -> bool {
        !self.runs.load(Ordering::Relaxed) && self.world().outgrown()
    }

    /// Addresses as pages, if a program can have them; partial pages count whole.
    pub fn pages(&self, bytes: &Bytes) -> Option<PageRange> {
        let pages = bytes.start / PAGE..bytes.end.div_ceil(PAGE);
        (bytes.start < bytes.end && pages.end <= crate::PAGES).then_some(pages)
    }

    /// Address space that the pager takes at most: the range, its tables, the mirror of a store's file.
    pub fn address_space(&self) -> usize {
        2 * self.config.range_bytes + self.config.range_bytes / 64 + (256 << 20)
    }

    /// A system call that changes the rights of whoever makes it, if the program has one thread and a pager thread; its result. The C
    /// library would make every thread do it and end the program if one could not: the pager thread, which lacks what the program's
    /// thread has kept for itself (`PR_SET_KEEPCAPS`). It does so on its own, with arguments that `follow`, as far as it can.
    pub fn change_rights(&self, number: libc::c_long, arguments: [libc::c_long; 3], follow: [libc::c_long; 3]) -> Option<libc::c_long> {
        let alone = rustix::fs::stat("/proc/self/task").is_ok_and(|tasks| !thread::several_threads(&tasks));
        if !self.runs.load(Ordering::Relaxed) || !alone || self.world().mode != world::Mode::Paging {
            return None;
        }
        // SAFETY: the program's own system call, as it made it.
        let result = unsafe { libc::syscall(number, arguments[0], arguments[1], arguments[2]) };
        if result == 0 {
            let _waiting = signals::Waiting::all();
            self.shared.rights.lock().unwrap_or_else(|e| e.into_inner()).push((number, follow));
        }
        Some(result)
    }

    /// The store is full, and twice the budget is in DRAM.
    pub fn is_exhausted(&self) -> bool {
        self.shared.exhausted.load(Ordering::Relaxed)
    }

    pub fn stats(&self) -> &'static stats::Stats {
        self.shared.stats
    }

    /// Bring the counters up to date: wait (at most two seconds) for a census that starts after this call.
    pub fn settle(&self) {
        if !self.runs.load(Ordering::Relaxed) {
            return self.count_without_a_thread();
        }
        let wanted = self.shared.census_wanted.fetch_add(1, Ordering::AcqRel) + 1;
        for _ in 0..20_000 {
            if self.shared.census_done.load(Ordering::Acquire) >= wanted {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    /// The program ends: the last figures. Does nothing in a forked child, whose figures are nobody's.
    pub fn finish(&self) {
        if self.world().mode == world::Mode::Paging {
            self.settle();
            self.shared.stats.state.store(2, Ordering::Release);
        }
    }

    /// The figures of a program that never outgrew its allowance.
    fn count_without_a_thread(&self) {
        set(&self.stats().faults, thread::faults());
        self.world().take_account();
    }

    /// End the pager thread. Memory that is out stays readable only with a direct store.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            let _ = thread.join();
        }
    }
}
