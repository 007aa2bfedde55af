//! Cases worked by hand of pages that keep their frames while storage writes them, and of kswapd's
//! processor time.

use super::by_hand::{kills, places, start, with_launches, with_layout};
use super::small::{check, design, one_app};
use crate::ledger::Prices;
use crate::phone::machine::frames::page_lists::PageLists;
use crate::phone::machine::record::Stalls;
use crate::phone::machine::Machine;
use crate::phone::spec::{PagePolicy, PageWork};
use std::sync::Arc;
use swaplab_apps::Killer;
use swaplab_experiment::{Devices, IoOrder, KswapdCore};
use swaplab_swap::Medium;
use swaplab_vocab::{Op, PageId};

/// Time of eMMC 4.41 to write a page: 88,615 ns of its bus and 100,000 ns of its array.
const WRITE_NS: u64 = 188_615;

/// Six frames, filled by apps 0 and 1, on an eMMC that serves requests in the order of their
/// arrival, with this page policy.
fn full(policy: &str) -> Machine {
    let policy: swaplab_vocab::Spec = policy.parse().unwrap();
    let prices = Arc::new(Prices::new(&Devices { flash: "emmc-4.41".into(), ..Devices::default() }).unwrap());
    let mut phone = with_launches(&design("s", "flash", "none"), &[], &|phone, design| {
        (phone.write_back_holds_frames, phone.io_order, phone.prices) = (true, IoOrder::Noop, prices.clone());
        design.policy = PagePolicy::Registry(swaplab_policy::PolicySpec::of(&policy).unwrap());
    });
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.kswapd.backoff = 0;
    phone
}

#[test]
fn a_direct_reclaimer_waits_for_the_first_page_to_be_written() {
    let mut phone = full("lru");
    phone.apps.launcher.launch(2);
    phone.touch(6, Op::Write);
    check(&phone).unwrap();
    // kswapd submits the write of page 0, and direct reclaim that of page 1. The frame of page 0 is
    // free once it is written.
    let stalls = phone.clock.take_stalls();
    assert_eq!(stalls.direct_reclaim_ns + stalls.write_back_ns, WRITE_NS);
    assert_eq!((places(&phone), phone.frames.in_use.writing), ((vec![2, 3, 4, 5, 6], vec![0, 1]), 1));
    // Page 1 is still under write-back: a fault finds it in the swap cache and takes its frame back
    // without a read.
    phone.touch(1, Op::Read);
    let stalls = phone.clock.take_stalls();
    assert_eq!((stalls.total_ns(), phone.counts.swap_cache_hits), (phone.prices.processor().fault.0, 1));
    assert_eq!((places(&phone), phone.frames.in_use.writing), ((vec![1, 2, 3, 4, 5, 6], vec![0]), 0));
    assert_eq!(phone.swap.side.moves.copied_pages, 0);
    check(&phone).unwrap();
    // Page 0 has been written: it is read from swap, once page 2 has been evicted and written.
    phone.touch(0, Op::Read);
    assert_eq!((phone.swap.side.moves.copied_pages, phone.counts.swap_cache_hits), (1, 1));
    check(&phone).unwrap();
}

#[test]
fn the_frame_of_a_dead_apps_page_waits_for_its_write() {
    let mut phone = full("lru");
    phone.apps.launcher.launch(2);
    phone.touch(6, Op::Write);
    assert_eq!(phone.frames.in_use.writing, 1);
    phone.deaths().kill(0, crate::phone::machine::record::Reason::LowMemory);
    // Page 2 frees its frame. Page 1 is still under write-back, but its content has no owner: a
    // cold start writes the page anew.
    assert_eq!((phone.free(), phone.frames.in_use.writing), (1, 1));
    check(&phone).unwrap();
    phone.apps.launcher.launch(0);
    phone.touch(1, Op::Write);
    assert_eq!((phone.counts.swap_cache_hits, phone.free()), (0, 0));
    check(&phone).unwrap();
}

/// By the rules of Linux 6.12, a page that storage has written keeps its frame until a second scan.
/// All six pages are written before the first of them is free.
#[test]
fn a_written_page_keeps_its_frame_until_a_scan_finds_it() {
    let mut phone = full("active-inactive:kernel=6.12");
    phone.apps.launcher.launch(2);
    phone.touch(6, Op::Write);
    check(&phone).unwrap();
    let in_use = phone.frames.in_use;
    assert_eq!((in_use.pages, in_use.writing, in_use.taken_back, phone.counts.reclaimed_direct), (1, 0, 5, 1));
    let written = phone.clock.write_back.bytes(Medium::Flash);
    // The others are in the swap cache: a reference finds page 5 there without a read.
    phone.clock.take_stalls();
    phone.touch(5, Op::Read);
    assert_eq!((phone.clock.take_stalls().total_ns(), phone.counts.swap_cache_hits), (phone.prices.processor().fault.0, 1));
    // When all have been written, no frame is free.
    phone.clock.pause(6 * WRITE_NS);
    phone.reap();
    assert_eq!((phone.free(), phone.frames.in_use.taken_back), (0, 4));
    // kswapd had found pages under write-back alone and sleeps. The direct reclaimer's pass frees
    // all four without another write.
    phone.touch(7, Op::Write);
    assert_eq!((phone.frames.in_use.taken_back, phone.counts.reclaimed_direct, phone.counts.reclaimed_background), (0, 5, 0));
    assert_eq!(phone.clock.write_back.bytes(Medium::Flash), written);
    check(&phone).unwrap();
    // Three frames are free, and that of the dead app's page 5.
    phone.deaths().kill(1, crate::phone::machine::record::Reason::LowMemory);
    assert_eq!(phone.free(), 4);
    check(&phone).unwrap();
}

/// When swap is full the policy scans pages in vain. Although that takes time, it is no progress,
/// and app 0 is killed.
#[test]
fn reclaim_that_only_takes_time_ends_in_a_kill() {
    let active_inactive: swaplab_vocab::Spec = "active-inactive".parse().unwrap();
    let mut phone = with_launches(&design("s", "flash:size=1p", "none"), &[], &|phone, design| {
        design.policy = PagePolicy::Registry(swaplab_policy::PolicySpec::of(&active_inactive).unwrap());
        phone.scan_ns = 200;
    });
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    assert_eq!((kills(&phone), phone.apps.launcher.is_live(0)), (1, false));
}

/// lmkd knows for how long the running task has reclaimed for itself. Above the threshold, app 0 is
/// killed, although memory is not low.
#[test]
fn a_long_direct_reclaim_ends_in_a_kill() {
    let mut phone = with_launches(&design("s", "zram", "none"), &[], &|_, design| {
        design.killer = Killer::parse("lmkd:direct_reclaim_threshold_ms=50,psi_partial_stall_ms=0").unwrap();
    });
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    let mut kills_after = |ms: u64| {
        phone.killer.direct_reclaim_ns = ms * 1_000_000;
        phone.deaths().run_killer_check(true);
        kills(&phone)
    };
    assert_eq!([0, 50, 51].map(&mut kills_after), [0, 0, 1]);
}

/// Six frames, filled by apps 0 and 1, on a phone with `cores` processors; then page 6 of app 2 got
/// a frame.
fn crowded(cores: u64, kswapd_core: KswapdCore) -> Machine {
    crowded_with(cores, kswapd_core, 0)
}

/// The same, where a page takes `page_ns` more to evict.
fn crowded_with(cores: u64, kswapd_core: KswapdCore, page_ns: u64) -> Machine {
    let mut phone = with_launches(&design("s", "zram", "none"), &[], &|phone, _| {
        phone.page_work.anon_out_ns += page_ns;
        (phone.pool_in_dram, phone.cores, phone.kswapd_core, phone.little_speed, phone.little_power) =
            (false, cores, kswapd_core, 0.25, 0.1);
    });
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.kswapd.backoff = 0;
    phone.apps.launcher.launch(2);
    phone.touch(6, Op::Write);
    phone
}

/// Page 6 needs a frame. That wakes kswapd, and direct reclaim compresses page 0. At the next clock
/// tick kswapd gets the processor: the running task waits while it compresses page 1 to reach the
/// high watermark.
#[test]
fn background_reclaim_takes_turns_on_the_only_processor() {
    for (cores, kswapd_core) in [(1, KswapdCore::Own), (1, KswapdCore::Little), (8, KswapdCore::App)] {
        takes_turns(crowded(cores, kswapd_core));
    }
}

fn takes_turns(mut phone: Machine) {
    let (direct_ns, stalled_ns) = (phone.clock.take_stalls().direct_reclaim_ns, phone.clock.memory_ns);
    assert_eq!((places(&phone).1, phone.counts.background_ns, phone.free()), (vec![0], 0, 0));
    phone.clock.work(4_000_000 - phone.clock.now() - 1);
    phone.catch_up();
    assert_eq!((phone.clock.take_stalls().total_ns(), phone.counts.background_ns), (0, 0));
    assert_eq!((stalled_ns, phone.clock.memory_ns), (direct_ns, direct_ns), "kswapd has not begun");
    phone.clock.work(1);
    phone.catch_up();
    let batch_ns = phone.counts.background_ns;
    assert!(direct_ns > 1000 && batch_ns > 1000, "{direct_ns} and {batch_ns}");
    assert_eq!((phone.clock.take_stalls().total_ns(), places(&phone).1, phone.free()), (batch_ns, vec![0, 1], 1));
    // kswapd sleeps: no task waits for it any more.
    phone.clock.work(9_999_999);
    phone.catch_up();
    assert_eq!((phone.clock.take_stalls().total_ns(), phone.counts.background_ns), (0, batch_ns));
    assert_eq!(phone.clock.memory_ns, direct_ns + batch_ns);
    check(&phone).unwrap();
}

/// A page takes 9.5 ms to evict. The task has just reclaimed one for itself, so it has had more
/// time than kswapd, whose turn ends at the second tick. After a tick of the task kswapd does the
/// rest.
#[test]
fn a_turn_of_kswapd_that_does_not_finish_its_batch_ends_at_a_tick() {
    let mut phone = crowded_with(1, KswapdCore::Own, 9_500_000);
    assert_eq!(phone.clock.take_stalls().direct_reclaim_ns / 100_000, 95);
    let mut turns = vec![];
    while phone.clock.now() < 40_000_000 {
        phone.clock.work(1_000_000);
        phone.catch_up();
        turns.extend(Some(phone.clock.take_stalls().total_ns()).filter(|ns| *ns > 0));
    }
    assert_eq!((turns[0], turns.len(), turns.iter().sum::<u64>()), (8_000_000, 2, phone.counts.background_ns));
    assert_eq!(phone.counts.background_ns / 100_000, 95);
}

/// kswapd has reached the high watermark before 4 ms, or after its turn began at that tick, and
/// sleeps for 25 whole ticks, until 104 or 108 ms. Page 7 takes the last free frame, which wakes
/// nobody: memory was above the low watermark. At the end of its sleep kswapd sees memory below the
/// high watermark and compresses page 2, whether the task runs or pauses meanwhile. After its next
/// sleep memory is above it, and kswapd sleeps until it is woken.
#[test]
fn kswapd_looks_at_the_high_watermark_again_after_a_short_sleep() {
    for (cores, runs) in [(1, true), (1, false), (2, true), (2, false)] {
        let mut phone = crowded(cores, KswapdCore::Own);
        let pass = |phone: &mut Machine, ns: u64| {
            if runs {
                phone.clock.work(ns)
            } else {
                phone.clock.pause(ns)
            }
            phone.catch_up();
        };
        let until = |phone: &mut Machine, ns: u64| pass(phone, ns - phone.clock.now());
        until(&mut phone, 5_000_000);
        phone.touch(7, Op::Write);
        assert_eq!((places(&phone).1, phone.free(), phone.kswapd.is_awake()), (vec![0, 1], 0, false), "{cores} {runs}");
        until(&mut phone, if (cores, runs) == (1, true) { 107_999_999 } else { 103_999_999 });
        assert_eq!((places(&phone).1, phone.free()), (vec![0, 1], 0), "{cores} {runs}");
        pass(&mut phone, 8_000_000);
        assert_eq!((places(&phone).1, phone.free(), phone.kswapd.is_awake()), (vec![0, 1, 2], 1, false), "{cores} {runs}");
        pass(&mut phone, 1_000_000_000);
        assert_eq!((places(&phone).1.len(), phone.kswapd.needs_time()), (3, cores == 1), "{cores} {runs}");
        check(&phone).unwrap();
    }
}

/// Of six free frames three are on the processor's list, whose batch is one page. Pages 0 to 2 come
/// from the list, page 3 from a batch of one and page 4 from one of two. The last free frame is on
/// the list then, so page 5 finds none in the zone, and page 0 is evicted. Then the list goes back
/// to the zone.
#[test]
fn frames_on_the_processors_list_are_not_free_at_the_watermarks() {
    let mut phone = with_launches(&design("s", "zram", "none"), &[], &|phone, _| (phone.pool_in_dram, phone.cores) = (false, 1));
    phone.frames.lists = Some(PageLists::new(6, 0));
    phone.apps.launcher.launch(0);
    phone.apps.launcher.launch(1);
    (0..5).for_each(|page| phone.touch(page, Op::Write));
    assert_eq!((places(&phone).1, phone.free()), (vec![], 1));
    phone.touch(5, Op::Write);
    assert_eq!((places(&phone), phone.free()), ((vec![1, 2, 3, 4, 5], vec![0]), 1));
    check(&phone).unwrap();
}

/// kswapd works on its own processor while the running task waits 500 ns longer than kswapd's batch
/// takes. The task's wait is a memory stall, and kswapd's work lies within it.
#[test]
fn two_memory_stalls_at_one_time_count_once() {
    let mut phone = crowded(2, KswapdCore::Own);
    phone.catch_up();
    let (before_ns, batch_ns) = (phone.clock.memory_ns, phone.counts.background_ns);
    phone.clock.stall_on_memory(&Stalls { write_back_ns: batch_ns + 500, ..Stalls::default() });
    phone.catch_up();
    assert_eq!((phone.free(), phone.clock.memory_ns - before_ns), (1, batch_ns + 500));
}

/// Eviction of an anonymous page takes 700 ns more than its scan and its compression, that of a
/// file page 300 ns, and a file page that is read again 50 ns. Two files' pages, 0 and 1, and two
/// anonymous ones, 4 and 5, in four frames.
#[test]
fn pages_have_prices_of_their_own() {
    let stalls = |work: PageWork| {
        let mut phone = with_layout(&design("s", "zram", "none"), &[], one_app(4), &|phone, _| {
            (phone.pool_in_dram, phone.frames, phone.read_ahead_pages, phone.page_work) = (false, 4, 1, work);
        });
        phone.apps.launcher.launch(0);
        [0, 1].into_iter().for_each(|page| phone.touch(page, Op::Read));
        [4, 5].into_iter().for_each(|page| phone.touch(page, Op::Write));
        phone.clock.take_stalls();
        // The first frame comes from file page 0, the next ones from 1 and 4.
        phone.touch(6, Op::Write);
        phone.touch(7, Op::Write);
        phone.touch(0, Op::Read);
        let stalls = phone.clock.take_stalls();
        [stalls.direct_reclaim_ns, stalls.fault_cpu_ns]
    };
    let [reclaim_ns, fault_ns] = stalls(PageWork::default());
    let dear = stalls(PageWork { anon_out_ns: 700, file_out_ns: 300, file_in_ns: 50, ..PageWork::default() });
    assert_eq!(dear, [reclaim_ns + 2 * 300 + 700, fault_ns + 50]);
}

/// Linux's lists, four frames: file pages 0 and 1 and anonymous pages 4 and 5 have been used. A
/// scan that makes room for page 6 clears the bits of pages that it spares; their next use is a
/// fault each, once, alone or in a run.
#[test]
fn a_use_without_accessed_bit_is_a_fault() {
    let mut phone = with_layout(&design("s", "zram", "none"), &[], one_app(4), &|phone, _| {
        (phone.pool_in_dram, phone.frames, phone.read_ahead_pages) = (false, 4, 1);
        phone.page_work.access_fault_ns = 90;
    });
    super::small::use_policy(&mut phone, "active-inactive:kernel=6.12", 4);
    phone.apps.launcher.launch(0);
    [0, 1].into_iter().for_each(|page| phone.touch(page, Op::Read));
    [4, 5].into_iter().for_each(|page| phone.touch(page, Op::Write));
    phone.clock.take_stalls();
    [0, 1, 4, 5].into_iter().for_each(|page| phone.touch(page, Op::Read));
    assert_eq!(phone.clock.take_stalls().total_ns(), 0, "all were used since they came");
    phone.touch(6, Op::Write);
    phone.clock.take_stalls();
    let spared: Vec<PageId> = [0, 1, 4, 5].into_iter().filter(|page| phone.frames.pages.is_resident(*page)).collect();
    let cleared = spared.iter().map(|page| phone.frames.policy.unaccessed(*page..page + 1)).sum::<usize>() as u64;
    assert!(cleared > 0, "no page was spared");
    spared.iter().for_each(|page| phone.touch_run(*page, &[Op::Read]));
    assert_eq!(phone.clock.take_stalls().total_ns(), 90 * cleared);
    spared.iter().for_each(|page| phone.touch(*page, Op::Read));
    assert_eq!(phone.clock.take_stalls().total_ns(), 0);
}

/// On its own processor kswapd begins at once with page 0, whose frame is free when the page is
/// compressed. Page 6 needs a frame before that, so page 1 is evicted for it.
#[test]
fn a_frame_is_free_when_kswapd_has_finished_its_batch() {
    let [big_ns, little_ns] = [KswapdCore::Own, KswapdCore::Little].map(|core| finishes_its_batch(crowded(2, core)));
    // A little core of a quarter of the speed takes four times as long.
    assert!(big_ns > 1000 && little_ns == 4 * big_ns, "{big_ns} and {little_ns}");
}

/// Let kswapd finish its batch. Returns the time that the batch takes.
fn finishes_its_batch(mut phone: Machine) -> u64 {
    let batch_ns = phone.counts.background_ns;
    assert_eq!((places(&phone).1, phone.frames.in_use.in_batch, phone.free()), (vec![0, 1], 1, 0));
    phone.clock.take_stalls();
    phone.catch_up();
    let left_ns = (1..batch_ns).find(|_| {
        phone.clock.work(1);
        phone.catch_up();
        phone.free() == 1
    });
    assert!(left_ns.is_some_and(|ns| ns < batch_ns), "{left_ns:?} of {batch_ns}");
    assert_eq!((phone.clock.take_stalls().total_ns(), phone.counts.background_ns), (0, batch_ns));
    check(&phone).unwrap();
    batch_ns
}
