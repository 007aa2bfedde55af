//! A medium that this machine does not have: the time of a page's read and write is charged where the pager moves one.

use crate::stats::{add, Stats};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Latencies of one page, in nanoseconds. Zero is `plain`: memory as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Medium {
    pub read_ns: u64,
    pub write_ns: u64,
}

/// What a charge takes beyond the time it waits for: reading the clock. Measured by [`Medium::calibrate`].
static OVERHEAD_NS: AtomicU64 = AtomicU64::new(0);

impl Medium {
    /// Measure what a charge costs by itself, so that it can be left out of the waits.
    pub fn calibrate(&self) {
        if *self == Medium::default() {
            return;
        }
        const CHARGES: u32 = 200;
        OVERHEAD_NS.store(0, Ordering::Relaxed);
        // The shortest wait there is, many times in a row; the least of some rounds, as a round may be disturbed.
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

/// Busy for `ns`, counted in `to`; by how much the wait itself missed it is counted as well.
pub fn spin(ns: u64, to: &AtomicU64, stats: &Stats) {
    if ns > 0 {
        let passed = wait(ns);
        add(to, ns as usize);
        add(&stats.medium_error_ns, passed.abs_diff(ns) as usize);
    }
}

/// Wait about `ns`; the time that it took, as far as this can be seen from inside.
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

    /// From outside, by a clock read once for many charges. A busy machine disturbs some rounds, not all.
    #[test]
    fn charges_take_the_time_they_say() {
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
