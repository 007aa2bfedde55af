//! Conservation laws: frames, slots, bytes, moved pages and time add up for any scheme, policy,
//! killer, I/O order and memory size.

use super::small::{booted, check, design, models, only, rows_of, small};
use crate::ledger::Account;
use crate::phone::machine::stays::Freed;
use crate::phone::run::PhoneRun;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use swaplab_apps::compaction::Compact;
use swaplab_experiment::apps::Shared;
use swaplab_experiment::{Background, Experiment, Heap, IoOrder, KswapdCore, Mib, Prepage, Proactive, Services, Size, Span};
use swaplab_swap::Medium;

const SWAPS: [&str; 11] = [
    "none",
    "flash",
    "flash:readahead=8",
    "zram",
    "zswap",
    "tiered",
    "ramdisk",
    "nvm-copy",
    "nvm-direct",
    "nvm-cache:nvm=4MiB",
    "nvm-cache:nvm=2MiB,admission=always,readahead=8",
];
const POLICIES: [&str; 7] =
    ["active-inactive", "active-inactive:kernel=3.4", "active-inactive:kernel=6.12", "mglru", "clock", "lru", "arc"];
const APP_POLICIES: [&str; 4] = ["none", "ess", "lvsp", "a2s"];
const KILLERS: [&str; 4] = ["minfree:minfree_kb=[4608;5760;6912;8064;9216;11520]", "lmkd", "when-swap-full", "off"];
const ORDERS: [IoOrder; 5] = [IoOrder::Noop, IoOrder::CfqLike, IoOrder::RowLike, IoOrder::MqDeadlineLike, IoOrder::ReadsFirst];
const REQUESTS: [&str; 3] = ["4KiB", "64KiB", "512KiB"];
const LAUNCHES: usize = 30;

/// Options of apps and later designs.
const EXTRAS: [fn(&mut Experiment); 8] = [
    |experiment| {
        experiment.machine.background = Background {
            gc_every: seconds(60),
            gc_share: 1.0,
            activity_every: seconds(30),
            activity_share: 0.1,
            freeze_after: seconds(600),
            compact: Compact::Full,
            ..Background::default()
        }
    },
    |experiment| {
        let (heap, services) = (
            Heap { rate: Mib(0.5), background_rate: Mib(0.01), collect_after: seconds(5), ..Heap::default() },
            Services {
                restart: true,
                sticky: 2,
                every: seconds(20),
                share: 0.2,
                daemons_every: seconds(15),
                daemons_share: 0.1,
                ..Services::default()
            },
        );
        experiment.machine.background =
            Background { heap, services, compact: Compact::Aosp, compact_after: seconds(10), ..Background::default() };
        experiment.machine.kernel.exit_ns = 20_000;
    },
    |experiment| {
        let range = |name: &str, apps, system| Shared { name: name.into(), anon: Mib(2.0), file: Mib(1.0), apps, system };
        models(experiment).shared = vec![range("zygote", 1.0, true), range("buffer", 0.2, false)];
    },
    |experiment| experiment.design[0].prepage = Prepage::Asap,
    |experiment| experiment.design[0].proactive = Some(Proactive { every: seconds(6), ratio: 0.01, threshold: 0.1 }),
    |experiment| models(experiment).file_writes.every = seconds(1),
    |experiment| experiment.machine.devices.flash = "emmc-nexus-5:gc=slow".into(),
    |experiment| experiment.machine.devices.flash = "ufs-3.1:gc=fast,rates=slow".into(),
];

fn seconds(s: u64) -> Span {
    Span::parse(&format!("{s}s")).unwrap()
}

prop_compose! {
    /// A small phone with a design of any kind. Memory is large enough for apps to run without a
    /// killer. Each bit of `extras` is one of [`EXTRAS`].
    fn phones()(
        swap in 0..SWAPS.len(), mib in 4u64..64, policy in 0..POLICIES.len(), app_policy in 0..APP_POLICIES.len(), killer in 0..KILLERS.len(),
        order in 0..ORDERS.len(), dram in 80u64..128, page_cluster in 0u64..4, swappiness in 0u64..=200, request in 0..REQUESTS.len(), holds: bool, cores in 1u64..3, kswapd_core in 0..3usize,
        seed in 0u64..1000, extras in 0u32..1 << EXTRAS.len(),
    ) -> Experiment {
        let text = if SWAPS[swap] == "none" { "none".into() } else {
            let separator = if SWAPS[swap].contains(':') { ',' } else { ':' };
            format!("{}{separator}size={mib}MiB", SWAPS[swap])
        };
        let mut experiment = small(vec![design("s", &text, APP_POLICIES[app_policy])]);
        experiment.design[0].policy = only(POLICIES[policy]);
        let machine = &mut experiment.machine;
        (machine.killer, machine.dram) = (KILLERS[killer].parse().unwrap(), Some(Size::parse(&format!("{dram}MiB")).unwrap()));
        machine.cores = cores;
        machine.kernel.kswapd_core = [KswapdCore::Own, KswapdCore::Little, KswapdCore::App][kswapd_core];
        let kernel = &mut machine.kernel;
        (kernel.page_cluster, kernel.swappiness, kernel.io_order, kernel.write_back_holds_frames) =
            (Some(page_cluster), Some(swappiness), ORDERS[order], holds);
        kernel.max_request = Some(Size::parse(REQUESTS[request]).unwrap());
        experiment.run.seed = seed;
        EXTRAS.iter().enumerate().filter(|(bit, _)| extras >> bit & 1 == 1).for_each(|(_, change)| change(&mut experiment));
        experiment
    }
}

/// Check the conservation laws after a launch that began at `began_ns`.
fn check_laws(phone: &PhoneRun, began_ns: u64) -> Result<(), String> {
    let machine = &phone.machine;
    check(machine)?;
    let equal = |what: &str, first: u64, second: u64| if first == second { Ok(()) } else { Err(format!("{what}: {first} and {second}")) };
    let (side, record, page_bytes) = (&machine.swap.side, &machine.record, machine.record.page_bytes);
    // Each stay in swap has ended in one way, or lasts.
    let ended = |how| machine.swap.stays.iter().filter(|(stay, _)| stay.freed().is_some_and(|(_, ended)| ended == how)).count() as u64;
    let stays = [Freed::Copy, Freed::Discard, Freed::Owner].map(ended).iter().sum::<u64>() + side.usage().pages;
    equal("pages swapped out and stays in swap", side.moves.swapped_out, stays)?;
    // Each moved page is in the traffic of one owner.
    let traffic = |of: fn(&_) -> u64| record.traffic.iter().map(of).sum::<u64>();
    equal("pages swapped out and by owner", side.moves.swapped_out, traffic(|t| t.swapped_out))?;
    equal("pages copied and by owner", side.moves.copied_pages + side.moves.read_ahead, traffic(|t| t.swapped_in))?;
    equal("direct reads and by owner", side.moves.direct_reads, traffic(|t| t.direct_reads))?;
    // The bytes of the device are those of the counted pages.
    let of_files = |of: fn(&Account) -> u64| [Medium::Flash, Medium::Nvm].map(|medium| of(machine.files.ledger.of(medium)));
    equal("bytes and pages of files", of_files(|a| a.read_bytes).iter().sum(), traffic(|t| t.file_reads) * page_bytes)?;
    let [to_flash, to_nvm] = of_files(|a| a.write_bytes);
    equal("bytes that files write to NVM", to_nvm, 0)?;
    if machine.rules.write_back_holds_frames {
        let written = side.ledger().of(Medium::Flash).write_bytes + to_flash;
        equal("flash bytes written and handed over", written, machine.clock.write_back.bytes(Medium::Flash))?;
    }
    // Time: from the request until the app is ready the clock shows its work and its stalls and
    // nothing else. Each wait in a queue is for a sender. Faults of launches are among all faults.
    let launch = record.launches.last().ok_or("no launch was recorded")?;
    equal("time of the request", launch.at_ns, began_ns)?;
    let s = &launch.stalls;
    let of_files = s.file_read_ns + s.file_cache_ns + s.file_write_ns;
    let reads = s.swap_read_ns.iter().sum::<u64>() + s.direct_read_ns + of_files;
    let of_memory = s.direct_reclaim_ns + s.write_back_ns + s.kswapd_ns;
    let parts = launch.cpu_ns + s.fault_cpu_ns + s.decompress_ns + reads + s.queue_ns + of_memory;
    equal("the launch on the clock and its parts", launch.ready_at_ns - launch.at_ns, parts)?;
    equal("the launch and its parts", launch.ready_ns(), parts)?;
    equal("waits in queues and by sender", s.queue_ns, launch.waits.iter().map(|(_, ns)| ns).sum())?;
    let faults: u64 = record.launches.iter().map(|launch| launch.faults).sum();
    if faults > machine.counts.faults || launch.stalls.fault_cpu_ns < launch.faults * machine.prices.processor().fault.0 {
        return Err(format!("{faults} faults of launches, {} in all; {launch:?}", machine.counts.faults));
    }
    if launch.stalls.kswapd_ns > machine.counts.background_ns {
        return Err(format!("kswapd worked for {} ns; {launch:?}", machine.counts.background_ns));
    }
    Ok(())
}

#[test]
fn frames_slots_bytes_and_time_add_up() {
    let (cases, swapped) = (ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() }, Cell::new(0));
    let mut runner = TestRunner::new(cases.clone());
    runner
        .run(&phones(), |experiment| {
            let booted = booted(&experiment);
            let mut phone = booted.phone();
            for launch in &booted.sequence().launches[..LAUNCHES] {
                // The request waits for background work that began before its time.
                phone.elapse(launch.at_ns);
                let began_ns = phone.machine.clock.settled_ns;
                prop_assert!(began_ns >= launch.at_ns);
                // The launch may fail because the phone is too small for its apps. The laws must
                // hold even then.
                let ended = phone.launch(launch);
                prop_assert_eq!(check_laws(&phone, began_ns), Ok(()));
                if ended.is_err() {
                    break;
                }
            }
            swapped.set(swapped.get() + u32::from(phone.machine.swap.side.moves.swapped_out > 0));
            Ok(())
        })
        .unwrap();
    // About half of the phones swap. The probability that at most an eighth of them does is below 1
    // in 10,000.
    assert!(swapped.get() > cases.cases / 8, "{} of {} phones swapped", swapped.get(), cases.cases);
}

/// On the app's core among eight kswapd takes the turns that it takes on the only one. On a little
/// core it takes no turns, and it needs more time than on a big one.
#[test]
fn kswapds_core_decides_who_waits_for_it() {
    let row = |cores: u64, core: KswapdCore| {
        let mut experiment = small(vec![design("s", "zram:size=64MiB", "none")]);
        (experiment.machine.cores, experiment.machine.kernel.kswapd_core) = (cores, core);
        rows_of(&experiment, 1).remove(0)
    };
    let [only, app, own, little] =
        [(1, KswapdCore::Own), (8, KswapdCore::App), (8, KswapdCore::Own), (8, KswapdCore::Little)].map(|(cores, core)| row(cores, core));
    assert_eq!(app, only);
    assert!(own.time.kswapd_ns > Some(0.0) && own.paging.swap_out_bytes > Some(0.0) && own != app);
    assert!(little.time.kswapd_ns > own.time.kswapd_ns, "{:?} and {:?}", little.time, own.time);
    assert!(little.paging.reclaimed_direct_pages >= own.paging.reclaimed_direct_pages && little != own);
    // The processor takes 2 W, and kswapd's part of it on a little core 5.1 % of that.
    for (row, power) in [(own, 1.0), (little, 0.051)] {
        let [user, system, kswapd] = [row.time.cpu_user_ns, row.time.cpu_system_ns, row.time.kswapd_ns].map(|ns| ns.unwrap() * 1e-9);
        let (counted, expected) = (row.energy.unwrap().parts_j["cpu"].unwrap(), 2.0 * (user + system - kswapd * (1.0 - power)));
        assert!((counted - expected).abs() < 1e-6 * expected, "{counted} and {expected}");
    }
}

/// With a pool outside of the frames recompression changes no eviction: it makes the pool smaller,
/// for more processor time. The document has its counts.
#[test]
fn recompression_trades_processor_time_for_a_smaller_pool() {
    let row = |options: &str| {
        let mut experiment = small(vec![design("s", &format!("zram:size=64MiB{options}"), "none")]);
        experiment.machine.pool_in_dram = false;
        rows_of(&experiment, 1).remove(0)
    };
    let [once, twice] = ["", ",recompress=zstd,recompress_every=60,recompress_idle=60,recompress_threshold=0"].map(row);
    assert!(twice.time.cpu_swap_ns > once.time.cpu_swap_ns, "{:?} and {:?}", twice.time, once.time);
    let [once, twice] = [once, twice].map(|row| row.phone.unwrap().scheme_gauges);
    assert!(twice["pool_bytes"] < 0.9 * once["pool_bytes"], "{twice:?} and {once:?}");
    assert!(twice["recompressed_pages"] > 0.0 && twice["recompression_saved_bytes"] > 0.0 && !once.contains_key("recompressed_pages"));
}

/// Large folios make fewer faults. Each that is swapped in was swapped out, and the document has
/// their counts.
#[test]
fn large_folios_make_fewer_faults() {
    let row = |mthp: Option<&str>| {
        let mut experiment = small(vec![design("s", "zram:size=64MiB", "none")]);
        experiment.machine.kernel.mthp = mthp.map(|size| swaplab_experiment::Size::parse(size).unwrap());
        rows_of(&experiment, 1).remove(0)
    };
    let [without, with] = [None, Some("64KiB")].map(row);
    assert!(with.paging.faults < without.paging.faults, "{:?} and {:?}", with.paging, without.paging);
    let folios = with.phone.unwrap().large_folios.unwrap();
    assert!(folios.allocated > 0.0 && folios.swapped_in > 0.0 && folios.swapped_out >= folios.swapped_in, "{folios:?}");
    assert!(without.phone.unwrap().large_folios.is_none());
}

/// Graphics memory that grows by many frames at once meets the same reclaim, wakes and kills as
/// frame by frame.
#[test]
fn graphics_grow_at_once_as_frame_by_frame() {
    for swap in ["none", "flash:size=8MiB", "zram"] {
        let booted = booted(&small(vec![design("s", swap, "none")]));
        let launches = &booted.sequence().launches[..30];
        let app = launches[29].app;
        let grown = |at_once: bool| {
            let mut phone = booted.phone();
            launches.iter().for_each(|launch| phone.launch(launch).unwrap());
            let machine = &mut phone.machine;
            let (before, scanned) = (machine.frames.graphics_of(app), machine.counts.scanned);
            let wanted = before + machine.free() + 500;
            (before + 1..=wanted).filter(|frames| !at_once || *frames == wanted).for_each(|frames| machine.set_graphics(app, frames));
            check(machine).unwrap();
            assert!(machine.counts.scanned > scanned && machine.frames.graphics_of(app) == wanted, "{swap}");
            (machine.frames.in_use, machine.counts, machine.record.kills.clone(), machine.clock.now(), machine.kswapd.is_awake())
        };
        assert_eq!(grown(true), grown(false), "{swap}");
    }
}
