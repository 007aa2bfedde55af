//! Rows that the world `replay` makes from experiments.

use swaplab_experiment::document::{Kind, WorldResult};
use swaplab_experiment::Experiment;
use swaplab_policy::PolicySpec;
use swaplab_sim::replay::rows;
use swaplab_trace::{Codec, Mark, Range, TraceBuilder};
use swaplab_vocab::{Class, Op, Result};

/// A folder with the trace `t.csv`: pages 0 to 3 are written, then read, so that two frames are too
/// few.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = ["W", "R"].into_iter().flat_map(|op| (0..4).map(move |page| format!("{page},{op}\n"))).collect();
    std::fs::write(folder.path().join("t.csv"), format!("page,op\n{lines}")).unwrap();
    folder
}

fn run(folder: &tempfile::TempDir, dram: &[&str], rest: &str) -> Result<WorldResult> {
    let experiments = dram.iter().map(|dram| {
        let trace = folder.path().join("t.csv");
        Experiment::parse("e.toml", &format!("machine.dram = '{dram}'\nworkload.trace = '{}'\n{rest}", trace.display()), &[])
    });
    rows(&experiments.collect::<Result<Vec<_>>>()?, &PolicySpec::of, 1, &mut |_, _| true)
}

#[test]
fn one_design_by_hand() {
    // FIFO with 2 frames; swap has all pages at the start. All 8 references fault and read swap.
    // Pages 0 to 3 are each evicted dirty once, and are clean when they are read back. That makes 4
    // writes.
    let result = run(&folder(), &["2p"], "[[design]]\npolicy = 'fifo'").unwrap();
    assert_eq!((result.rows.len(), result.warnings.len()), (1, 0));
    let row = &result.rows[0];
    let paging = &row.paging;
    assert_eq!((paging.references, paging.faults, paging.swap_reads, paging.swap_writes), (Some(8.0), Some(8.0), Some(8.0), Some(4.0)));
    assert_eq!((paging.swap_in_bytes, paging.swap_out_bytes), (Some(8.0 * 4096.0), Some(4.0 * 4096.0)));
    assert_eq!((paging.direct_reads, paging.refaults, &row.energy), (None, None, &None));
    assert_eq!((row.world.as_str(), row.kind, row.seeds, &row.invalid), ("replay", Kind::Simulated, 1, &None));
    let detail = row.replay.as_ref().unwrap();
    assert_eq!((detail.frames, detail.first_touch.as_str()), (2, "charged"));
    let io = 8 * detail.swap_read_ns + 4 * detail.swap_write_ns;
    assert_eq!((row.time.io_ns, row.time.cpu_swap_ns), (Some(io as f64), None));
    let parts = (Some((8 * detail.swap_read_ns) as f64), Some((4 * detail.swap_write_ns) as f64));
    assert_eq!((row.time.swap_read_ns, row.time.swap_write_ns), parts);
    assert_eq!((row.memory.dram_bytes, row.memory.total_dram_bytes), (Some(8192.0), Some(8192.0)));
}

/// A page of a private file mapping is written, which makes it anonymous, and discarded, which
/// makes it the file's again: both of its faults read the file.
#[test]
fn a_discarded_copy_of_a_files_page_is_the_files_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut builder = TraceBuilder::create(&path, swaplab_trace::Kind::Page, 4096, Codec::Stored).unwrap();
    let range = Range { app: 0, first: 0, pages: 4 };
    builder.mark(Mark::Map { range, class: Class::File, file: 0, offset: 0 }).unwrap();
    builder.access(0, 0, Op::Write).unwrap();
    builder.mark(Mark::Discard(range)).unwrap();
    builder.access(0, 0, Op::Read).unwrap();
    builder.finish().unwrap();
    let result = run(&folder, &["2p"], "[[design]]\npolicy = 'fifo'").unwrap();
    let (paging, time) = (&result.rows[0].paging, &result.rows[0].time);
    let detail = result.rows[0].replay.as_ref().unwrap();
    assert_eq!((time.file_read_ns, time.file_write_ns), (Some(2.0 * detail.file_read_ns as f64), Some(0.0)));
    assert_eq!((paging.faults, paging.file_reads, paging.swap_reads, paging.swap_writes), (Some(2.0), Some(2.0), Some(0.0), Some(0.0)));
}

/// A trace of more than two blocks: FIFO with two frames faults on each of the pages 0 to 2, which
/// are used in turn, on any number of threads.
#[test]
fn each_block_of_a_long_trace_is_replayed_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.slt");
    let mut builder = TraceBuilder::create(&path, swaplab_trace::Kind::Page, 4096, Codec::Stored).unwrap();
    for at in 0..300_000 {
        builder.access(0, at % 3, Op::Read).unwrap();
    }
    builder.finish().unwrap();
    let text = format!("machine.dram = '2p'\nworkload.trace = '{}'\n[[design]]\npolicy = 'fifo'", path.display());
    let experiment = Experiment::parse("e.toml", &text, &[]).unwrap();
    for threads in [1, 2] {
        let result = rows(std::slice::from_ref(&experiment), &PolicySpec::of, threads, &mut |_, _| true).unwrap();
        let paging = &result.rows[0].paging;
        assert_eq!((paging.references, paging.faults), (Some(3e5), Some(3e5)), "{threads} threads");
    }
}

#[test]
fn a_scheme_adds_its_media_and_energy() {
    let result = run(&folder(), &["2p"], "[[design]]\npolicy = 'fifo'\nswap = 'flash'\n[run]\nreplay.length = '10s'").unwrap();
    let row = &result.rows[0];
    // First touches are zero-fills, so four pages are swapped out and four are read back.
    assert_eq!((row.paging.zero_fills, row.paging.copied_pages, row.paging.swap_writes), (Some(4.0), Some(4.0), Some(4.0)));
    let flash = &row.media["flash"];
    assert_eq!((flash.read_bytes, flash.write_bytes, flash.device.as_str()), (4.0 * 4096.0, 4.0 * 4096.0, "ufs-3.1"));
    // Each byte is written twice to 512 GB, and 10 s are a day's 8,640th part.
    let wear = flash.wear.as_ref().unwrap();
    let daily = 8_640.0 * 2.0 * 4.0 * 4096.0 / 512e9;
    let relative = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs();
    assert!(relative(wear.cycles_per_day, daily) < 1e-12);
    assert!(relative(wear.years_to_endurance, 3_000.0 / daily / 365.25) < 1e-12);
    let energy = row.energy.as_ref().unwrap();
    let part = |name: &str| energy.parts_j[name].unwrap();
    assert!(part("swap_flash") > 0.0 && part("cpu") > 0.0);
    assert_eq!(energy.total_j, Some(energy.parts_j.values().flatten().sum()));
    assert_eq!(row.replay.as_ref().unwrap().first_touch, "zero-fill");
    assert_eq!(row.time.wall_ns, Some(1e10));
}

#[test]
fn points_and_designs_share_a_pass_and_keep_their_order() {
    let mut passes = 0;
    let folder = folder();
    let designs = "[[design]]\npolicy = ['fifo', 'opt-cost']\n[[design]]\nname = 'zram'\nswap = 'zram'";
    let path = folder.path().join("t.csv");
    let texts = ["2p", "3p"].map(|dram| format!("machine.dram = '{dram}'\nworkload.trace = '{}'\n{designs}", path.display()));
    let experiments: Vec<_> = texts.iter().map(|text| Experiment::parse("e.toml", text, &[]).unwrap()).collect();
    // Each pass over a trace begins with block 0: that of the import, that of the policies and that
    // of the bound.
    let mut progress = |done, _| {
        passes += u64::from(done == 0);
        true
    };
    let result = rows(&experiments, &PolicySpec::of, 1, &mut progress).unwrap().rows;
    let order: Vec<(String, u64)> = result.iter().map(|row| (row.policy.clone(), row.replay.as_ref().unwrap().frames)).collect();
    let expected = [("fifo", 2), ("opt-cost", 2), ("system", 2), ("fifo", 3), ("opt-cost", 3), ("system", 3)];
    assert_eq!(order, expected.map(|(policy, frames)| (policy.to_string(), frames)));
    assert_eq!((result[2].design.as_str(), result[2].swap.as_deref()), ("zram", Some("zram")));
    assert!(result[0].paging.scanned_pages.is_some() && result[1].paging.scanned_pages.is_none());
    assert!(passes <= 4, "{passes} passes");
    for (at, row) in result.iter().enumerate() {
        let dram = ["2p", "3p"][at / 3];
        let alone = run(&folder, &[dram], designs).unwrap().rows.swap_remove(at % 3);
        assert_eq!(&alone, row, "other points in the pass change nothing");
    }
}

#[test]
fn more_memory_than_pages_is_a_warning() {
    let result = run(&folder(), &["1MiB"], "[[design]]\npolicy = ['fifo', 'lru']").unwrap();
    assert_eq!(result.warnings, ["machine.dram = 1048576B is more than the footprint of 4 pages: nothing is ever evicted"]);
    for row in &result.rows {
        assert_eq!((row.replay.as_ref().unwrap().frames, row.paging.swap_writes, &row.invalid), (4, Some(0.0), &None));
    }
    assert!(run(&folder(), &["4p"], "[[design]]\npolicy = 'fifo'").unwrap().warnings.is_empty());
}

#[test]
fn seeds_are_averaged() {
    let single = run(&folder(), &["2p"], "[[design]]\npolicy = 'fifo'\nswap = 'flash'").unwrap().rows.swap_remove(0);
    let row =
        run(&folder(), &["2p"], "[[design]]\npolicy = 'fifo'\nswap = 'flash'\n[run]\nseed = 5\nseeds = 2").unwrap().rows.swap_remove(0);
    assert_eq!((row.seed, row.seeds, row.by_seed.len()), (5, 2, 2));
    assert_eq!(row.by_seed.iter().map(|seed| seed.seed).collect::<Vec<_>>(), [5, 6]);
    // FIFO draws no random numbers, so the means equal the figures of one run.
    assert_eq!((&row.paging, &row.time, &row.memory, &row.media), (&single.paging, &single.time, &single.memory, &single.media));
    assert_eq!(row.by_seed[0].figures["paging.faults"], single.paging.faults.unwrap());
}

#[test]
fn errors_name_keys() {
    let error = |dram: &str, rest: &str| run(&folder(), &[dram], rest).err().unwrap().to_string();
    let full = error("2p", "[[design]]\npolicy = 'fifo'\nswap = 'flash:size=1p'\n[run]\nreplay.first_touch = 'charged'");
    assert!(full.starts_with("run.replay.first_touch: ") && full.contains("is full"), "{full}");
    let signal = error("2p", "[[design]]\n[run]\nreplay.signal = 'loud'");
    assert!(signal.starts_with("run.replay.signal: 'loud'; expected exact"), "{signal}");
    let device = error("2p", "[[design]]\n[run]\nreplay.swap_device = 'optan'");
    assert!(device.starts_with("run.replay.swap_device: ") && device.contains("optane-m10"), "{device}");
    let bound = error("2p", "[[design]]\npolicy = 'opt-cost'\nswap = 'flash'");
    assert!(bound.starts_with("design 'flash': replay: opt-cost is a bound"), "{bound}");
    let small = error("100B", "[[design]]\n");
    assert!(small.starts_with("machine.dram: "), "{small}");
    let page = error("2p", "machine.page_size = '16KiB'\n[[design]]\n");
    assert!(page.starts_with("machine.page_size: 16KiB; expected 4096 bytes"), "{page}");
}
