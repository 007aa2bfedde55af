//! A swap scheme with its accounts: the scheme serves faults and stores victims, and a ledger
//! charges its transfers.

use crate::ledger::{Charge, Ledger, Prices};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use swaplab_device::Attachment;
use swaplab_experiment::document::{MediumUse, Memory, Paging};
use swaplab_swap::{Medium, Scheme, SchemeSpec, Served, Setup, Step, Stored, Transfers, Usage, Work};
use swaplab_vocab::{Nanos, Op, PageId, Result, PAGE_SIZE};

/// A scheme and the costs of its devices.
#[derive(Clone)]
pub struct SwapSpec {
    pub scheme: SchemeSpec,
    pub prices: Arc<Prices>,
    /// Length of the run in seconds, if it is known. Idle energy and the rate of wear need it.
    pub seconds: Option<f64>,
}

/// Counts of page transfers by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Swap-ins that copied a page into a frame.
    pub copied_pages: u64,
    /// Faults served by a mapping in place.
    pub direct_reads: u64,
    /// Of the copies, those of pages that had been mapped in place: a write after a direct read.
    pub promotions: u64,
    pub zero_fills: u64,
    /// Pages read by readahead.
    pub read_ahead: u64,
    /// References to pages mapped in place.
    pub mapped_references: u64,
    pub swapped_out: u64,
    /// Victims that were not written, as swap still had their content.
    pub unchanged: u64,
}

pub struct SwapSide {
    spec: SwapSpec,
    scheme: Box<dyn Scheme>,
    out: Transfers,
    /// Pages that the last fault read ahead. The caller gives them frames.
    pub ahead: Vec<PageId>,
    /// Pages in memory whose slots the last swap-out freed.
    pub given_up: Vec<PageId>,
    pub moves: Moves,
    ledger: Ledger,
    /// The costs of the last fault, swap-out or tick.
    pub charged: Charge,
    peak: Usage,
}

impl SwapSide {
    pub fn new(spec: &SwapSpec, setup: &Setup) -> Result<SwapSide> {
        let scheme = spec.scheme.build(setup)?;
        let (out, moves, ledger, peak) = (Transfers::default(), Moves::default(), Ledger::default(), Usage::default());
        let (ahead, given_up, charged) = (Vec::new(), Vec::new(), Charge::default());
        Ok(SwapSide { spec: spec.clone(), scheme, out, ahead, given_up, moves, ledger, charged, peak })
    }

    /// Put `page` into swap before the run starts. Returns false if swap is full.
    pub fn adopt(&mut self, page: PageId) -> bool {
        let adopted = self.scheme.adopt(page);
        self.note_usage();
        adopted
    }

    pub fn fault(&mut self, page: PageId, op: Op, mapped: bool) -> Served {
        self.out.clear();
        let served = self.scheme.fault(page, op, &mut self.out);
        self.ledger.charge(&self.out, &self.spec.prices, &mut self.charged);
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

    /// Copy `page` into memory in the fault on another page of its large folio. It costs what a
    /// fault of its own costs, except for the work that is done once for each folio.
    pub fn fault_of_folio(&mut self, page: PageId) {
        self.out.clear();
        self.scheme.fault(page, Op::Write, &mut self.out);
        self.out.steps.retain(|transfer| transfer.step != Step::Cpu(Work::SwapIn));
        self.ledger.charge(&self.out, &self.spec.prices, &mut self.charged);
        self.moves.copied_pages += 1;
    }

    /// Reserve adjacent slots for the swap-out of these pages. Returns false if there are none.
    pub fn reserve_run(&mut self, pages: &Range<PageId>) -> bool {
        self.scheme.reserve_run(pages.start, pages.len() as u32)
    }

    /// Whether these pages are in the slots of one run.
    pub fn is_run(&self, pages: &Range<PageId>) -> bool {
        self.scheme.is_run(pages.start, pages.len() as u32)
    }

    /// Serve a fault on `page` while its content is still in memory under write-back. Nothing is
    /// transferred, and nothing is read ahead. Returns whether swap keeps a copy.
    pub fn found_in_memory(&mut self, page: PageId, op: Op) -> bool {
        self.out.clear();
        self.charged = Charge::default();
        let served = self.scheme.fault(page, op, &mut self.out);
        for neighbor in std::mem::take(&mut self.out.ahead) {
            self.scheme.swap_out(neighbor, false, &mut self.out);
        }
        matches!(served, Served::Copied { kept: true })
    }

    pub fn swap_out(&mut self, page: PageId, dirty: bool) -> Stored {
        self.out.clear();
        let stored = self.scheme.swap_out(page, dirty, &mut self.out);
        std::mem::swap(&mut self.given_up, &mut self.out.given_up);
        self.ledger.charge(&self.out, &self.spec.prices, &mut self.charged);
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

    /// The writes of the last call, as pages and media.
    pub fn writes(&self) -> impl Iterator<Item = (PageId, Medium)> + '_ {
        self.out.steps.iter().filter_map(|transfer| match transfer.step {
            Step::Write { medium, .. } => Some((transfer.page, medium)),
            _ => None,
        })
    }

    /// Charge a use of a page mapped in place, which reads `lines` of its cache lines from NVM.
    /// Returns the time that this takes, in ns.
    pub fn read_lines(&mut self, lines: u64) -> u64 {
        self.ledger.read_lines(Medium::Nvm, lines, &self.spec.prices)
    }

    /// Charge a reference of a replay to a page mapped in place. It is one access and reads one
    /// line, unless Direct Reads are free.
    pub fn mapped_reference(&mut self) {
        self.moves.mapped_references += 1;
        self.read_lines(self.spec.scheme.lines_per_direct_read().unwrap_or(0).min(1));
    }

    /// Whether the scheme has a cache below pages of files, too.
    pub fn caches_files(&self) -> bool {
        self.scheme.caches_files()
    }

    /// Handle a clean file page that leaves memory. `charged` has the costs of the transfers.
    pub fn file_left(&mut self, page: PageId) {
        self.out.clear();
        self.scheme.file_left(page, &mut self.out);
        self.ledger.charge(&self.out, &self.spec.prices, &mut self.charged);
        self.note_usage();
    }

    /// Emit the transfers that read these file pages. They are charged to the account of files.
    pub fn read_files(&mut self, window: &[PageId], out: &mut Transfers) {
        self.scheme.read_files(window, out);
    }

    /// The storage medium to which the last swap-out writes `page` itself.
    pub fn storage_of(&self, page: PageId) -> Option<Medium> {
        self.out.steps.iter().find_map(|transfer| match transfer.step {
            Step::Write { medium, .. } if transfer.page == page => {
                (self.spec.prices.device(medium).attachment == Attachment::Storage).then_some(medium)
            }
            _ => None,
        })
    }

    /// Run the scheme's background work at time `now`. Content moves only between its media.
    pub fn tick(&mut self, now: Nanos) {
        self.out.clear();
        self.scheme.tick(now, &mut self.out);
        self.ledger.charge(&self.out, &self.spec.prices, &mut self.charged);
        self.note_usage();
    }

    pub fn discard(&mut self, page: PageId) {
        self.scheme.discard(page);
    }

    /// The memory and pages that the scheme uses, in bytes of the run's page size.
    pub fn usage(&self) -> Usage {
        let (usage, scale) = (self.scheme.usage(), self.spec.prices.page_bytes() / PAGE_SIZE);
        Usage { dram_bytes: usage.dram_bytes * scale, nvm_bytes: usage.nvm_bytes * scale, flash_bytes: usage.flash_bytes * scale, ..usage }
    }

    /// Number of DRAM pages, of the run's page size, that contents take.
    pub fn dram_pages(&self) -> u64 {
        // The scheme counts each of the run's pages as 4 KiB, so the number needs no scaling.
        self.scheme.usage().dram_bytes.div_ceil(PAGE_SIZE)
    }

    /// Check every invariant of the scheme.
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

    /// Reset the costs and counts of all transfers so far.
    pub fn forget_costs(&mut self) {
        (self.moves, self.ledger) = (Moves::default(), Ledger::default());
    }

    #[cfg(test)]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Time for which the media were busy with reads and with writes, in nanoseconds.
    pub fn busy_ns(&self) -> (u64, u64) {
        let (read, write) = self.ledger.busy();
        (read.0, write.0)
    }

    /// The message for a full swap area.
    pub fn full(&self) -> String {
        format!("swap '{}' is full with {} pages", self.spec.scheme.text, self.scheme.usage().pages)
    }

    /// Page traffic of the scheme. All other counts are left null.
    pub fn paging(&self) -> Paging {
        let (moves, page) = (&self.moves, self.spec.prices.page_bytes());
        let count = |number: u64| Some(number as f64);
        let written = |medium| self.ledger.of(medium).write_bytes;
        Paging {
            swap_in_bytes: count((moves.copied_pages + moves.read_ahead) * page),
            swap_out_bytes: count(moves.swapped_out * page),
            copied_pages: count(moves.copied_pages),
            direct_reads: count(moves.direct_reads),
            promotions: count(moves.promotions),
            zero_fills: count(moves.zero_fills),
            read_ahead_pages: count(moves.read_ahead),
            mapped_references: count(moves.mapped_references),
            unchanged_pages: count(moves.unchanged),
            nvm_write_bytes: count(written(Medium::Nvm)),
            flash_write_bytes: count(written(Medium::Flash) + written(Medium::SdCard)),
            ..Paging::default()
        }
    }

    /// Peaks of memory with `frames` frames. `pool_within`: the pool takes some of them.
    pub fn memory(&self, frames: u64, pool_within: bool) -> Memory {
        let (peak, dram) = (&self.peak, frames * self.spec.prices.page_bytes());
        let pool = if pool_within { 0 } else { peak.dram_bytes };
        let amount = |bytes: u64| Some(bytes as f64);
        Memory {
            dram_bytes: amount(dram),
            pool_bytes: amount(pool),
            metadata_bytes: amount(peak.metadata_bytes),
            other_medium_bytes: amount(peak.nvm_bytes + peak.flash_bytes),
            nvm_bytes: amount(peak.nvm_bytes),
            flash_bytes: amount(peak.flash_bytes),
            total_dram_bytes: amount(dram + pool + peak.metadata_bytes),
            pool_peak_bytes: amount(peak.dram_bytes),
        }
    }

    /// The use of the scheme's media, by name. Idle energy is that of the largest amount of data on
    /// each.
    pub fn media(&self) -> BTreeMap<String, MediumUse> {
        self.ledger.media(&self.spec.prices, self.spec.seconds, |medium| self.peak_bytes(medium))
    }

    /// Processor time of the scheme's work, and its energy in joules.
    pub fn processor(&self) -> (Nanos, f64) {
        (self.ledger.cpu, self.ledger.cpu_j(&self.spec.prices))
    }

    /// The scheme's own figures, by name.
    pub fn gauges(&self) -> BTreeMap<String, f64> {
        self.scheme.gauges().into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    /// The largest number of bytes on `medium`.
    fn peak_bytes(&self, medium: Medium) -> u64 {
        match medium {
            Medium::Dram | Medium::Pool => self.peak.dram_bytes,
            Medium::Nvm => self.peak.nvm_bytes,
            Medium::Flash | Medium::SdCard => self.peak.flash_bytes,
        }
    }
}
