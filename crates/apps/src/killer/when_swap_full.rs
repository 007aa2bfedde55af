//! What: kills a cached app when no swap is free and memory is below the kernel's high watermark.
//! Why: how papers on swap describe a phone with swap: apps are killed once swap cannot take more.
//! Source: Kim and Bahn 2019, Section II; Zhong et al. 2014, Section II.
//! Deviations: none.
//! Weakness: without swap it kills whenever memory is below the watermark; with much swap, never before everything is slow.

use super::{Info, Killer, Pressure, Rule, VICTIM};
use crate::CACHED;
use swaplab_vocab::Entry;

pub static ENTRY: Entry<Info> = Entry {
    key: "when-swap-full",
    what: "kills a cached app when no swap is free and memory is below the kernel's high watermark",
    source: "how Kim and Bahn 2019, Section II, and Zhong et al. 2014, Section II, describe a phone with swap",
    parameters: &[VICTIM],
    info: Info { build: |params| Ok(Killer::new(params, WhenSwapFull)) },
};

#[derive(Debug)]
struct WhenSwapFull;

impl Rule for WhenSwapFull {
    fn kills_from(&self, seen: &Pressure) -> Option<u32> {
        (seen.swap_free_percentage == 0 && seen.below_high).then_some(CACHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_free_swap_a_cached_app_goes() {
        let killer = Killer::parse("when-swap-full").unwrap();
        let from =
            |swap_free_percentage, below_high| killer.kills_from(&Pressure { swap_free_percentage, below_high, ..Pressure::default() });
        assert_eq!((from(0, true), from(1, true), from(0, false)), (Some(900), None, None));
    }
}
