//! A minimal runner for tests: it calls a policy as the documentation of `Policy` prescribes.

use std::sync::Arc;
use swaplab_policy::{bits, AnyPolicy, Backing, Costs, PolicySpec, Reclaimer, Residency, Setup};
use swaplab_vocab::{Class, Op, PageId, Result};

pub struct Plain {
    policy: AnyPolicy,
    pages: Residency,
    frames: usize,
    used: usize,
    /// Whether anonymous pages are written to storage, which takes time.
    pub storage: bool,
    /// Pages that the policy took back while they are written, and those that have been written.
    writing: Vec<PageId>,
    written: Vec<PageId>,
}

#[allow(dead_code)] // each test that includes this file uses a part of it
impl Plain {
    /// Build the policy `spec` for pages numbered below `pages`.
    pub fn new(spec: &str, pages: usize, frames: usize) -> Plain {
        Plain::with_future(spec, pages, frames, &[])
    }

    /// Build an offline policy for exactly the references of `trace`.
    pub fn with_future(spec: &str, pages: usize, frames: usize, trace: &[PageId]) -> Plain {
        Plain::build(spec, pages, frames, trace).unwrap()
    }

    /// As `with_future`, but returns the policy's error, such as too few frames.
    pub fn build(spec: &str, pages: usize, frames: usize, trace: &[PageId]) -> Result<Plain> {
        Plain::priced(spec, pages, frames, trace, 1)
    }

    /// As `build`, with costs multiplied by `dearer`.
    pub fn priced(spec: &str, pages: usize, frames: usize, trace: &[PageId], dearer: u64) -> Result<Plain> {
        let mut last = vec![u32::MAX; pages];
        let mut future: Vec<u32> =
            trace.iter().enumerate().rev().map(|(i, p)| std::mem::replace(&mut last[*p as usize], i as u32)).collect();
        future.reverse();
        let [swap_read_ns, swap_write_ns, file_read_ns, file_write_ns] = [8_000, 40_000, 90_000, 150_000].map(|ns| ns * dearer);
        let costs = Costs { swap_read_ns, swap_write_ns, file_read_ns, file_write_ns };
        let setup = Setup { pages, frames, costs, seed: 1, future: Some(Arc::from(future)) };
        let policy = PolicySpec::parse(spec).and_then(|s| s.build(&setup))?;
        Ok(Plain::of(policy, frames, (0..pages).map(|p| Class::ALL[p % 3])))
    }

    /// Build the policy `spec` for anonymous pages only.
    pub fn anonymous(spec: &str, pages: usize, frames: usize) -> Plain {
        let Plain { policy, .. } = Plain::new(spec, pages, frames);
        Plain::of(policy, frames, (0..pages).map(|_| Class::Anonymous))
    }

    fn of(policy: AnyPolicy, frames: usize, classes: impl Iterator<Item = Class>) -> Plain {
        Plain { policy, pages: Residency::new(classes), frames, used: 0, storage: false, writing: Vec::new(), written: Vec::new() }
    }

    /// Make one reference. Returns whether it faults.
    pub fn access(&mut self, page: PageId, op: Op) -> bool {
        let resident = self.pages.is_resident(page);
        if op.is_write() {
            self.write(page);
        }
        if resident {
            self.policy.as_dyn_mut().touch(page, op, &self.pages);
            assert!(self.pages.take_released().is_none(), "a touch released a page");
        } else {
            self.leaves_swap_cache(page);
            let policy = self.policy.as_dyn_mut();
            policy.miss(page, op, &self.pages);
            self.reclaim(self.frames - 1, Some((page, op)));
            self.pages.set(page, bits::RESIDENT);
            self.used += 1;
            self.policy.as_dyn_mut().insert(page, op, &mut self.pages);
            self.drain();
        }
        assert!(self.pages.is_resident(page) && self.used <= self.frames);
        !resident
    }

    /// Make references to `first` and the pages after it, one for each of `ops`. Those in a row
    /// that are resident are one call of the policy.
    pub fn access_run(&mut self, first: PageId, ops: &[Op]) {
        let mut at = 0;
        while at < ops.len() {
            let page = first + at as PageId;
            let resident = (page..).zip(&ops[at..]).take_while(|(page, _)| self.pages.is_resident(*page)).count();
            if resident == 0 {
                self.access(page, ops[at]);
                at += 1;
                continue;
            }
            for (page, _) in (page..).zip(&ops[at..at + resident]).filter(|(_, op)| op.is_write()) {
                self.write(page);
            }
            self.policy.as_dyn_mut().touch_run(page, &ops[at..at + resident], &self.pages);
            assert!(self.pages.take_released().is_none(), "touches released a page");
            at += resident;
        }
    }

    fn write(&mut self, page: PageId) {
        self.pages.set(page, if self.pages.class(page) == Class::File { bits::DIRTY | bits::COPIED } else { bits::DIRTY });
    }

    /// Make `page` resident without telling the policy, which is a broken state.
    pub fn make_resident_unseen(&mut self, page: PageId) {
        self.pages.set(page, bits::RESIDENT);
        self.used += 1;
    }

    /// Whether a fault on `page`, which is not in memory, would bring back a page of the working
    /// set.
    pub fn is_of_working_set(&self, page: PageId) -> bool {
        self.policy.as_dyn().is_of_working_set(page, &self.pages)
    }

    /// Tell the policy whether anonymous pages can be swapped out.
    pub fn set_swappable(&mut self, swappable: bool) {
        self.policy.as_dyn_mut().set_swappable(swappable);
    }

    /// Whether the last call of `reclaim` scanned a batch in vain and is to be made again.
    pub fn goes_on(&self) -> bool {
        self.policy.as_dyn().goes_on()
    }

    /// Completed passes of background reclaim.
    pub fn passes(&self) -> Option<u64> {
        self.policy.as_dyn().passes()
    }

    /// Tell the policy that the kernel flushes its statistics.
    pub fn flush_statistics(&mut self) {
        self.policy.as_dyn_mut().flush_statistics();
    }

    /// Tell the policy which reclaimer makes the following calls of `reclaim`.
    pub fn begin_reclaim(&mut self, by: Reclaimer) {
        self.policy.as_dyn_mut().begin_reclaim(by);
    }

    /// Make the policy reclaim until at most `most` frames are in use.
    fn reclaim(&mut self, most: usize, incoming: Option<(PageId, Op)>) {
        while self.used > most {
            self.finish_writes();
            self.policy.as_dyn_mut().reclaim(incoming, &mut self.pages);
            assert!(self.drain() > 0 || self.goes_on(), "reclaim released nothing");
        }
    }

    /// Call `reclaim` once. Returns the number of pages that it released.
    pub fn reclaim_once(&mut self) -> usize {
        self.policy.as_dyn_mut().reclaim(None, &mut self.pages);
        self.drain()
    }

    /// Account for the pages released since the last call. Returns their number.
    fn drain(&mut self) -> usize {
        let mut drained = 0;
        while let Some(page) = self.pages.take_released() {
            self.pages.clear(page, bits::DIRTY);
            drained += 1;
            if self.leaves_swap_cache(page) {
                continue;
            }
            let stored = self.storage && self.pages.backing(page) == Backing::Swap;
            if stored && self.policy.as_dyn_mut().takes_back(page, &self.pages) {
                self.writing.push(page);
            } else {
                self.used -= 1;
            }
        }
        drained
    }

    /// Finish all writes.
    pub fn finish_writes(&mut self) {
        for page in self.writing.drain(..) {
            self.policy.as_dyn_mut().written(page);
            self.written.push(page);
        }
    }

    /// Free the frame of `page`, if the policy took it back. Returns whether it did.
    fn leaves_swap_cache(&mut self, page: PageId) -> bool {
        let before = self.writing.len() + self.written.len();
        self.writing.retain(|other| *other != page);
        self.written.retain(|other| *other != page);
        let left = before > self.writing.len() + self.written.len();
        self.used -= usize::from(left);
        left
    }

    /// Read the pages of `trace` in order. Returns the number of faults.
    pub fn faults(&mut self, trace: &[PageId]) -> usize {
        trace.iter().filter(|p| self.access(**p, Op::Read)).count()
    }

    /// Tell the policy that the page no longer exists.
    pub fn forget(&mut self, page: PageId) {
        self.used -= self.pages.is_resident(page) as usize;
        self.leaves_swap_cache(page);
        self.pages.clear(page, bits::RESIDENT | bits::DIRTY | bits::COPIED);
        self.policy.as_dyn_mut().forget(page);
    }

    pub fn resize(&mut self, frames: usize) {
        self.frames = frames;
        self.policy.as_dyn_mut().resize(frames);
        self.reclaim(frames, None);
    }

    pub fn resident(&self) -> Vec<PageId> {
        (0..self.pages.len() as PageId).filter(|p| self.pages.is_resident(*p)).collect()
    }

    pub fn unaccessed(&self, pages: std::ops::Range<PageId>) -> usize {
        self.policy.as_dyn().unaccessed(pages)
    }

    pub fn scanned(&self) -> u64 {
        self.policy.as_dyn().scanned()
    }

    pub fn refilled(&self) -> u64 {
        self.policy.as_dyn().refilled()
    }

    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.policy.as_dyn().gauges()
    }

    pub fn check(&self) -> std::result::Result<(), String> {
        assert_eq!(self.used, self.resident().len() + self.writing.len() + self.written.len());
        assert!(self.refilled() <= self.scanned(), "{} pages refilled the inactive list, {} were scanned", self.refilled(), self.scanned());
        self.policy.as_dyn().check(&self.pages)
    }
}
