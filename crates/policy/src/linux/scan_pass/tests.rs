//! Passes by hand.

use super::*;

/// Number of pages scanned by list until the pass ends, when no page is reclaimed.
fn scanned_by_list(pass: &mut ScanPass) -> [usize; LISTS] {
    let mut seen = [0; LISTS];
    while let Some((kind, active)) = pass.next() {
        seen[2 * kind + usize::from(active)] += 1;
    }
    seen
}

#[test]
fn a_list_is_scanned_for_its_length_by_priority_rounded_down() {
    let mut pass = ScanPass::new(false);
    pass.begin(Reclaimer::Kswapd(FreePages { free: 500, high: 600 }));
    assert_eq!(pass.next_priority(), 12);
    // 20,000 >> 12 = 4 and 9,000 >> 12 = 2 pages: shares of 0.3 and 0.7 are 1 and 1. Of 4,095
    // pages none is scanned.
    pass.set([20_000, 4_095, 9_000, 9_000], [true; 2], Balance::Fractions([60.0, 140.0]));
    assert_eq!(scanned_by_list(&mut pass), [1, 0, 1, 1]);
    // Too few were scanned, so the priority falls: 9 and 4 pages.
    assert_eq!(pass.next_priority(), 11);
    pass.set([20_000, 4_095, 9_000, 9_000], [true; 2], Balance::Fractions([60.0, 140.0]));
    assert_eq!(scanned_by_list(&mut pass), [2, 0, 2, 2]);
    // As many were scanned as the watermark has: the priority stays.
    (0..600).for_each(|_| pass.note_scanned());
    pass.note_reclaimed();
    assert_eq!(pass.next_priority(), 11);
}

#[test]
fn lists_take_turns_by_32_pages() {
    let mut pass = ScanPass::new(false);
    pass.next_priority();
    pass.set([40 << 12, 0, 33 << 12, 0], [true; 2], Balance::Only(0));
    assert_eq!(scanned_by_list(&mut pass), [40, 0, 0, 0]);
    pass.set([80 << 12, 0, 66 << 12, 0], [true; 2], Balance::Fractions([1.0, 1.0]));
    let kinds: Vec<usize> = std::iter::from_fn(|| pass.next()).map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [vec![0; 32], vec![1; 32], vec![0; 8], vec![1; 1]].concat());
}

#[test]
fn once_enough_was_reclaimed_the_smaller_kind_rests_and_the_other_is_scanned_in_proportion() {
    let mut pass = ScanPass::new(false);
    pass.next_priority();
    pass.set([400 << 12, 0, 200 << 12, 0], [true; 2], Balance::Fractions([1.0, 1.0]));
    // 200 and 100 pages. After the first round 32 of each list have been scanned and 40 pages
    // were reclaimed.
    for at in 0..64 {
        assert!(pass.next().is_some());
        if at < 40 {
            pass.note_reclaimed();
        }
    }
    // 68 of 101 file pages are left, 67 %. Of 200 anonymous pages 33 % are 66, less the 32
    // scanned. One batch of these 34 is scanned; then one kind has none left and the pass ends.
    assert_eq!(scanned_by_list(&mut pass), [32, 0, 0, 0]);
    // A direct reclaimer scans all that it set out to in its first pass.
    pass.begin(Reclaimer::Direct(FreePages { free: 0, high: 600 }));
    pass.next_priority();
    pass.set([400 << 12, 0, 200 << 12, 0], [true; 2], Balance::Fractions([1.0, 1.0]));
    (0..64).for_each(|_| pass.note_reclaimed());
    assert_eq!(scanned_by_list(&mut pass), [200, 0, 100, 0]);
}

#[test]
fn active_pages_that_are_not_aged_count_as_pages_to_scan() {
    let mut pass = ScanPass::new(true);
    pass.next_priority();
    pass.set([400 << 12, 0, 200 << 12, 400 << 12], [true, false], Balance::Fractions([1.0, 1.0]));
    // 200 anonymous, 100 inactive and 200 active file pages. 32 of each list are taken in the
    // first round, but active ones are not scanned.
    for at in 0..64 {
        assert_ne!(pass.next(), Some((1, true)));
        if at < 40 {
            pass.note_reclaimed();
        }
    }
    // 168 anonymous and 68 + 168 file pages are left, so anonymous ones are left alone with 168
    // of 201 to scan, 83 %. Of 100 and 200 file pages 17 % are 17 and 34, less the 32 scanned:
    // 2 active ones, which are not scanned.
    assert_eq!(scanned_by_list(&mut pass), [0, 0, 0, 0]);
}

#[test]
fn files_are_tiny_where_they_and_free_pages_do_not_exceed_the_high_watermark() {
    let mut pass = ScanPass::new(true);
    pass.begin(Reclaimer::Direct(FreePages { free: 100, high: 600 }));
    assert_eq!([pass.is_tiny(500), pass.is_tiny(501)], [true, false]);
    // What was reclaimed is free by now.
    (0..20).for_each(|_| pass.note_reclaimed());
    assert_eq!([pass.is_tiny(480), pass.is_tiny(481)], [true, false]);
    pass.begin(Reclaimer::Group);
    assert!(!pass.is_tiny(0));
}

#[test]
fn background_reclaim_of_6_12_ends_at_priority_1_and_begins_again() {
    let lowest = |newest: bool, by: Reclaimer| {
        let mut pass = ScanPass::new(newest);
        pass.begin(by);
        std::iter::from_fn(|| (!pass.is_done()).then(|| pass.next_priority())).last()
    };
    let (kswapd, direct) = (Reclaimer::Kswapd(FreePages { free: 500, high: 600 }), Reclaimer::Direct(FreePages { free: 0, high: 600 }));
    assert_eq!([(true, kswapd), (true, direct), (false, kswapd)].map(|(newest, by)| lowest(newest, by)), [Some(1), Some(0), Some(0)]);
    let mut pass = ScanPass::new(true);
    pass.begin(kswapd);
    (0..12).for_each(|_| {
        pass.next_priority();
    });
    pass.begin_again();
    assert!((pass.next_priority(), pass.is_background()) == (12, true));
}

/// Let a round of passes in cache trim mode end. `reclaims`: whether its first pass reclaims a
/// page. Returns whether the reclaimer ended.
fn trim_round(pass: &mut ScanPass, reclaims: bool) -> bool {
    while !pass.is_done() {
        pass.next_priority();
        pass.trim(true);
        if reclaims && pass.reclaimed_in_all == 0 {
            pass.note_reclaimed();
        }
    }
    pass.begin_again()
}

#[test]
fn background_reclaim_leaves_cache_trim_mode_for_a_round_after_one_in_vain() {
    let mut pass = ScanPass::new(true);
    pass.begin(Reclaimer::Kswapd(FreePages { free: 500, high: 600 }));
    assert_eq!((trim_round(&mut pass, true), pass.trim(true)), (true, true));
    // A round that reclaimed nothing is followed by one without that mode, and that one by an
    // ordinary one.
    assert_eq!((trim_round(&mut pass, false), pass.trim(true)), (false, false));
    assert_eq!((trim_round(&mut pass, false), pass.trim(true)), (true, true));
    // A round in vain that was never in that mode changes nothing, nor do a direct reclaimer's or
    // those by older rules.
    pass.begin(Reclaimer::Kswapd(FreePages { free: 500, high: 600 }));
    while !pass.is_done() {
        pass.next_priority();
        pass.trim(false);
    }
    pass.begin_again();
    assert!(pass.trim(true));
    let pages = FreePages { free: 400, high: 600 };
    for (newest, by) in [(true, Reclaimer::Direct(pages)), (false, Reclaimer::Kswapd(pages))] {
        let mut other = ScanPass::new(newest);
        other.begin(by);
        assert_eq!((trim_round(&mut other, false), other.trim(true)), (true, true));
    }
}
