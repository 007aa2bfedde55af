use super::*;
use proptest::prelude::*;
use swaplab_vocab::Op;

const COSTS: Costs = Costs { swap_read_ns: 5, swap_write_ns: 29, file_read_ns: 10, file_write_ns: 13 };

#[derive(Clone, Copy, Debug)]
enum Step {
    Access(PageId, Op),
    Free(PageId),
}

fn bound(classes: &[Class], steps: &[Step], frames: usize, first_touch: FirstTouch) -> Counts {
    let mut reader = Reader::new(classes, first_touch);
    for step in steps {
        match *step {
            Step::Access(page, op) => reader.reference(Access::new(page, op)),
            Step::Free(page) => reader.free(page),
        }
    }
    reader.finish().least(frames, &COSTS)
}

/// A page of the reference model: resident, dirty, its slot has its content, written since it was
/// mapped, ever touched.
#[derive(Clone, Copy, Default)]
struct State {
    resident: bool,
    dirty: bool,
    slot: bool,
    written: bool,
    touched: bool,
}

/// The least I/O time and the fewest faults over all choices of victims, by exhaustive search.
fn exhaustive_search(classes: &[Class], steps: &[Step], frames: usize, states: &[State]) -> (u64, u64) {
    let Some((step, rest)) = steps.split_first() else { return (0, 0) };
    let in_swap = |page: usize, state: &State| match classes[page] {
        Class::Anonymous => true,
        Class::File => state.written,
        Class::Shared => false,
    };
    let mut states = states.to_vec();
    match *step {
        Step::Free(page) => {
            let state = &mut states[page as usize];
            if in_swap(page as usize, state) && state.touched {
                *state = State { touched: true, ..State::default() };
            }
            exhaustive_search(classes, rest, frames, &states)
        }
        Step::Access(page, op) => {
            let state = &mut states[page as usize];
            let fault = !state.resident;
            let read = match in_swap(page as usize, state) {
                _ if !fault => 0,
                true if state.slot => COSTS.swap_read_ns,
                true => 0,
                false => COSTS.file_read_ns,
            };
            (state.resident, state.touched) = (true, true);
            state.dirty |= op.is_write();
            state.written |= op.is_write();
            let used = states.iter().filter(|s| s.resident).count();
            if used <= frames {
                let (time, faults) = exhaustive_search(classes, rest, frames, &states);
                return (time + read, faults + u64::from(fault));
            }
            let victims = (0..states.len()).filter(|victim| *victim != page as usize && states[*victim].resident);
            let outcomes: Vec<(u64, u64)> = victims
                .map(|victim| {
                    let (mut after, swap) = (states.clone(), in_swap(victim, &states[victim]));
                    let gone = &mut after[victim];
                    let write = if !gone.dirty {
                        0
                    } else if swap {
                        COSTS.swap_write_ns
                    } else {
                        COSTS.file_write_ns
                    };
                    (gone.slot, gone.dirty, gone.resident) = (gone.slot || gone.dirty && swap, false, false);
                    let (time, faults) = exhaustive_search(classes, rest, frames, &after);
                    (time + read + write, faults + u64::from(fault))
                })
                .collect();
            // The least time and the fewest faults need not be those of the same choice.
            let least = |of: fn(&(u64, u64)) -> u64| outcomes.iter().map(of).min().expect("at least one victim");
            (least(|o| o.0), least(|o| o.1))
        }
    }
}

fn optimum(classes: &[Class], steps: &[Step], frames: usize, first_touch: FirstTouch) -> (u64, u64) {
    let charged = |class: &Class| first_touch == FirstTouch::Charged && *class == Class::Anonymous;
    let states: Vec<State> = classes.iter().map(|class| State { slot: charged(class), ..State::default() }).collect();
    exhaustive_search(classes, steps, frames, &states)
}

fn reads(pages: &[PageId]) -> Vec<Step> {
    pages.iter().map(|page| Step::Access(*page, Op::Read)).collect()
}

#[test]
fn a_case_worked_by_hand() {
    // One frame; page 0 is written, then 1, 0 and 1 are read. Each first touch reads (2 x 5), each
    // refault reads (2 x 5), and the one write of page 0 is paid once, although the page is evicted
    // twice.
    let classes = [Class::Anonymous; 2];
    let mut steps = reads(&[0, 1, 0, 1]);
    steps[0] = Step::Access(0, Op::Write);
    let counts = bound(&classes, &steps, 1, FirstTouch::Charged);
    assert_eq!((counts.faults, counts.swap_reads, counts.swap_writes), (4, 4, 1));
    assert_eq!(counts.times(&COSTS).io_time_ns, 4 * 5 + 29);
    assert_eq!(optimum(&classes, &steps, 1, FirstTouch::Charged), (4 * 5 + 29, 4));
    // With zero-fill page 1, which was never written, costs nothing; page 0 is read back once.
    let counts = bound(&classes, &steps, 1, FirstTouch::ZeroFill);
    assert_eq!((counts.swap_reads, counts.swap_writes), (1, 1));
    // A page that is freed while it is dirty and in memory is not written.
    steps.truncate(1);
    steps.push(Step::Free(0));
    steps.extend(reads(&[1, 1]));
    let counts = bound(&classes, &steps, 1, FirstTouch::Charged);
    assert_eq!((counts.swap_reads, counts.swap_writes, counts.file_reads, counts.file_writes), (2, 0, 0, 0));
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![2 => Just(Op::Read), 2 => Just(Op::Write), 1 => Just(Op::Fetch)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 600, ..Default::default() })]

    #[test]
    fn no_choice_of_victims_is_below_the_bound(
        steps in prop::collection::vec(prop_oneof![9 => (0..5u32, op()).prop_map(|(page, op)| Step::Access(page, op)), 1 => (0..5u32).prop_map(Step::Free)], 1..13),
        classes in prop::collection::vec(prop::sample::select(&Class::ALL[..]), 5),
        frames in 1..4usize,
        charged: bool,
    ) {
        let first_touch = if charged { FirstTouch::Charged } else { FirstTouch::ZeroFill };
        let counts = bound(&classes, &steps, frames, first_touch);
        let (time, faults) = optimum(&classes, &steps, frames, first_touch);
        prop_assert!(counts.times(&COSTS).io_time_ns <= time, "{counts:?} take {}, above {time}", counts.times(&COSTS).io_time_ns);
        prop_assert_eq!(counts.faults, faults);
    }

    /// If all operations cost the same, the bound is Belady's optimum.
    #[test]
    fn without_writes_the_bound_is_reached(pages in prop::collection::vec(0..6u32, 1..14), frames in 1..4usize) {
        let (classes, steps) = ([Class::File; 6], reads(&pages));
        let counts = bound(&classes, &steps, frames, FirstTouch::Charged);
        prop_assert_eq!((counts.times(&COSTS).io_time_ns, counts.faults), optimum(&classes, &steps, frames, FirstTouch::Charged));
    }
}
