//! Which page is reclaimed. A policy owns the order of pages and nothing else; whoever runs it (the replay engine, the
//! simulated phone, the pager) owns residency, capacity, dirty state and statistics, and shows them through [`PageView`].
//!
//! A new policy is one file in the folder of its family, named in the `mod.rs` there, and one line in [`registry`].

mod pages;
mod registry;

mod bounds;
pub mod containers;
mod cost;
mod frequency;
mod linux;
mod offline;
mod recency;
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
use std::sync::Arc;
use swaplab_vocab::{Op, PageId, Params, Result};

/// What a policy must be told about references to do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// Every access, in order.
    Exact,
    /// One bit a page, set by an access, read and cleared when the hand passes.
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

/// What a policy is built for.
#[derive(Clone)]
pub struct Setup {
    /// Pages that can ever be named: every [`PageId`] is below this.
    pub pages: usize,
    /// Frames of memory.
    pub frames: usize,
    pub costs: Costs,
    /// For policies that draw at random; the same seed gives the same victims.
    pub seed: u64,
    /// For offline policies: `future[i]` is the index of the next reference to the page that reference `i` names
    /// (`u32::MAX`: none). Online policies never look at it.
    pub future: Option<Arc<[u32]>>,
}

/// What the registry knows of a policy beside its key and parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Info {
    pub signal: Signal,
    /// Whether it needs [`Setup::future`].
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

/// How a policy type is listed and built.
pub trait Describe: Policy + Sized {
    const ENTRY: Entry;

    /// `params` are checked against `ENTRY.parameters` before this is called.
    fn build(setup: &Setup, params: &Params) -> Result<Self>;
}

/// A page-replacement policy. For each reference its runner calls either
/// - [`touch`](Policy::touch): the page is in memory; or
/// - [`miss`](Policy::miss), then, while there is no free frame, [`reclaim`](Policy::reclaim), then [`insert`](Policy::insert).
///
/// What a write does to a page (dirty; its backing, if it was a private file page) shows in [`PageView`] before either.
/// A page leaves memory when the policy calls [`PageView::release`] on it, in `reclaim` or in `insert`, once.
pub trait Policy: Send {
    /// `page` will be referenced soon: a policy that keeps something by page may have it brought near ([`swaplab_vocab::prefetch`]).
    fn prefetch(&self, _page: PageId) {}

    /// A reference to a resident page. Must not release anything.
    fn touch(&mut self, page: PageId, op: Op, pages: &PageView);

    /// References to resident pages in a row: to `first` and the pages after it, one for each of `ops`. What all of these writes do shows in
    /// [`PageView`] before. For a policy to which the order of these touches says nothing.
    fn touch_run(&mut self, first: PageId, ops: &[Op], pages: &PageView) {
        (first..).zip(ops).for_each(|(page, op)| self.touch(page, *op, pages));
    }

    /// `page` is not in memory and is about to be brought in: the place to look at ghost lists and adapt.
    fn miss(&mut self, _page: PageId, _op: Op, _pages: &PageView) {}

    /// A reclaimer begins: the calls of `reclaim` that follow are its own.
    fn begin_reclaim(&mut self, _by: Reclaimer) {}

    /// Passes that background reclaim has ended so far, at whose ends alone it looks at the watermark; none for a policy without passes.
    fn passes(&self) -> Option<u64> {
        None
    }

    /// The kernel sums up the counts of its control groups, as it does every two seconds.
    fn sum_statistics(&mut self) {}

    /// Release at least one resident page. `incoming` is the page whose fault needs the frame, if one does.
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView);

    /// `page` is in memory now (the runner has marked it resident) because of a reference `op`.
    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView);

    /// A page that was just released may not leave after all (its owner's pages are not to be swapped out, or swap is full); the runner
    /// has marked it resident again. To a policy that does not say otherwise it is a page used again at once.
    fn keep(&mut self, page: PageId, pages: &mut PageView) {
        self.miss(page, Op::Read, pages);
        self.insert(page, Op::Read, pages);
    }

    /// Whether anonymous pages can leave at all from now on: not without swap, nor while it is full. A policy that does not listen
    /// releases them and gets them back by `keep`.
    fn swappable(&mut self, _yes: bool) {}

    /// `page` no longer exists (unmapped, owner gone): drop it and any history of it. It may be resident or not.
    fn forget(&mut self, page: PageId);

    /// The number of frames has changed. `reclaim` is called afterwards until the pages fit.
    fn resize(&mut self, _frames: usize) {}

    /// Pages a hand looked at so far; policies without a hand say 0.
    fn scanned(&self) -> u64 {
        0
    }

    /// Of these, active pages that were looked at to refill the inactive list, which the kernel does not count as scanned (mm/vmscan.c of
    /// 6.12: `shrink_inactive_list` counts `PGSCAN_*`, `shrink_active_list` counts `PGREFILL`).
    fn refilled(&self) -> u64 {
        0
    }

    /// Named figures of its own for the result (region sizes, a target); the same names at every call.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Why the policy can't go on, if it can't: one that is not compiled in may break its contract, panic or raise.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Check every invariant of its own against `pages`; used by the contract suite after each step.
    fn check(&self, pages: &PageView) -> std::result::Result<(), String>;
}

/// For [`Policy::check`]: the pages a policy lists as resident are exactly those that are.
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
