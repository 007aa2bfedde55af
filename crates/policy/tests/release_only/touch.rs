//! A policy must not release a page at a reference to it.

use swaplab_policy::{PageView, Policy};
use swaplab_vocab::{Op, PageId};

struct Greedy;

impl Policy for Greedy {
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        pages.release(page);
    }
    fn reclaim(&mut self, _: Option<(PageId, Op)>, _: &mut PageView) {}
    fn insert(&mut self, _: PageId, _: Op, _: &mut PageView) {}
    fn forget(&mut self, _: PageId) {}
    fn check(&self, _: &PageView) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
