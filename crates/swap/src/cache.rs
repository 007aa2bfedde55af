//! A cache in front of slower storage: a replacement policy of the `policy` crate and an admission
//! condition. The users of this module (the `nvm-cache` scheme and the cache simulation over block
//! traces) account for the costs of hits and misses.

use crate::admission::{self, Admission, AdmissionSpec};
use crate::Content;
use std::sync::Arc;
use swaplab_policy::bits::{DIRTY, RESIDENT};
use swaplab_policy::{AnyPolicy, Costs, PolicySpec, Residency};
use swaplab_vocab::{BadInput, Class, Op, PageId, Result};

/// The result of [`Cache::offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissOutcome {
    /// The content was admitted. `victim` is the evicted page and whether it was dirty.
    Entered { victim: Option<(PageId, bool)> },
    /// The content was rejected.
    Bypassed,
}

pub struct Cache {
    pages: Residency,
    policy: AnyPolicy,
    admission: Box<dyn Admission>,
    capacity: usize,
}

impl Cache {
    /// A cache of `capacity` pages for content numbered below `pages`.
    pub fn new(
        pages: usize,
        capacity: u64,
        replacement: &PolicySpec,
        admission: &AdmissionSpec,
        content: Arc<dyn Content>,
    ) -> Result<Cache> {
        if replacement.entry.info.offline {
            return Err(BadInput::new(
                "replacement",
                format!("'{}' needs the future", replacement.text),
                "an online policy such as lru or lfu",
            ));
        }
        // Capacity beyond the number of pages is useless, and tables of that size could be large.
        let capacity = capacity.min(pages as u64) as usize;
        let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
        let policy = replacement.build(&swaplab_policy::Setup { pages, frames: capacity, costs, seed: 0, future: None })?;
        let admission = admission.build(&admission::Setup { pages, capacity, content })?;
        let pages = Residency::new((0..pages).map(|_| Class::Anonymous)).with_frames(capacity);
        Ok(Cache { pages, policy, admission, capacity })
    }

    pub fn holds(&self, page: PageId) -> bool {
        self.pages.is_resident(page)
    }

    /// Handle a request for content that is in the cache.
    pub fn hit(&mut self, page: PageId, op: Op) {
        if op.is_write() {
            self.pages.set(page, DIRTY);
        }
        self.policy.as_dyn_mut().touch(page, op, &self.pages);
    }

    /// Handle a miss whose content may enter. `dirty`: slower storage does not have this content.
    pub fn offer(&mut self, page: PageId, op: Op, dirty: bool) -> MissOutcome {
        if !self.admission.admit(page, op) {
            return MissOutcome::Bypassed;
        }
        if dirty {
            self.pages.set(page, DIRTY);
        }
        if !self.pages.admit(self.policy.as_dyn_mut(), page, op, 0) {
            self.pages.clear(page, DIRTY);
            return MissOutcome::Bypassed;
        }
        // A policy releases a single page to free one frame.
        let victim = self.pages.take_released().map(|v| (v, self.pages.is_dirty(v)));
        if let Some((v, _)) = victim {
            self.pages.clear(v, DIRTY);
        }
        MissOutcome::Entered { victim }
    }

    /// Note a miss whose content does not enter.
    pub fn note_miss(&mut self, page: PageId) {
        self.admission.note_miss(page);
    }

    /// Drop content that no longer exists.
    pub fn forget(&mut self, page: PageId) {
        self.policy.as_dyn_mut().forget(page);
        self.admission.forget(page);
        self.pages.forget_page(page, !(RESIDENT | DIRTY));
    }

    pub fn used(&self) -> u64 {
        self.pages.resident_count() as u64
    }

    pub fn is_dirty(&self, page: PageId) -> bool {
        self.pages.is_dirty(page)
    }

    pub fn metadata_bytes(&self) -> u64 {
        self.admission.metadata_bytes()
    }

    pub fn check(&self) -> std::result::Result<(), String> {
        let cached = (0..self.pages.len() as PageId).filter(|p| self.holds(*p)).count();
        if cached != self.pages.resident_count() || cached > self.capacity {
            return Err(format!(
                "{cached} pages are in the cache, the count is {}, the capacity {}",
                self.pages.resident_count(),
                self.capacity
            ));
        }
        self.policy.as_dyn().check(&self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compressibility;

    #[test]
    fn a_cache_above_its_capacity_is_reported() {
        let (lru, all) = (PolicySpec::parse("lru").unwrap(), AdmissionSpec::parse("always").unwrap());
        let mut cache = Cache::new(3, 2, &lru, &all, Arc::new(Compressibility::sampled(0))).unwrap();
        (0..3).for_each(|page| assert!(matches!(cache.offer(page, Op::Read, false), MissOutcome::Entered { .. })));
        cache.check().unwrap();
        assert_eq!((cache.used(), cache.metadata_bytes()), (2, 0));
        cache.capacity = 1;
        assert_eq!(cache.check().unwrap_err(), "2 pages are in the cache, the count is 2, the capacity 1");
    }
}
