//! A swap scheme behind the engine: it serves faults and takes victims; the ledger charges what that moves.

use crate::ledger::{Charge, Ledger, Prices};
use serde_json::{json, Value};
use std::sync::Arc;
use swaplab_swap::{Medium, Scheme, SchemeSpec, Served, Setup, Stored, Transfers, Usage};
use swaplab_vocab::{Nanos, Op, PageId, Result, PAGE_SIZE};

/// A scheme and what its devices cost.
#[derive(Clone)]
pub struct SwapSpec {
    pub scheme: SchemeSpec,
    pub prices: Arc<Prices>,
    /// Length of the run in seconds, where it is known: for background energy and the rate of wear.
    pub seconds: Option<f64>,
}

/// Pages that went one way or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Swap-ins that copied a page into a frame.
    pub copied_pages: u64,
    /// Faults served by a mapping in place.
    pub direct_reads: u64,
    /// Of the copies, those of pages that had been mapped in place: a write came after a direct read.
    pub promotions: u64,
    pub zero_fills: u64,
    /// Pages read ahead.
    pub read_ahead: u64,
    /// References to pages mapped in place.
    pub mapped_references: u64,
    pub swapped_out: u64,
    /// Victims whose content swap still held.
    pub unchanged: u64,
}

pub struct SwapSide {
    spec: SwapSpec,
    scheme: Box<dyn Scheme>,
    out: Transfers,
    /// Pages that came along with the last fault: to be given frames.
    pub ahead: Vec<PageId>,
    /// Pages in memory whose slots the last swap-out gave up.
    pub given_up: Vec<PageId>,
    pub moves: Moves,
    ledger: Ledger,
    /// What the last fault or swap-out took.
    pub charged: Charge,
    peak: Usage,
}

impl SwapSide {
    pub fn new(spec: &SwapSpec, pages: usize, frames: usize) -> Result<SwapSide> {
        let scheme = spec.scheme.build(&Setup::new(pages, frames))?;
        let (out, moves, ledger, peak) = (Transfers::default(), Moves::default(), Ledger::default(), Usage::default());
        let (ahead, given_up, charged) = (Vec::new(), Vec::new(), Charge::default());
        Ok(SwapSide { spec: spec.clone(), scheme, out, ahead, given_up, moves, ledger, charged, peak })
    }

    /// Swap holds `page` from the start; false if it has no room.
    pub fn adopt(&mut self, page: PageId) -> bool {
        let adopted = self.scheme.adopt(page);
        self.note_usage();
        adopted
    }

    pub fn fault(&mut self, page: PageId, op: Op, mapped: bool) -> Served {
        self.out.clear();
        let served = self.scheme.fault(page, op, &mut self.out);
        self.charged = self.ledger.charge(&self.out, &self.spec.prices);
        match served {
            Served::Copied { .. } => {
                self.moves.copied_pages += 1;
                self.moves.promotions += u64::from(mapped);
            }
            Served::MappedInPlace => self.moves.direct_reads += 1,
            Served::ZeroFilled => self.moves.zero_fills += 1,
        }
        std::mem::swap(&mut self.ahead, &mut self.out.ahead);
        self.moves.read_ahead += self.ahead.len() as u64;
        served
    }

    pub fn swap_out(&mut self, page: PageId, dirty: bool) -> Stored {
        self.out.clear();
        let stored = self.scheme.swap_out(page, dirty, &mut self.out);
        std::mem::swap(&mut self.given_up, &mut self.out.given_up);
        self.charged = self.ledger.charge(&self.out, &self.spec.prices);
        match stored {
            Stored::Written => {
                self.moves.swapped_out += 1;
                self.note_usage();
            }
            Stored::Unchanged => self.moves.unchanged += 1,
            Stored::Dropped | Stored::Full => {}
        }
        stored
    }

    /// Time has come to `now`: the scheme's work in the background. Content moves between its media alone.
    pub fn tick(&mut self, now: Nanos) {
        self.out.clear();
        self.scheme.tick(now, &mut self.out);
        self.charged = self.ledger.charge(&self.out, &self.spec.prices);
        self.note_usage();
    }

    pub fn discard(&mut self, page: PageId) {
        self.scheme.discard(page);
    }

    /// What the scheme holds; contents are as large as the pages of the run.
    pub fn usage(&self) -> Usage {
        let (usage, scale) = (self.scheme.usage(), self.spec.prices.page_bytes() / PAGE_SIZE);
        Usage { dram_bytes: usage.dram_bytes * scale, nvm_bytes: usage.nvm_bytes * scale, flash_bytes: usage.flash_bytes * scale, ..usage }
    }

    /// Every invariant of the scheme.
    pub fn check(&self) -> std::result::Result<(), String> {
        self.scheme.check()
    }

    fn note_usage(&mut self) {
        let now = self.usage();
        self.peak = Usage {
            pages: self.peak.pages.max(now.pages),
            dram_bytes: self.peak.dram_bytes.max(now.dram_bytes),
            metadata_bytes: self.peak.metadata_bytes.max(now.metadata_bytes),
            nvm_bytes: self.peak.nvm_bytes.max(now.nvm_bytes),
            flash_bytes: self.peak.flash_bytes.max(now.flash_bytes),
        };
    }

    #[cfg(test)]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Time that the media were busy with reads and with writes, in nanoseconds.
    pub fn busy_ns(&self) -> (u64, u64) {
        let (read, write) = self.ledger.busy();
        (read.0, write.0)
    }

    pub fn full(&self) -> String {
        format!("swap '{}' is full with {} pages", self.spec.scheme.text, self.scheme.usage().pages)
    }

    /// What the scheme did, for the point's result. Energy at rest is that of the largest amount held. `pool_within`: the pool is part of
    /// the `frames`.
    pub fn document(&self, frames: u64, pool_within: bool) -> Value {
        let (moves, peak, page) = (&self.moves, &self.peak, self.spec.prices.page_bytes());
        let pool_beside = if pool_within { 0 } else { peak.dram_bytes };
        let held = |medium| match medium {
            Medium::Dram | Medium::Pool => peak.dram_bytes,
            Medium::Nvm => peak.nvm_bytes,
            Medium::Flash | Medium::SdCard => peak.flash_bytes,
        };
        let costs = self.ledger.document(&self.spec.prices, self.spec.seconds, held);
        let written = |medium| self.ledger.of(medium).write_bytes;
        let gauges: serde_json::Map<String, Value> = self.scheme.gauges().into_iter().map(|(name, v)| (name.into(), v.into())).collect();
        json!({
            "name": self.spec.scheme.text,
            "copied_pages": moves.copied_pages, "direct_reads": moves.direct_reads, "promotions": moves.promotions,
            "zero_fills": moves.zero_fills, "read_ahead": moves.read_ahead, "mapped_references": moves.mapped_references,
            "swap_outs": moves.swapped_out, "unchanged": moves.unchanged,
            "swap_in_bytes": (moves.copied_pages + moves.read_ahead) * page, "swap_out_bytes": moves.swapped_out * page,
            "nvm_write_bytes": written(Medium::Nvm), "flash_write_bytes": written(Medium::Flash) + written(Medium::SdCard),
            "costs": costs,
            "memory": {
                "frames_bytes": frames * page, "pool_peak_bytes": peak.dram_bytes, "metadata_peak_bytes": peak.metadata_bytes,
                "nvm_peak_bytes": peak.nvm_bytes, "flash_peak_bytes": peak.flash_bytes,
                "dram_total_bytes": frames * page + pool_beside + peak.metadata_bytes,
            },
            "gauges": gauges,
        })
    }
}
