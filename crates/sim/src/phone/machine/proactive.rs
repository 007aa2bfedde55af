//! What: proactive reclaim by pressure stall information: a little memory is reclaimed at each beat, the less the more was waited.
//! Why: cold pages leave before anyone needs a frame, so fewer launches reclaim and fewer apps are killed.
//! Source: TMO ("TMO: Transparent Memory Offloading in Datacenters", ASPLOS 2022), Section 3.3: reclaim = memory x ratio x max(0, 1 -
//! PSI / threshold), each 6 s, ratio 0.0005, threshold 0.1 %.
//! Deviations: written after the formula and constants as notes on the paper give them; one pressure for the whole phone, over the last
//! beat; a scheme's gates hold for what it reclaims.
//! Weakness: traffic that nobody had asked for; on flash it wears.

use crate::phone::spec::Proactive;

/// Beats between two times; none if whoever runs is late, so that the second time is over.
pub fn beats(proactive: &Proactive, from_ns: u64, to_ns: u64) -> u64 {
    match proactive.every_ns {
        0 => 0,
        every => (to_ns / every).saturating_sub(from_ns / every),
    }
}

/// Frames to reclaim when `waited_ns` of a beat were waited and `used` frames are in use.
pub fn target(proactive: &Proactive, waited_ns: u64, used: usize) -> usize {
    let pressure = waited_ns as f64 / proactive.every_ns as f64;
    (used as f64 * proactive.ratio * (1.0 - pressure / proactive.threshold).max(0.0)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_was_waited_the_less_is_reclaimed() {
        let tmo = Proactive { every_ns: 6_000_000_000, ratio: 0.0005, threshold: 0.001 };
        assert_eq!([0, 3_000_000, 6_000_000, 60_000_000].map(|ns| target(&tmo, ns, 100_000)), [50, 25, 0, 0]);
        assert_eq!((beats(&tmo, 0, 5_999_999_999), beats(&tmo, 5_999_999_999, 12_000_000_000)), (0, 2));
        assert_eq!((beats(&tmo, 12_000_000_000, 0), beats(&Proactive::default(), 0, 1 << 60)), (0, 0));
    }
}
