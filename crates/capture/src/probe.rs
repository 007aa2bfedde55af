//! Measures the error of the filter during a capture.
//!
//! The N pages of an LRU filter are exactly the top N of the full stream's LRU stack. The LRU
//! faults of the full stream at C > N frames thus follow from the filter's misses: a second list
//! has the next C - N pages, which it gets when the filter evicts them, and a page that misses both
//! is a fault. The result is compared with LRU over the recorded references. References that hit
//! the filter cost nothing here.

use crate::recent::{Recent, Touch};

/// Memory sizes for the measurement in multiples of the filter's entries: the smallest valid one,
/// and two larger ones.
const MULTIPLES: [usize; 3] = [8, 32, 128];

/// LRU faults at `frames` of the full stream and of the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    pub frames: u64,
    pub faults_full: u64,
    pub faults_recorded: u64,
}

struct Probe {
    behind: Recent,
    recorded: Recent,
    measured: Measured,
}

pub struct Probes(Vec<Probe>);

impl Probes {
    /// Probes for a filter of `entries`; empty without a filter.
    pub fn new(entries: usize) -> Probes {
        let sizes = MULTIPLES.iter().filter(|_| entries > 0).map(|m| m * entries);
        Probes(
            sizes
                .map(|frames| Probe {
                    behind: Recent::new(frames - entries),
                    recorded: Recent::new(frames),
                    measured: Measured { frames: frames as u64, faults_full: 0, faults_recorded: 0 },
                })
                .collect(),
        )
    }

    /// Note that `page` missed the filter, which evicted `dropped` for it.
    pub fn filter_miss(&mut self, page: u32, dropped: Option<u32>) {
        for probe in &mut self.0 {
            if !probe.behind.remove(page) {
                probe.measured.faults_full += 1;
            }
            if let Some(dropped) = dropped {
                probe.behind.touch(dropped);
            }
        }
    }

    /// Note that a reference to `page` was recorded.
    pub fn recorded(&mut self, page: u32) {
        for probe in &mut self.0 {
            if probe.recorded.touch(page) != Touch::Hit {
                probe.measured.faults_recorded += 1;
            }
        }
    }

    pub fn forget(&mut self, page: u32) {
        for probe in &mut self.0 {
            probe.behind.remove(page);
            probe.recorded.remove(page);
        }
    }

    pub fn measured(&self) -> Vec<Measured> {
        self.0.iter().map(|p| p.measured).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The split stack has exactly as many faults as LRU over every reference.
        #[test]
        fn full_faults_equal_plain_lru(entries in 1usize..4, pages in prop::collection::vec(0u32..60, 1..600)) {
            let mut filter = Recent::new(entries);
            let mut probes = Probes::new(entries);
            let mut plain: Vec<(Recent, u64)> = MULTIPLES.iter().map(|m| (Recent::new(m * entries), 0)).collect();
            for page in pages {
                if let Touch::Miss(dropped) = filter.touch(page) {
                    probes.filter_miss(page, dropped);
                }
                for (lru, faults) in &mut plain {
                    *faults += u64::from(lru.touch(page) != Touch::Hit);
                }
            }
            let ours: Vec<u64> = probes.measured().iter().map(|m| m.faults_full).collect();
            prop_assert_eq!(ours, plain.iter().map(|(_, f)| *f).collect::<Vec<_>>());
        }
    }
}
