//! The page frames and their use: reclaimable pages of processes and files, graphics memory, and
//! the kernel.

pub mod free;
pub mod page_lists;

use super::folios::Folios;
use super::queue::WriteBack;
use crate::phone::user::layout::Layout;
use page_lists::PageLists;
use std::ops::Range;
use swaplab_policy::{bits, Backing, Policy, Residency};
use swaplab_vocab::{AppId, Op, PageId};

/// Numbers of free frames: direct reclaim begins at `min`, kswapd wakes at `low` and sleeps at
/// `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    pub min: usize,
    pub low: usize,
    pub high: usize,
}

impl Watermarks {
    /// Compute the watermarks as Linux `__setup_per_zone_wmarks`: `min_free_kbytes` is 4 times the
    /// square root of the memory in KiB. Android's `extra_free_kbytes` (`extra`, in frames) is
    /// added to `low` and `high`.
    pub fn of(frames: usize, extra: usize, page_bytes: u64) -> Watermarks {
        let page_kib = (page_bytes / 1024) as usize;
        let min = (((frames * page_kib * 16) as f64).sqrt() / page_kib as f64) as usize;
        Watermarks { min, low: min + min / 4 + extra, high: min + min / 2 + extra }
    }
}

/// Number of frames by use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// Frames of pages that can be reclaimed.
    pub pages: usize,
    /// Of these, frames of file-backed pages, and of anonymous pages of system processes.
    pub file: usize,
    pub system_anon: usize,
    /// Frames of evicted pages under write-back.
    pub writing: usize,
    /// Frames of pages that the policy took back until it scans them after they are written.
    pub taken_back: usize,
    /// Frames of the batch that kswapd works on. They are free when it has done that work.
    pub in_batch: usize,
    /// Frames of the kernel and of graphics, which are never reclaimed.
    pub pinned: usize,
}

pub struct Frames {
    pub pages: Residency,
    pub policy: Box<dyn Policy>,
    /// Number of all frames.
    pub total: usize,
    pub marks: Watermarks,
    /// Number of pages that a batch of reclaim frees.
    pub batch: usize,
    pub in_use: InUse,
    /// The free pages that the only processor keeps, where kswapd and the apps share it.
    pub lists: Option<PageLists>,
    pub folios: Folios,
    /// Graphics memory of each app, and of the system, in frames.
    graphics: Vec<usize>,
    system_graphics: usize,
    system_anon: Range<PageId>,
}

/// Linux `SWAP_CLUSTER_MAX`.
const BATCH: usize = 32;

impl Frames {
    /// Create `total` frames, of which the kernel has `kernel`, for the pages of `layout`.
    pub fn new(pages: Residency, policy: Box<dyn Policy>, total: usize, kernel: usize, folios: Folios, layout: &Layout) -> Frames {
        let (apps, system_anon) = (layout.apps.len(), layout.system.anon.clone());
        let marks = Watermarks { min: 0, low: 0, high: 0 };
        let (pages, in_use) = (pages.with_frames(total), InUse { pinned: kernel, ..InUse::default() });
        Frames {
            pages,
            policy,
            total,
            marks,
            batch: BATCH,
            in_use,
            lists: None,
            folios,
            graphics: vec![0; apps],
            system_graphics: 0,
            system_anon,
        }
    }

    /// Count a frame that `page` got (`entered`) or gave back.
    pub fn count(&mut self, page: PageId, entered: bool) {
        let file = self.pages.backing(page) == Backing::File;
        let system = self.system_anon.contains(&page);
        let of = [(&mut self.in_use.pages, true), (&mut self.in_use.file, file), (&mut self.in_use.system_anon, system && !file)];
        for (count, counts) in of {
            *count = if entered { *count + usize::from(counts) } else { *count - usize::from(counts) };
        }
    }

    /// Whether a reference to `page` would read its content from swap or from its file.
    pub fn could_be_read(&self, page: PageId) -> bool {
        let state = self.pages.bits(page);
        let has_content = self.pages.backing(page) == Backing::File || state & bits::SLOT != 0;
        has_content && state & (bits::RESIDENT | bits::MAPPED) == 0
    }

    /// Put `page` into a frame. A frame must be free.
    pub fn insert(&mut self, page: PageId, op: Op) {
        self.policy.miss(page, op, &self.pages);
        self.count(page, true);
        self.pages.enter(self.policy.as_mut(), page, op);
    }

    /// Take over the frames that writes hold at `now_ns`, and tell the policy which pages that it
    /// took back have been written.
    pub fn follow_writes(&mut self, write_back: &mut WriteBack, now_ns: u64) {
        self.in_use.writing = write_back.frames_at(now_ns);
        self.in_use.taken_back = write_back.taken_back();
        while let Some(page) = write_back.take_written() {
            self.policy.written(page);
        }
    }

    /// Put back a victim that may not be evicted; the kernel activates it.
    pub fn put_back(&mut self, page: PageId) {
        self.count(page, true);
        self.pages.put_back(self.policy.as_mut(), page);
    }

    /// Drop the content of `page` from memory and swap. Returns whether it had a frame.
    pub fn drop_page(&mut self, page: PageId) -> bool {
        let resident = self.pages.is_resident(page);
        if resident {
            self.count(page, false);
        }
        self.pages.forget_page(page, !(bits::RESIDENT | bits::DIRTY | bits::SLOT | bits::COPIED | bits::MAPPED));
        self.policy.forget(page);
        resident
    }

    pub fn graphics_of(&self, app: AppId) -> usize {
        self.graphics[usize::from(app)]
    }

    /// Pin `frames` more frames for the graphics of `app`.
    pub fn pin_graphics(&mut self, app: AppId, frames: usize) {
        self.in_use.pinned += frames;
        self.graphics[usize::from(app)] += frames;
    }

    /// Shrink the graphics memory of `app` to `frames` frames.
    pub fn shrink_graphics(&mut self, app: AppId, frames: usize) {
        self.in_use.pinned -= self.graphics[usize::from(app)] - frames;
        self.graphics[usize::from(app)] = frames;
    }

    /// Pin `frames` more frames for the graphics of the system.
    pub fn pin_system_graphics(&mut self, frames: usize) {
        self.in_use.pinned += frames;
        self.system_graphics += frames;
    }

    /// Number of frames of graphics, of all apps and the system.
    pub fn graphics(&self) -> usize {
        self.graphics.iter().sum::<usize>() + self.system_graphics
    }

    /// Check the invariants of the frames alone.
    #[cfg(test)]
    pub fn check(&self) -> Result<(), String> {
        self.policy.check(&self.pages)?;
        let resident = || (0..self.pages.len() as PageId).filter(|page| self.pages.is_resident(*page));
        let files = resident().filter(|page| self.pages.backing(*page) == Backing::File).count();
        if (resident().count(), files) != (self.in_use.pages, self.in_use.file) {
            return Err(format!("{} pages are in frames, {files} of files; counted: {:?}", resident().count(), self.in_use));
        }
        match resident().find(|page| self.pages.bits(*page) & bits::MAPPED != 0) {
            Some(page) => Err(format!("page {page} has a frame and is mapped in place")),
            None => Ok(()),
        }
    }

    /// Count a use of the resident pages from `first` to `last` for the other pages of the folios
    /// at both ends. The folios in between are used completely.
    pub fn use_folios(&mut self, first: PageId, last: PageId) {
        self.folios.used(first..last + 1);
        let ends = [self.folios.of(first).map(|folio| folio.start..first), self.folios.of(last).map(|folio| last + 1..folio.end)];
        for page in ends.into_iter().flatten().flatten() {
            if self.pages.is_resident(page) {
                self.policy.touch(page, Op::Read, &self.pages);
            }
        }
    }

    /// Release the other pages of the folio of `page`, which was released; the folio no longer
    /// exists then. Returns the folio's pages, or `None` if `page` is in none.
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
