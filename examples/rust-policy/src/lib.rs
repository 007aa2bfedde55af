//! LRU as a plug-in: `swaplab replay TRACE --policy ./libmine.so:mine --memory 10%`. With
//! `protect=N` it spares dirty pages among the N used longest ago (CFLRU's clean-first window).
#![forbid(unsafe_code)]

use swaplab_plugin::{export_policy, Op, PageId, Pages, Parameter, Params, Policy, Setup};

/// A circular list through all resident pages; the last element of both arrays is its head.
struct Mine {
    next: Vec<PageId>,
    before: Vec<PageId>,
    head: PageId,
    protect: usize,
}

impl Mine {
    fn unlink(&mut self, page: PageId) {
        let (before, next) = (self.before[page as usize], self.next[page as usize]);
        self.next[before as usize] = next;
        self.before[next as usize] = before;
        (self.next[page as usize], self.before[page as usize]) = (page, page);
    }

    fn append(&mut self, page: PageId) {
        let last = std::mem::replace(&mut self.before[self.head as usize], page);
        self.next[last as usize] = page;
        (self.before[page as usize], self.next[page as usize]) = (last, self.head);
    }
}

impl Policy for Mine {
    const KEY: &'static str = "mine";
    const WHAT: &'static str = "least recently used, clean pages first within a window";
    const PARAMETERS: &'static [Parameter] = &[Parameter::new("protect", "0", "pages at the old end among which dirty ones are spared")];

    fn build(setup: &Setup, params: &Params) -> Result<Mine, String> {
        let alone: Vec<PageId> = (0..=setup.pages as PageId).collect();
        Ok(Mine { next: alone.clone(), before: alone, head: setup.pages as PageId, protect: params.parse("protect")? })
    }

    fn touch(&mut self, page: PageId, _: Op, _: &Pages) {
        self.unlink(page);
        self.append(page);
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut Pages) {
        let oldest_first = std::iter::successors(Some(self.next[self.head as usize]), |page| Some(self.next[*page as usize]));
        let window = oldest_first.take(self.protect).take_while(|page| *page != self.head);
        let victim = window.into_iter().find(|page| !pages.is_dirty(*page)).unwrap_or(self.next[self.head as usize]);
        self.unlink(victim);
        pages.release(victim);
    }

    fn insert(&mut self, page: PageId, _: Op, _: &mut Pages) {
        self.append(page);
    }

    fn forget(&mut self, page: PageId) {
        self.unlink(page);
    }
}

export_policy!(Mine);
