//! The cost-aware baselines: cases worked by hand, and equality with the policies they extend when
//! all costs are equal.

mod plain;

use plain::Plain;
use proptest::prelude::*;
use swaplab_vocab::{Op, PageId};

/// Pages of the plain runner are anonymous where their number is a multiple of 3.
fn anonymous(page: PageId) -> PageId {
    3 * page
}

/// The evicted pages, in order. Each letter of `accesses` is an access to a page; a capital letter
/// is a write.
fn victims(policy: &str, frames: usize, accesses: &str) -> Vec<PageId> {
    let pages: Vec<PageId> = accesses.bytes().map(|b| anonymous((b.to_ascii_lowercase() - b'a') as PageId)).collect();
    let mut run = Plain::with_future(policy, 78, frames, &pages);
    let mut gone = Vec::new();
    for (page, letter) in pages.into_iter().zip(accesses.chars()) {
        let before = run.resident();
        run.access(page, if letter.is_uppercase() { Op::Write } else { Op::Read });
        gone.extend(before.into_iter().filter(|p| !run.resident().contains(p)).map(|p| p / 3));
        run.check().unwrap();
    }
    gone
}

#[test]
fn greedy_dual_keeps_a_dirty_page_for_six_clean_ones() {
    // Read 8 us, write 40 us. A: credit 48. b 8, c goes in at floor 8 with 16, d at 16 with 24, ..
    // g at 40 with 48: now A and g are equal, the clean one (cheaper) goes, floor 48; then A at 48
    // is below h at 56.
    assert_eq!(victims("greedy-dual", 2, "Abcdefghi"), [1, 2, 3, 4, 5, 6, 0]);
}

#[test]
fn cflru_takes_a_clean_page_of_the_window_first() {
    // Four frames, a window of two: A (dirty) and b are in it.
    assert_eq!(victims("cflru:window=0.5", 4, "Abcde"), [1]);
    // c and d are clean, but outside of it.
    assert_eq!(victims("cflru:window=0.5", 4, "ABcde"), [0]);
}

#[test]
fn clock_dwf_lets_written_pages_fall_back_before_they_go() {
    // Four frames, two of them for written pages. A and B are written. C makes A fall back, and d
    // enters the other ring: A is evicted for e.
    assert_eq!(victims("clock-dwf", 4, "ABCde"), [0]);
    // A was written again: a turn passes over it (1 write), so B falls back.
    assert_eq!(victims("clock-dwf", 4, "ABACde"), [1]);
}

#[test]
fn cost_clock_gives_a_page_seen_in_use_a_larger_credit() {
    // As with greedy-dual above while nothing is referenced again.
    assert_eq!(victims("cost-clock", 2, "Abcdefghi"), [1, 2, 3, 4, 5, 6, 0]);
    // A was used: when its credit of 48 is spent it gets twice 48, and h is evicted in its place.
    assert_eq!(victims("cost-clock", 2, "AAbcdefghi"), [1, 2, 3, 4, 5, 6, 7]);
    // a returns while it has a ghost entry (there is one, half of memory) and gets twice 8 at floor
    // 8. d, at 16, gets once 8. Of equal credits the page with fewer uses is evicted.
    assert_eq!(victims("cost-clock", 2, "abcade"), [0, 1, 2, 3]);
    assert_eq!(victims("cost-clock:history=0", 2, "abcade"), [0, 1, 2, 0]);
}

#[test]
fn opt_greedy_weighs_cost_against_the_way_to_the_next_use() {
    // Two frames, at c: keeping A saves 48 us over 4 references, keeping b 8 us over 1, so b is
    // evicted, then c, which is never referenced again. `opt` evicts A, which is needed last.
    assert_eq!(victims("opt-greedy", 2, "AbcbbbA"), [1, 2]);
    assert_eq!(victims("opt", 2, "AbcbbbA")[0], 0);
}

proptest! {
    #[test]
    fn with_equal_costs_they_evict_as_the_policies_that_they_extend(trace in prop::collection::vec(0u32..12, 0..300), frames in 1usize..10) {
        let trace: Vec<PageId> = trace.into_iter().map(anonymous).collect();
        for (ours, plain) in [("greedy-dual", "lru"), ("cflru", "lru"), ("clock-dwf", "clock"), ("cost-clock:levels=1", "clock"), ("opt-greedy", "opt")] {
            let faults = |policy| Plain::with_future(policy, 36, frames, &trace).faults(&trace);
            prop_assert_eq!(faults(ours), faults(plain), "{} and {}", ours, plain);
        }
    }

    /// CFLRU by its definition: a list of all pages in order of use, searched from its end.
    #[test]
    fn cflru_is_its_definition(steps in prop::collection::vec((0u32..12, any::<bool>()), 0..300), frames in 1usize..10, tenths in 1u32..10) {
        let window = ((frames as f64 * tenths as f64 / 10.0).round() as usize).max(1);
        let mut run = Plain::new(&format!("cflru:window={}", tenths as f64 / 10.0), 12, frames);
        let mut order: Vec<(PageId, bool)> = Vec::new(); // least recently used first
        for (page, write) in steps {
            let known = order.iter().position(|(p, _)| *p == page).map(|i| order.remove(i));
            if known.is_none() && order.len() == frames {
                let clean = order[..window].iter().position(|(_, dirty)| !dirty);
                order.remove(clean.unwrap_or(0));
            }
            order.push((page, write || known.is_some_and(|(_, dirty)| dirty)));
            run.access(page, if write { Op::Write } else { Op::Read });
            let mut expected: Vec<PageId> = order.iter().map(|(p, _)| *p).collect();
            expected.sort();
            prop_assert_eq!(run.resident(), expected);
        }
    }
}
