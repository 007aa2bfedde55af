//! What: hotness-aware reclaim: anonymous pages that their app's last start used stay in memory
//! while others can be reclaimed.
//! Why: an app uses mostly the same pages at every start; warm pages can be in a compressed pool,
//! cold ones on flash.
//! Source: Ariadne ("Ariadne: A Hotness-Aware and Size-Adaptive Compressed Swap Technique for Fast
//! Application Relaunch and Reduced CPU Usage on Mobile Devices", HPCA 2025): hot data stays in
//! memory, warm data goes to the pool, cold data to flash.
//! Deviations: written after the abstract and the README of the authors' repository, not after the
//! paper. It is a gate behind any page policy, with `PATIENCE` as in Acclaim (assumed). The lower
//! tiers are those of `tiered`, which writes idle pages to flash uncompressed. Every page is
//! compressed separately, because the compressed sizes of larger chunks are unknown.
//! `prepage = "asap"` stands in for its prediction.
//! Weakness: if most pages are hot, reclaim scans many of them without effect.

/// A batch that has released this many pages for each page that it needs may evict hot pages, too.
pub const PATIENCE: usize = super::acclaim::PATIENCE;

/// Whether a released page stays in memory. So far `asked` pages were released for a batch that
/// needs `wanted` pages.
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
