//! What the filter costs in accuracy, measured while capturing.
//!
//! The N pages of an LRU filter are exactly the top N of the full stream's LRU stack. So the full stream's LRU faults at
//! C > N frames follow from filter misses alone: behind the filter stands a list of the next C - N pages, which takes what the
//! filter drops; a page that misses both is a fault. Beside it runs plain LRU over what is recorded. No reference that hits
//! the filter costs anything here.

use crate::recent::{Recent, Touch};

/// Memory sizes probed, in multiples of the filter's entries: the smallest valid one, and two larger.
const MULTIPLES: [usize; 3] = [8, 32, 128];

/// LRU faults at `frames` over the full stream and over what was recorded.
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
    /// For a filter of `entries`; none for no filter, which has no error.
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

    /// `page` missed the filter, which dropped `dropped` for it.
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

    /// A reference to `page` is recorded.
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
        /// The split stack counts exactly what plain LRU over every reference counts.
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
