//! A policy can read the state of pages and release them in memory, nothing else. Each example is
//! the same policy with another line: the first two compile, the others must not.

macro_rules! policy {
    ($compiles:literal, touch: $line:literal) => {
        policy!(@ $compiles, $line, "")
    };
    ($compiles:literal, insert: $line:literal) => {
        policy!(@ $compiles, "", $line)
    };
    (@ $compiles:literal, $touch:literal, $insert:literal) => {
        concat!(
            "```", $compiles, "
use swaplab_policy::{PageView, Policy};
use swaplab_vocab::{Op, PageId};

struct Greedy;

impl Policy for Greedy {
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        ", $touch, "
    }
    fn reclaim(&mut self, _: Option<(PageId, Op)>, _: &mut PageView) {}
    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        ", $insert, "
    }
    fn forget(&mut self, _: PageId) {}
    fn check(&self, _: &PageView) -> Result<(), String> {
        Ok(())
    }
}
```"
        )
    };
}

#[doc = policy!("", touch: "let _ = pages.is_resident(page);")]
pub struct ReadsAtAReference;

#[doc = policy!("", insert: "pages.release(page);")]
pub struct ReleasesAtAFault;

#[doc = policy!("compile_fail", touch: "pages.release(page);")]
pub struct ReleasesAtAReference;

#[doc = policy!("compile_fail", insert: "pages.admit(self, page, Op::Read, 0);")]
pub struct Admits;

#[doc = policy!("compile_fail", insert: "pages.clear(page, 1);")]
pub struct Clears;

#[doc = policy!("compile_fail", insert: "pages.set(page, 1);")]
pub struct Sets;

#[doc = policy!("compile_fail", insert: "pages.state[page as usize] = 0;")]
pub struct WritesTheState;

#[doc = policy!("compile_fail", insert: "*pages = PageView::new(std::iter::empty());")]
pub struct MakesPages;

#[doc = policy!("compile_fail", insert: "let _: &mut swaplab_policy::Residency = pages;")]
pub struct TakesTheResidency;
