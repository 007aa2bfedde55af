//! Builds a machine from its settings.

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::files::FileReads;
use super::folios::Folios;
use super::foresight::Foresight;
use super::frames::page_lists::PageLists;
use super::frames::{Frames, Watermarks};
use super::hotness::Hotness;
use super::killer::KillerTask;
use super::kswapd::Kswapd;
use super::prefetch::Prefetch;
use super::queue::WriteBack;
use super::record::{Counts, Record};
use super::rules::Rules;
use super::senders::Outgoing;
use super::writes::FileWrites;
use super::Machine;
use crate::phone::spec::{Design, PagePolicy, Phone};
use crate::phone::user::apps::Apps;
use crate::replay::SwapSide;
use swaplab_policy::{Costs, Policy, Residency, Setup};
use swaplab_swap::Medium;
use swaplab_vocab::{Nanos, Result};

/// Build the machine of `phone` under `design`, before it has booted. `shared` are the names of the
/// ranges of shared pages; `seconds` is
/// [`Sequence::counted_seconds`](crate::phone::spec::Sequence::counted_seconds).
pub fn build(phone: &Phone, design: &Design, apps: Apps, shared: Vec<String>, seed: u64, seconds: f64) -> Result<Machine> {
    let (layout, page_bytes) = (&apps.layout, phone.page_bytes);
    let (pages, count) = (layout.owners.len(), layout.apps.len());
    let folios = Folios::new(phone.folio_pages, layout);
    let states = Residency::new(layout.classes.iter().copied());
    let mut frames = Frames::new(states, policy(phone, design, &apps, seed)?, phone.frames, phone.kernel_frames, folios, layout);
    frames.marks = Watermarks::of(phone.frames, phone.extra_free_frames, page_bytes);
    frames.lists = phone.kswapd_shares().then(|| PageLists::new(phone.frames, frames.marks.low));
    let dram_pages = phone.dram_bytes / page_bytes;
    let setup = swaplab_swap::Setup {
        dram_pages,
        files: true,
        bypasses_swap_cache: design.policy.bypasses_swap_cache(),
        ..swaplab_swap::Setup::new(pages, phone.frames)
    };
    let side = SwapSide::new(&design.swap_of(phone, seconds)?, &setup)?;
    let capacity = design.swap.area_bytes(phone.dram_bytes)?.map(|bytes| bytes / page_bytes);
    let mut swap = SwapEntries::new(side, capacity, pages, count, layout.shared.len());
    swap.exists = design.swap.swaps();
    swap.pool_takes_frames = phone.pool_in_dram && design.swap.compresses();
    Ok(Machine {
        clock: StallClock::new(WriteBack::new(phone.io_order, pages), &phone.prices),
        prefetch: Prefetch::new(count, Hotness::new(design.gate.wants_hotness(), pages)),
        files: FileReads::new(pages, phone.read_ahead_pages, phone.reads_ahead),
        rules: Rules {
            gate: design.gate.clone(),
            proactive: design.proactive,
            scan_ns: phone.scan_ns,
            page_work: phone.page_work,
            exit_ns: phone.exit_ns,
            write_back_holds_frames: phone.write_back_holds_frames,
            lines_per_direct_read: design.swap.lines_per_direct_read().unwrap_or(0),
            file_writes: FileWrites::default(),
        },
        killer: KillerTask::new(design.killer.clone()),
        prices: phone.prices.clone(),
        record: Record { scores: design.killer.spread.scores(), ..Record::new(page_bytes, count, shared) },
        counts: Counts::default(),
        kswapd: Kswapd::new(phone.kswapd_shares(), phone.kswapd_speed_and_power()),
        outgoing: Outgoing::default(),
        failed: None,
        apps,
        frames,
        swap,
    })
}

fn policy(phone: &Phone, design: &Design, apps: &Apps, seed: u64) -> Result<Box<dyn Policy>> {
    let pages = apps.layout.owners.len();
    let flash = phone.prices.device(Medium::Flash);
    let (Nanos(read), Nanos(write)) = (flash.read_time(phone.page_bytes), flash.write_time(phone.page_bytes));
    let costs = Costs { swap_read_ns: read, swap_write_ns: write, file_read_ns: read, file_write_ns: write };
    let mut policy = match &design.policy {
        PagePolicy::Foresight => Box::new(Foresight::new(apps.plan.clone(), pages)),
        PagePolicy::Registry(spec) => spec.build(&Setup { pages, frames: phone.frames, costs, seed, future: None })?.boxed(),
    };
    policy.set_swappable(design.swap.swaps());
    Ok(policy)
}
