//! What: hotness-aware reclaim: anonymous pages that their app's last start used stay in memory while there are others.
//! Why: an app uses much the same pages at every start; warm pages may wait in a compressed pool, cold ones on flash.
//! Source: Ariadne ("Ariadne: A Hotness-Aware and Size-Adaptive Compressed Swap Technique for Fast Application Relaunch and Reduced CPU
//! Usage on Mobile Devices", HPCA 2025): hot data stays in memory, warm data goes to the pool, cold data to flash.
//! Deviations: written after the abstract and the README of the authors' repository, not after the paper. It is a gate behind any page
//! policy, with `PATIENCE` as in Acclaim (assumed). The tiers below are those of `tiered`, which moves what is idle to flash as it is, not
//! compressed; every page is compressed alone, as no sizes of other chunks are known here; `prepage = "asap"` stands for its prediction.
//! Weakness: where most pages are hot, reclaim looks at many in vain.

/// A batch that has released this many pages for each page that it needs may evict hot pages, too.
pub const PATIENCE: usize = crate::acclaim::PATIENCE;

/// Whether a released page stays in memory. So far `asked` pages were released for a batch that needs `wanted` pages.
pub fn spares(hot: bool, asked: usize, wanted: usize) -> bool {
    hot && asked < PATIENCE * wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_pages_go_last() {
        assert!(spares(true, 127, 32) && !spares(true, 128, 32) && !spares(false, 0, 32));
    }
}
