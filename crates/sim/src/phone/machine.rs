//! The phone's memory: frames and what holds them. Faults are in `fault`, reclaim and kills in `reclaim`.

use super::foresight::Foresight;
use super::hotness::Hotness;
use super::layout::{pages, AppPages, Layout, SYSTEM};
use super::plan::Plan;
use super::prepage::Trail;
use super::proactive::Proactive;
use super::queue::WriteBack;
use super::record::{Record, Sample, Stalls, Traffic};
use super::spec::{Sim, SimScheme};
use crate::ledger::{Ledger, Prices};
use crate::replay::SwapSide;
use std::sync::Arc;
use swaplab_apps::a2s::Gate;
use swaplab_apps::{Killer, Launcher};
use swaplab_policy::{AnyPolicy, Backing, Costs, Pages, PolicySpec, Setup};
use swaplab_swap::Medium;
use swaplab_vocab::{AppId, BadInput, PageId, Result, PAGE_SIZE};

/// Free frames at which background reclaim starts and stops, and below which the one who needs a frame reclaims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    pub min: usize,
    pub low: usize,
    pub high: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub faults: u64,
    pub file_reads: u64,
    /// File pages read that had been in memory before.
    pub file_refaults: u64,
    pub swap_full: u64,
    pub direct_reclaim_ns: u64,
    pub background_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
}

pub struct Machine {
    pub layout: Layout,
    pub launcher: Launcher,
    pub(super) killer: Killer,
    pub(super) gate: Gate,
    pub(super) pages: Pages,
    pub(super) policy: AnyPolicy,
    pub frames: usize,
    pub(super) used: usize,
    /// Frames that are never reclaimed: kernel, graphics.
    pub(super) pinned: usize,
    pub(super) graphics: Vec<usize>,
    system_graphics: usize,
    pub(super) file_pages: usize,
    /// Frames with anonymous pages of system processes.
    pub(super) system_anon: usize,
    pub(super) marks: Watermarks,
    /// Pages reclaimed at once.
    pub(super) batch: usize,
    pub(super) swap: SwapSide,
    pub(super) swap_pages: Option<u64>,
    /// There is swap.
    pub(super) swappable: bool,
    /// The scheme compresses, and its pool takes frames.
    pub(super) pool_in_dram: bool,
    pub(super) files: Ledger,
    pub(super) prices: Arc<Prices>,
    pub(super) readahead: u32,
    pub(super) scan_ns: u64,
    pub(super) seen: Vec<bool>,
    pub now_ns: u64,
    /// What whoever runs now has waited for since it was last taken, and the sum of it.
    pub(super) waited: Stalls,
    pub(super) waited_ns: u64,
    pub(super) write_back: WriteBack,
    /// Reads that are under way together, by medium, while pages are brought in before they are asked for.
    pub(super) together: Option<[u64; 5]>,
    /// Of their time, so much passes beside an app's own work: nobody waits for it, and the clock does not show it twice.
    pub(super) beside_ns: u64,
    pub(super) plan: Arc<Plan>,
    pub(super) trail: Trail,
    pub(super) hotness: Hotness,
    pub(super) proactive: Proactive,
    /// Waited since the last beat of proactive reclaim.
    pub(super) felt_ns: u64,
    pub(super) second: (u64, u64, u64),
    pub(super) idle_passes: u32,
    pub record: Record,
    /// The stay in swap that a page's slot belongs to.
    pub(super) entry_of: Vec<u32>,
    /// Stays whose owner lives, by app, then by range of shared pages.
    pub(super) open: Vec<Vec<u32>>,
    pub counts: Counts,
    pub(super) failed: Option<String>,
}

/// Belady's optimum: not the registry's, which counts references.
pub(super) const OPT: &str = "opt";

/// No stay in swap.
pub(super) const NONE: u32 = u32::MAX;

/// Linux `SWAP_CLUSTER_MAX`.
const BATCH: usize = 32;

impl Machine {
    pub fn new(sim: &Sim, scheme: &SimScheme, layout: Layout, launcher: Launcher, plan: Plan, seed: u64, seconds: f64) -> Result<Machine> {
        let (phone, total) = (&sim.phone, layout.owners.len());
        let page_bytes = phone.page_bytes();
        let frames = pages(phone.dram_mib - phone.reserved_mib, page_bytes);
        let prices = phone.prices()?;
        let flash = prices.device(Medium::Flash);
        let nanos = |n: swaplab_vocab::Nanos| n.0;
        let (read, write) = (nanos(flash.read_time(page_bytes)), nanos(flash.write_time(page_bytes)));
        let costs = Costs { swap_read_ns: read, swap_write_ns: write, file_read_ns: read, file_write_ns: write };
        let setup = Setup { pages: total, frames, costs, seed, future: None };
        let spec = scheme.swap(&prices, seconds)?;
        let swap = SwapSide::new(&spec, total, frames)?;
        let plan = Arc::new(plan);
        let apps = layout.apps.len();
        let shared_names = sim.apps.shared.iter().map(|shared| shared.name.clone()).collect();
        let gate = scheme.gate();
        let hotness = Hotness::new(gate.wants_hotness(), total);
        let swappable = !scheme.swap.starts_with("none");
        let mut policy = match scheme.policy(phone) {
            OPT => AnyPolicy::External(Box::new(Foresight::new(plan.clone(), total))),
            text => PolicySpec::parse(text)?.build(&setup)?,
        };
        policy.as_dyn_mut().swappable(swappable);
        Ok(Machine {
            policy,
            swappable,
            pool_in_dram: phone.pool_in_dram && spec.scheme.compresses(),
            pages: Pages::new(layout.classes.iter().copied()),
            marks: watermarks(frames, phone.extra_free_kb, phone.page_kib),
            batch: BATCH,
            pinned: pages(phone.kernel_mib, page_bytes),
            graphics: vec![0; apps],
            killer: scheme.killer(phone),
            gate,
            swap_pages: limit_of(&scheme.swap).map(|pages| pages * PAGE_SIZE / page_bytes),
            seen: vec![false; total],
            entry_of: vec![NONE; total],
            open: vec![Vec::new(); apps + layout.shared.len()],
            readahead: (phone.file_readahead * PAGE_SIZE as u32 / page_bytes as u32).max(1),
            scan_ns: phone.scan_ns,
            files: Ledger::default(),
            record: Record {
                page_bytes,
                traffic: vec![Traffic::default(); apps + layout.shared.len() + 1],
                shared: shared_names,
                ..Record::default()
            },
            counts: Counts::default(),
            failed: None,
            used: 0,
            file_pages: 0,
            system_graphics: 0,
            system_anon: 0,
            now_ns: 0,
            waited: Stalls::default(),
            waited_ns: 0,
            write_back: WriteBack::new(phone.io_queue),
            together: None,
            beside_ns: 0,
            trail: Trail::new(apps),
            hotness,
            proactive: scheme.proactive.unwrap_or(phone.proactive),
            felt_ns: 0,
            plan,
            second: (0, 0, 0),
            idle_passes: 0,
            layout,
            launcher,
            frames,
            swap,
            prices,
        })
    }

    /// Frames without content.
    pub fn free(&self) -> usize {
        self.frames.saturating_sub(self.held())
    }

    /// Frames in use: by pages, by what is never reclaimed, by the pool.
    pub(super) fn held(&self) -> usize {
        self.used + self.pinned + self.pool()
    }

    /// Frames that hold compressed pages.
    fn pool(&self) -> usize {
        if self.pool_in_dram {
            self.swap.usage().dram_bytes.div_ceil(self.layout.page_bytes) as usize
        } else {
            0
        }
    }

    /// `page` got a frame, or gave its own back.
    pub(super) fn count(&mut self, page: PageId, entered: bool) {
        let system = self.layout.owners[page as usize] == SYSTEM;
        let file = self.pages.backing(page) == Backing::File;
        let of = [(&mut self.used, true), (&mut self.file_pages, file), (&mut self.system_anon, system && !file)];
        for (count, counts) in of {
            *count = if entered { *count + usize::from(counts) } else { *count - usize::from(counts) };
        }
    }

    /// Graphics memory of an app grows or shrinks to this many frames.
    pub fn set_graphics(&mut self, app: AppId, frames: usize) {
        while self.graphics[usize::from(app)] < frames {
            self.need_frame();
            self.pinned += 1;
            self.graphics[usize::from(app)] += 1;
        }
        self.pinned -= self.graphics[usize::from(app)] - frames;
        self.graphics[usize::from(app)] = frames;
    }

    /// Graphics memory of the system itself.
    pub fn pin_graphics(&mut self, frames: usize) {
        self.pinned += frames;
        self.system_graphics += frames;
    }

    pub fn pages_of(&self, app: AppId) -> AppPages {
        self.layout.of(app).clone()
    }

    /// Waiting since the last call.
    pub fn take_waited(&mut self) -> Stalls {
        self.now_ns += std::mem::take(&mut self.waited_ns);
        std::mem::take(&mut self.waited)
    }

    /// Memory as it is now goes into the timeline.
    pub fn sample(&mut self) {
        let graphics: usize = self.graphics.iter().sum::<usize>() + self.system_graphics;
        let usage = self.swap.usage();
        self.record.timeline.push(Sample {
            at_ns: self.clock(),
            free: self.free() as u64,
            app_anon: (self.used - self.file_pages - self.system_anon) as u64,
            system_anon: self.system_anon as u64,
            file: self.file_pages as u64,
            graphics: graphics as u64,
            kernel: (self.pinned - graphics) as u64,
            swap: usage.pages,
            pool_bytes: usage.dram_bytes,
            live: self.launcher.live() as u64,
        });
    }

    /// Why the run can't go on, if it can't.
    pub fn failed(&mut self) -> Result<()> {
        match self.failed.take() {
            Some(why) => Err(BadInput::new("sim.phone.dram_mib", why, "memory for one app's launch set beside the system")),
            None => Ok(()),
        }
    }

    pub fn swap(&self) -> &SwapSide {
        &self.swap
    }

    pub fn files(&self) -> &Ledger {
        &self.files
    }

    pub fn prices(&self) -> &Prices {
        &self.prices
    }
}

/// Linux `__setup_per_zone_wmarks`: `min_free_kbytes` is 4 times the root of the kilobytes; Android's extra is on top of low and high.
fn watermarks(frames: usize, extra_free_kb: u64, page_kib: u64) -> Watermarks {
    let page = page_kib as usize;
    let min = (((frames * page * 16) as f64).sqrt() / page as f64) as usize;
    let extra = extra_free_kb as usize / page;
    Watermarks { min, low: min + min / 4 + extra, high: min + min / 2 + extra }
}

/// Pages of the swap area, if it is limited.
pub(super) fn limit_of(swap: &str) -> Option<u64> {
    let size = swap.split([':', ',']).find_map(|part| part.strip_prefix("size="))?;
    swaplab_vocab::Memory::parse(size).ok()?.pages(PAGE_SIZE, 0).ok()
}
