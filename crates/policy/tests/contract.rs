//! The contract of `Policy`, tested for every policy of the registry.

mod plain;

use plain::Plain;
use proptest::prelude::*;
use swaplab_policy::{Entry, PolicySpec, Signal, POLICIES};
use swaplab_vocab::{Op, PageId};

const PAGES: u32 = 18;
/// The number of frames from which on every policy must work.
const FEW: usize = 4;
const MANY: usize = 12;

#[derive(Clone, Debug)]
enum Step {
    Access(PageId, Op),
    Forget(PageId),
    Resize(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![3 => Just(Op::Read), 2 => Just(Op::Write), 1 => Just(Op::Fetch)]
}

/// Typical sequences of references: repeated references to a few pages, a run of consecutive pages,
/// or random pages.
fn page_run() -> impl Strategy<Value = Vec<PageId>> {
    prop_oneof![
        (0..PAGES - 3, prop::collection::vec(0..3u32, 1..12)).prop_map(|(base, v)| v.into_iter().map(|p| base + p).collect()),
        (0..PAGES, 1..2 * PAGES).prop_map(|(base, n)| (base..base + n).map(|p| p % PAGES).collect()),
        prop::collection::vec(0..PAGES, 1..12),
    ]
}

fn trace() -> impl Strategy<Value = Vec<PageId>> {
    prop::collection::vec(page_run(), 1..16).prop_map(|stretches| stretches.concat())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let other = prop_oneof![4 => (0..PAGES).prop_map(Step::Forget), 1 => (FEW..MANY).prop_map(Step::Resize)];
    let references = (page_run(), op()).prop_map(|(pages, op)| pages.into_iter().map(|p| Step::Access(p, op)).collect::<Vec<_>>());
    prop::collection::vec(prop_oneof![3 => references, 1 => other.prop_map(|step| vec![step])], 1..30).prop_map(|s| s.concat())
}

/// Runs of consecutive pages: the first one, and an operation for each.
fn runs() -> impl Strategy<Value = Vec<(PageId, Vec<Op>)>> {
    let run = (0..PAGES).prop_flat_map(|first| (Just(first), prop::collection::vec(op(), 1..=(PAGES - first) as usize)));
    prop::collection::vec(run, 1..40)
}

fn policies() -> impl Iterator<Item = &'static Entry> {
    POLICIES.iter()
}

fn online() -> impl Iterator<Item = &'static Entry> {
    policies().filter(|entry| !entry.info.offline)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// A run of touches at once has the effect of its touches, one by one.
    #[test]
    fn a_run_of_touches_is_its_touches(runs in runs(), frames in FEW..MANY) {
        for entry in online() {
            let [mut single, mut whole] = [(); 2].map(|()| Plain::new(entry.key, PAGES as usize, frames));
            for (first, ops) in &runs {
                (*first..).zip(ops).for_each(|(page, op)| _ = single.access(page, *op));
                whole.access_run(*first, ops);
                prop_assert_eq!(single.resident(), whole.resident(), "{} after {:?} from {}", entry.key, ops, first);
            }
        }
    }

    /// `Plain` asserts at every step that no more pages are resident than there are frames, and
    /// that the referenced page is. `PageView::release` asserts that the released page is resident.
    #[test]
    fn every_invariant_holds_after_every_step(steps in steps(), frames in 1..MANY, storage: bool) {
        let references: Vec<PageId> = steps.iter().filter_map(|s| if let Step::Access(page, _) = s { Some(*page) } else { None }).collect();
        for entry in policies() {
            let mut runs: Vec<Plain> = (0..2).flat_map(|_| Plain::build(entry.key, PAGES as usize, frames, &references)).collect();
            runs.iter_mut().for_each(|run| run.storage = storage);
            prop_assert!(runs.len() == 2 || frames < FEW, "{} refuses {} frames", entry.key, frames);
            for (i, step) in steps.iter().enumerate() {
                for run in &mut runs {
                    match *step {
                        Step::Access(page, op) => { run.access(page, op); }
                        Step::Forget(page) => run.forget(page),
                        Step::Resize(frames) => run.resize(frames),
                    }
                    if let Err(why) = run.check() {
                        return Err(TestCaseError::fail(format!("{} after step {i}, {step:?}: {why}", entry.key)));
                    }
                }
                prop_assert!(runs.windows(2).all(|two| two[0].resident() == two[1].resident()), "{} is not the same twice", entry.key);
            }
        }
    }

    /// After `forget`, a page behaves like a page that was never referenced.
    #[test]
    fn forget_leaves_nothing(before in trace(), after in trace(), page in 0..PAGES - 3, frames in FEW..MANY) {
        let fresh = page + 3; // of the same class
        let before: Vec<PageId> = before.into_iter().filter(|p| *p != fresh).collect();
        let after: Vec<PageId> = after.into_iter().filter(|p| *p != fresh).collect();
        for entry in online() {
            let mut runs = [page, fresh].map(|again| {
                let mut run = Plain::new(entry.key, PAGES as usize, frames);
                run.faults(&before);
                run.forget(page);
                (run, again)
            });
            for reference in &after {
                let [a, b] = &mut runs;
                let faults = [a, b].map(|(run, again)| run.faults(&[if *reference == page { *again } else { *reference }]));
                prop_assert_eq!(faults[0], faults[1], "{} remembers page {}", entry.key, page);
            }
        }
    }

    #[test]
    fn opt_faults_at_most_as_often_as_any_other(trace in trace(), frames in FEW..MANY) {
        let fewest = Plain::with_future("opt", PAGES as usize, frames, &trace).faults(&trace);
        for entry in policies() {
            let faults = Plain::with_future(entry.key, PAGES as usize, frames, &trace).faults(&trace);
            prop_assert!(fewest <= faults, "opt {} faults, {} {}", fewest, entry.key, faults);
        }
    }

    #[test]
    fn lru_with_more_memory_holds_all_that_it_holds_with_less(trace in trace(), frames in FEW..MANY) {
        let [mut small, mut large] = [frames, frames + 1].map(|frames| Plain::new("lru", PAGES as usize, frames));
        for page in trace {
            small.faults(&[page]);
            large.faults(&[page]);
            let in_large = large.resident();
            prop_assert!(small.resident().iter().all(|p| in_large.contains(p)));
        }
    }

    /// A policy with the signal `FaultOnly` must not depend on references between faults.
    #[test]
    fn a_fault_only_policy_ignores_hits(trace in trace(), frames in FEW..MANY) {
        for entry in online().filter(|entry| entry.info.signal == Signal::FaultOnly) {
            let [mut with, mut without] = [0, 1].map(|_| Plain::new(entry.key, PAGES as usize, frames));
            for page in &trace {
                with.faults(&[*page]);
                if !without.resident().contains(page) {
                    without.faults(&[*page]);
                }
                prop_assert_eq!(with.resident(), without.resident(), "{}", entry.key);
            }
        }
    }

    /// With memory for everything, each page faults once.
    #[test]
    fn no_page_is_evicted_while_frames_are_free(trace in trace()) {
        let distinct = trace.iter().collect::<std::collections::BTreeSet<_>>().len();
        for entry in policies() {
            let faults = Plain::with_future(entry.key, PAGES as usize, PAGES as usize, &trace).faults(&trace);
            prop_assert_eq!(faults, distinct, "{}", entry.key);
        }
    }
}

/// Without this, a policy's `check` could say that all is well whatever it lists.
#[test]
fn each_check_finds_a_page_that_the_policy_does_not_know() {
    let references = [0, 1, 2, 0, 1];
    let mut unnoticed = Vec::new();
    for entry in policies() {
        let mut run = Plain::with_future(entry.key, PAGES as usize, MANY, &references);
        run.faults(&references);
        run.check().unwrap();
        run.make_resident_unseen(PAGES - 1);
        if run.check().is_ok() {
            unnoticed.push(entry.key);
        }
    }
    assert!(unnoticed.is_empty(), "not noticed by {unnoticed:?}");
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_known_one() {
    let refusal = |text: &str| PolicySpec::parse(text).err().expect(text).to_string();
    assert!(refusal("sive").contains("sieve"), "{}", refusal("sive"));
    for entry in policies() {
        assert!(PolicySpec::parse(entry.key).is_ok());
        for parameter in entry.parameters {
            assert!(PolicySpec::parse(&format!("{}:{}={}", entry.key, parameter.name, parameter.default)).is_ok());
            let text = refusal(&format!("{}:{}x=1", entry.key, parameter.name));
            assert!(text.contains(&format!("{}x", parameter.name)) && text.contains(parameter.name), "{text}");
        }
        if entry.parameters.is_empty() {
            assert!(refusal(&format!("{}:bits=1", entry.key)).contains("bits"));
        }
    }
}

#[test]
fn keys_are_unique_and_every_policy_says_what_it_is() {
    for (i, entry) in POLICIES.iter().enumerate() {
        assert!(POLICIES.entries[..i].iter().all(|other| other.key != entry.key), "{} twice", entry.key);
        assert!(!entry.what.is_empty() && !entry.source.is_empty(), "{}", entry.key);
    }
}
