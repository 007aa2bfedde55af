//! What: LRU that looks for a clean page among the least recently used ones (the window) before it
//! evicts a dirty one.
//! Why: the smallest change to LRU that takes into account that a write costs more than a read.
//! Source: Park, Jung, Kang, Kim and Lee, "CFLRU: a replacement algorithm for flash memory",
//! CASES 2006.
//! Deviations: the window is a fixed fraction of memory (`window`), as in the paper's static
//! variant. Its clean and dirty pages are kept in two lists, so that finding a victim takes one
//! step; the victims are the same.
//! Weakness: unused dirty pages stay as long as the window has a clean page; ignores the cost of
//! reads.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// The most recently used pages, outside the window.
const WORKING: List = List(0);
/// The clean and the dirty pages of the window. A page of the window never changes lists: a write
/// moves it to the working list.
const CLEAN: List = List(1);
const DIRTY: List = List(2);

pub struct CflruPolicy {
    lists: Lists,
    fraction: f64,
    /// Maximum number of pages in the working list.
    working: usize,
}

impl Describe for CflruPolicy {
    const ENTRY: Entry = Entry {
        key: "cflru",
        what: "clean-first LRU",
        source: "Park et al. 2006",
        parameters: &[Parameter::new(
            "window",
            Kind::Number { low: 0.0, high: 1.0 },
            "0.1",
            "fraction of memory that is searched for a clean page",
        )],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, params: &Params) -> Result<CflruPolicy> {
        let fraction = params.number("window");
        Ok(CflruPolicy { lists: Lists::new(setup.pages, 3), fraction, working: outside(setup.frames, fraction) })
    }
}

/// Number of frames outside the window. The window has at least one frame.
fn outside(frames: usize, fraction: f64) -> usize {
    frames - ((frames as f64 * fraction).round() as usize).clamp(1, frames.max(1)).min(frames)
}

impl CflruPolicy {
    /// Move the least recently used pages of the working list to the window until the list is
    /// within its size.
    fn overflow(&mut self, pages: &PageView) {
        while self.lists.len(WORKING) > self.working {
            if let Some(page) = self.lists.back(WORKING) {
                self.lists.move_to_front(if pages.is_dirty(page) { DIRTY } else { CLEAN }, page);
            }
        }
    }
}

impl Policy for CflruPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        self.lists.move_to_front(WORKING, page);
        self.overflow(pages);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if let Some(victim) = [CLEAN, DIRTY, WORKING].into_iter().find_map(|list| self.lists.back(list)) {
            self.lists.remove(victim);
            pages.release(victim);
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.lists.push_front(WORKING, page);
        self.overflow(pages);
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.working = outside(frames, self.fraction);
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        crate::check_residency(pages, [WORKING, CLEAN, DIRTY].iter().flat_map(|list| self.lists.iter(*list)))?;
        for list in [CLEAN, DIRTY] {
            if let Some(page) = self.lists.iter(list).find(|page| pages.is_dirty(*page) != (list == DIRTY)) {
                return Err(format!("page {page} is in list {}, which is the wrong list for its dirty bit", list.0));
            }
        }
        Ok(())
    }
}
