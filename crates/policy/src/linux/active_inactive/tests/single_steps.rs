//! Steps of a policy that no run of faults shows by themselves.

use super::super::flags::{Scan, SHADOW, WORKINGSET};
use super::super::{ActiveInactivePolicy, Sums};
use crate::{Costs, Describe, Policy, PolicySpec, Residency, Setup};
use swaplab_vocab::{Class, Op, PageId};

/// The policy `spec` and a hundred pages of a class.
fn hundred(spec: &str, class: Class) -> (ActiveInactivePolicy, Residency) {
    let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
    let setup = Setup { pages: 100, frames: 100, costs, seed: 0, future: None };
    let linux = ActiveInactivePolicy::build(&setup, &PolicySpec::parse(spec).unwrap().params).unwrap();
    (linux, Residency::new((0..100).map(|_| class)))
}

/// Without a cost the weight of anonymous pages is 100. The refault is a cost of 32, which is
/// halved, because no list has a page: (16 + 1) / (16 + 16 + 1) of 100.
#[test]
fn only_the_refault_of_a_page_that_was_active_is_a_cost() {
    for (was_active, weight) in [(0, 100.0), (WORKINGSET, 1700.0 / 33.0)] {
        let (mut linux, pages) = hundred("active-inactive:swappiness=100", Class::Anonymous);
        linux.flags[0] = SHADOW | was_active;
        linux.miss(0, Op::Read, &pages);
        assert_eq!(linux.balance.fractions([1000, 1000])[0], weight);
    }
}

#[test]
fn pages_compete_with_all_others_but_the_inactive_ones_of_their_kind() {
    let (mut linux, _) = hundred("active-inactive:kernel=6.12", Class::Anonymous);
    linux.sums = Some(Sums { inactive: [10, 20], active: [3, 4], refaulted: [false; 2] });
    for (swappable, pages) in [(true, [3 + 4 + 20, 3 + 4 + 10]), (false, [4 + 20, 4])] {
        linux.set_swappable(swappable);
        assert_eq!([0, 1].map(|kind| linux.working_set(kind)), pages, "swappable: {swappable}");
    }
}

/// A page that a scan spares has been in use, which counts as a cost of its kind, except by the
/// rules of 3.4, where only an activation does: (1 + 1) / (1 + 1 + 1) of 100, and twice 140.
#[test]
fn a_spared_page_is_a_cost_of_its_kind_since_6_1() {
    for (spec, kind, expected) in
        [("active-inactive:swappiness=100", 0, 200.0 / 3.0), ("active-inactive:kernel=3.4,swappiness=60", 1, 280.0)]
    {
        let (mut linux, mut pages) = hundred(spec, [Class::Anonymous, Class::Shared][kind]);
        (0..100 as PageId).for_each(|page| linux.insert(page, Op::Read, &mut pages));
        assert!(linux.shrink_inactive(kind, &mut pages) == Scan::Spared);
        assert_eq!(linux.balance.fractions([1000, 1000])[kind], expected, "{spec}");
    }
}
