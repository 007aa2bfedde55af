//! Storage by hand: an fsync behind the requests of others, lines read of pages mapped in NVM, an
//! NVM cache below files and swap.

use super::by_hand::{start, with_launches, with_layout};
use super::small::{check, design, one_app, rows_of, small};
use crate::ledger::Prices;
use crate::phone::machine::senders::Sender;
use crate::phone::machine::writes::FileWrites;
use crate::phone::machine::Machine;
use std::sync::Arc;
use swaplab_experiment::{Devices, IoOrder};
use swaplab_swap::Medium;
use swaplab_vocab::{Op, PageId};

/// What eMMC 4.41 takes to write a page: 88,615 ns of its bus and 100,000 ns of its array.
const WRITE_NS: u64 = 188_615;

/// Six frames, filled by apps 0 and 1, on an eMMC; a transaction of two pages of data and four of
/// the journal.
fn writer(order: IoOrder) -> Machine {
    let prices = Arc::new(Prices::new(&Devices { flash: "emmc-4.41".into(), ..Devices::default() }).unwrap());
    let mut phone = with_launches(&design("s", "flash", "none"), &[], &|phone, _| {
        (phone.write_back_holds_frames, phone.io_order, phone.prices) = (true, order, prices.clone());
    });
    phone.rules.file_writes = FileWrites { every_ns: 1, data_pages: 2, journal_pages: 4 };
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone
}

/// Six requests, one after the other. Two blocks of the journal then go to their places, and a read
/// waits for them.
#[test]
fn an_fsync_waits_for_its_data_and_its_journal() {
    let mut phone = writer(IoOrder::Noop);
    phone.write_files();
    let stalls = phone.clock.take_stalls();
    assert_eq!((stalls.file_write_ns, stalls.queue_ns), (6 * WRITE_NS, 0));
    assert_eq!(stalls.fault_cpu_ns, 6 * phone.prices.processor().block_request.0);
    let (now_ns, prices) = (phone.clock.now(), phone.prices.clone());
    assert_eq!(phone.clock.write_back.read(Medium::Flash, now_ns, 0, &prices), 2 * WRITE_NS);
    assert_eq!(phone.clock.write_back.take_waits(), [(Sender::Journal, 2 * WRITE_NS)]);
    let written = phone.files.ledger.of(Medium::Flash);
    assert_eq!((written.writes, written.write_bytes, written.write_time.0), (8, 8 * 4096, 8 * WRITE_NS));
    check(&phone).unwrap();
}

/// After the exception of its fault page 6 sends pages 0 and 1 of app 0 to flash, and goes on when
/// the first is written. The six requests of the fsync take the processor 6 x 9200 ns; then the
/// first of them waits for what is left of page 1: with each order, as no request is cut short.
#[test]
fn an_fsync_waits_behind_swap_outs() {
    for order in [IoOrder::Noop, IoOrder::CfqLike, IoOrder::MqDeadlineLike] {
        let mut phone = writer(order);
        phone.kswapd.backoff = 0;
        phone.apps.launcher.launch(2);
        let submitted_ns = phone.clock.now() + phone.prices.processor().fault.0;
        phone.touch(6, Op::Write);
        phone.clock.take_stalls();
        let left_ns = submitted_ns + 2 * WRITE_NS - phone.clock.now() - 6 * 9_200;
        phone.write_files();
        assert_eq!(phone.clock.take_stalls().queue_ns, left_ns, "{order:?}");
        assert_eq!(phone.clock.write_back.take_waits(), [(Sender::SwapOut(0), left_ns)], "{order:?}");
    }
}

/// A line of PCM is four bursts: t_RD = (4 x 8 / 2 + 3) x 5 ns = 95 ns. It takes 148.2 mW x 95 ns +
/// 156 mW x (95 + 80) ns + 20.3 mW x 80 ns = 43,003 pJ.
#[test]
fn a_use_of_a_mapped_page_reads_its_lines() {
    for lines in [0, 1, 64] {
        let mut phone =
            with_launches(&design("s", &format!("nvm-direct:lines={lines}"), "none"), &[], &|phone, _| phone.pool_in_dram = false);
        (0..3).for_each(|app| start(&mut phone, app, Op::Write));
        // The first use maps page 0, the second finds it mapped.
        for _ in 0..2 {
            let before = *phone.swap.side.ledger().of(Medium::Nvm);
            phone.touch(0, Op::Read);
            let after = phone.swap.side.ledger().of(Medium::Nvm);
            assert_eq!(phone.clock.take_stalls().direct_read_ns, lines * 95);
            assert_eq!(after.read_energy.0 - before.read_energy.0, lines * 43_003);
            assert_eq!((after.reads - before.reads, after.read_bytes - before.read_bytes), (lines, lines * 64));
        }
        // A write copies the page, and reads no line of it.
        phone.touch(0, Op::Write);
        assert_eq!(phone.clock.take_stalls().direct_read_ns, 0);
        check(&phone).unwrap();
    }
}

/// A file of two windows of four pages. Page 3, a quarter of the first window, is marked: its use
/// reads pages 4 to 7, and the use of page 4 waits for what is left of that read. Page 5 has
/// arrived with it. A phone that does not read ahead waits for each window.
#[test]
fn a_file_that_is_used_in_order_is_read_ahead() {
    let waits = |reads_ahead: bool, uses: [(u64, PageId); 4]| {
        let mut phone = with_layout(&design("s", "zram", "none"), &[], one_app(8), &|phone, _| {
            (phone.frames, phone.read_ahead_pages, phone.reads_ahead) = (16, 4, reads_ahead);
        });
        phone.apps.launcher.launch(0);
        let waits = uses.map(|(work_ns, page)| {
            phone.clock.work(work_ns);
            phone.touch(page, Op::Read);
            phone.clock.take_stalls().file_read_ns
        });
        (waits, phone.counts.file_reads)
    };
    let in_order = [(0, 0), (0, 3), (10_000, 4), (0, 5)];
    let (all, _) = waits(false, in_order);
    let read_ns = all[0];
    assert!(read_ns > 10_000 && all == [read_ns, 0, read_ns, 0]);
    assert_eq!(waits(true, in_order), ([read_ns, 0, read_ns - 10_000, 0], 8));
    assert_eq!(waits(true, [(0, 0), (0, 3), (10_000_000, 4), (0, 5)]), ([read_ns, 0, 0, 0], 8));
    // Page 2 is not marked, so nothing is read ahead.
    assert_eq!(waits(true, [(0, 0), (0, 2), (0, 1), (0, 0)]), ([read_ns, 0, 0, 0], 4));
}

/// Page 5 of eight reads the window that begins two pages before it, 3 to 6. Page 1 reads 0 to 3,
/// of which page 3 is in memory. Page 7 reads 5 to 8, of which it is absent.
#[test]
fn a_window_lies_around_the_page_that_is_missing() {
    let mut phone = with_layout(&design("s", "zram", "none"), &[], one_app(8), &|phone, _| {
        (phone.frames, phone.read_ahead_pages, phone.reads_ahead) = (16, 4, true);
    });
    phone.apps.launcher.launch(0);
    let mut reads = |page| {
        let before = phone.counts.file_reads;
        phone.touch(page, Op::Read);
        phone.counts.file_reads - before
    };
    assert_eq!([5, 1, 7].map(&mut reads), [4, 3, 1]);
    assert_eq!([0, 1, 2, 4, 5].map(&mut reads), [0; 5]);
}

/// Pages 0 to 3 are a file's, 4 to 7 anonymous; four frames, two pages of NVM that admit all. First
/// in first out, in DRAM and in NVM.
#[test]
fn one_cache_is_below_files_and_swap() {
    let cache = design("s", "nvm-cache:nvm=2p,size=8p,admission=always,replacement=fifo", "none");
    let mut phone = with_layout(&cache, &[], one_app(4), &|phone, _| (phone.frames, phone.read_ahead_pages) = (4, 1));
    phone.apps.launcher.launch(0);
    (0..4).for_each(|page| phone.touch(page, Op::Read));
    let flash_ns = phone.clock.take_stalls().file_read_ns;
    assert!(flash_ns > 0);
    // Page 4 takes the frame of page 0, which enters the NVM, and page 0 that of page 1: it is read
    // from the NVM, in 5135 ns.
    phone.touch(4, Op::Write);
    phone.clock.take_stalls();
    phone.touch(0, Op::Read);
    let stalls = phone.clock.take_stalls();
    assert_eq!((stalls.file_cache_ns, stalls.file_read_ns), (5_135, 0));
    assert_eq!(phone.swap.side.gauges()["nvm_file_pages"], 2.0);
    // Pages 2 and 3 go for 5 and 6, and with them pages 0 and 1 leave the NVM: page 1 is read from
    // flash.
    [5, 6].into_iter().for_each(|page| phone.touch(page, Op::Write));
    phone.clock.take_stalls();
    phone.touch(1, Op::Read);
    let stalls = phone.clock.take_stalls();
    assert_eq!((stalls.file_cache_ns, stalls.file_read_ns), (0, flash_ns / 4));
    // For it page 4 went to the NVM and page 2 out of it, clean. Page 7 sends page 0, which came
    // before 5: then page 4 is the oldest there, dirty, and the next one sends it to flash.
    assert_eq!((phone.swap.side.gauges()["nvm_file_pages"], phone.swap.side.ledger().of(Medium::Flash).writes), (1.0, 0));
    phone.touch(7, Op::Write);
    assert_eq!(phone.swap.side.ledger().of(Medium::Flash).writes, 0);
    phone.touch(3, Op::Read);
    assert_eq!(phone.swap.side.ledger().of(Medium::Flash).writes, 1);
    check(&phone).unwrap();
}

#[test]
fn waits_in_queues_are_means_over_the_seeds() {
    let waits_ms = |seed, seeds| {
        let mut experiment = small(vec![design("s", "flash:size=8MiB", "none")]);
        (experiment.run.seed, experiment.run.seeds) = (seed, Some(seeds));
        rows_of(&experiment, 1).remove(0).phone.unwrap().queue_waits_ms.values().sum::<f64>()
    };
    let [first, second, both] = [waits_ms(3, 1), waits_ms(4, 1), waits_ms(3, 2)];
    assert!(first > 0.0 && (both - (first + second) / 2.0).abs() < 1e-9 * both, "{first} {second} {both}");
}

/// Of one run: what it takes in a day is in the proportions of what it took.
#[test]
fn a_day_has_the_proportions_of_the_run() {
    let mut experiment = small(vec![design("s", "flash:size=8MiB", "none")]);
    experiment.run.seeds = Some(1);
    let row = rows_of(&experiment, 1).remove(0);
    let (day, energy) = (row.phone.unwrap().daily, row.energy.unwrap().total_j.unwrap());
    let runs_a_day = day.joules / energy;
    for (a_day, of_run) in [
        (day.flash_write_gib * (1u64 << 30) as f64, row.paging.flash_write_bytes),
        (day.direct_reclaim_ms * 1e6, row.time.direct_reclaim_ns),
        (day.kswapd_cpu_s * 1e9, row.time.kswapd_ns),
    ] {
        let expected = of_run.unwrap() * runs_a_day;
        assert!(expected > 0.0 && (a_day - expected).abs() <= 1e-9 * expected, "{a_day} {expected}");
    }
}
