//! The energy and the processor time of a run, recomputed from a log of all its transfers.

use super::{booted, design, small};
use crate::ledger::Prices;
use crate::phone::result::FinishedRun;
use swaplab_swap::{Medium, Step, Work};
use swaplab_vocab::PAGE_SIZE;

/// The requests of a log: medium, whether it is a write, bytes. A step that continues a request is
/// added to the medium's last one of its kind: a cache may read the next page from NVM in between.
fn requests(log: &[Step]) -> Vec<(Medium, bool, u64)> {
    let mut requests: Vec<(Medium, bool, u64)> = Vec::new();
    for step in log {
        let (medium, write, bytes, continues) = match *step {
            Step::Read { medium, bytes, continues, .. } => (medium, false, u64::from(bytes), continues),
            Step::Write { medium, bytes, continues, .. } => (medium, true, u64::from(bytes), continues),
            Step::Cpu(_) => continue,
        };
        let continued = requests.iter_mut().rev().take_while(|_| continues).find(|of| (of.0, of.1) == (medium, write));
        match continued {
            Some(last) => last.2 += bytes,
            None => requests.push((medium, write, bytes)),
        }
    }
    requests
}

/// Energy in joules of the requests to `medium`. `None` if its device has no energy figures. A
/// same-filled page moves no byte.
fn joules(prices: &Prices, log: &[Step], medium: Medium) -> Option<f64> {
    let device = prices.device(medium);
    let each = |(_, write, bytes): (Medium, bool, u64)| {
        let energy = if write { device.write_energy(bytes) } else { device.read_energy(bytes) };
        energy.map(|e| if bytes == 0 { 0.0 } else { e.0 as f64 * 1e-12 })
    };
    requests(log).into_iter().filter(|(of, ..)| *of == medium).map(each).sum()
}

fn work_ns(prices: &Prices, log: &[Step]) -> u64 {
    let cpu = prices.processor();
    let each = |step: &Step| match step {
        Step::Cpu(Work::BlockRequest) => cpu.block_request.0,
        Step::Cpu(Work::Copy) => cpu.copy.0,
        Step::Cpu(Work::Map) => cpu.map.0,
        Step::Cpu(Work::SwapIn) => cpu.swap_in.0,
        Step::Cpu(Work::Compress(algorithm)) => cpu.compress[*algorithm as usize].0,
        Step::Cpu(Work::Decompress(algorithm)) => cpu.decompress[*algorithm as usize].0,
        _ => 0,
    };
    log.iter().map(each).sum()
}

#[test]
fn energy_adds_up_from_the_transfers() {
    let swaps = [
        "none",
        "flash:size=8MiB",
        "flash:size=8MiB,readahead=8",
        "sd-card:size=8MiB",
        "ramdisk:size=8MiB",
        "zram:limit=4MiB",
        "zswap:size=8MiB,pool=2MiB",
        "tiered:size=8MiB,limit=2MiB",
        "nvm-copy:size=8MiB",
        "nvm-cache:size=8MiB,nvm=2MiB",
        "nvm-direct:size=8MiB",
    ];
    for swap in swaps {
        let mut experiment = small(vec![design("s", swap, "none")]);
        super::models(&mut experiment).file_writes.every = swaplab_experiment::Span::parse("10s").unwrap();
        let booted = booted(&experiment);
        let (mut phone, sequence) = (booted.phone(), booted.sequence());
        sequence.launches.iter().for_each(|launch| phone.launch(launch).unwrap());
        let machine = phone.machine;
        let (of_swap, of_files) = (machine.swap.side.ledger().log.clone(), machine.files.ledger.log.clone());
        let prices = machine.prices.clone();
        // Processor time of the user: the apps' own work. Of the system: faults, the work of
        // transfers, and scanned pages.
        let user: u64 = machine.record.launches.iter().map(|launch| launch.cpu_ns).sum();
        let work = work_ns(&prices, &of_swap) + work_ns(&prices, &of_files);
        let (scanned, refilled) = (machine.frames.policy.scanned(), machine.frames.policy.refilled());
        let system = machine.counts.faults * prices.processor().fault.0 + work + scanned * machine.rules.scan_ns;
        assert!(refilled > 0 && machine.counts.scanned == scanned - refilled, "{swap}");
        assert_eq!((machine.counts.user_ns, machine.counts.system_ns), (user, system), "{swap}");
        let watts = prices.processor().spec.get("cpu.active_mw").unwrap() * 1e-3;
        let seconds = (sequence.launches.last().unwrap().at_ns + sequence.launches.last().unwrap().foreground_ns) as f64 * 1e-9;

        let run_ns = machine.clock.settled_ns;
        let outcome = FinishedRun::new(machine, 0, 1);
        let energy = &outcome.energy.parts_j;
        let assert_close = |key: &str, expected: f64, steps: usize| {
            let counted = energy[key].unwrap();
            // A transfer's energy is rounded to a picojoule.
            assert!((counted - expected).abs() <= 1e-12 * steps as f64 + 1e-9 * expected, "{swap}: {key} {counted}, {expected} added up");
        };
        assert_close("cpu", watts * (user + system) as f64 * 1e-9, 1);
        assert_close("files", joules(&prices, &of_files, Medium::Flash).unwrap(), of_files.len());
        // The idle flash of every phone takes 350 uA at 3.3 V.
        assert_close("flash_idle", 350e-6 * 3.3 * run_ns as f64 * 1e-9, 1);
        let mut total: f64 = ["cpu", "files", "flash_idle"].map(|key| energy[key].unwrap()).iter().sum();
        for medium in Medium::ALL {
            let key = format!("swap_{}", medium.name());
            let used = requests(&of_swap).iter().any(|(of, ..)| *of == medium);
            assert_eq!(energy.contains_key(&key), used, "{swap}: {key}");
            // Reads of file pages from a cache in NVM count towards `swap_nvm`. Reads of file pages
            // from flash are the part `files`.
            let of_files_too = if medium == Medium::Nvm { joules(&prices, &of_files, medium) } else { Some(0.0) };
            let device = prices.device(medium);
            let idle_j = outcome.media.get(medium.name()).and_then(|medium| medium.background_j);
            match joules(&prices, &of_swap, medium).zip(of_files_too).map(|(swap, files)| swap + files).filter(|_| used) {
                Some(moved) => {
                    // A medium that exists only for swap is idle for the whole run, with the
                    // largest amount of data that it had.
                    let own = !matches!(medium, Medium::Flash | Medium::Pool);
                    let rest = if own { idle_j.unwrap() } else { 0.0 };
                    let [least, most] = [PAGE_SIZE, 8 << 20].map(|bytes| device.idle_watts(bytes).unwrap() * seconds);
                    assert!(!own || (least * (1.0 - 1e-9)..=most * (1.0 + 1e-9)).contains(&rest), "{swap}: {rest}");
                    assert_close(&key, moved + rest, of_swap.len() + of_files.len());
                    total += moved + rest;
                }
                None if used => assert!(energy[&key].is_none(), "{swap}: {key}"),
                None => {}
            }
        }
        let reported = outcome.energy.total_j.unwrap();
        assert!((total - reported).abs() < 1e-6 * total, "{swap}: {total} added up, {reported}");
    }
}
