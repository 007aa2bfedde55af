//! The frames and what holds them: pages of processes and files in the policy's order, graphics and the kernel beside them.

use std::ops::Range;
use swaplab_policy::{bits, Backing, Policy, Residency};
use swaplab_vocab::{AppId, Op, PageId};

/// Free frames at which background reclaim starts and stops, and below which the one who needs a frame reclaims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    pub min: usize,
    pub low: usize,
    pub high: usize,
}

impl Watermarks {
    /// Linux `__setup_per_zone_wmarks`: `min_free_kbytes` is 4 times the root of the kilobytes; Android's extra is on top of low and high.
    pub fn of(frames: usize, extra: usize, page_bytes: u64) -> Watermarks {
        let page_kib = (page_bytes / 1024) as usize;
        let min = (((frames * page_kib * 16) as f64).sqrt() / page_kib as f64) as usize;
        Watermarks { min, low: min + min / 4 + extra, high: min + min / 2 + extra }
    }
}

/// How many frames hold what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// By pages that can be reclaimed.
    pub pages: usize,
    /// Of these, by pages of files, and by anonymous ones of system processes.
    pub file: usize,
    pub system_anon: usize,
    /// By pages that have left and are being written.
    pub writing: usize,
    /// Frames of the batch that background reclaim works on: free when it has done its work.
    pub in_batch: usize,
    /// By the kernel and by graphics: never reclaimed.
    pub pinned: usize,
}

pub struct Frames {
    pub pages: Residency,
    pub policy: Box<dyn Policy>,
    /// All of them.
    pub total: usize,
    pub marks: Watermarks,
    /// Residency reclaimed at once.
    pub batch: usize,
    pub in_use: InUse,
    /// Graphics memory of each app, and of the system.
    graphics: Vec<usize>,
    system_graphics: usize,
    system_anon: Range<PageId>,
}

/// Linux `SWAP_CLUSTER_MAX`.
const BATCH: usize = 32;

impl Frames {
    /// `kernel` of the `total` frames are the kernel's own; `system_anon` are the anonymous pages of system processes.
    pub fn new(pages: Residency, policy: Box<dyn Policy>, total: usize, kernel: usize, apps: usize, system_anon: Range<PageId>) -> Frames {
        let marks = Watermarks { min: 0, low: 0, high: 0 };
        let (pages, in_use) = (pages.with_frames(total), InUse { pinned: kernel, ..InUse::default() });
        Frames { pages, policy, total, marks, batch: BATCH, in_use, graphics: vec![0; apps], system_graphics: 0, system_anon }
    }

    /// `page` got a frame, or gave its own back.
    pub fn count(&mut self, page: PageId, entered: bool) {
        let file = self.pages.backing(page) == Backing::File;
        let system = self.system_anon.contains(&page);
        let of = [(&mut self.in_use.pages, true), (&mut self.in_use.file, file), (&mut self.in_use.system_anon, system && !file)];
        for (count, counts) in of {
            *count = if entered { *count + usize::from(counts) } else { *count - usize::from(counts) };
        }
    }

    /// Whether `page` has content that a reference would have to read.
    pub fn could_be_read(&self, page: PageId) -> bool {
        let state = self.pages.bits(page);
        let has_content = self.pages.backing(page) == Backing::File || state & bits::SLOT != 0;
        has_content && state & (bits::RESIDENT | bits::MAPPED) == 0
    }

    /// `page` gets a frame, of which there is one.
    pub fn insert(&mut self, page: PageId, op: Op) {
        self.policy.miss(page, op, &self.pages);
        self.count(page, true);
        self.pages.enter(self.policy.as_mut(), page, op);
    }

    /// A page that may not leave: the kernel activates it.
    pub fn put_back(&mut self, page: PageId) {
        self.count(page, true);
        self.pages.put_back(self.policy.as_mut(), page);
    }

    /// The content of `page` is gone wherever it was; whether it had a frame.
    pub fn drop_page(&mut self, page: PageId) -> bool {
        let resident = self.pages.is_resident(page);
        if resident {
            self.count(page, false);
        }
        self.pages.vanish(page, !(bits::RESIDENT | bits::DIRTY | bits::SLOT | bits::COPIED | bits::MAPPED));
        self.policy.forget(page);
        resident
    }

    pub fn graphics_of(&self, app: AppId) -> usize {
        self.graphics[usize::from(app)]
    }

    /// One frame more for the graphics of `app`.
    pub fn pin_graphics(&mut self, app: AppId) {
        self.in_use.pinned += 1;
        self.graphics[usize::from(app)] += 1;
    }

    /// The graphics memory of `app` shrinks to so many frames.
    pub fn shrink_graphics(&mut self, app: AppId, frames: usize) {
        self.in_use.pinned -= self.graphics[usize::from(app)] - frames;
        self.graphics[usize::from(app)] = frames;
    }

    /// Graphics memory of the system itself.
    pub fn pin_system_graphics(&mut self, frames: usize) {
        self.in_use.pinned += frames;
        self.system_graphics += frames;
    }

    /// Frames of graphics, of all apps and the system.
    pub fn graphics(&self) -> usize {
        self.graphics.iter().sum::<usize>() + self.system_graphics
    }

    /// Every invariant of the frames alone.
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
}
