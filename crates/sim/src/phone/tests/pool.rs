//! Frames of the pool of compressed pages: cases worked by hand, a recount, and a pool outside of
//! the phone's frames.

use super::by_hand::{kills, places, start, with_launches};
use super::{booted, check, design, frames_in_use, rows_of, small};
use crate::phone::machine::frames::Watermarks;
use crate::phone::machine::record::Reason;
use crate::phone::machine::Machine;
use swaplab_experiment::document::Row;
use swaplab_swap::zsmalloc::Pool;
use swaplab_swap::{Algorithm, Compressibility, Content};
use swaplab_vocab::{Op, PageId, PAGE_SIZE};

/// Call `build` with a content file in which a `same_filled` share of the pages has one word, and
/// the others compress to `bytes`.
fn with_content<T>(same_filled: f64, bytes: u32, build: impl FnOnce(&str) -> T) -> T {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lists = ["lzo-rle", "lz4", "zstd"].map(|name| format!("{name} = [{bytes}, {bytes}]\n")).concat();
    std::fs::write(&file, format!("source = 'by hand'\nsame_filled = {same_filled:?}\n[bytes]\n{lists}")).unwrap();
    build(&format!("content={}", file.path().display()))
}

/// The three apps of `by_hand` in six frames, and `reserve` more that only reclaim may use. Each
/// page compresses to `bytes`.
fn by_hand(swap: &str, bytes: u32, reserve: usize) -> Machine {
    let joint = if swap.contains(':') { ',' } else { ':' };
    let of = |content: &str| design("s", &format!("{swap}{joint}{content}"), "none");
    let mut phone = with_content(0.0, bytes, |content| with_launches(&of(content), &[], &|_, _| ()));
    phone.frames.total = 6 + reserve;
    phone.frames.marks = Watermarks { min: reserve, low: reserve, high: reserve + 1 };
    phone
}

#[test]
fn two_compressed_pages_take_a_frame() {
    for key in ["zram", "tiered"] {
        let mut phone = by_hand(key, 2040, 16);
        (0..2).for_each(|app| start(&mut phone, app, Op::Write));
        assert_eq!((frames_in_use(&phone), phone.free()), (6, 16));
        // For page 6, page 0 is evicted, but the pool takes its frame; page 1 then fits into it.
        // For page 7, 2 and 3 are evicted.
        start(&mut phone, 2, Op::Write);
        assert_eq!(places(&phone), (vec![4, 5, 6, 7], vec![0, 1, 2, 3]), "{key}");
        assert_eq!((phone.swap.side.usage().dram_bytes, frames_in_use(&phone), phone.free()), (2 * PAGE_SIZE, 6, 16));
        // Each swap-in of 0 to 2 frees half a frame of the pool, which its victim takes: 4, 5, 6.
        start(&mut phone, 0, Op::Read);
        assert_eq!(places(&phone), (vec![0, 1, 2, 7], vec![3, 4, 5, 6]), "{key}");
        let moves = phone.swap.side.moves;
        assert_eq!((moves.swapped_out, moves.copied_pages, kills(&phone), frames_in_use(&phone)), (7, 3, 0, 6));
        // The kill of app 1 drops 3 to 5, which frees a frame of the pool. That of app 2 drops 6
        // and 7: another one and page 7's own.
        phone.deaths().kill(1, Reason::LowMemory);
        assert_eq!((frames_in_use(&phone), phone.swap.side.usage().dram_bytes), (5, PAGE_SIZE));
        phone.deaths().kill(2, Reason::LowMemory);
        assert_eq!((frames_in_use(&phone), phone.swap.side.usage().dram_bytes), (3, 0));
        check(&phone).unwrap();
    }
}

#[test]
fn pages_that_do_not_compress_free_no_frame() {
    let mut phone = by_hand("zram", 4096, 16);
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // All six pages are swapped out for page 6, but the pool takes as many frames. So app 0 is
    // killed, which makes room for page 7, too.
    assert_eq!((places(&phone), kills(&phone), frames_in_use(&phone)), ((vec![6, 7], vec![3, 4, 5]), 1, 5));
}

#[test]
fn a_full_pool_before_flash_gives_its_frame_back() {
    let mut phone = by_hand("zswap:pool=1p", 2040, 16);
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // Page 0 fills the pool; page 1 makes both move on to flash.
    assert_eq!((places(&phone), frames_in_use(&phone)), ((vec![2, 3, 4, 5, 6, 7], vec![0, 1]), 6));
    assert_eq!((phone.swap.side.usage().dram_bytes, phone.swap.side.usage().flash_bytes), (0, 2 * PAGE_SIZE));
}

/// The pool grows by groups of at most eight pages, while the page that is compressed still has its
/// own frame.
#[test]
fn the_pool_grows_only_on_frames_that_the_watermarks_keep_free() {
    let compressed = |reserve| {
        let mut phone = by_hand("zram", 2040, reserve);
        (0..3).for_each(|app| start(&mut phone, app, Op::Write));
        (phone.swap.side.moves.swapped_out, kills(&phone))
    };
    assert_eq!([8, 7].map(compressed), [(4, 0), (0, 1)]);
}

#[test]
fn frames_add_up_and_a_recount_of_compressed_pages_gives_the_same_pool() {
    let content = Compressibility::sampled(0);
    for (swap, policy) in [("zram", "none"), ("zram:size=8MiB", "a2s"), ("zswap", "none"), ("tiered", "ariadne")] {
        let spec = booted(&small(vec![design("s", swap, policy)]));
        let mut phone = spec.phone();
        let mut most = 0;
        for launch in &spec.sequence().launches[..80] {
            phone.launch(launch).unwrap();
            let machine = &phone.machine;
            check(machine).unwrap_or_else(|why| panic!("{swap}: {why}"));
            let s = machine.record.timeline.last().unwrap();
            let pool = s.pool_bytes / PAGE_SIZE;
            most = most.max(pool);
            assert_eq!(s.free + s.app_anon + s.system_anon + s.file + s.graphics + s.kernel + pool, machine.frames.total as u64, "{swap}");
            if swap.starts_with("zram") {
                let mut recount = Pool::new();
                let all = 0..machine.apps.layout.owners.len() as PageId;
                for page in all.filter(|page| machine.swap.holds(*page)) {
                    let bytes = recount.stored(content.compressed(page, Algorithm::Lz4));
                    if bytes > 0 {
                        recount.add(bytes);
                    }
                }
                assert_eq!(recount.bytes(), machine.swap.side.usage().dram_bytes, "{swap}");
            }
        }
        assert!(most > 100, "{swap}: {most} frames at most");
    }
}

#[test]
fn a_pool_outside_of_the_frames_is_additional_memory() {
    let with = |pool_in_dram, swap: &str| {
        let mut experiment = small(vec![design("s", swap, "none")]);
        experiment.machine.pool_in_dram = pool_in_dram;
        rows_of(&experiment, 1).remove(0)
    };
    let (within, outside) = (with(true, "zram"), with(false, "zram"));
    let pool = |row: &Row| {
        let memory = |of: Option<f64>| of.unwrap();
        let additional = memory(row.memory.total_dram_bytes) - memory(row.memory.dram_bytes) - memory(row.memory.metadata_bytes);
        (additional, memory(row.memory.pool_peak_bytes))
    };
    assert_eq!((pool(&within).0, pool(&within).1 > 0.0), (0.0, true));
    // Both are means over two seeds.
    assert_eq!(pool(&outside).0, pool(&outside).1);
    // With less memory, more of it is swapped out or more apps are killed.
    let lack = |row: &Row| row.paging.swap_out_bytes.unwrap() + row.launches.as_ref().unwrap().kills * f64::from(1 << 20);
    assert!(lack(&within) > lack(&outside));
    // Pages of one word need no pool, so its place makes no difference.
    let [within, outside] = [true, false].map(|within| with_content(1.0, 4096, |content| with(within, &format!("zram:{content}"))));
    assert_eq!((&within.launches, &within.paging), (&outside.launches, &outside.paging));
    assert_eq!((pool(&within), pool(&outside)), ((0.0, 0.0), (0.0, 0.0)));
}
