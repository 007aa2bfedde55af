//! Hot anonymous pages: those that the last start of their app used. They are recorded only if the
//! app policy needs them.

use std::ops::Range;
use swaplab_vocab::PageId;

#[derive(Default)]
pub struct Hotness {
    /// By page, whether it is hot. Empty if hotness is not recorded.
    hot: Vec<bool>,
    /// Anonymous pages of the app that is being started.
    starting: Range<PageId>,
}

impl Hotness {
    pub fn new(wanted: bool, pages: usize) -> Hotness {
        Hotness { hot: vec![false; if wanted { pages } else { 0 }], starting: 0..0 }
    }

    /// Begin the start of the app with these anonymous pages.
    pub fn begin(&mut self, anon: Range<PageId>) {
        if !self.hot.is_empty() {
            self.hot[anon.start as usize..anon.end as usize].fill(false);
            self.starting = anon;
        }
    }

    /// End the start: the app is ready.
    pub fn finish(&mut self) {
        self.starting = 0..0;
    }

    /// Note that `pages` are used. Only pages of the app that is being started become hot.
    pub fn used(&mut self, pages: Range<PageId>) {
        let (from, to) = (pages.start.max(self.starting.start), pages.end.min(self.starting.end));
        if from < to {
            self.hot[from as usize..to as usize].fill(true);
        }
    }

    pub fn is_hot(&self, page: PageId) -> bool {
        self.hot.get(page as usize).is_some_and(|hot| *hot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_the_last_start_used_are_hot() {
        let mut hotness = Hotness::new(true, 9);
        let hot = |of: &Hotness| (0..9).filter(|page| of.is_hot(*page)).collect::<Vec<_>>();
        hotness.begin(2..6);
        // Page 7 belongs to another app.
        [2..4, 7..8].into_iter().for_each(|pages| hotness.used(pages));
        hotness.finish();
        hotness.used(5..6);
        assert_eq!(hot(&hotness), [2, 3]);
        hotness.begin(6..9);
        hotness.used(8..9);
        hotness.finish();
        assert_eq!(hot(&hotness), [2, 3, 8]);
        hotness.begin(2..6);
        hotness.used(4..5);
        assert_eq!(hot(&hotness), [4, 8]);
        let mut unrecorded = Hotness::new(false, 9);
        unrecorded.begin(2..6);
        unrecorded.used(2..3);
        assert!(!unrecorded.is_hot(2));
    }
}
