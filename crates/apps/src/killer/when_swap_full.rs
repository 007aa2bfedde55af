//! What: kills a cached app when no swap is free and memory is below the kernel's high watermark.
//! Why: papers on swap describe phones this way: apps are killed once swap is full.
//! Source: Kim and Bahn 2019, Section II; Zhong et al. 2014, Section II.
//! Deviations: none.
//! Weakness: without swap it kills no app; with a large swap area it kills only after launches have
//! become slow.

use super::{Info, Killer, Pressure, Rule, Watermark, VICTIM};
use crate::CACHED;
use swaplab_vocab::Entry;

pub static ENTRY: Entry<Info> = Entry {
    key: "when-swap-full",
    what: "kills a cached app when no swap is free and memory is below the kernel's high watermark",
    source: "how Kim and Bahn 2019, Section II, and Zhong et al. 2014, Section II, describe a phone with swap",
    parameters: &[VICTIM],
    info: Info { build: |params| Ok(Killer::new(params, WhenSwapFull)) },
};

#[derive(Clone, Debug)]
struct WhenSwapFull;

impl Rule for WhenSwapFull {
    fn look(&mut self, _: u64, seen: &Pressure) -> Option<u32> {
        let is_full = seen.swap_total_kb > 0 && seen.swap_free_kb == 0;
        (is_full && seen.watermark < Watermark::None).then_some(CACHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_free_swap_a_cached_app_goes() {
        let mut killer = Killer::parse("when-swap-full").unwrap();
        let mut from = |swap_total_kb, swap_free_kb, watermark| {
            killer.look(0, &Pressure { swap_total_kb, swap_free_kb, watermark, ..Pressure::default() })
        };
        assert_eq!([from(200, 0, Watermark::High), from(200, 2, Watermark::High)], [Some(900), None]);
        assert_eq!([from(200, 0, Watermark::None), from(0, 0, Watermark::Min)], [None, None]);
    }
}
