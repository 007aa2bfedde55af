use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Reference(PageId),
    Free(PageId),
}

/// The misses of an LRU cache of `frames` frames that loses the pages that are freed.
fn misses_of_a_cache(steps: &[Step], frames: usize) -> f64 {
    let (mut cache, mut misses): (Vec<PageId>, f64) = (Vec::new(), 0.0);
    for step in steps {
        let (Step::Reference(page) | Step::Free(page)) = *step;
        let hit = cache.contains(&page);
        cache.retain(|kept| *kept != page);
        if let Step::Reference(_) = step {
            misses += f64::from(!hit);
            cache.insert(0, page);
            cache.truncate(frames);
        }
    }
    misses
}

proptest! {
    #[test]
    fn the_curve_is_that_of_a_cache_of_each_size(steps in prop::collection::vec((0u32..9, 0u8..5), 1..300)) {
        let steps: Vec<Step> = steps.into_iter().map(|(page, free)| if free == 0 { Step::Free(page) } else { Step::Reference(page) }).collect();
        let mut stack = Stack::new(&[Class::Anonymous; 9]);
        for step in &steps {
            match *step {
                Step::Reference(page) => stack.reference(page, false),
                Step::Free(page) => stack.free(page),
            }
        }
        let references = stack.seen;
        let curve = stack.curve(9, references, 1.0);
        prop_assert_eq!(curve.misses, (0..=9).map(|frames| misses_of_a_cache(&steps, frames)).collect::<Vec<_>>());
    }
}

/// Half of the pages are in the sample. It saw three of the four references that eight should give,
/// so one hit is added at one frame. A hit at depth 2 is one at four frames.
#[test]
fn a_sample_stands_for_all_pages() {
    let mut stack = Stack::new(&[Class::Anonymous; 4]);
    [0, 1, 0].into_iter().for_each(|page| stack.reference(page, false));
    let curve = stack.curve(4, 8, 0.5);
    assert_eq!((curve.references, curve.misses), (8.0, vec![8.0, 6.0, 6.0, 6.0, 4.0]));
}
