//! A policy must not change residency but by release.

use swaplab_policy::{PageView, Policy};
use swaplab_vocab::{Op, PageId};

struct Greedy;

impl Policy for Greedy {
    fn touch(&mut self, _: PageId, _: Op, _: &PageView) {}
    fn reclaim(&mut self, _: Option<(PageId, Op)>, _: &mut PageView) {}
    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        *pages = PageView::new(std::iter::empty());
    }
    fn forget(&mut self, _: PageId) {}
    fn check(&self, _: &PageView) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
