//! What: new pages enter a small LRU window. A page that leaves the window replaces the oldest page
//! of the main part only if it was referenced more often recently. The main part is an LRU in two
//! segments; counts are halved periodically.
//! Why: admission by frequency over a history longer than memory, with a window for bursts.
//! Source: Einziger, Friedman and Manes, "TinyLFU: a highly efficient cache admission policy", ACM
//! ToS 13(4), 2017.
//! Deviations: pages are numbered, so each has an exact counter instead of a share in a sketch; no
//! random admission.
//! Weakness: counts lag behind a change of phase; a page of a long loop is never more frequent than
//! the page it would replace.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

const WINDOW: List = List(0);
const PROBATION: List = List(1);
const PROTECTED: List = List(2);
/// The highest use count: four bits, as in the paper.
const MOST_USES: u8 = 15;

pub struct WTinyLfuPolicy {
    lists: Lists,
    /// Recent references to each page, resident or not.
    uses: Vec<u8>,
    counted: usize,
    sample: usize,
    shares: [f64; 3],
    window: usize,
    protected: usize,
}

impl Describe for WTinyLfuPolicy {
    const ENTRY: Entry = Entry {
        key: "w-tinylfu",
        what: "LRU window, and admission by frequency into a segmented LRU",
        source: "Einziger, Friedman and Manes 2017",
        parameters: &[
            Parameter::new(
                "window",
                Kind::Number { low: 0.0, high: 1.0 },
                "0.01",
                "size of the window, as a share of memory (at least a page)",
            ),
            Parameter::new("protected", Kind::Number { low: 0.0, high: 1.0 }, "0.8", "pages used twice, as a share of the main part"),
            Parameter::new(
                "sample",
                Kind::Number { low: 1.0, high: 1000.0 },
                "10",
                "references between halvings of the counts, in multiples of memory",
            ),
        ],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, params: &Params) -> Result<WTinyLfuPolicy> {
        let shares = [params.number("window"), params.number("protected"), params.number("sample")];
        let (lists, uses) = (Lists::new(setup.pages, 3), vec![0; setup.pages]);
        let mut policy = WTinyLfuPolicy { lists, uses, counted: 0, sample: 0, shares, window: 0, protected: 0 };
        policy.resize(setup.frames);
        Ok(policy)
    }
}

impl WTinyLfuPolicy {
    #[inline]
    fn count(&mut self, page: PageId) {
        let uses = &mut self.uses[page as usize];
        *uses = (*uses + 1).min(MOST_USES);
        self.counted += 1;
        if self.counted >= self.sample {
            self.uses.iter_mut().for_each(|uses| *uses /= 2);
            self.counted /= 2;
        }
    }

    /// Move the pages of `list` in excess of `most` to the front of the probation segment.
    #[inline]
    fn spill(&mut self, list: List, most: usize) {
        while self.lists.len(list) > most {
            let page = self.lists.back(list).expect("the list is not empty");
            self.lists.move_to_front(PROBATION, page);
        }
    }
}

impl Policy for WTinyLfuPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.count(page);
        if self.lists.is_in(WINDOW, page) {
            self.lists.move_to_front(WINDOW, page);
        } else {
            self.lists.move_to_front(PROTECTED, page);
            self.spill(PROTECTED, self.protected);
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        let oldest = self.lists.back(PROBATION).or_else(|| self.lists.back(PROTECTED));
        let candidate = self.lists.back(WINDOW).filter(|_| self.lists.len(WINDOW) >= self.window || oldest.is_none());
        let victim = match (candidate, oldest) {
            (Some(candidate), Some(oldest)) if self.uses[candidate as usize] > self.uses[oldest as usize] => {
                self.lists.move_to_front(PROBATION, candidate);
                oldest
            }
            (Some(victim), _) | (None, Some(victim)) => victim,
            (None, None) => return,
        };
        self.lists.remove(victim);
        pages.release(victim);
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        self.count(page);
        self.lists.push_front(WINDOW, page);
        self.spill(WINDOW, self.window);
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
        self.uses[page as usize] = 0;
    }

    fn resize(&mut self, frames: usize) {
        let [window, protected, sample] = self.shares;
        self.window = ((frames as f64 * window) as usize).max(1);
        self.protected = ((frames - self.window.min(frames)) as f64 * protected) as usize;
        self.sample = (frames as f64 * sample) as usize;
        self.spill(WINDOW, self.window);
        self.spill(PROTECTED, self.protected);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let len = |list| self.lists.len(list) as f64;
        vec![("window", len(WINDOW)), ("probation", len(PROBATION)), ("protected", len(PROTECTED))]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        crate::check_residency(pages, [WINDOW, PROBATION, PROTECTED].iter().flat_map(|l| self.lists.iter(*l)))?;
        let [window, protected] = [WINDOW, PROTECTED].map(|l| self.lists.len(l));
        if window > self.window || protected > self.protected {
            return Err(format!("{window} pages in a window of {}, {protected} protected of {}", self.window, self.protected));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plain::Plain;

    #[test]
    fn a_page_is_admitted_only_if_it_was_used_more_often_than_the_oldest() {
        // a window of one page, two main pages, one of them protected
        let mut tiny = Plain::new("w-tinylfu", 10, 3);
        assert_eq!(tiny.faults(&[1, 1, 2, 2, 3]), 3);
        assert_eq!(tiny.gauges(), [("window", 1.0), ("probation", 2.0), ("protected", 0.0)]);
        // 3 leaves the window with one use, 1 has two: 3 is evicted.
        assert_eq!(tiny.faults(&[4]), 1);
        assert_eq!(tiny.resident(), [1, 2, 4]);
        // Used three times, 4 is admitted, and 1, the oldest, is evicted.
        assert_eq!(tiny.faults(&[4, 4, 5]), 1);
        assert_eq!(tiny.resident(), [2, 4, 5]);
    }
}
