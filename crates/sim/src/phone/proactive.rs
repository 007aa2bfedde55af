//! What: proactive reclaim by pressure stall information: a little memory is reclaimed at each beat, the less the more was waited.
//! Why: cold pages leave before anyone needs a frame, so fewer launches reclaim and fewer apps are killed.
//! Source: TMO ("TMO: Transparent Memory Offloading in Datacenters", ASPLOS 2022), Section 3.3: reclaim = memory x ratio x max(0, 1 -
//! PSI / threshold), each 6 s, ratio 0.0005, threshold 0.1 %.
//! Deviations: written after the formula and constants as notes on the paper give them; one pressure for the whole phone, over the last
//! beat; a scheme's gates hold for what it reclaims.
//! Weakness: traffic that nobody had asked for; on flash it wears.

use super::machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Proactive {
    /// Seconds from beat to beat; 0: no proactive reclaim. TMO: 6.
    pub every_s: f64,
    /// Share of the frames in use that a beat without waiting reclaims.
    pub ratio: f64,
    /// Share of the time waited at which nothing is reclaimed.
    pub threshold: f64,
}

impl Default for Proactive {
    fn default() -> Proactive {
        Proactive { every_s: 0.0, ratio: 0.0005, threshold: 0.001 }
    }
}

impl Proactive {
    /// Frames to reclaim when `waited_ns` of a beat were waited and `used` frames are in use.
    fn target(&self, waited_ns: u64, used: usize) -> usize {
        let pressure = waited_ns as f64 / (self.every_s * 1e9);
        (used as f64 * self.ratio * (1.0 - pressure / self.threshold).max(0.0)) as usize
    }
}

impl Machine {
    /// Every beat between two times. The first one feels what was waited since the last call, the others are calm.
    pub fn beats(&mut self, from_ns: u64, to_ns: u64) {
        let proactive = self.proactive;
        let every = (proactive.every_s * 1e9) as u64;
        if every == 0 {
            return;
        }
        for _ in from_ns / every..to_ns / every {
            let target = proactive.target(std::mem::take(&mut self.felt_ns), self.used);
            let mut won = 0;
            while won < target {
                match self.reclaim(false) {
                    0 => break,
                    pages => won += pages,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_was_waited_the_less_is_reclaimed() {
        let proactive = Proactive { every_s: 6.0, ..Proactive::default() };
        assert_eq!([0, 3_000_000, 6_000_000, 60_000_000].map(|ns| proactive.target(ns, 100_000)), [50, 25, 0, 0]);
    }
}
