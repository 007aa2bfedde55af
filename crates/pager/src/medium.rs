//! Emulates the latency of a medium that this machine does not have: the pager waits for each page
//! that it reads or writes.

use crate::stats::{add, Stats};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Latencies of one page, in nanoseconds. Zero means no emulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Medium {
    pub read_ns: u64,
    pub write_ns: u64,
}

/// Time in ns that a charge takes beyond its wait, for reading the clock. Measured by
/// [`Medium::calibrate`].
static OVERHEAD_NS: AtomicU64 = AtomicU64::new(0);

impl Medium {
    /// Measure the overhead of a charge, so that waits can be shortened by it.
    pub fn calibrate(&self) {
        if *self == Medium::default() {
            return;
        }
        const CHARGES: u32 = 200;
        OVERHEAD_NS.store(0, Ordering::Relaxed);
        // Time many of the shortest waits, and take the minimum of some rounds, as other load may
        // disturb a round.
        let round = || {
            let start = Instant::now();
            for _ in 0..CHARGES {
                wait(1);
            }
            (start.elapsed() / CHARGES).as_nanos() as u64
        };
        let least = (0..16).map(|_| round()).min().unwrap_or(0);
        OVERHEAD_NS.store(least.saturating_sub(1), Ordering::Relaxed);
    }
}

/// Wait busily for `ns`, add it to the counter `to`, and add the wait's error to `medium_error_ns`.
pub fn spin(ns: u64, to: &AtomicU64, stats: &Stats) {
    if ns > 0 {
        let passed = wait(ns);
        add(to, ns as usize);
        add(&stats.medium_error_ns, passed.abs_diff(ns) as usize);
    }
}

/// Wait busily for about `ns`, less the overhead. Returns the time that it took, including the
/// overhead.
fn wait(ns: u64) -> u64 {
    let start = Instant::now();
    let overhead = OVERHEAD_NS.load(Ordering::Relaxed);
    let wanted = Duration::from_nanos(ns.saturating_sub(overhead));
    loop {
        let passed = start.elapsed();
        if passed >= wanted {
            return passed.as_nanos() as u64 + overhead;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures many charges with one reading of the clock. On a busy machine at least one of the
    /// rounds is undisturbed.
    #[test]
    fn charges_take_the_configured_time() {
        static STATS: Stats = Stats::new();
        let medium = Medium { read_ns: 700, write_ns: 0 };
        medium.calibrate();
        let round = || {
            let start = Instant::now();
            (0..1000).for_each(|_| spin(medium.read_ns, &STATS.medium_read_ns, &STATS));
            start.elapsed().as_nanos() as u64 / 1000
        };
        let best = (0..20).map(|_| round()).min_by_key(|ns| ns.abs_diff(700)).unwrap();
        assert!((630..=770).contains(&best), "{best} ns instead of 700");
        assert_eq!(STATS.medium_read_ns.load(Ordering::Relaxed), 20 * 1000 * 700);
    }
}
