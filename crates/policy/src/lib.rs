//! Page-replacement policies. A policy owns the order of pages and nothing else. Its runner (the
//! replay engine, the simulated phone or the pager) owns residency, capacity, dirty state and
//! statistics, and shows them to the policy through [`PageView`].
//!
//! A new policy is one file in the folder of its family, a line in the `mod.rs` there, and a line
//! in [`registry`].

mod pages;
mod registry;

mod bounds;
pub mod containers;
mod cost;
mod frequency;
mod linux;
mod offline;
mod recency;
#[cfg(doctest)]
mod release_only;
mod spec;

#[cfg(test)]
extern crate self as swaplab_policy;
#[cfg(test)]
#[path = "../tests/plain/mod.rs"]
mod plain;

pub use bounds::{Bound, BOUNDS};
pub use linux::scan_pass::{FreePages, Reclaimer};
pub use pages::{bits, Backing, Costs, PageView, Residency, CLASS_SHIFT};
pub use registry::{AnyPolicy, Visitor, POLICIES};
pub use spec::{Factory, FileKey, PolicySpec};

use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;
use swaplab_vocab::{Op, PageId, Params, Result};

/// The information about references that a policy needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// Every access, in order.
    Exact,
    /// One bit per page. An access sets it; the policy reads and clears it when its hand passes.
    ReferenceBit,
    /// Faults alone.
    FaultOnly,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Signal::Exact => "exact",
            Signal::ReferenceBit => "reference-bit",
            Signal::FaultOnly => "fault-only",
        }
    }
}

/// The environment that a policy is built for.
#[derive(Clone)]
pub struct Setup {
    /// Number of pages: every [`PageId`] is below this.
    pub pages: usize,
    /// Frames of memory.
    pub frames: usize,
    pub costs: Costs,
    /// Seed for policies with random choices. The same seed gives the same victims.
    pub seed: u64,
    /// For offline policies: `future[i]` is the index of the next reference to the page of
    /// reference `i`, or `u32::MAX` if there is none. Online policies must not use it.
    pub future: Option<Arc<[u32]>>,
}

/// Properties of a policy in the registry, in addition to its key and parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    pub signal: Signal,
    /// Whether the policy needs [`Setup::future`].
    pub offline: bool,
}

impl Info {
    pub const fn online(signal: Signal) -> Info {
        Info { signal, offline: false }
    }

    pub const fn offline(signal: Signal) -> Info {
        Info { signal, offline: true }
    }
}

pub type Entry = swaplab_vocab::Entry<Info>;

/// The registry entry of a policy type, and its constructor.
pub trait Describe: Policy + Sized {
    const ENTRY: Entry;

    /// Build the policy. The caller has checked `params` against `ENTRY.parameters`.
    fn build(setup: &Setup, params: &Params) -> Result<Self>;
}

/// A page-replacement policy. For each reference its runner calls either
/// - [`touch`](Policy::touch): the page is in memory; or
/// - [`miss`](Policy::miss), then, while there is no free frame, [`reclaim`](Policy::reclaim), then
///   [`insert`](Policy::insert).
///
/// Before either call, [`PageView`] already shows the effect of a write: the dirty bit, and the new
/// backing of a private file page. A page leaves memory when the policy calls [`PageView::release`]
/// on it. It must do so in `reclaim` or `insert`, once per page.
pub trait Policy: Send {
    /// `page` will be referenced soon: a policy may prefetch its metadata of that page
    /// ([`swaplab_vocab::prefetch`]).
    fn prefetch(&self, _page: PageId) {}

    /// A reference to a resident page. Must not release anything.
    fn touch(&mut self, page: PageId, op: Op, pages: &PageView);

    /// References to resident pages in a row: to `first` and the pages after it, one for each of
    /// `ops`. [`PageView`] shows the effects of all these writes already before the first touch. A
    /// policy whose state does not depend on the order of touches may handle them at once.
    fn touch_run(&mut self, first: PageId, ops: &[Op], pages: &PageView) {
        (first..).zip(ops).for_each(|(page, op)| self.touch(page, *op, pages));
    }

    /// How many of `pages`, which are in memory, have no accessed bit: the policy cleared it in a
    /// scan, and they were not used since.
    fn unaccessed(&self, _pages: Range<PageId>) -> usize {
        0
    }

    /// `page` is not in memory and is about to be brought in. Policies look up their ghost entries
    /// and adapt here.
    fn miss(&mut self, _page: PageId, _op: Op, _pages: &PageView) {}

    /// Whether a fault on `page`, which is not in memory, brings back a page of the working set:
    /// one that was active before its eviction and has not been away for long (`PageWorkingset`).
    /// The wait for such a page is a memory stall. For a policy that keeps no history of refaults
    /// it is every page.
    fn is_of_working_set(&self, _page: PageId, _pages: &PageView) -> bool {
        true
    }

    /// A reclaimer begins. It makes the calls of `reclaim` that follow, until the next
    /// `begin_reclaim`.
    fn begin_reclaim(&mut self, _by: Reclaimer) {}

    /// Number of passes that background reclaim has completed; `None` for a policy without passes.
    /// Background reclaim compares free memory with the watermark only at the end of a pass.
    fn passes(&self) -> Option<u64> {
        None
    }

    /// The kernel flushes the statistics of its control groups, as it does every two seconds.
    fn flush_statistics(&mut self) {}

    /// Release at least one resident page, unless [`goes_on`](Policy::goes_on) says otherwise.
    /// `incoming` is the page whose fault needs the frame; `None` if no fault does.
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView);

    /// Whether the reclaimer has scanned a batch of pages in vain and goes on with its pass at the
    /// next call of `reclaim`. Scans take time, in which others use memory and reclaim.
    fn goes_on(&self) -> bool {
        false
    }

    /// `page` was brought into memory for a reference `op`. The runner has marked it resident.
    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView);

    /// A released page cannot leave memory after all, because swap is full or its owner's pages are
    /// not swappable. The runner has marked it resident again. By default the policy treats it as a
    /// page that was referenced at once.
    fn keep(&mut self, page: PageId, pages: &mut PageView) {
        self.miss(page, Op::Read, pages);
        self.insert(page, Op::Read, pages);
    }

    /// A released page is being written to storage and keeps its frame until that is done. Returns
    /// whether the policy takes the page back to its lists, to release it again when it scans it
    /// after [`written`](Policy::written). If it does not, the frame is free once the page is
    /// written. The page is not resident in the meantime. A reference to it is a `miss` and an
    /// `insert`, as of any page that is not resident.
    fn takes_back(&mut self, _page: PageId, _pages: &PageView) -> bool {
        false
    }

    /// A page that the policy took back has been written.
    fn written(&mut self, _page: PageId) {}

    /// Whether anonymous pages can be swapped out from now on: they cannot without swap, nor while
    /// it is full. A policy that ignores this call releases such pages and gets them back through
    /// `keep`.
    fn set_swappable(&mut self, _swappable: bool) {}

    /// `page` no longer exists, because it was unmapped or its owner has exited: drop it and its
    /// history. It may be resident or not.
    fn forget(&mut self, page: PageId);

    /// The number of frames has changed. `reclaim` is called afterwards until the pages fit.
    fn resize(&mut self, _frames: usize) {}

    /// Number of pages that hands have examined so far; 0 for a policy without a hand.
    fn scanned(&self) -> u64 {
        0
    }

    /// Of `scanned`, the active pages that were examined to refill the inactive list. The kernel
    /// does not count them as scanned (mm/vmscan.c of 6.12: `shrink_inactive_list` counts
    /// `PGSCAN_*`, `shrink_active_list` counts `PGREFILL`).
    fn refilled(&self) -> u64 {
        0
    }

    /// Named figures of the policy for the result, such as region sizes. Every call returns the
    /// same names.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Why the policy has failed, if it has. A policy from a shared library or a Python file may
    /// break its contract, panic or raise.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Check the policy's invariants against `pages`. The contract suite calls this after each
    /// step.
    fn check(&self, pages: &PageView) -> std::result::Result<(), String>;
}

/// For [`Policy::check`]: check that the pages that a policy lists are exactly the resident ones.
fn check_residency(pages: &PageView, listed: impl Iterator<Item = PageId>) -> std::result::Result<(), String> {
    let mut count = 0;
    for page in listed {
        if !pages.is_resident(page) {
            return Err(format!("page {page} is listed but not resident"));
        }
        count += 1;
    }
    match (0..pages.len() as PageId).filter(|p| pages.is_resident(*p)).count() {
        resident if resident == count => Ok(()),
        resident => Err(format!("{resident} pages are resident, {count} are listed")),
    }
}
