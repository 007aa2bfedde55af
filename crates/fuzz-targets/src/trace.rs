//! Target for the trace reader and for everything that reads traces through it.

use crate::{accepted, quiet};
use std::path::Path;
use swaplab_experiment::{FirstTouch, Mapping};
use swaplab_policy::{Costs, PolicySpec};
use swaplab_sim::replay::{lru_curve, replay, Delivery, Options, PointSpec, Subject};
use swaplab_trace::tools::{anonymize, merge, slice, Slice};
use swaplab_trace::{analyze, export, launches, Block, Step, Trace};
use swaplab_vocab::{Memory, Result};

/// Read and use a trace. Input: the bytes of a `.slt` file.
pub fn bytes(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.slt");
    std::fs::write(&path, data).expect("a file in it");
    if let Some(trace) = accepted(Trace::open(&path)) {
        exercise(&trace, folder.path());
    }
}

/// Use a trace as commands do: list launches, analyze, export, rewrite and replay it.
pub fn exercise(trace: &Trace, folder: &Path) {
    if accepted(read(trace)).is_none() {
        return;
    }
    let (out, rewritten) = (folder.join("out"), folder.join("rewritten.slt"));
    accepted(launches::read(trace));
    accepted(analyze::analyze(trace, &mut quiet));
    for (format, _) in export::FORMATS {
        accepted(export::convert(trace, format, &out, &mut quiet));
    }
    accepted(slice(trace, &Slice { from: 1, count: Some(100), app: None }, &rewritten, &mut quiet));
    accepted(anonymize(trace, 7, &rewritten, &mut quiet));
    accepted(merge(&[("a", trace), ("b", trace)], 3, &rewritten, &mut quiet));
    accepted(lru_curve(trace, Mapping::Follow, 1.0, &mut quiet));
    let point = |policy: &str| PointSpec {
        subject: Subject::Policy(PolicySpec::parse(policy).expect("a policy of the registry")),
        memory: Memory::Percent(40.0),
        swap: None,
        costs: Costs { swap_read_ns: 2, swap_write_ns: 3, file_read_ns: 5, file_write_ns: 7 },
        first_touch: FirstTouch::Charged,
        delivery: Delivery::Exact,
        seed: 0,
    };
    let options = Options { mapping: Mapping::Follow, jobs: 1 };
    accepted(replay(trace, &[point("clock"), point("spo-clock")], &options, &mut quiet));
}

/// Read every block of the trace, and check the numbers of references and marks.
pub fn read(trace: &Trace) -> Result<()> {
    let pages = trace.page_table()?.len();
    let mut block = Block::default();
    for number in 0..trace.blocks() {
        trace.read_block(number, &mut block)?;
        let runs = block.steps().filter_map(|step| match step {
            Step::Accesses(run) => Some(run),
            Step::Mark(_) => None,
        });
        let (mut references, mut run_count) = (0, 0);
        for run in runs {
            references += run.len();
            run_count += 1;
            assert!(run.iter().all(|access| (access.page() as usize) < pages));
        }
        assert_eq!((references, run_count), (block.accesses.len(), block.marks.len() + 1));
    }
    Ok(())
}
