//! What: Belady's optimum on the phone: evicts the page whose next use is furthest in the future
//! (`policy = "opt"`).
//! Why: an upper bound: how much a better choice of victims could still gain.
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.
//! Deviations: time is counted in launches. Next uses assume that the page's owner stays alive, as
//! future kills are unknown. Among pages that are next used in the same launch, file-backed ones
//! are evicted first, as they cost no write.
//! Weakness: needs the future; minimizes faults, not their costs, nor the cold starts that a
//! smaller page cache causes.

use crate::phone::user::plan::Plan;
use std::collections::BinaryHeap;
use std::sync::Arc;
use swaplab_policy::{Backing, PageView, Policy};
use swaplab_vocab::{Op, PageId};

/// The next use of a page that is not resident.
const OUT: u32 = u32::MAX - 1;

pub struct Foresight {
    plan: Arc<Plan>,
    next_use: Vec<u32>,
    /// Resident pages by next use, the furthest on top, file-backed first. An entry that differs
    /// from the page's next use is stale.
    ahead: BinaryHeap<(u32, bool, PageId)>,
    resident: usize,
}

impl Foresight {
    pub fn new(plan: Arc<Plan>, pages: usize) -> Foresight {
        Foresight { plan, next_use: vec![OUT; pages], ahead: BinaryHeap::new(), resident: 0 }
    }

    fn note(&mut self, page: PageId, next: u32, pages: &PageView) {
        if std::mem::replace(&mut self.next_use[page as usize], next) == next {
            return;
        }
        self.ahead.push((next, pages.backing(page) == Backing::File, page));
        if self.ahead.len() > 4 * self.resident + 64 {
            let next_use = &self.next_use;
            self.ahead.retain(|(next, _, page)| next_use[*page as usize] == *next);
        }
    }
}

impl Policy for Foresight {
    fn touch(&mut self, page: PageId, _: Op, pages: &PageView) {
        self.note(page, self.plan.next_use(page), pages);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while let Some((next, _, page)) = self.ahead.pop() {
            if self.next_use[page as usize] == next && next != OUT {
                self.next_use[page as usize] = OUT;
                self.resident -= 1;
                return pages.release(page);
            }
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.resident += 1;
        self.note(page, self.plan.next_use(page), pages);
    }

    /// A page that may not be evicted counts as used now, until its next use.
    fn keep(&mut self, page: PageId, pages: &mut PageView) {
        self.resident += 1;
        self.note(page, self.plan.now(), pages);
    }

    fn forget(&mut self, page: PageId) {
        let next = std::mem::replace(&mut self.next_use[page as usize], OUT);
        self.resident -= usize::from(next != OUT);
    }

    fn check(&self, pages: &PageView) -> Result<(), String> {
        match (0..pages.len() as PageId).find(|p| pages.is_resident(*p) != (self.next_use[*p as usize] != OUT)) {
            Some(page) => Err(format!("page {page}: residency and its next use {} disagree", self.next_use[page as usize])),
            None => Ok(()),
        }
    }
}
