//! Counters on a page of their own. In a run the page is a file that the user's `swaplab run` and `swaplab top` map too.

use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Every counter is 8 bytes, in this order, behind an 8-byte magic; `swaplab.live.pager` reads them by [`Stats::NAMES`].
        #[repr(C)]
        pub struct Stats {
            magic: AtomicU64,
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        impl Stats {
            #[allow(clippy::new_without_default)] // a default could not be const
            pub const fn new() -> Stats {
                Stats { magic: AtomicU64::new(MAGIC), $($name: AtomicU64::new(0)),* }
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
    /// Managed anonymous memory in DRAM at the last census, and the most any census saw.
    dram_bytes,
    dram_peak_bytes,
    /// Of it, what cannot leave: locked, or its slot belongs to a forked child too.
    stuck_bytes,
    /// Anonymous memory of the process that is not managed: brk, stacks, the pager's own.
    unmanaged_bytes,
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
        rustix::fs::ftruncate(&file, crate::kernel::PAGE as u64)?;
        let address = crate::kernel::memory::map_shared_file(&file, crate::kernel::PAGE)?;
        // SAFETY: a page of zeros, mapped for good; zeros are valid counters; every access is atomic.
        let stats = unsafe { &*(address as *const Stats) };
        stats.magic.store(MAGIC, Ordering::Release);
        Ok(stats)
    }
}

pub fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

pub fn set(counter: &AtomicU64, n: usize) {
    counter.store(n as u64, Ordering::Relaxed);
}
