//! What: proactive reclaim by pressure stall information: a little memory is reclaimed at each
//! interval, the less the longer the stalls.
//! Why: cold pages are evicted before a task needs a frame, so fewer launches reclaim and fewer
//! apps are killed.
//! Source: TMO ("TMO: Transparent Memory Offloading in Datacenters", ASPLOS 2022), Section 3.3:
//! reclaim = memory x ratio x max(0, 1 - PSI / threshold), each 6 s, ratio 0.0005, threshold 0.1 %.
//! Deviations: written after notes on the paper that give the formula and the constants; one
//! pressure for the whole phone, over the last interval; the app policy's conditions hold for its
//! victims, too.
//! Weakness: swap traffic that no task needed; on flash it causes wear.

use crate::phone::spec::Proactive;

/// Number of intervals that end between two times; 0 if `to_ns` is before `from_ns`, as after a
/// late launch.
pub fn intervals(proactive: &Proactive, from_ns: u64, to_ns: u64) -> u64 {
    match proactive.every_ns {
        0 => 0,
        every => (to_ns / every).saturating_sub(from_ns / every),
    }
}

/// Number of frames to reclaim after an interval with `stalled_ns` of stalls, if `used` frames have
/// reclaimable pages.
pub fn target(proactive: &Proactive, stalled_ns: u64, used: usize) -> usize {
    let pressure = stalled_ns as f64 / proactive.every_ns as f64;
    (used as f64 * proactive.ratio * (1.0 - pressure / proactive.threshold).max(0.0)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_stalls_reclaim_less() {
        let tmo = Proactive { every_ns: 6_000_000_000, ratio: 0.0005, threshold: 0.001 };
        assert_eq!([0, 3_000_000, 6_000_000, 60_000_000].map(|ns| target(&tmo, ns, 100_000)), [50, 25, 0, 0]);
        assert_eq!((intervals(&tmo, 0, 5_999_999_999), intervals(&tmo, 5_999_999_999, 12_000_000_000)), (0, 2));
        assert_eq!((intervals(&tmo, 12_000_000_000, 0), intervals(&Proactive::default(), 0, 1 << 60)), (0, 0));
    }
}
