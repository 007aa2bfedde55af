//! Cases worked by hand.

mod single_steps;

use crate::plain::Plain;
use crate::{FreePages, Reclaimer};
use swaplab_vocab::Op;

// The plain runner's pages 0, 3, 6, .. are anonymous, 1, 4, 7, .. private file pages, 2, 5, 8, ..
// shared ones.

fn lists(run: &Plain) -> [f64; 4] {
    let gauges = run.gauges();
    [0, 1, 2, 3].map(|i| gauges[i].1)
}

#[test]
fn a_page_is_activated_when_a_second_scan_finds_it_used_again() {
    let mut linux = Plain::new("active-inactive", 30, 3);
    // The first scan clears the bits that the faults set, and evicts nothing; then 0 is evicted.
    assert_eq!(linux.faults(&[0, 3, 6, 9]), 4);
    assert_eq!(linux.resident(), [3, 6, 9]);
    assert_eq!(lists(&linux), [0.0, 3.0, 0.0, 0.0]);
    assert_eq!(linux.scanned(), 3 + 1);
    assert_eq!([3, 6, 9].map(|page| linux.unaccessed(page..page + 1)), [1, 1, 0]);
    // 3 is used again: the scan activates it; 6 is evicted.
    assert_eq!(linux.faults(&[3, 12]), 1);
    assert_eq!(linux.resident(), [3, 9, 12]);
    assert_eq!(lists(&linux), [1.0, 2.0, 0.0, 0.0]);
}

#[test]
fn a_refault_within_the_working_set_enters_active() {
    for (spec, activations, deactivated) in [("active-inactive", 2.0, 1), ("active-inactive:refault=off", 1.0, 0)] {
        let mut linux = Plain::new(spec, 30, 3);
        linux.faults(&[0, 3, 6, 9, 3, 12]);
        assert_eq!(linux.resident(), [3, 9, 12]);
        // 6 was evicted last: distance 1, and one page, 3, is active. The refault makes reclaim
        // deactivate 3.
        assert_eq!(linux.faults(&[6]), 1);
        assert_eq!((lists(&linux)[0], linux.gauges()[4].1), (1.0, activations), "{spec}");
        assert_eq!(linux.refilled(), deactivated, "{spec}");
    }
}

#[test]
fn without_swap_only_pages_of_files_go_while_there_are_any() {
    let mut linux = Plain::new("active-inactive:swappiness=200", 60, 6);
    linux.set_swappable(false);
    linux.faults(&[0, 3, 6, 9, 2, 5, 8, 11]);
    assert_eq!(linux.resident(), [0, 3, 6, 8, 9, 11]);
    linux.set_swappable(true);
    linux.faults(&[14, 17]);
    assert!(linux.resident().iter().filter(|page| **page % 3 == 0).count() < 4);
}

/// 6 was never active. 3 was: the refault of 6 deactivates it, and 18 evicts it. The eviction of 15
/// by 21 makes its refault distance 2, and one page, 6, is active. Without the refault distance the
/// policy knows no working set, and every page counts.
#[test]
fn a_page_that_was_active_and_comes_back_soon_is_of_the_working_set() {
    for (spec, expected) in [("active-inactive", [false, true, false]), ("active-inactive:refault=off", [true; 3])] {
        let mut linux = Plain::new(spec, 60, 3);
        linux.faults(&[0, 3, 6, 9, 3, 12]);
        let of_6 = linux.is_of_working_set(6);
        linux.faults(&[6, 15, 18]);
        let of_3 = linux.is_of_working_set(3);
        linux.faults(&[21]);
        assert_eq!([of_6, of_3, linux.is_of_working_set(3)], expected, "{spec}");
    }
}

#[test]
fn anonymous_pages_are_left_alone_while_there_are_inactive_file_pages() {
    // Ten anonymous pages come first, then ten file pages, all used once. At priorities 12 to 4 no
    // page is scanned. At 3 and 2 there are 10 >> 3 = 1 and 10 >> 2 = 2 inactive file pages to
    // scan, so only these are scanned, and so on until one is evicted.
    let mut linux = Plain::new("active-inactive:swappiness=200", 60, 20);
    let pages: Vec<u32> = (0..10).map(|n| 3 * n).chain((0..10).map(|n| 3 * n + 2)).collect();
    linux.faults(&pages);
    linux.faults(&[32]);
    assert_eq!(lists(&linux), [0.0, 10.0, 0.0, 10.0]);
    // 1 + 2 + 5 scans spare eight pages once. At priority 0 all lists are scanned: ten anonymous
    // pages, two file pages, and again the first one, which is evicted.
    assert_eq!(linux.scanned(), 8 + 10 + 3);
    assert!(!linux.resident().contains(&2));
}

#[test]
fn kswapd_gives_up_where_no_share_of_a_list_is_a_page() {
    // There is one file page, and anonymous pages cannot be swapped out. The passes of kswapd end
    // at priority 1, where 1 >> 1 pages are none: it scans nothing, however often it starts over. A
    // direct reclaimer goes on to priority 0, spares the page once and then evicts it.
    let mut linux = Plain::new("active-inactive:kernel=6.12", 30, 3);
    linux.faults(&[2]);
    linux.set_swappable(false);
    let free = FreePages { free: 0, high: 8 };
    linux.begin_reclaim(Reclaimer::Kswapd(free));
    assert_eq!((linux.reclaim_once(), linux.scanned()), (0, 0));
    linux.begin_reclaim(Reclaimer::Direct(free));
    assert_eq!((linux.reclaim_once(), linux.scanned()), (1, 2));
}

#[test]
fn the_last_file_pages_are_spared_while_there_are_inactive_anonymous_ones() {
    // Ten anonymous pages and two file pages, and no free frame. With a high watermark of two
    // pages, file pages are tiny, so anonymous pages are evicted even against swappiness: 1 + 2 + 5
    // + 2 scans spare each once, then 0 is evicted. Otherwise 2 is evicted after one scan of each
    // file page.
    for (high, left) in [(2, 0), (1, 2)] {
        let mut linux = Plain::new("active-inactive:swappiness=0", 60, 12);
        let pages: Vec<u32> = (0..10).map(|n| 3 * n).chain([2, 5]).collect();
        linux.faults(&pages);
        linux.begin_reclaim(Reclaimer::Direct(FreePages { free: 0, high }));
        linux.faults(&[8]);
        assert!(!linux.resident().contains(&left), "watermark {high}");
    }
}

#[test]
fn kernel_6_12_does_not_know_what_it_has_moved_since_the_last_flush() {
    // Four anonymous pages and eight executable file pages. File pages come first: 8 >> 3 = 1, 7 >>
    // 2 = 1 and 6 >> 1 = 3 scans activate five. At priority 0 the anonymous pages are spared once
    // and the last three file pages are activated. By then five of eight were active, so 6.1
    // deactivates five, and the first of them, 2, is evicted. As of the last flush all file pages
    // are inactive: 6.12 ages none, finds none to scan, and evicts 0.
    for (kernel, left, files) in [("6.1", 2, [3.0, 4.0]), ("6.12", 0, [8.0, 0.0])] {
        let mut linux = Plain::new(&format!("active-inactive:kernel={kernel}"), 60, 12);
        linux.faults(&[0, 3, 6, 9]);
        (0..8).for_each(|n| assert!(linux.access(3 * n + 2, Op::Fetch)));
        linux.flush_statistics();
        linux.faults(&[30]);
        assert!(!linux.resident().contains(&left), "{kernel} {:?}", linux.resident());
        assert_eq!(lists(&linux)[2..], files, "{kernel}");
        // After a flush, 6.12 knows that all file pages are active, and ages them.
        linux.flush_statistics();
        linux.begin_reclaim(Reclaimer::Group);
        linux.faults(&[33]);
        assert!(lists(&linux)[3] > 0.0, "{kernel}");
    }
}

#[test]
fn background_reclaim_goes_on_where_a_direct_reclaimer_interrupted_it() {
    // Sixteen file pages, used once. Background reclaim spares each once, and is at priority 1 when
    // the first is evicted. A direct reclaimer has priorities of its own. The background reclaim
    // that follows finishes the pass that it had begun.
    let mut linux = Plain::new("active-inactive:kernel=6.12", 120, 16);
    linux.faults(&(0..16).map(|n| 3 * n + 2).collect::<Vec<u32>>());
    linux.begin_reclaim(Reclaimer::Kswapd(FreePages { free: 0, high: 8 }));
    linux.faults(&[62]);
    let before = linux.passes();
    linux.begin_reclaim(Reclaimer::Direct(FreePages { free: 0, high: 8 }));
    linux.faults(&[65]);
    assert_eq!(linux.passes(), before, "a direct reclaimer's passes are its own");
    linux.begin_reclaim(Reclaimer::KswapdAgain(FreePages { free: 0, high: 8 }));
    linux.faults(&[68]);
    assert!(before > Some(0) && linux.passes() <= before.map(|passes| passes + 1), "{before:?} {:?}", linux.passes());
    assert_eq!(Plain::new("active-inactive", 120, 16).passes(), None);
}

#[test]
fn swappiness_says_which_kind_is_scanned() {
    let left = |swappiness: u32| {
        let mut linux = Plain::new(&format!("active-inactive:swappiness={swappiness}"), 60, 6);
        linux.faults(&[0, 3, 6, 2, 5, 8, 11, 14, 17]);
        linux.resident().into_iter().filter(|p| p % 3 == 0).count()
    };
    assert_eq!(left(0), 3);
    // 2 is evicted when all lists are scanned, 5 while inactive file pages come first (1 = 3 >> 1),
    // 0 when all are scanned again.
    assert_eq!(left(200), 2);
}

#[test]
fn in_6_12_a_page_that_was_activated_needs_a_single_use_to_be_activated_again() {
    for (kernel, resident, activations) in [("6.1", [6, 15, 18], 2.0), ("6.12", [3, 15, 18], 3.0)] {
        let mut linux = Plain::new(&format!("active-inactive:kernel={kernel}"), 30, 3);
        // As above: 3 was activated, and the refault of 6 deactivated it. 9 left for 6.
        linux.faults(&[0, 3, 6, 9, 3, 12, 6]);
        assert_eq!((linux.resident(), lists(&linux)[0], linux.gauges()[4].1), (vec![3, 6, 12], 1.0, 2.0), "{kernel}");
        // 3 is used once, and 12 is evicted for 15. Reclaim for 18 scans 3: 6.1 sets its mark,
        // spares 15 once and evicts 3. In 6.12 the mark is still set, so 3 is activated, 15 is
        // spared, and 6 is deactivated and evicted.
        linux.faults(&[3, 15, 18]);
        assert_eq!((linux.resident(), linux.gauges()[4].1), (resident.to_vec(), activations), "{kernel}");
    }
}

#[test]
fn the_working_set_of_6_12_is_that_of_the_last_flush() {
    for (kernel, activations) in [("6.1", 2.0), ("6.12", 1.0)] {
        let mut linux = Plain::new(&format!("active-inactive:kernel={kernel}"), 30, 3);
        linux.flush_statistics();
        // 3 is active and 6 was evicted last, at a distance of 1. As of the last flush no page is
        // active, so 6 is outside the working set.
        linux.faults(&[0, 3, 6, 9, 3, 12, 6]);
        assert_eq!(linux.gauges()[4].1, activations, "{kernel}");
    }
    // After a flush, the active page 3 extends the working set to 6, but only while swap has a free
    // slot.
    for (swappable, activations) in [(true, 2.0), (false, 1.0)] {
        let mut linux = Plain::new("active-inactive:kernel=6.12", 30, 3);
        linux.faults(&[0, 3, 6, 9, 3, 12]);
        linux.flush_statistics();
        linux.set_swappable(swappable);
        linux.faults(&[6]);
        assert_eq!(linux.gauges()[4].1, activations, "{swappable}");
    }
}

#[test]
fn a_direct_reclaimer_of_6_12_finishes_its_pass() {
    // Eighty file pages, used once. Priorities 6 to 1 spare 1, 2, 5, 10, 20 and 40 of them. At 0
    // two more are spared, and the first batch ends with 30 of 32 pages reclaimed, the second with
    // 62. There are no anonymous pages to scan in proportion.
    let mut linux = Plain::new("active-inactive:kernel=6.12", 300, 80);
    linux.faults(&(0..80).map(|n| 3 * n + 2).collect::<Vec<u32>>());
    linux.begin_reclaim(Reclaimer::Direct(FreePages { free: 0, high: 8 }));
    let mut evicted = 0;
    loop {
        let pages = linux.reclaim_once();
        evicted += pages;
        if pages == 0 && !linux.goes_on() {
            break;
        }
    }
    assert_eq!((evicted, linux.scanned()), (62, 78 + 64));
}

#[test]
fn a_reclaimer_of_6_12_pauses_after_a_batch_in_vain() {
    // A hundred file pages, used once. Priorities 6 to 2 spare 1, 3, 6, 12 and 25 of them: 47
    // pages, which are more than a batch. Meanwhile a direct reclaimer begins: from priority 6 on
    // it spares 1, 3, 6, 12 and 25 more. Each goes on with its own pass: kswapd spares 6 at
    // priority 1 and then evicts, where the direct reclaimer evicts at once.
    let mut linux = Plain::new("active-inactive:kernel=6.12", 600, 200);
    linux.faults(&(0..100).map(|n| 3 * n + 2).collect::<Vec<u32>>());
    let free = FreePages { free: 0, high: 10 };
    let mut steps = Vec::new();
    for by in [Reclaimer::Kswapd(free), Reclaimer::Direct(free), Reclaimer::KswapdAgain(free), Reclaimer::DirectAgain] {
        let before = linux.scanned();
        linux.begin_reclaim(by);
        let pages = linux.reclaim_once();
        steps.push((pages, linux.scanned() - before, linux.goes_on()));
    }
    assert_eq!(steps, [(0, 47, true), (0, 47, true), (1, 7, false), (1, 1, false)]);
}

#[test]
fn by_the_rules_of_3_4_only_files_are_scanned_while_swap_is_full() {
    // Three anonymous pages are active and three file pages inactive. The scan spares each file
    // page once, because its fault used it. Then 2 is evicted for 11 and 5 for 14.
    let mut linux = Plain::new("active-inactive:kernel=3.4", 30, 6);
    linux.faults(&[0, 3, 6, 2, 5, 8]);
    linux.set_swappable(false);
    linux.faults(&[11, 14]);
    assert_eq!((linux.resident(), lists(&linux)[0]), (vec![0, 3, 6, 8, 11, 14], 3.0));
}

#[test]
fn a_refault_in_6_12_ages_active_pages_once_the_statistics_are_flushed() {
    // 0 is evicted for 12 after one scan each of 0, 3, 6 and 9. 3 is used, so it is activated, and
    // 6 is evicted for 15.
    let mut linux = Plain::new("active-inactive:kernel=6.12", 30, 4);
    linux.faults(&[0, 3, 6, 9, 12, 3, 15]);
    assert_eq!((linux.resident(), lists(&linux)), (vec![3, 9, 12, 15], [1.0, 3.0, 0.0, 0.0]));
    // The refault of 6 has a distance of 1 and one page is active, so 6 is activated, and 9 is
    // evicted.
    linux.flush_statistics();
    linux.faults(&[6]);
    assert_eq!((linux.resident(), lists(&linux)), (vec![3, 6, 12, 15], [2.0, 2.0, 0.0, 0.0]));
    // Two inactive pages are enough for two active ones. A reclaimer that knows of the refault ages
    // active pages nevertheless: at priority 0 it spares 12 and 15, deactivates 3 and 6, and starts
    // over. 12 is evicted for 18.
    linux.flush_statistics();
    linux.begin_reclaim(Reclaimer::Group);
    linux.faults(&[18]);
    assert_eq!((linux.resident(), lists(&linux)), (vec![3, 6, 15, 18], [0.0, 4.0, 0.0, 0.0]));
}

#[test]
fn in_6_12_a_page_that_storage_writes_is_scanned_again_before_its_frame_is_free() {
    for (kernel, scanned) in [("6.1", 3 + 1), ("6.12", 3 + 1 + 1)] {
        let mut linux = Plain::new(&format!("active-inactive:kernel={kernel}"), 30, 3);
        linux.storage = true;
        // Each page is spared once, then 0 is written. In 6.12 it moves to the tail of the list
        // when it is written, where the next scan finds it.
        assert_eq!(linux.faults(&[0, 3, 6, 9]), 4);
        assert_eq!((linux.resident(), linux.scanned()), (vec![3, 6, 9], scanned), "{kernel}");
        linux.check().unwrap();
    }
}

#[test]
fn in_6_12_a_scan_activates_a_page_under_write_back() {
    let mut linux = Plain::new("active-inactive:kernel=6.12", 30, 3);
    linux.storage = true;
    linux.faults(&[0, 3, 6]);
    // One after the other is written. Then reclaim finds no other page, and gives up.
    assert_eq!([0; 4].map(|_| linux.reclaim_once()), [1, 1, 1, 0]);
    assert_eq!((linux.resident(), lists(&linux)[..2].iter().sum::<f64>()), (vec![], 3.0));
    assert!(linux.gauges()[4].1 > 0.0);
    // 3 is used again while it is written: it stays in its list. The others are written and go to
    // the tail, 6 behind 0.
    assert_eq!(linux.faults(&[3]), 1);
    linux.finish_writes();
    linux.check().unwrap();
    let before = linux.scanned();
    assert_eq!((linux.reclaim_once(), linux.reclaim_once()), (1, 1));
    assert_eq!((linux.resident(), lists(&linux)[..2].iter().sum::<f64>(), linux.scanned() - before), (vec![3], 1.0, 2));
    linux.check().unwrap();
}

#[test]
fn background_reclaim_of_6_12_turns_to_anonymous_pages_after_a_round_in_vain() {
    // Forty anonymous pages, and 64 file pages that have gone since the statistics were flushed.
    // From priority 6 on the first round is in cache trim mode and scans nothing. The second one
    // scans 1, 2, 5, 10 and 20 anonymous pages and spares them once. The third one is as the first.
    // In the fourth the last two pages are spared and the first one is evicted, by the 41st scan.
    // Between the second and the third it pauses, after more than a batch of scans.
    // So many pages are free that file pages are not tiny.
    let mut linux = Plain::new("active-inactive:kernel=6.12,swappiness=200", 300, 104);
    let (anonymous, file): (Vec<u32>, Vec<u32>) = ((0..40).map(|n| 3 * n).collect(), (0..64).map(|n| 3 * n + 2).collect());
    linux.faults(&[&anonymous[..], &file[..]].concat());
    linux.flush_statistics();
    file.iter().for_each(|page| linux.forget(*page));
    linux.begin_reclaim(Reclaimer::Kswapd(FreePages { free: 65, high: 64 }));
    assert_eq!((linux.reclaim_once(), linux.scanned(), linux.goes_on()), (0, 38, true));
    assert_eq!((linux.reclaim_once(), linux.scanned()), (1, 41));
    assert_eq!(linux.resident(), &anonymous[1..]);
}
