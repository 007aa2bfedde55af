//! Large folios of anonymous memory (mTHP): aligned groups of pages that are allocated, reclaimed
//! and swapped in as one.
//!
//! Source: Linux 6.12. mm/memory.c, `alloc_anon_folio` (a first touch gets a large folio if no page
//! of it exists) and `alloc_swap_folio` (swap-in from a device with `SWP_SYNCHRONOUS_IO`, which
//! zram is, if all pages are in adjacent slots). Both take a frame of less if memory is below its
//! low watermark, as they neither reclaim nor wake kswapd (`vma_thp_gfp_mask`, defrag madvise).
//! mm/vmscan.c, `shrink_folio_list`: a folio is reclaimed as a whole; if swap has no adjacent slots
//! for it, it is split and its pages get slots of their own (`thp_swpout_fallback`). mm/rmap.c,
//! `folio_referenced`: a use of one page counts for the folio. zram compresses page by page.
//! Deviations: frames are never too scattered for a folio. A policy lists all pages of a folio, so
//! its lists are as long as without. Groups are aligned to page numbers, not to addresses. Folios
//! of one size alone: one that does not fit is no smaller folio, but single pages.

use crate::phone::user::layout::Layout;
use std::ops::Range;
use swaplab_vocab::{Class, PageId};

/// Counts of large folios, with the kernel's statistics (`hugepages-*/stats`) that they stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolioCounts {
    /// Allocated at a first touch (`anon_fault_alloc`), and where memory was too low for it
    /// (`anon_fault_fallback`).
    pub allocated: u64,
    pub allocation_fallbacks: u64,
    /// Swapped out to adjacent slots (`swpout`), and where there were none (`swpout_fallback`).
    pub swapped_out: u64,
    pub swap_out_fallbacks: u64,
    /// Swapped in as one (`swpin`), and where memory was too low for it.
    pub swapped_in: u64,
    pub swap_in_fallbacks: u64,
    /// Pages that were swapped in with another page and evicted again without having been used.
    pub unused_pages: u64,
}

pub struct Folios {
    /// Number of pages of a large folio; 0 if there are no large folios.
    pages: PageId,
    /// By group: whether it is a large folio in memory, which may have lost pages since.
    large: Vec<bool>,
    /// By page: whether it was swapped in with another page and not used since.
    pub unused: Vec<bool>,
    pub counts: FolioCounts,
}

impl Folios {
    /// Folios of `pages` pages, in the anonymous memory of `layout`.
    pub fn new(pages: u32, layout: &Layout) -> Folios {
        let on = usize::from(pages > 0);
        let (all, groups) = (layout.owners.len() * on, layout.owners.len().checked_div(pages as usize).unwrap_or(0));
        Folios { pages, large: vec![false; groups], unused: vec![false; all], counts: FolioCounts::default() }
    }

    pub fn are_on(&self) -> bool {
        self.pages > 0
    }

    /// The pages of the group of `page`. `None` if they do not all belong to one owner's anonymous
    /// memory, so that they cannot be a folio.
    #[inline]
    pub fn group(&self, page: PageId, layout: &Layout) -> Option<Range<PageId>> {
        let number = page.checked_div(self.pages)?;
        let (first, last) = (number * self.pages, (number + 1) * self.pages - 1);
        let of = |page: PageId| Some((*layout.owners.get(page as usize)?, *layout.classes.get(page as usize)?));
        // The pages of each owner are contiguous, its anonymous ones first, so comparing both ends
        // is enough.
        let (ends, wanted) = ([of(first)?, of(last)?], (layout.owners[page as usize], Class::Anonymous));
        (ends == [wanted; 2]).then_some(first..last + 1)
    }

    /// The pages of the large folio of `page`, if it is in one.
    pub fn of(&self, page: PageId) -> Option<Range<PageId>> {
        let number = page.checked_div(self.pages)?;
        self.large.get(number as usize).filter(|large| **large)?;
        Some(number * self.pages..(number + 1) * self.pages)
    }

    pub fn set(&mut self, page: PageId, large: bool) {
        if let Some(now) = page.checked_div(self.pages).and_then(|number| self.large.get_mut(number as usize)) {
            *now = large;
        }
    }

    /// Note that pages were used.
    pub fn used(&mut self, pages: Range<PageId>) {
        if self.are_on() {
            self.unused[pages.start as usize..pages.end as usize].fill(false);
        }
    }
}
