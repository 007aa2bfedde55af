//! A medium that this machine does not have: the time of a page's read and write is charged where the pager moves one.

use crate::stats::Stats;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Latencies of one page, in nanoseconds. Zero is `plain`: memory as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Medium {
    pub read_ns: u64,
    pub write_ns: u64,
}

impl Medium {
    pub fn charge_reads(&self, pages: usize, stats: &Stats) {
        let (charged, excess) = spin(self.read_ns * pages as u64);
        stats.medium_read_ns.fetch_add(charged, Ordering::Relaxed);
        stats.medium_excess_ns.fetch_add(excess, Ordering::Relaxed);
    }

    pub fn charge_writes(&self, pages: usize, stats: &Stats) {
        let (charged, excess) = spin(self.write_ns * pages as u64);
        stats.medium_write_ns.fetch_add(charged, Ordering::Relaxed);
        stats.medium_excess_ns.fetch_add(excess, Ordering::Relaxed);
    }
}

/// Busy for `ns`; gives that and by how much it took longer.
fn spin(ns: u64) -> (u64, u64) {
    if ns == 0 {
        return (0, 0);
    }
    let start = Instant::now();
    let wanted = Duration::from_nanos(ns);
    loop {
        let passed = start.elapsed();
        if passed >= wanted {
            return (ns, (passed - wanted).as_nanos() as u64);
        }
        std::hint::spin_loop();
    }
}
