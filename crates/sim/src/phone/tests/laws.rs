//! Conservation laws: frames, slots, bytes, moved pages and time add up for any scheme, policy, killer, I/O order and memory size.

use super::small::{booted, check, design, only, small};
use crate::phone::machine::stays::Freed;
use crate::phone::run::Phone;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use swaplab_experiment::{Experiment, IoOrder, Size};
use swaplab_swap::Medium;

const SWAPS: [&str; 9] = ["none", "flash", "flash:readahead=8", "zram", "zswap", "tiered", "ramdisk", "nvm-copy", "nvm-direct"];
const POLICIES: [&str; 5] = ["active-inactive", "mglru", "clock", "lru", "arc"];
const APP_POLICIES: [&str; 4] = ["none", "ess", "lvsp", "a2s"];
const KILLERS: [&str; 4] = ["minfree:minfree_kb=[4608;5760;6912;8064;9216;11520]", "lmkd", "when-swap-full", "off"];
const ORDERS: [IoOrder; 5] = [IoOrder::Noop, IoOrder::CfqLike, IoOrder::RowLike, IoOrder::MqDeadlineLike, IoOrder::ReadsFirst];
const REQUESTS: [&str; 3] = ["4KiB", "64KiB", "512KiB"];
const LAUNCHES: usize = 30;

prop_compose! {
    /// A small phone with a design of any kind. Memory is large enough for apps to run without a killer.
    fn phones()(
        swap in 0..SWAPS.len(), mib in 4u64..64, policy in 0..POLICIES.len(), app_policy in 0..APP_POLICIES.len(), killer in 0..KILLERS.len(),
        order in 0..ORDERS.len(), dram in 80u64..128, page_cluster in 0u64..4, swappiness in 0u64..=200, request in 0..REQUESTS.len(), holds: bool, cores in 1u64..3,
        seed in 0u64..1000,
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
        let kernel = &mut machine.kernel;
        (kernel.page_cluster, kernel.swappiness, kernel.io_order, kernel.write_back_holds_frames) =
            (Some(page_cluster), Some(swappiness), ORDERS[order], holds);
        kernel.max_request = Some(Size::parse(REQUESTS[request]).unwrap());
        experiment.run.seed = seed;
        experiment
    }
}

/// Check the conservation laws after a launch that began at `began_ns`.
fn check_laws(phone: &Phone, began_ns: u64) -> Result<(), String> {
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
    equal("bytes and pages of files", machine.files.ledger.of(Medium::Flash).read_bytes, traffic(|t| t.file_reads) * page_bytes)?;
    if machine.rules.write_back_holds_frames {
        equal(
            "flash bytes written and handed over",
            side.ledger().of(Medium::Flash).write_bytes,
            machine.clock.write_back.bytes(Medium::Flash),
        )?;
    }
    // Time: an app is ready when its work and its stalls are over. Faults of launches are among all faults.
    let launch = record.launches.last().ok_or("no launch was recorded")?;
    equal("time of the request", launch.at_ns, began_ns)?;
    if machine.clock.now() < launch.at_ns + launch.ready_ns() {
        return Err(format!("the time is {}, but the app was ready {} ns after {}", machine.clock.now(), launch.ready_ns(), launch.at_ns));
    }
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
                let began_ns = phone.machine.clock.now_ns.max(launch.at_ns);
                // The launch may fail because the phone is too small for its apps. The laws must hold even then.
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
    // About half of the phones swap. The probability that at most an eighth of them does is below 1 in 10,000.
    assert!(swapped.get() > cases.cases / 8, "{} of {} phones swapped", swapped.get(), cases.cases);
}
