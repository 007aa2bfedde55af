//! Counters on a page of their own, and where managed memory is behind it. In a run they are a file that the user's `swaplab run` and `swaplab top` map too.

use crate::kernel::PAGE;
use crate::shown::MOST;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Every counter is 8 bytes, in this order, behind an 8-byte magic; `swaplab.live.pager` reads them by [`Stats::NAMES`].
        #[repr(C)]
        pub struct Stats {
            magic: AtomicU64,
            $($(#[$doc])* pub $name: AtomicU64,)*
            /// Where this process has mapped what stands behind the counters: see `shown.rs`. 0: nothing does.
            shown: AtomicUsize,
        }

        impl Stats {
            #[allow(clippy::new_without_default)] // a default could not be const
            pub const fn new() -> Stats {
                Stats { magic: AtomicU64::new(MAGIC), $($name: AtomicU64::new(0),)* shown: AtomicUsize::new(0) }
            }

            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// All counters, by name.
            pub fn read(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed))),*]
            }
        }
    };
}

counters! {
    /// Process that counts.
    pid,
    /// The budget.
    dram_limit_bytes,
    /// Pages of it that the policy may hold.
    policy_frames,
    /// Managed anonymous memory in DRAM at the last look, and the most at a time.
    dram_bytes,
    dram_peak_bytes,
    /// Of it, what cannot leave: locked, or its slot belongs to a forked child too.
    stuck_bytes,
    /// The most by which managed memory had outgrown the budget when a round began late: the pager thread's processor had been taken away.
    late_peak_bytes,
    /// Anonymous memory in DRAM that is not managed, counted page by page: brk, stacks, pages of files that were written to privately,
    /// code that the program has made, what raw system calls took, the pager's own. And the most at a time.
    unmanaged_bytes,
    unmanaged_peak_bytes,
    /// Of it, memory that the program has made executable, and the pager's own: its tables and what a copying store keeps in memory.
    code_bytes,
    own_bytes,
    /// Anonymous memory of the process as the kernel counts it (`RssAnon`), and the most at a time.
    anonymous_bytes,
    anonymous_peak_bytes,
    /// Pages written to the store.
    swap_outs,
    /// Evictions that wrote nothing: the store had the content still.
    unchanged,
    /// Evicted pages that came back mapped in place, without a copy.
    direct_reads,
    /// Evicted pages that were copied back to DRAM.
    copied_pages,
    /// Pages copied along with another (readahead).
    read_ahead,
    /// Page faults of the whole process, as the kernel counts them.
    faults,
    /// What the store takes now, in memory (NVM, a compressed pool) and on flash.
    nvm_bytes,
    flash_bytes,
    /// CPU time of the pager thread.
    pager_cpu_ns,
    /// Rounds of eviction; forks; times the store had no room.
    rounds,
    forks,
    store_full,
    /// Medium emulation: time charged for reads and writes, and the sum of what each charge missed its target by.
    medium_read_ns,
    medium_write_ns,
    medium_error_ns,
    /// 1 while the process runs, 2 after an orderly exit.
    state,
}

/// "SWAPLAB1", little endian.
const MAGIC: u64 = u64::from_le_bytes(*b"SWAPLAB1");

impl Stats {
    /// Counters in a new file that only the user can read.
    pub fn in_file(path: &Path) -> rustix::io::Result<&'static Stats> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        let size = PAGE + MOST * size_of::<[AtomicU64; 2]>();
        rustix::fs::ftruncate(&file, size as u64)?;
        let address = crate::kernel::memory::map_shared_file(&file, size)?;
        // SAFETY: pages of zeros, mapped for good; zeros are valid counters; every access is atomic.
        let stats = unsafe { &*(address as *const Stats) };
        stats.shown.store(address + PAGE, Ordering::Relaxed);
        stats.magic.store(MAGIC, Ordering::Release);
        Ok(stats)
    }

    /// Room to show where managed memory is.
    pub fn shown(&'static self) -> &'static [[AtomicU64; 2]] {
        match self.shown.load(Ordering::Relaxed) {
            0 => &[],
            // SAFETY: mapped for good by `in_file`, for this many; zeros are valid; every access is atomic.
            address => unsafe { std::slice::from_raw_parts(address as *const [AtomicU64; 2], MOST) },
        }
    }
}

pub fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

pub fn set(counter: &AtomicU64, n: usize) {
    counter.store(n as u64, Ordering::Relaxed);
}
