use super::*;
use crate::plain::Plain;
use crate::Costs;
use proptest::prelude::*;
use swaplab_vocab::Class;

#[test]
fn the_least_used_page_is_evicted_and_of_equals_the_first_to_reach_the_count() {
    let mut lfu = Plain::new("lfu", 10, 3);
    // Pages 1 and 2 have two references, page 3 has three; 1 reached two before 2 did.
    assert_eq!(lfu.faults(&[2, 1, 3, 1, 2, 3, 3]), 3);
    assert_eq!(lfu.faults(&[4]), 1);
    assert_eq!(lfu.resident(), [2, 3, 4]);
    // Page 4 has one use and is evicted. Page 1 returns with its count reset and is the next
    // victim.
    assert_eq!(lfu.faults(&[1]), 1);
    assert_eq!(lfu.resident(), [1, 2, 3]);
    assert_eq!(lfu.faults(&[5]), 1);
    assert_eq!(lfu.resident(), [2, 3, 5]);
}

/// Of 2 frames, one is for page 0, which is evicted and used often again and again. Each time it
/// becomes another candidate above the classes, of which there is one page or none.
#[test]
fn candidates_that_have_left_are_dropped() {
    let mut pages = crate::Residency::new((0..2).map(|_| Class::Anonymous));
    let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
    let setup = Setup { pages: 2, frames: 2, costs, seed: 0, future: None };
    let mut lfu = LfuPolicy::build(&setup, &crate::PolicySpec::parse("lfu").unwrap().params).unwrap();
    pages.set(1, crate::bits::RESIDENT);
    lfu.insert(1, Op::Read, &mut pages);
    (0..9).for_each(|_| lfu.touch(1, Op::Read, &pages));
    for _ in 0..1000 {
        pages.set(0, crate::bits::RESIDENT);
        lfu.insert(0, Op::Read, &mut pages);
        (0..9).for_each(|_| lfu.touch(0, Op::Read, &pages));
        pages.clear(0, crate::bits::RESIDENT);
        lfu.forget(0);
        assert!(lfu.above.len() <= 2 + 64 + 1, "{} candidates", lfu.above.len());
    }
}

/// LFU by its definition: resident pages with their counts and the times at which they reached
/// them.
#[derive(Default)]
struct Model(Vec<(u64, usize, PageId)>);

impl Model {
    fn refer(&mut self, page: PageId, now: usize) {
        match self.0.iter_mut().find(|entry| entry.2 == page) {
            Some(entry) => (entry.0, entry.1) = (entry.0 + 1, now),
            None => self.0.push((1, now, page)),
        }
    }
}

proptest! {
    // The sequences are long enough that the time of noted pages also overflows.
    #[test]
    fn victims_are_those_of_the_definition(
        steps in prop::collection::vec((0u32..12, 1u8..40, 0u8..12), 0..600),
        frames in 1usize..10,
        now in prop_oneof![Just(0u64), ((1u64 << TIME_BITS) - 200)..(1 << TIME_BITS)],
    ) {
        let mut pages = crate::Residency::new((0..12).map(|_| Class::Anonymous));
        let setup = Setup { pages: 12, frames, costs: Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 }, seed: 0, future: None };
        let mut lfu = LfuPolicy::build(&setup, &crate::PolicySpec::parse("lfu").unwrap().params).unwrap();
        lfu.now = now;
        let mut model = Model::default();
        for (at, (page, times, step)) in steps.into_iter().enumerate() {
            if step == 0 {
                pages.clear(page, crate::bits::RESIDENT);
                lfu.forget(page);
                model.0.retain(|entry| entry.2 != page);
                continue;
            }
            if !pages.is_resident(page) {
                if model.0.len() == frames {
                    lfu.reclaim(None, &mut pages);
                    let least = model.0.iter().min().map(|entry| entry.2);
                    prop_assert_eq!(pages.take_released(), least);
                    model.0.retain(|entry| Some(entry.2) != least);
                }
                pages.set(page, crate::bits::RESIDENT);
                lfu.insert(page, Op::Read, &mut pages);
                model.refer(page, 100 * at);
            }
            for more in 1..times as usize {
                lfu.touch(page, Op::Read, &pages);
                model.refer(page, 100 * at + more);
            }
            prop_assert_eq!(lfu.check(&pages), Ok(()));
        }
    }
}
