use super::*;

#[test]
fn pages_that_leave_together_lie_together() {
    let mut slots = Slots::new(1000, Some(1000));
    let taken: Vec<Slot> = (0..300).map(|page| slots.take(page).unwrap()).collect();
    assert_eq!(taken, (0..300).collect::<Vec<_>>());
    // Freed slots before `next` are not reused while there is a free cluster.
    (0..100).for_each(|page| assert!(slots.release(page)));
    assert_eq!(slots.take(500).unwrap(), 300);
    slots.check().unwrap();
}

#[test]
fn a_completely_free_cluster_is_taken_before_the_holes_of_another() {
    let mut slots = Slots::new(5 * CLUSTER, Some(3 * CLUSTER as u64));
    for page in 0..3 * CLUSTER as u32 {
        slots.take(page).unwrap();
    }
    assert_eq!(slots.take(800), None);
    slots.release(10);
    (256..512).for_each(|page| assert!(slots.release(page)));
    assert_eq!(slots.take(800), Some(256));
    for page in 801..801 + 255 {
        slots.take(page).unwrap();
    }
    // then the hole
    assert_eq!(slots.take(10), Some(10));
    assert_eq!(slots.take(20 + 3 * CLUSTER as u32), None);
    slots.check().unwrap();
}

/// Runs of four slots fill a cluster of their own. In a nearly full area, free slots that do
/// not form a run are given to single pages only.
#[test]
fn runs_of_slots() {
    let mut slots = Slots::new(2000, Some(512));
    assert_eq!((slots.take(0), slots.reserve_run(8, 4)), (Some(0), true));
    // The order of pages within a run is that of their numbers; another page is no part of it.
    assert_eq!([10, 8, 9, 1, 11].map(|page| slots.take(page)), [258, 256, 257, 1, 259].map(Some));
    assert!(slots.is_run(8, 4) && !slots.is_run(8, 8) && !slots.is_run(1, 2) && !slots.is_run(12, 4));
    assert!(slots.reserve_run(12, 4));
    assert_eq!(slots.take(12), Some(260));
    assert!(!slots.is_run(12, 4), "three pages are elsewhere");
    assert!((100..100 + 512 - 7).all(|page| slots.take(page).is_some()));
    assert_eq!((slots.used(), slots.reserve_run(16, 4)), (512, false));
    assert!([1, 8, 9].iter().all(|page| slots.release(*page)));
    assert!(!slots.reserve_run(16, 4), "three free slots");
    assert!(slots.take(16).is_some());
    assert!([16, 10, 11].iter().all(|page| slots.release(*page)));
    assert!(slots.reserve_run(16, 4));
    assert_eq!(slots.take(17), Some(257));
    slots.check().unwrap();
}

#[test]
fn content_is_freed_with_its_last_owner() {
    let mut slots = Slots::new(3, None);
    let slot = slots.take(0).unwrap();
    slots.share(0, 1);
    assert_eq!((slots.of(1), slots.owners(slot), slots.used()), (Some(slot), 2, 1));
    assert_eq!(slots.page_at(slot), 0);
    assert!(!slots.release(0));
    assert_eq!(slots.page_at(slot), 1);
    slots.check().unwrap();
    assert!(slots.release(1));
    assert!(!slots.release(1));
    assert_eq!(slots.used(), 0);
    slots.check().unwrap();
}

#[test]
fn the_window_is_aligned_and_holds_taken_slots_only() {
    let mut slots = Slots::new(20, Some(20));
    (0..12).for_each(|page| assert!(slots.take(page).is_some()));
    slots.release(9);
    assert_eq!(slots.window(10, 8).collect::<Vec<_>>(), [(8, 8), (11, 11)]);
    assert_eq!(slots.window(10, 1).count(), 0);
}

/// Clusters become free in the order in which their last slots are released, whichever was touched
/// first.
#[test]
fn free_clusters_are_taken_in_the_order_in_which_they_became_free() {
    let cluster = CLUSTER as u32;
    let mut slots = Slots::new(4 * CLUSTER, Some(3 * CLUSTER as u64));
    assert!((0..3 * cluster).all(|page| slots.take(page) == Some(page)));
    assert!(slots.release(0));
    assert!((cluster..2 * cluster).all(|page| slots.release(page)));
    assert!((1..cluster).all(|page| slots.release(page)));
    assert!((0..cluster).all(|at| slots.take(3 * cluster + at) == Some(cluster + at)));
    assert_eq!(slots.take(0), Some(0));
    slots.check().unwrap();
}

/// A cluster that is being filled continues to be filled, also if all of its slots were released
/// meanwhile.
#[test]
fn a_cluster_that_is_being_filled_is_no_free_one() {
    let mut slots = Slots::new(4, Some(2 * CLUSTER as u64));
    assert_eq!((slots.take(0), slots.release(0)), (Some(0), true));
    assert_eq!((slots.take(1), slots.reserve_run(2, 2), slots.take(2)), (Some(1), true, Some(CLUSTER as u32)));
}

#[test]
fn more_than_half_is_crowded() {
    let mut slots = Slots::new(4, Some(4));
    assert_eq!([0, 1, 2].map(|page| (slots.take(page), slots.crowded()).1), [false, false, true]);
}

#[test]
fn broken_tables_are_reported() {
    let broken = |breaks: fn(&mut Slots)| {
        let mut slots = Slots::new(3, None);
        (0..2).for_each(|page| assert!(slots.take(page).is_some()));
        slots.check().unwrap();
        breaks(&mut slots);
        slots.check().unwrap_err()
    };
    assert_eq!(broken(|slots| slots.owners[0] = 2), "owners of slots do not match the pages that point at them");
    assert_eq!(broken(|slots| slots.page_at[1] = 2), "slot 1 names page 2, which does not own it");
    assert_eq!(broken(|slots| slots.used = 3), "2 slots are taken, 3 counted");
    assert_eq!(broken(|slots| slots.taken[0] = 1), "cluster 0 has 2 taken slots, 1 counted");
}
