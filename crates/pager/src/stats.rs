//! The counters of a paged process, in one page, followed by the list of managed ranges. Under
//! `swaplab exec` both are in a file, which `swaplab exec` and `swaplab top` read.

use crate::kernel::PAGE;
use crate::managed_list::MAX_RUNS;
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// An 8-byte magic and the counters, 8 bytes each, in this order.
        /// `python/swaplab/worlds/memory/pager.py` reads them by [`Stats::NAMES`].
        #[repr(C)]
        pub struct Stats {
            magic: AtomicU64,
            $($(#[$doc])* pub $name: AtomicU64,)*
            /// Address at which this process has mapped the list of managed ranges
            /// (`managed_list.rs`); 0 if there is no list.
            managed_list: AtomicUsize,
        }

        impl Stats {
            #[allow(clippy::new_without_default)] // `Default` could not be const.
            pub const fn new() -> Stats {
                Stats { magic: AtomicU64::new(MAGIC), $($name: AtomicU64::new(0),)* managed_list: AtomicUsize::new(0) }
            }

            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Read all counters, with their names.
            pub fn read(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.load(Ordering::Relaxed))),*]
            }
        }
    };
}

counters! {
    /// Process id of the program.
    pid,
    /// The budget: the limit of managed memory in DRAM.
    dram_limit_bytes,
    /// Page frames of the budget that the policy may fill.
    policy_frames,
    /// Managed anonymous memory in DRAM at the last census, and its peak.
    dram_bytes,
    dram_peak_bytes,
    /// Part of `dram_bytes` that cannot be evicted: locked, inaccessible to the pager, or with a
    /// protection key.
    stuck_bytes,
    /// Peak excess of managed memory over the budget in rounds that came late, because the pager
    /// thread did not get a processor or was far slower than usual.
    late_peak_bytes,
    /// Anonymous memory in DRAM that is not managed, counted page by page, and its peak: brk,
    /// stacks, private pages of files that were written to, code that the program has generated,
    /// memory from raw system calls, the pager's own memory.
    unmanaged_bytes,
    unmanaged_peak_bytes,
    /// Parts of `unmanaged_bytes`: memory that the program has made executable; the pager's tables
    /// and a copying store's pool.
    code_bytes,
    own_bytes,
    /// Anonymous memory of the process as the kernel counts it (`RssAnon`), and its peak.
    anonymous_bytes,
    anonymous_peak_bytes,
    /// Pages written to the store.
    swap_outs,
    /// Evictions of clean pages, without a write: the store still had the content.
    unchanged,
    /// Evicted pages that were read in place, without a copy.
    direct_reads,
    /// Evicted pages that were copied back to DRAM.
    copied_pages,
    /// Pages copied to DRAM by readahead.
    read_ahead,
    /// Page faults of the whole process, as the kernel counts them.
    faults,
    /// Bytes that the store occupies now: in memory (NVM, a compressed pool), and on flash.
    nvm_bytes,
    flash_bytes,
    /// CPU time of the pager thread.
    pager_cpu_ns,
    /// Rounds (a census and its evictions); forks; rounds in which the store was full.
    rounds,
    forks,
    store_full,
    /// Medium emulation: time charged for reads and for writes, and the sum of the charges'
    /// absolute errors.
    medium_read_ns,
    medium_write_ns,
    medium_error_ns,
    /// 1 while the process runs, 2 after an orderly exit.
    state,
}

/// "SWAPLAB1", little endian.
const MAGIC: u64 = u64::from_le_bytes(*b"SWAPLAB1");

impl Stats {
    /// Create a file for the counters that only the user can read, and map it. Fails if the file
    /// exists.
    pub fn in_file(path: &Path) -> rustix::io::Result<&'static Stats> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        let size = PAGE + MAX_RUNS * size_of::<[AtomicU64; 2]>();
        rustix::fs::ftruncate(&file, size as u64)?;
        let address = crate::kernel::own::map_file(&file, size)?;
        // SAFETY: zeroed pages that are never unmapped; zeros are valid counters; every access is
        // atomic.
        let stats = unsafe { &*(address as *const Stats) };
        stats.managed_list.store(address + PAGE, Ordering::Relaxed);
        stats.magic.store(MAGIC, Ordering::Release);
        Ok(stats)
    }

    /// The list of managed ranges, `MAX_RUNS` entries; empty if the counters are not in a file.
    pub fn managed_list(&'static self) -> &'static [[AtomicU64; 2]] {
        match self.managed_list.load(Ordering::Relaxed) {
            0 => &[],
            // SAFETY: `in_file` mapped `MAX_RUNS` entries, and nobody unmaps them; zeros are valid;
            // every access is atomic.
            address => unsafe { std::slice::from_raw_parts(address as *const [AtomicU64; 2], MAX_RUNS) },
        }
    }
}

pub fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}

pub fn set(counter: &AtomicU64, n: usize) {
    counter.store(n as u64, Ordering::Relaxed);
}
