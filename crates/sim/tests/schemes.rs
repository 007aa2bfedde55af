//! Replays random traces with swap schemes.

use std::sync::Arc;
use swaplab_experiment::{Devices, FirstTouch, Mapping};
use swaplab_policy::{Costs, PolicySpec};
use swaplab_sim::ledger::Prices;
use swaplab_sim::replay::{replay, Delivery, Options, PointResult, PointSpec, Subject, SwapSpec};
use swaplab_swap::SchemeSpec;
use swaplab_trace::import::{open, OpenTrace};
use swaplab_vocab::Memory;

/// Write a CSV trace with `lines` lines; `line` makes each from its number and a random page.
fn trace(seed: u64, pages: u64, lines: usize, line: impl Fn(usize, u64) -> String) -> (tempfile::TempDir, OpenTrace) {
    let (folder, mut state) = (tempfile::tempdir().unwrap(), seed.wrapping_mul(2) + 1);
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % pages
    };
    let text: String = (0..lines).map(|i| line(i, random())).collect();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, format!("page,op\n{text}")).unwrap();
    let trace = open(&path, &Default::default(), &mut |_, _| true).unwrap();
    (folder, trace)
}

fn run(trace: &OpenTrace, schemes: &[&str], frames: u64, first_touch: FirstTouch) -> Result<Vec<PointResult>, String> {
    let prices = Arc::new(Prices::new(&Devices::default()).unwrap());
    let swap = |text: &&str| SwapSpec { scheme: SchemeSpec::parse(text).unwrap(), prices: prices.clone(), seconds: None };
    let schemes: Vec<Option<SwapSpec>> = if schemes.is_empty() { vec![None] } else { schemes.iter().map(|s| Some(swap(s))).collect() };
    let point = |swap| PointSpec {
        subject: Subject::Policy(PolicySpec::parse("lru").unwrap()),
        memory: Memory::Pages(frames),
        swap,
        costs: Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 },
        first_touch,
        delivery: Delivery::Exact,
        seed: 0,
    };
    let points: Vec<PointSpec> = schemes.into_iter().map(point).collect();
    let options = Options { mapping: Mapping::Follow, jobs: 1 };
    replay(trace, &points, &options, &mut |_, _| true).map_err(|e| e.to_string())
}

fn run_two(trace: &OpenTrace, schemes: [&str; 2], frames: u64) -> [PointResult; 2] {
    let outcomes = run(trace, &schemes, frames, FirstTouch::ZeroFill).unwrap();
    outcomes.try_into().unwrap_or_else(|_| panic!("two schemes, two points"))
}

fn figure_of(outcome: &PointResult, figure: &str) -> u64 {
    let figures = outcome.swap.as_ref().unwrap().paging().figures();
    figures.into_iter().find(|(name, _)| *name == figure).unwrap().1 as u64
}

#[test]
fn a_copying_scheme_moves_the_pages_that_a_replay_without_scheme_counts() {
    for seed in 0..20 {
        let (_folder, t) = trace(seed, 60, 3000, |i, page| format!("{page},{}\n", if (i as u64 + page) & 3 == 0 { "W" } else { "R" }));
        for first_touch in [FirstTouch::Charged, FirstTouch::ZeroFill] {
            let plain = &run(&t, &[], 12, first_touch).unwrap()[0];
            for outcome in &run(&t, &["flash", "ramdisk", "nvm-copy"], 12, first_touch).unwrap() {
                assert_eq!(outcome.counts, plain.counts, "{first_touch:?}");
                assert_eq!(
                    (figure_of(outcome, "copied_pages"), figure_of(outcome, "swap_out_bytes")),
                    (plain.counts.swap_reads, plain.counts.swap_writes * 4096)
                );
            }
        }
    }
}

#[test]
fn direct_read_avoids_all_copies_by_reads_and_none_by_writes() {
    // Each page is written first; all later references are reads.
    let (_folder, reads) = trace(1, 50, 4000, |i, page| if i < 50 { format!("{i},W\n") } else { format!("{page},R\n") });
    let [copy, direct] = run_two(&reads, ["nvm-copy", "nvm-direct"], 10);
    assert_eq!(figure_of(&direct, "copied_pages"), 0);
    assert!(figure_of(&copy, "copied_pages") > 1000 && figure_of(&direct, "direct_reads") > 0);
    assert!(figure_of(&direct, "mapped_references") > 3000);

    let (_folder, writes) = trace(2, 50, 4000, |_, page| format!("{page},W\n"));
    let [copy, direct] = run_two(&writes, ["nvm-copy", "nvm-direct"], 10);
    assert_eq!((figure_of(&direct, "direct_reads"), figure_of(&direct, "copied_pages")), (0, figure_of(&copy, "copied_pages")));
    assert_eq!(direct.counts, copy.counts);
}

#[test]
fn readahead_reduces_faults_of_a_loop() {
    let (_folder, t) = trace(3, 1, 4000, |i, _| format!("{},W\n", i % 64));
    let [plain, eight] = run_two(&t, ["flash", "flash:readahead=8"], 32);
    assert_eq!(plain.counts.faults, 4000);
    assert!(eight.counts.faults * 4 < plain.counts.faults, "{} faults with readahead", eight.counts.faults);
}

#[test]
fn a_full_swap_area_ends_the_replay_in_one_line() {
    let (_folder, t) = trace(4, 50, 500, |_, page| format!("{page},W\n"));
    let e = run(&t, &["nvm-direct:size=5p"], 10, FirstTouch::ZeroFill).err().unwrap();
    assert!(e.contains("swap 'nvm-direct:size=5p' is full with 5 pages") && e.contains("no killer"), "{e}");
    let e = run(&t, &["none"], 10, FirstTouch::ZeroFill).err().unwrap();
    assert!(e.contains("swap 'none' is full"), "{e}");
    let e = run(&t, &["nvm-direct:size=5p"], 10, FirstTouch::Charged).err().unwrap();
    assert!(e.starts_with("run.replay.first_touch: "), "{e}");
}
