//! What: foreground-aware eviction: pages of the app in front stay as long as there are pages of
//! other apps to reclaim.
//! Why: reclaim by recency alone evicts pages of the app in use, which soon refault, instead of
//! pages of background apps that were touched slightly later.
//! Source: Acclaim ("Acclaim: Adaptive Memory Reclaim to Improve User Experience in Android
//! Systems", USENIX ATC 2020), its foreground-aware eviction.
//! Deviations: written after the paper's abstract. It is a gate behind any page policy: a page of
//! the app in front that the policy releases is activated, until a batch has released `PATIENCE`
//! pages for each page that it needs. Acclaim's prediction of how much to reclaim is not
//! implemented.
//! Weakness: cold pages of the app in front stay too.

use crate::Owner;
use swaplab_vocab::AppId;

/// A batch that has released this many pages for each page that it needs may evict pages of the app
/// in front, too (assumed).
pub const PATIENCE: usize = 4;

/// Whether a released page stays in memory. So far `asked` pages were released for a batch that
/// needs `wanted` pages.
pub fn spares(owners: &[Owner], foreground: Option<AppId>, asked: usize, wanted: usize) -> bool {
    asked < PATIENCE * wanted && foreground.is_some_and(|app| owners.contains(&Owner::App(app)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_app_in_front_are_evicted_last() {
        let [mine, other, system] = [Owner::App(3), Owner::App(4), Owner::System];
        assert!(spares(&[mine], Some(3), 127, 32) && spares(&[other, mine], Some(3), 0, 32));
        assert!(!spares(&[mine], Some(3), 128, 32));
        assert!(!spares(&[other, system], Some(3), 0, 32) && !spares(&[mine], None, 0, 32));
    }
}
