//! Kim and Bahn's simulation (2019, Section IV) of an NVM cache before storage, with the requests
//! of a block or swap trace.

use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use swaplab_policy::PolicySpec;
use swaplab_swap::admission::AdmissionSpec;
use swaplab_swap::cache::{Cache, MissOutcome};
use swaplab_swap::Compressibility;
use swaplab_trace::import::partitions::SWAP;
use swaplab_trace::source::Progress;
use swaplab_trace::Trace;
use swaplab_vocab::{unknown_key, Access, BadInput, Memory, Result};

/// The requests that fill the NVM (docs/papers/nvm-swap-cache.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Every miss is a candidate for admission, as the paper's simulation section says.
    Demand,
    /// Only writes, which are evictions from DRAM, are candidates for admission, as the paper's
    /// text says. Reads are only looked up.
    Evictions,
    /// As `demand`, but only for requests to the swap partition; the others bypass the NVM.
    SwapOnly,
}

impl Fill {
    pub fn parse(text: &str) -> Result<Fill> {
        match text {
            "demand" => Ok(Fill::Demand),
            "evictions" => Ok(Fill::Evictions),
            "swap-only" => Ok(Fill::SwapOnly),
            other => Err(unknown_key("fill", "fill", other, ["demand", "evictions", "swap-only"])),
        }
    }
}

#[derive(Clone)]
pub struct PointSpec {
    pub size: Memory,
    pub replacement: PolicySpec,
    pub admission: AdmissionSpec,
    pub fill: Fill,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub storage_reads: u64,
    /// Includes write-back of victims.
    pub storage_writes: u64,
    pub nvm_hits: u64,
    pub admitted: u64,
    pub bypassed: u64,
}

/// The result of one point.
#[derive(Clone, Debug, Serialize)]
pub struct CacheResult {
    pub size_bytes: u64,
    pub replacement: String,
    pub admission: String,
    pub fill: Fill,
    #[serde(flatten)]
    pub counts: Counts,
    /// Pages written to the NVM: admissions and write hits.
    pub nvm_writes: u64,
    pub metadata_bytes: u64,
}

struct Point {
    spec: PointSpec,
    size_bytes: u64,
    cache: Cache,
    counts: Counts,
    nvm_writes: u64,
}

impl Point {
    fn request(&mut self, access: Access, swap: bool) {
        let (page, op) = (access.page(), access.op());
        if self.spec.fill == Fill::SwapOnly && !swap {
            self.storage(op.is_write());
        } else if self.cache.holds(page) {
            self.counts.nvm_hits += 1;
            self.nvm_writes += u64::from(op.is_write());
            self.cache.hit(page, op);
        } else if self.spec.fill == Fill::Evictions && !op.is_write() {
            self.cache.note_miss(page);
            self.storage(false);
        } else {
            match self.cache.offer(page, op, op.is_write()) {
                MissOutcome::Bypassed => {
                    self.counts.bypassed += 1;
                    self.storage(op.is_write());
                }
                MissOutcome::Entered { victim } => {
                    self.counts.admitted += 1;
                    self.nvm_writes += 1;
                    if victim.is_some_and(|(_, dirty)| dirty) {
                        self.storage(true);
                    }
                    // A written page need not be read from storage.
                    if !op.is_write() {
                        self.storage(false);
                    }
                }
            }
        }
    }

    fn storage(&mut self, write: bool) {
        *(if write { &mut self.counts.storage_writes } else { &mut self.counts.storage_reads }) += 1;
    }
}

/// Simulate every point in one pass. `progress` is called with the number of blocks done and of all
/// blocks.
pub fn simulate(trace: &Trace, specs: &[PointSpec], jobs: usize, progress: Progress) -> Result<Vec<CacheResult>> {
    trace.require_references()?;
    let table = trace.page_table()?;
    let swap_app = trace.meta.apps.iter().position(|a| a.name == SWAP);
    if swap_app.is_none() && specs.iter().any(|s| s.fill == Fill::SwapOnly) {
        return Err(BadInput::new(
            trace.place(),
            "no partition 'swap'",
            "a block trace with requests to a partition that its import named swap, for swap-only",
        ));
    }
    let content = Arc::new(Compressibility::sampled(0));
    let point = |spec: &PointSpec| {
        let pages = spec.size.pages(trace.page_size, table.len() as u64)?;
        let cache = Cache::new(table.len(), pages, &spec.replacement, &spec.admission, content.clone())?;
        Ok(Point { spec: spec.clone(), size_bytes: pages * trace.page_size, cache, counts: Counts::default(), nvm_writes: 0 })
    };
    let mut points = specs.iter().map(point).collect::<Result<Vec<_>>>()?;
    let pool = crate::threads::pool(jobs, points.len())?;
    trace.for_each_block(progress, |block| {
        let step = |point: &mut Point| {
            for access in &block.accesses {
                let swap = swap_app == Some(usize::from(table.apps[access.page() as usize]));
                point.request(*access, swap);
            }
        };
        pool.install(|| points.par_iter_mut().for_each(step));
        Ok(())
    })?;
    let outcome = |p: Point| CacheResult {
        size_bytes: p.size_bytes,
        replacement: p.spec.replacement.text,
        admission: p.spec.admission.text,
        fill: p.spec.fill,
        counts: p.counts,
        nvm_writes: p.nvm_writes,
        metadata_bytes: p.cache.metadata_bytes(),
    };
    Ok(points.into_iter().map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_trace::{Codec, Kind, TraceBuilder};
    use swaplab_vocab::Op;

    /// Six requests of page 1 of files and pages 2 and 3 of swap, through a cache of two pages by
    /// LRU: written 2, read 1, read 2, read 1, written 1, read 3.
    #[test]
    fn what_fills_the_cache_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.slt");
        let mut builder = TraceBuilder::create(&path, Kind::Page, 4096, Codec::Zstd).unwrap();
        ["file", SWAP].iter().for_each(|name| _ = builder.app(name, None).unwrap());
        for (app, page, op) in
            [(1, 2, Op::Write), (0, 1, Op::Read), (1, 2, Op::Read), (0, 1, Op::Read), (0, 1, Op::Write), (1, 3, Op::Read)]
        {
            builder.access(app, page, op).unwrap();
        }
        builder.finish().unwrap();
        let spec = |fill: &str| PointSpec {
            size: Memory::Pages(2),
            replacement: PolicySpec::parse("lru").unwrap(),
            admission: AdmissionSpec::parse("always").unwrap(),
            fill: Fill::parse(fill).unwrap(),
        };
        let fills = ["demand", "evictions", "swap-only"].map(spec);
        let outcomes = simulate(&Trace::open(&path).unwrap(), &fills, 1, &mut |_, _| true).unwrap();
        let counts =
            |storage_reads, storage_writes, nvm_hits, admitted| Counts { storage_reads, storage_writes, nvm_hits, admitted, bypassed: 0 };
        // By demand 3 enters last, for which 2 is written back.
        let expected = [(counts(2, 1, 3, 3), 4), (counts(3, 0, 1, 2), 2), (counts(3, 1, 1, 2), 2)];
        assert_eq!([0, 1, 2].map(|at: usize| (outcomes[at].counts, outcomes[at].nvm_writes)), expected);
        assert!(outcomes.iter().all(|outcome| outcome.size_bytes == 2 * 4096));
    }
}
