//! The pager's interface for the threads of the program.

use crate::kernel::memory::Bytes;
use crate::kernel::PAGE;
use crate::managed::{self, ManagedMemory};
use crate::sandbox::Sandbox;
use crate::shared::Shared;
use crate::spans::PageRange;
use crate::spawn::Thread;
use crate::stats::{self, set};
use crate::{signals, thread, Config};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The locked [`ManagedMemory`], for a thread of the program. Signals are blocked meanwhile, as a
/// handler could try to take the same lock.
pub struct ManagedGuard<'a> {
    managed: MutexGuard<'a, ManagedMemory>,
    // Fields are dropped in order: signals are unblocked after the lock is released.
    _signals: signals::Blocked,
}

impl std::ops::Deref for ManagedGuard<'_> {
    type Target = ManagedMemory;
    fn deref(&self) -> &ManagedMemory {
        &self.managed
    }
}

impl std::ops::DerefMut for ManagedGuard<'_> {
    fn deref_mut(&mut self) -> &mut ManagedMemory {
        &mut self.managed
    }
}

/// Managed memory and its pager thread, which is started on demand. A forked child has the memory
/// without the thread, until it needs one of its own.
pub struct Pager {
    pub(crate) shared: Arc<Shared>,
    pub(crate) config: Config,
    /// Whether the pager thread was started.
    pub(crate) runs: AtomicBool,
    pub(crate) thread: Mutex<Option<Thread>>,
    /// What the program had forbidden itself when it started.
    pub(crate) sandbox: Sandbox,
}

impl Pager {
    /// Let the C library keep what the pager thread needs of it, so that [`run`](Pager::run) calls
    /// no `malloc`. Returns whether it does.
    pub fn keep_a_stack() -> bool {
        crate::spawn::Thread::keep_a_stack()
    }

    /// Lock the managed memory, for a thread of the program. The caller must not write to managed
    /// memory while it holds the lock.
    pub fn lock_managed(&self) -> ManagedGuard<'_> {
        let signals = signals::Blocked::all();
        ManagedGuard { managed: self.shared.lock(), _signals: signals }
    }

    /// Whether [`run`](Pager::run) must be called before the program continues: it may fill more
    /// memory than the policy may hold.
    pub fn needs_pager_thread(&self) -> bool {
        !self.runs.load(Ordering::Relaxed) && self.lock_managed().needs_pager_thread()
    }

    /// Convert a range of addresses to page numbers, rounded outward. `None` if it is empty or
    /// beyond the address space.
    pub fn pages(&self, bytes: &Bytes) -> Option<PageRange> {
        let pages = bytes.start / PAGE..bytes.end.div_ceil(PAGE);
        (bytes.start < bytes.end && pages.end <= crate::PAGES).then_some(pages)
    }

    /// Upper bound of the address space that the pager uses, in bytes: the managed range, its
    /// tables, the mirror of the NVM file.
    pub fn address_space(&self) -> usize {
        2 * self.config.range_bytes + self.config.range_bytes / 64 + (256 << 20)
    }

    /// Make a system call that changes the calling thread's credentials, and return its result.
    /// `None`, without a call, unless the program has exactly one thread besides a running pager
    /// thread.
    ///
    /// The C library would make the call in every thread and abort the program if it failed in one.
    /// It would fail in the pager thread, which does not have the capabilities that the program's
    /// thread kept (`PR_SET_KEEPCAPS`). So the pager thread makes its own call, with the arguments
    /// `follow`, and ignores a failure.
    pub fn change_rights(&self, number: libc::c_long, arguments: [libc::c_long; 3], follow: [libc::c_long; 3]) -> Option<libc::c_long> {
        let alone = rustix::fs::stat("/proc/self/task").is_ok_and(|tasks| !thread::several_threads(&tasks));
        if !self.runs.load(Ordering::Relaxed) || !alone || self.lock_managed().mode != managed::Mode::Paging {
            return None;
        }
        // SAFETY: the program's own system call, with its own arguments.
        let result = unsafe { libc::syscall(number, arguments[0], arguments[1], arguments[2]) };
        if result == 0 {
            let _blocked = signals::Blocked::all();
            self.shared.rights.lock().unwrap_or_else(|e| e.into_inner()).push((number, follow));
        }
        Some(result)
    }

    /// Whether the store is full and managed memory in DRAM exceeds twice the budget.
    pub fn is_exhausted(&self) -> bool {
        self.shared.exhausted.load(Ordering::Relaxed)
    }

    pub fn stats(&self) -> &'static stats::Stats {
        self.shared.stats()
    }

    /// Update the counters: wait at most two seconds for a census that starts after this call.
    pub fn update_counters(&self) {
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

    /// Write the final counters when the program exits. Do nothing in a forked child without a
    /// pager thread, whose counters are not read.
    pub fn finish(&self) {
        if self.lock_managed().mode == managed::Mode::Paging {
            self.update_counters();
            self.shared.stats().state.store(2, Ordering::Release);
        }
    }

    /// Update the counters of a program whose pager thread was never started.
    fn count_without_a_thread(&self) {
        set(&self.stats().faults, thread::faults());
        self.lock_managed().take_account();
    }

    /// Stop the pager thread. Evicted pages stay readable only with a direct store.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.lock().unwrap_or_else(|e| e.into_inner()).take() {
            thread.join();
        }
    }
}
