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

use super::fault::Origin;
use super::frames::Frames;
use super::stays::Freed;
use super::Machine;
use crate::phone::user::layout::Layout;
use std::ops::Range;
use swaplab_policy::bits;
use swaplab_vocab::{Class, Op, PageId};

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
    /// Number of pages of a large folio. 0: there are none.
    pages: PageId,
    /// By group: whether it is a large folio in memory. It may have lost pages since.
    large: Vec<bool>,
    /// By page: whether it was swapped in with another page and not used since.
    unused: Vec<bool>,
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

    /// The pages of the group of `page`; `None` if no folio can have it: its pages do not all
    /// belong to one owner's anonymous memory.
    fn group(&self, page: PageId, layout: &Layout) -> Option<Range<PageId>> {
        let number = page.checked_div(self.pages)?;
        let (first, last) = (number * self.pages, (number + 1) * self.pages - 1);
        let of = |page: PageId| Some((*layout.owners.get(page as usize)?, *layout.classes.get(page as usize)?));
        // Each owner's pages follow one another, its anonymous ones first.
        let (ends, wanted) = ([of(first)?, of(last)?], (layout.owners[page as usize], Class::Anonymous));
        (ends == [wanted; 2]).then_some(first..last + 1)
    }

    /// The pages of the large folio of `page`, if it is in one.
    fn of(&self, page: PageId) -> Option<Range<PageId>> {
        let number = page.checked_div(self.pages)?;
        self.large.get(number as usize).filter(|large| **large)?;
        Some(number * self.pages..(number + 1) * self.pages)
    }

    fn set(&mut self, page: PageId, large: bool) {
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

impl Frames {
    /// Have a use of the resident pages from `first` to `last` count for the other pages of the
    /// folios at both ends. Those in between were all used themselves.
    pub fn use_folios(&mut self, first: PageId, last: PageId) {
        self.folios.used(first..last + 1);
        let ends = [self.folios.of(first).map(|folio| folio.start..first), self.folios.of(last).map(|folio| last + 1..folio.end)];
        for page in ends.into_iter().flatten().flatten() {
            if self.pages.is_resident(page) {
                self.policy.touch(page, Op::Read, &self.pages);
            }
        }
    }

    /// Release the other pages of the folio of the released `page`, which is then no folio any
    /// more. Returns its pages, if it is in one.
    pub fn release_folio(&mut self, page: PageId) -> Option<Range<PageId>> {
        if self.folios.are_on() {
            self.folios.counts.unused_pages += u64::from(std::mem::take(&mut self.folios.unused[page as usize]));
        }
        let folio = self.folios.of(page)?;
        self.folios.set(page, false);
        for other in folio.clone() {
            if self.pages.is_resident(other) {
                self.release(other);
            }
        }
        Some(folio)
    }
}

/// The pages that a fault brings in with its own.
#[derive(Default)]
pub struct Others {
    folio: Range<PageId>,
    in_swap: bool,
}

impl Machine {
    /// What a fault on `page`, which is in no frame, brings in with it: the rest of a large folio
    /// that was swapped out as one, or that does not exist yet.
    pub fn others_of(&mut self, page: PageId) -> Others {
        let Some(folio) = self.frames.folios.group(page, &self.apps.layout) else { return Others::default() };
        let in_swap = self.frames.pages.bits(page) & bits::SLOT != 0;
        let wanted = if in_swap { bits::SLOT } else { 0 };
        let as_wanted = |page: PageId| self.frames.pages.bits(page) & (bits::RESIDENT | bits::SLOT | bits::MAPPED) == wanted;
        let fits = folio.clone().all(as_wanted) && (!in_swap || self.swap.side.is_run(&folio));
        self.frames.folios.set(page, false);
        if !fits {
            return Others::default();
        }
        let has_room = self.free() > self.frames.marks.low + folio.len();
        let counts = &mut self.frames.folios.counts;
        *match (in_swap, has_room) {
            (true, true) => &mut counts.swapped_in,
            (true, false) => &mut counts.swap_in_fallbacks,
            (false, true) => &mut counts.allocated,
            (false, false) => &mut counts.allocation_fallbacks,
        } += 1;
        match has_room {
            true => Others { folio, in_swap },
            false => Others::default(),
        }
    }

    /// Bring in the pages that a fault on `page` brings in with it, after its own was served.
    pub fn bring_in(&mut self, page: PageId, others: Others) {
        let folio = others.folio;
        for other in folio.clone().filter(|other| *other != page) {
            // To get a frame, an app may have been killed, even the one that faults in background.
            if self.apps.is_gone(page) {
                return;
            }
            if others.in_swap {
                self.frames.pages.clear(other, bits::SLOT);
                self.swap.side.fault_of_folio(other);
                self.wait(Origin::Swap, true, 0);
                self.count_swap_in(other);
                self.swap.free(other, Freed::Copy, self.clock.now());
                self.frames.policy.set_swappable(true);
                self.frames.folios.unused[other as usize] = true;
            }
            self.frames.pages.set(other, bits::DIRTY);
            self.admit(other, Op::Read);
        }
        if !folio.is_empty() {
            let is_whole = folio.clone().all(|page| self.frames.pages.is_resident(page));
            self.frames.folios.set(page, is_whole);
        }
    }
}
