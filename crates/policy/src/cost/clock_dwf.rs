//! What: two rings. The first holds written pages, ordered by write frequency; the second holds the
//! others and is a plain CLOCK. A write moves a page to the first ring. When that ring is full, its
//! page with the fewest writes moves to the second ring. Victims come from the second ring.
//! Why: the history of writes predicts writes better than the history of all references, and
//! frequency better than recency.
//! Source: Lee, Bahn and Noh, "CLOCK-DWF: a write-history-aware page replacement algorithm for
//! hybrid PCM and DRAM memory architectures", IEEE Transactions on Computers 63(9), 2014.
//! Deviations: the paper has DRAM and PCM side by side. Here both rings are the same memory in
//! front of swap, and `written` is the share of the first ring (the paper's DRAM). A migration of
//! the paper costs nothing here. The write counter saturates at 255.
//! Weakness: the share is fixed; a page that was written often in the past is kept for as many
//! turns of the hand; a kernel must trap the first write to a page of the second ring.

use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// The lists of the two rings. The hand of each ring is at its back.
const WRITTEN: List = List(0);
const OTHERS: List = List(1);

pub struct ClockDwfPolicy {
    lists: Lists,
    /// Whether the page was accessed (on the written ring: written) since the hand last passed it.
    referenced: Vec<bool>,
    /// Turns of the hand in which the page was written, minus turns in which it was not.
    writes: Vec<u8>,
    share: f64,
    /// Frames of the written ring.
    most_written: usize,
    scanned: u64,
}

impl Describe for ClockDwfPolicy {
    const ENTRY: Entry = Entry {
        key: "clock-dwf",
        what: "CLOCK with dirty bits and write frequency",
        source: "Lee, Bahn and Noh 2014",
        parameters: &[Parameter::new("written", Kind::Number { low: 0.0, high: 1.0 }, "0.5", "share of memory for written pages")],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, params: &Params) -> Result<ClockDwfPolicy> {
        Ok(ClockDwfPolicy {
            lists: Lists::new(setup.pages, 2),
            referenced: vec![false; setup.pages],
            writes: vec![0; setup.pages],
            share: params.number("written"),
            most_written: written_frames(setup.frames, params.number("written")),
            scanned: 0,
        })
    }
}

/// Frames of the written ring, of `frames` in all.
fn written_frames(frames: usize, share: f64) -> usize {
    (frames as f64 * share) as usize
}

impl ClockDwfPolicy {
    /// Turn the hand of the written ring until one page moves to the second ring.
    fn fall_back(&mut self) {
        while let Some(page) = self.lists.back(WRITTEN) {
            self.scanned += 1;
            let (referenced, writes) = (&mut self.referenced[page as usize], &mut self.writes[page as usize]);
            if std::mem::take(referenced) {
                *writes = writes.saturating_add(1);
            } else if *writes > 0 {
                *writes -= 1;
            } else {
                self.lists.move_to_front(OTHERS, page);
                return;
            }
            self.lists.move_to_front(WRITTEN, page);
        }
    }

    fn enter_written(&mut self) {
        if self.lists.len(WRITTEN) > self.most_written {
            self.fall_back();
        }
    }
}

impl Policy for ClockDwfPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        if self.lists.is_in(OTHERS, page) {
            self.referenced[page as usize] = true;
            if op.is_write() {
                self.lists.move_to_front(WRITTEN, page);
                self.enter_written();
            }
        } else if op.is_write() {
            self.referenced[page as usize] = true;
        }
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if self.lists.is_empty(OTHERS) {
            self.fall_back();
        }
        while let Some(page) = self.lists.back(OTHERS) {
            self.scanned += 1;
            if !std::mem::take(&mut self.referenced[page as usize]) {
                self.lists.remove(page);
                pages.release(page);
                return;
            }
            self.lists.move_to_front(OTHERS, page);
        }
    }

    fn insert(&mut self, page: PageId, op: Op, _: &mut PageView) {
        self.referenced[page as usize] = false;
        self.writes[page as usize] = 0;
        self.lists.push_front(if op.is_write() { WRITTEN } else { OTHERS }, page);
        self.enter_written();
    }

    fn forget(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    fn resize(&mut self, frames: usize) {
        self.most_written = written_frames(frames, self.share);
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.lists.check()?;
        match (0..pages.len() as PageId).find(|p| self.lists.home(*p).is_some() != pages.is_resident(*p)) {
            Some(page) => Err(format!("page {page} is resident: {}, which does not agree with its ring", pages.is_resident(page))),
            None => Ok(()),
        }
    }
}
