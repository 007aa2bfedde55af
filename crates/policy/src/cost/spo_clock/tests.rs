use crate::bits::{COPIED, DIRTY, RESIDENT};
use crate::{AnyPolicy, Costs, PolicySpec, Residency, Setup};
use proptest::prelude::*;
use swaplab_vocab::{Class, Op, PageId};

/// UFS 3.1 and Optane M10 (SPO-CLOCK, Table II; docs/papers/spo-clock.md).
const COSTS: Costs = Costs { swap_read_ns: 5263, swap_write_ns: 28571, file_read_ns: 10000, file_write_ns: 14286 };

struct Machine {
    policy: AnyPolicy,
    pages: Residency,
    free: usize,
    /// Evicted pages, in order.
    out: Vec<PageId>,
}

impl Machine {
    fn new(policy: &str, classes: &[Class], frames: usize) -> Machine {
        let setup = Setup { pages: classes.len(), frames, costs: COSTS, seed: 0, future: None };
        let policy = PolicySpec::parse(policy).unwrap().build(&setup).unwrap();
        Machine { policy, pages: Residency::new(classes.iter().copied()), free: frames, out: Vec::new() }
    }

    fn access(&mut self, page: PageId, op: Op) {
        let policy = self.policy.as_dyn_mut();
        if op.is_write() {
            self.pages.set(page, if self.pages.class(page) == Class::File { DIRTY | COPIED } else { DIRTY });
        }
        if self.pages.is_resident(page) {
            policy.touch(page, op, &self.pages);
        } else {
            policy.miss(page, op, &self.pages);
            while self.free == 0 {
                policy.reclaim(Some((page, op)), &mut self.pages);
                drain(&mut self.pages, &mut self.free, &mut self.out);
            }
            self.free -= 1;
            self.pages.set(page, RESIDENT);
            policy.insert(page, op, &mut self.pages);
            drain(&mut self.pages, &mut self.free, &mut self.out);
        }
    }

    fn forget(&mut self, page: PageId) {
        self.free += usize::from(self.pages.is_resident(page));
        self.pages.clear(page, RESIDENT | DIRTY | COPIED);
        self.policy.as_dyn_mut().forget(page);
    }

    fn sizes(&self) -> Vec<f64> {
        self.policy.as_dyn().gauges().iter().take(4).map(|(_, v)| *v).collect()
    }
}

fn drain(pages: &mut Residency, free: &mut usize, out: &mut Vec<PageId>) {
    while let Some(page) = pages.take_released() {
        pages.clear(page, DIRTY);
        out.push(page);
        *free += 1;
    }
}

/// Worked by hand: five frames, so sizes 2 1 1 1 (read/anon, write/anon, read/file, write/file);
/// T0 = 1, so one hit grows write/anon.
#[test]
fn a_shadow_hit_grows_its_region_and_a_written_page_moves_over() {
    let mut m = Machine::new("spo-clock:t0=1", &[Class::Anonymous; 7], 5);
    for (page, op) in [(0, Op::Read), (1, Op::Read), (2, Op::Read), (3, Op::Write), (5, Op::Read)] {
        m.access(page, op);
    }
    m.access(4, Op::Write); // write/anon {3} is at its size: 3 goes to its shadow
    assert_eq!(m.out, [3]);
    // in the shadow: write/anon 1 -> 2 at the cost of read/anon, which is over its size by 3 now
    m.access(3, Op::Write);
    assert_eq!((m.out.as_slice(), m.sizes().as_slice()), ([3, 0].as_slice(), [1.0, 2.0, 1.0, 1.0].as_slice()));
    m.access(1, Op::Read);
    m.access(1, Op::Write);
    m.access(6, Op::Read); // the hand meets 1: it enters write/anon, where 4 makes room; then 2, not referenced, goes
    m.out[2..].sort(); // both left in one call
    assert_eq!(m.out, [3, 0, 2, 4]);
    m.policy.as_dyn().check(&m.pages).unwrap();
}

/// As printed, a full region gives up an entry though frames are free; a page in both rings stays
/// in memory.
#[test]
fn descriptor_mode_reclaims_an_entry_of_a_full_region() {
    let mut m = Machine::new("spo-clock:mode=descriptor", &[Class::Anonymous; 4], 4);
    m.access(0, Op::Read);
    m.access(0, Op::Write);
    // read/anon {0} is full: 0 leaves it, was written, so it is in write/anon
    m.access(1, Op::Read);
    assert_eq!((m.out.as_slice(), m.free), ([].as_slice(), 2));
    m.access(2, Op::Read);
    assert_eq!((m.out.as_slice(), m.free), ([1].as_slice(), 2));
    m.policy.as_dyn().check(&m.pages).unwrap();
    // Eight frames leave room for two pages a region: the third read gives up the oldest.
    let mut m = Machine::new("spo-clock:mode=descriptor", &[Class::Anonymous; 3], 8);
    m.access(0, Op::Read);
    m.access(1, Op::Read);
    assert_eq!((m.out.as_slice(), m.free), ([].as_slice(), 6));
    m.access(2, Op::Read);
    assert_eq!((m.out.as_slice(), m.free), ([0].as_slice(), 6));
}

#[test]
fn fewer_than_four_frames_are_refused() {
    let setup = Setup { pages: 9, frames: 3, costs: COSTS, seed: 0, future: None };
    let refused = PolicySpec::parse("spo-clock").unwrap().build(&setup).err().unwrap().to_string();
    assert_eq!(refused, "spo-clock: frames = 3; expected at least 4, one for each region");
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![Just(Class::Anonymous), Just(Class::File), Just(Class::Shared)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Fetch)]
}

proptest! {
    #[test]
    fn one_region_is_clock(
        classes in prop::collection::vec(class(), 30),
        steps in prop::collection::vec((0u32..30, op()), 0..600),
        frames in 1usize..30,
    ) {
        let mut ours = Machine::new("spo-clock:regions=1", &classes, frames);
        let mut clock = Machine::new("clock", &classes, frames);
        for (page, op) in steps {
            ours.access(page, op);
            clock.access(page, op);
        }
        prop_assert_eq!(&ours.out, &clock.out);
        prop_assert_eq!(ours.policy.as_dyn().scanned(), clock.policy.as_dyn().scanned());
    }

    #[test]
    fn invariants_hold_in_every_mode(
        classes in prop::collection::vec(class(), 24),
        steps in prop::collection::vec((0u32..24, op(), 0u8..20), 0..400),
        frames in 4usize..20,
        mode in prop::sample::select(vec!["frame", "descriptor"]),
        victim in prop::sample::select(super::Shrink::NAMES.to_vec()),
    ) {
        let mut m = Machine::new(&format!("spo-clock:mode={mode},t0=1,victim={victim}"), &classes, frames);
        for (page, op, step) in steps {
            if step == 0 { m.forget(page) } else { m.access(page, op) }
            prop_assert_eq!(m.policy.as_dyn().check(&m.pages), Ok(()));
            prop_assert_eq!((0..24).filter(|p| m.pages.is_resident(*p)).count() + m.free, frames);
        }
    }

    #[test]
    fn sizes_follow_the_memory(frames in prop::collection::vec(1usize..60, 1..8)) {
        let mut m = Machine::new("spo-clock:t0=1", &[Class::Anonymous; 40], 40);
        for (i, frames) in frames.into_iter().enumerate() {
            for page in 0..40 {
                m.access((page * 7 + i as u32) % 40, if page % 3 == 0 { Op::Write } else { Op::Read });
            }
            let resident = (0..40).filter(|p| m.pages.is_resident(*p)).count();
            let policy = m.policy.as_dyn_mut();
            policy.resize(frames);
            m.free = frames.saturating_sub(resident);
            let mut left = resident;
            while left > frames {
                policy.reclaim(None, &mut m.pages);
                while let Some(page) = m.pages.take_released() {
                    m.pages.clear(page, DIRTY);
                    left -= 1;
                }
            }
            m.free = frames - left;
            prop_assert_eq!(policy.check(&m.pages), Ok(()));
        }
    }
}

/// The tests above rely on `check`: it finds each kind of contradiction that is made here.
#[test]
fn contradictions_are_found() {
    let built = || {
        let mut m = Machine::new("spo-clock", &[Class::Anonymous; 8], 4);
        (0..6).for_each(|page| m.access(page, Op::Read));
        m
    };
    let m = built();
    assert_eq!(m.policy.as_dyn().check(&m.pages), Ok(()));
    // A page is in a ring and not in memory, or the reverse.
    let mut lost = built();
    let resident = (0..8).find(|page| lost.pages.is_resident(*page)).unwrap();
    lost.pages.clear(resident, RESIDENT);
    assert!(lost.policy.as_dyn().check(&lost.pages).unwrap_err().contains("is linked: true, resident: false"));
    let mut strange = built();
    strange.pages.set(7, RESIDENT);
    assert!(strange.policy.as_dyn().check(&strange.pages).unwrap_err().contains("page 7 is linked: false, resident: true"));
}
