//! Cases worked by hand.

use super::MglruPolicy;
use crate::plain::Plain;
use crate::{Costs, Describe, FreePages, Policy, PolicySpec, Reclaimer, Residency, Setup};
use swaplab_vocab::{Class, Op, PageId};

// Plain runner: pages 0, 3, .. are anonymous; 1, 4, .. of private, 2, 5, .. of shared files.

fn gauge(run: &Plain, name: &str) -> f64 {
    run.gauges().into_iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn reclaim_takes_from_the_oldest_generation_what_was_not_used_since() {
    let mut mglru = Plain::new("mglru", 30, 3);
    assert_eq!(mglru.faults(&[0, 3, 6]), 3);
    assert_eq!((gauge(&mglru, "agings"), gauge(&mglru, "generations_anon")), (0.0, 2.0));
    // The first aging finds every page used by its fault, the second makes that generation the
    // oldest but one. All three pages are isolated, and 0 is evicted.
    assert_eq!(mglru.faults(&[9]), 1);
    assert_eq!(mglru.resident(), [3, 6, 9]);
    assert_eq!(gauge(&mglru, "agings"), 2.0);
    // 3 was used since: it moves to the youngest generation, and 6 is evicted.
    assert_eq!(mglru.faults(&[3, 12]), 1);
    assert_eq!(mglru.resident(), [3, 9, 12]);
    assert_eq!(gauge(&mglru, "agings"), 2.0);
}

/// 0 was evicted from the generation that is still the oldest one. Two agings later it is no
/// longer, and page 27 was never in memory.
#[test]
fn a_page_of_the_oldest_generation_that_comes_back_is_of_the_working_set() {
    let mut mglru = Plain::new("mglru", 30, 3);
    mglru.faults(&[0, 3, 6, 9]);
    assert_eq!([0, 27].map(|page| mglru.is_of_working_set(page)), [true, false]);
    mglru.faults(&[3, 12, 15]);
    assert_eq!(gauge(&mglru, "agings"), 4.0);
    assert_eq!([0, 6, 9].map(|page| mglru.is_of_working_set(page)), [false, false, true]);
}

#[test]
fn eviction_from_a_generation_younger_than_min_ttl_is_counted() {
    for (min_ttl, broken) in [(0, 0.0), (1000, 1.0)] {
        let mut mglru = Plain::new(&format!("mglru:min_ttl={min_ttl}"), 30, 3);
        mglru.faults(&[0, 3, 6, 9]);
        assert_eq!(gauge(&mglru, "min_ttl_broken"), broken);
    }
}

#[test]
fn without_swap_pages_of_files_go_and_anonymous_ones_only_when_there_are_no_others() {
    // Four anonymous pages are older than two of files.
    let mut mglru = Plain::new("mglru:swappiness=200", 60, 6);
    mglru.set_swappable(false);
    mglru.faults(&[0, 3, 6, 9, 2, 5, 8, 11]);
    assert_eq!(mglru.resident(), [0, 3, 6, 8, 9, 11]);
    mglru.set_swappable(true);
    mglru.faults(&[14, 17]);
    assert_eq!(mglru.resident().iter().filter(|page| **page % 3 == 0).count(), 2);
}

/// 200 pages, all used by their faults. The passes of priority 11 and 10 age. From priority 6 on,
/// batches of 64 pages are isolated; the first page of each moves to the youngest generation with
/// its neighbours: pages 0 to 63, 64 to 127. More than half of the pages are young now, so the pass
/// of priority 4 ages. 128 takes 129 to 159 along (96 to 127 are not used any more), 160 those to
/// 191, and 192 the last ones. The generation is empty, and the next pass ages. Then 0 is the
/// oldest page and not used since.
#[test]
fn without_walks_a_used_page_takes_its_neighbours_along() {
    let mut mglru = Plain::anonymous("mglru:walks=off", 300, 200);
    mglru.faults(&(0..200).collect::<Vec<_>>());
    assert_eq!(mglru.faults(&[200]), 1);
    assert_eq!(mglru.resident(), (1..=200).collect::<Vec<_>>());
    assert_eq!(gauge(&mglru, "agings"), 4.0);
    // Three batches of 64, one of 8 and one of 64 pages were isolated; no page table was walked.
    assert_eq!((mglru.scanned(), mglru.refilled()), (264, 0));
    // All of their accessed bits were cleared; page 200 came after that.
    assert_eq!(mglru.unaccessed(1..201), 199);
    assert_eq!(mglru.faults(&[1, 2]), 0);
    assert_eq!((mglru.unaccessed(1..201), mglru.unaccessed(1..3)), (197, 0));
}

/// Walks of the page tables and their 200 pages each take time. The batch of 64 pages is more than
/// the goal of 32, so that the reclaimer ends with it.
#[test]
fn a_direct_reclaimer_ends_after_the_batch_that_reaches_its_goal() {
    let mut mglru = Plain::anonymous("mglru", 300, 200);
    mglru.faults(&(0..200).collect::<Vec<_>>());
    mglru.begin_reclaim(Reclaimer::Direct(FreePages { free: 0, high: 100 }));
    for _ in 0..2 {
        assert_eq!((mglru.reclaim_once(), mglru.goes_on()), (0, true));
    }
    let mut reclaimed = 0;
    while mglru.reclaim_once() > 0 {
        reclaimed += 1;
    }
    assert_eq!((reclaimed, mglru.goes_on()), (64, false));
    assert_eq!((mglru.scanned(), mglru.refilled()), (464, 400));
}

/// No page is old enough at first, so that a goal of 100 pages begins at priority 6. The passes of
/// priority 6 and 5 age. That of priority 4 examines at least 12 pages: it closes the empty oldest
/// generation, isolates 64 pages and is over.
#[test]
fn background_reclaim_counts_its_passes() {
    let mut mglru = Plain::anonymous("mglru", 300, 200);
    mglru.faults(&(0..200).collect::<Vec<_>>());
    let pages = FreePages { free: 40, high: 100 };
    mglru.begin_reclaim(Reclaimer::Kswapd(pages));
    for passes in [1, 2] {
        assert_eq!((mglru.reclaim_once(), mglru.goes_on()), (0, true));
        assert_eq!(mglru.passes(), Some(passes));
        mglru.begin_reclaim(Reclaimer::KswapdAgain(pages));
    }
    for _ in 0..64 {
        assert_eq!(mglru.reclaim_once(), 1);
    }
    assert_eq!(mglru.passes(), Some(2));
    mglru.reclaim_once();
    assert_eq!(mglru.passes(), Some(3));
}

/// A policy and a runner with pages of these classes, all of them used and in the youngest
/// generation.
fn all_used(classes: &[Class]) -> (MglruPolicy, Residency) {
    let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
    let setup = Setup { pages: classes.len(), frames: classes.len(), costs, seed: 0, future: None };
    let mut mglru = MglruPolicy::build(&setup, &PolicySpec::parse("mglru").unwrap().params).unwrap();
    let mut pages = Residency::new(classes.iter().copied());
    (0..classes.len() as PageId).for_each(|page| mglru.insert(page, Op::Read, &mut pages));
    (mglru, pages)
}

/// 64 pages around the used one, within its mapping: 32 on each side, or as many as there are and
/// the rest on the other side.
#[test]
fn the_neighbours_of_a_page_are_those_of_its_mapping() {
    let mut classes = [Class::Anonymous; 300];
    classes[100..120].fill(Class::File);
    for (page, neighbours) in [(220, 188..252), (130, 120..184), (10, 0..64), (0, 0..64), (290, 236..300), (95, 36..100), (110, 100..120)] {
        let (mut mglru, mut pages) = all_used(&classes);
        mglru.walks = false;
        assert!(!mglru.shrink(page, &mut pages));
        let cleared: Vec<PageId> = (0..300).filter(|page| mglru.unaccessed(*page..page + 1) == 1).collect();
        assert_eq!(cleared, neighbours.collect::<Vec<_>>(), "around {page}");
    }
}

/// With a swappiness of 60, files weigh 200 * 1064 * 60 = 12.8 million and anonymous pages
/// 101 * 1000 * 140 = 14.1 million.
#[test]
fn of_generations_of_the_same_age_swappiness_and_refaults_decide() {
    let (mut mglru, _) = all_used(&[Class::Anonymous]);
    for (kind, refaulted) in [(0, 100), (1, 200)] {
        (0..1000).for_each(|_| mglru.refaults.evicted(kind));
        (0..refaulted).for_each(|_| mglru.refaults.refaulted(kind));
    }
    for (swappiness, kind) in [(1, 1), (60, 1), (100, 0), (200, 0)] {
        mglru.swappiness = swappiness;
        assert_eq!(mglru.kind_to_scan(), kind, "swappiness {swappiness}");
    }
}

/// A page under write-back waits in the youngest generation but one (`lru_gen_add_folio`). One that
/// is used meanwhile was found in the swap cache and stays there.
#[test]
fn a_page_that_is_used_while_it_is_written_stays_in_its_generation() {
    let (mut mglru, mut pages) = all_used(&[Class::Anonymous; 2]);
    mglru.generations.remove(0);
    assert!(mglru.takes_back(0, &pages));
    mglru.insert(0, Op::Read, &mut pages);
    assert_eq!([0, 1].map(|page| mglru.generations.is_youngest(page)), [false, true]);
}
