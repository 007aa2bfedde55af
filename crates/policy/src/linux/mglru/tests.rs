//! Cases worked by hand.

use crate::plain::Plain;

// Plain runner: pages 0, 3, .. are anonymous; 1, 4, .. of private, 2, 5, .. of shared files.

fn gauge(run: &Plain, name: &str) -> f64 {
    run.gauges().into_iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn reclaim_takes_from_the_oldest_generation_what_was_not_used_since() {
    let mut mglru = Plain::new("mglru", 30, 3);
    assert_eq!(mglru.faults(&[0, 3, 6]), 3);
    assert_eq!((gauge(&mglru, "walks"), gauge(&mglru, "generations_anon")), (0.0, 2.0));
    // The first aging finds every page used by its fault; two more make that generation the
    // oldest of three. 0 is evicted.
    assert_eq!(mglru.faults(&[9]), 1);
    assert_eq!(mglru.resident(), [3, 6, 9]);
    assert_eq!((gauge(&mglru, "walks"), gauge(&mglru, "generations_anon")), (3.0, 3.0));
    // 3 was used since: the scan moves it to the youngest generation, and 6 is evicted.
    assert_eq!(mglru.faults(&[3, 12]), 1);
    assert_eq!(mglru.resident(), [3, 9, 12]);
    assert_eq!(gauge(&mglru, "walks"), 3.0);
}

/// 0 was evicted from the generation that is still the oldest one. Two agings later it is no
/// longer, and page 27 was never in memory.
#[test]
fn a_page_of_the_oldest_generation_that_comes_back_is_of_the_working_set() {
    let mut mglru = Plain::new("mglru", 30, 3);
    mglru.faults(&[0, 3, 6, 9]);
    assert_eq!([0, 27].map(|page| mglru.is_of_working_set(page)), [true, false]);
    mglru.faults(&[3, 12, 15]);
    assert_eq!(gauge(&mglru, "walks"), 5.0);
    assert_eq!([0, 6, 3].map(|page| mglru.is_of_working_set(page)), [false, false, true]);
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
    // The plain runner's pages 0, 3, 6, .. are anonymous, 2, 5, 8, .. of files. Four anonymous
    // pages are older than two of files.
    let mut mglru = Plain::new("mglru:swappiness=200", 60, 6);
    mglru.set_swappable(false);
    mglru.faults(&[0, 3, 6, 9, 2, 5, 8, 11]);
    assert_eq!(mglru.resident(), [0, 3, 6, 8, 9, 11]);
    mglru.set_swappable(true);
    mglru.faults(&[14, 17]);
    assert_eq!(mglru.resident().iter().filter(|page| **page % 3 == 0).count(), 2);
}

#[test]
fn file_pages_go_first_at_low_swappiness() {
    let left = |swappiness: u32| {
        let mut mglru = Plain::new(&format!("mglru:swappiness={swappiness}"), 60, 6);
        mglru.faults(&[0, 3, 6, 2, 5, 8, 11, 14, 17]);
        mglru.resident().into_iter().filter(|p| p % 3 == 0).count()
    };
    assert_eq!((left(1), left(200)), (3, 0));
}

#[test]
fn the_highest_tier_that_refaults_no_more_than_others_is_evicted() {
    // As above: 9 replaced 0 after three agings. 3 is used a second time and moves to the youngest
    // generation, and 12 replaces 6. Two agings later 3 is alone in the oldest generation. With two
    // uses it is in tier 1, the highest of two, which is not protected, because nothing has
    // refaulted.
    let mut mglru = Plain::new("mglru:tiers=2", 30, 3);
    mglru.faults(&[0, 3, 6, 9, 3, 12]);
    assert_eq!(mglru.resident(), [3, 9, 12]);
    mglru.faults(&[15]);
    assert_eq!((mglru.resident(), gauge(&mglru, "walks")), (vec![9, 12, 15], 5.0));
}
