//! Signals of reduced precision, which show what LRU or ARC lose in a kernel (architecture.md,
//! separation 2).

use std::collections::BTreeMap;
use swaplab_policy::{PageView, Policy, Signal};
use swaplab_vocab::{Access, BadInput, Op, PageId, Result};

/// How the policy is told of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Exact,
    /// Reference bits are set by hits. After every `period` references they are delivered in page
    /// order and cleared.
    ReferenceBit {
        period: u64,
    },
    /// Hits are not delivered.
    FaultOnly,
}

impl Delivery {
    pub fn parse(text: &str) -> Result<Delivery> {
        let bad = || BadInput::new("run.replay.signal", format!("'{text}'"), "exact, reference-bit:REFERENCES or fault-only");
        match text.split_once(':') {
            None if text == Signal::Exact.name() => Ok(Delivery::Exact),
            None if text == Signal::FaultOnly.name() => Ok(Delivery::FaultOnly),
            Some((name, period)) if name == Signal::ReferenceBit.name() => {
                let period = period.parse().ok().filter(|p| *p > 0).ok_or_else(bad)?;
                Ok(Delivery::ReferenceBit { period })
            }
            _ => Err(bad()),
        }
    }
}

/// Hits that are not delivered yet: by page, whether it was read, and whether it was written.
pub struct Pending {
    pub delivery: Delivery,
    marked: BTreeMap<PageId, [bool; 2]>,
    since: u64,
    pages: usize,
}

impl Pending {
    pub fn new(delivery: Delivery, pages: usize) -> Pending {
        Pending { delivery, marked: BTreeMap::new(), since: 0, pages }
    }

    pub fn note(&mut self, access: Access) {
        debug_assert!((access.page() as usize) < self.pages);
        if let Delivery::ReferenceBit { .. } = self.delivery {
            self.marked.entry(access.page()).or_default()[usize::from(access.is_write())] = true;
        }
    }

    pub fn forget(&mut self, page: PageId) {
        self.marked.remove(&page);
    }

    /// Count a reference, and deliver the reference bits at the end of a period.
    pub fn step<P: Policy + ?Sized>(&mut self, policy: &mut P, pages: &PageView) {
        let Delivery::ReferenceBit { period } = self.delivery else { return };
        self.since += 1;
        if self.since < period {
            return;
        }
        self.since = 0;
        for (page, [read, written]) in std::mem::take(&mut self.marked) {
            // The reference bits of an evicted page are lost.
            for op in [(read, Op::Read), (written, Op::Write)].into_iter().filter(|(seen, _)| *seen).map(|(_, op)| op) {
                if pages.is_resident(page) {
                    policy.touch(page, op, pages);
                }
            }
        }
    }
}
