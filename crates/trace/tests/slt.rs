//! Tests of the native file: a round trip, and the refusal of truncated or altered files with the
//! place of the damage.

use proptest::prelude::*;
use std::path::Path;
use swaplab_trace::{Block, Codec, Counter, Kind, Mark, Range, Step, Trace, TraceBuilder, TraceInfo, BLOCK_ACCESSES};
use swaplab_vocab::{BadInput, Class, Op};

/// Events may name these.
const APPS: [&str; 3] = ["a", "b", "c"];

fn write(path: &Path, codec: Codec, references: &[(u16, u64, Op)], marks: &[(usize, Mark)]) -> String {
    let mut builder = TraceBuilder::create(path, Kind::Page, 4096, codec).unwrap();
    APPS.iter().for_each(|name| _ = builder.app(name, None).unwrap());
    for (i, (app, page, op)) in references.iter().enumerate() {
        for (_, mark) in marks.iter().filter(|(at, _)| *at == i) {
            builder.mark(mark.clone()).unwrap();
        }
        builder.access(*app, *page, *op).unwrap();
    }
    builder.finish().unwrap().content_hash
}

type Reference = (u16, u64, Op);

fn read(path: &Path) -> (Vec<Reference>, Vec<(usize, Mark)>) {
    let trace = Trace::open(path).unwrap();
    let table = trace.page_table().unwrap();
    let (mut references, mut marks, mut block) = (Vec::new(), Vec::new(), Block::default());
    for number in 0..trace.blocks() {
        trace.read_block(number, &mut block).unwrap();
        for step in block.steps() {
            match step {
                Step::Accesses(run) => references.extend(run.iter().map(|a| {
                    let page = a.page() as usize;
                    (table.apps[page], table.numbers[page], a.op())
                })),
                Step::Mark(mark) => marks.push((references.len(), mark.clone())),
            }
        }
    }
    (references, marks)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Fetch)]
}

fn range() -> impl Strategy<Value = Range> {
    (0u16..3, any::<u64>(), any::<u64>()).prop_map(|(app, first, pages)| Range { app, first, pages: pages.min(u64::MAX - first) })
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        (range(), 0u8..3, any::<u32>(), any::<u64>()).prop_map(|(range, class, file, offset)| Mark::Map {
            range,
            class: Class::from_code(class).unwrap(),
            file,
            offset
        }),
        range().prop_map(Mark::Unmap),
        range().prop_map(Mark::Discard),
        range().prop_map(Mark::Evict),
        (range(), range()).prop_map(|(from, to)| Mark::Remap { from, to }),
        (0u16..3, any::<u64>()).prop_map(|(app, foreground_ns)| Mark::Launch { app, foreground_ns }),
        (0u16..3).prop_map(|app| Mark::Switch { app }),
        (0u16..3).prop_map(|app| Mark::Kill { app }),
        any::<u64>().prop_map(|ns| Mark::Time { ns }),
        any::<u64>().prop_map(|count| Mark::RawReferences { count }),
        (0u16..3, 0..Counter::ALL.len() as u8, any::<i64>()).prop_map(|(app, code, value)| Mark::Sample {
            app,
            counter: Counter::from_code(code).unwrap(),
            value
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn events_survive_a_round_trip(
        references in prop::collection::vec((0u16..3, prop_oneof![0u64..40, any::<u64>()], op()), 1..400),
        marks in prop::collection::vec((any::<prop::sample::Index>(), mark()), 0..30),
        stored in any::<bool>(),
    ) {
        let folder = folder();
        let path = folder.path().join("t.slt");
        let mut marks: Vec<(usize, Mark)> = marks.into_iter().map(|(at, m)| (at.index(references.len()), m)).collect();
        marks.sort_by_key(|(at, _)| *at);
        write(&path, if stored { Codec::Stored } else { Codec::Zstd }, &references, &marks);
        prop_assert_eq!(read(&path), (references, marks));
    }

    /// Any change of a byte and any truncation is refused, because checksums cover every byte.
    /// Reading never returns other references and never panics.
    #[test]
    fn a_changed_or_cut_file_is_never_read_as_another(at in any::<prop::sample::Index>(), flip in 1u8..=255, cut in any::<bool>()) {
        let folder = folder();
        let path = folder.path().join("t.slt");
        let references: Vec<_> = (0..3000u64).map(|i| (0, i * 7 % 500, if i % 3 == 0 { Op::Write } else { Op::Read })).collect();
        write(&path, Codec::Zstd, &references, &[(5, Mark::Kill { app: 0 })]);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        std::fs::write(&path, &bytes).unwrap();
        let trace = Trace::open(&path);
        let broken = match &trace {
            Err(e) => Some(e.to_string()),
            Ok(trace) => trace.page_table().and_then(|_| (0..trace.blocks()).try_for_each(|n| trace.read_block(n, &mut Block::default()))).err().map(|e| e.to_string()),
        };
        let broken = broken.expect("every byte is covered by a checksum");
        prop_assert!(broken.contains("expected") && !broken.contains('\n'), "{}", broken);
    }
}

#[test]
fn many_blocks_come_back_in_order_and_in_any_order() {
    let folder = folder();
    let path = folder.path().join("t.slt");
    let references: Vec<_> = (0..(3 * BLOCK_ACCESSES + 17) as u64).map(|i| (0, i % 90_000, Op::Read)).collect();
    // This packs in planes, and after the first block of that kind they are a quarter as long.
    for (codec, blocks) in [(Codec::Stored, 4), (Codec::Zstd, 1 + 2 * 4 + 1)] {
        write(&path, codec, &references, &[]);
        assert_eq!(read(&path).0, references);
        let trace = Trace::open(&path).unwrap();
        assert_eq!((trace.blocks(), trace.pages()), (blocks, 90_000));
        let mut last = Block::default();
        trace.read_block(blocks - 1, &mut last).unwrap();
        assert_eq!(last.accesses.len(), 17);
    }
}

#[test]
fn a_walk_over_the_blocks_ends_where_either_side_says() {
    let folder = folder();
    let path = folder.path().join("t.slt");
    let references: Vec<_> = (0..(2 * BLOCK_ACCESSES + 1) as u64).map(|i| (0, i % 100, Op::Read)).collect();
    write(&path, Codec::Stored, &references, &[]);
    let trace = Trace::open(&path).unwrap();
    let (mut lengths, mut told) = (Vec::new(), Vec::new());
    let mut progress = |done, all| {
        told.push((done, all));
        true
    };
    let mut note = |block: &mut Block| {
        lengths.push(block.accesses.len());
        Ok(())
    };
    trace.for_each_block(&mut progress, &mut note).unwrap();
    assert_eq!((lengths, told), (vec![BLOCK_ACCESSES, BLOCK_ACCESSES, 1], vec![(0, 3), (1, 3), (2, 3)]));
    // The progress callback stops the iteration before the second block, which is an error.
    let mut seen = 0;
    let mut count = |_: &mut Block| {
        seen += 1;
        Ok(())
    };
    let stopped = trace.for_each_block(&mut |done, _| done < 1, &mut count).unwrap_err();
    assert!(matches!(stopped, BadInput::Interrupted { ref place } if place.ends_with("t.slt: block 1 of 3")), "{stopped}");
    assert_eq!(seen, 1);
    // The reader stops after the second block, which is no error.
    let mut seen = 0;
    trace
        .for_blocks_while(&mut |_, _| true, |_| {
            seen += 1;
            Ok(seen < 2)
        })
        .unwrap();
    assert_eq!(seen, 2);
    // An error of the reader is returned unchanged.
    let failed = trace.for_each_block(&mut |_, _| true, |_| Err(BadInput::new("here", "this", "that"))).unwrap_err();
    assert_eq!(failed.to_string(), "here: this; expected that");
}

#[test]
fn the_content_hash_depends_on_content_alone() {
    let folder = folder();
    let (a, b) = (folder.path().join("a.slt"), folder.path().join("b.slt"));
    let references = [(0, 3, Op::Read), (0, 4, Op::Write)];
    let hash = write(&a, Codec::Zstd, &references, &[]);
    assert!(hash.starts_with("sha256:") && hash.len() == 7 + 64, "{hash}");
    assert_eq!(write(&b, Codec::Zstd, &references, &[]), hash);
    assert_ne!(write(&b, Codec::Zstd, &[(0, 3, Op::Read), (0, 4, Op::Read)], &[]), hash);
    assert_eq!(std::fs::read(&a).unwrap().len(), std::fs::metadata(&a).unwrap().len() as usize);
}

#[test]
fn a_cut_file_names_the_block_and_its_offset() {
    let folder = folder();
    let path = folder.path().join("t.slt");
    let references: Vec<_> = (0..(2 * BLOCK_ACCESSES) as u64).map(|i| (0, i.wrapping_mul(0x9E3779B97F4A7C15) % 90_000, Op::Read)).collect();
    write(&path, Codec::Zstd, &references, &[]);
    let bytes = std::fs::read(&path).unwrap();
    let second = 24 + 24 + u32::from_le_bytes(bytes[32..36].try_into().unwrap()) as usize;
    for (length, expected) in
        [(100, "block 0 at byte 24"), (second, "block 1 at byte"), (second + 40, "block 1 at byte"), (bytes.len() - 1, "at byte")]
    {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let e = Trace::open(&path).err().unwrap().to_string();
        assert!(e.contains(expected) && e.contains("cut"), "{length}: {e}");
    }
    // Two traces in one file: its end is complete, but describes only the second trace.
    std::fs::write(&path, [&bytes[..], &bytes[..]].concat()).unwrap();
    let e = Trace::open(&path).err().unwrap().to_string();
    assert!(e.contains("index at byte") && e.contains("do not follow one another"), "{e}");
    let mut altered = bytes.clone();
    altered[second + 100] ^= 1;
    std::fs::write(&path, &altered).unwrap();
    let trace = Trace::open(&path).unwrap();
    let e = trace.read_block(1, &mut Block::default()).unwrap_err().to_string();
    assert!(e.contains(&format!("block 1 at byte {second}")) && e.contains("checksum"), "{e}");
}

#[test]
fn nothing_is_left_behind_when_a_writer_is_dropped() {
    let folder = folder();
    let mut builder = TraceBuilder::create(&folder.path().join("t.slt"), Kind::Page, 4096, Codec::Zstd).unwrap();
    builder.access(0, 1, Op::Read).unwrap();
    drop(builder);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn references_lie_in_planes_where_that_packs_better_and_read_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (0u16, state >> 50, Op::Read)
    };
    let drawn: Vec<_> = (0..60_000).map(|_| random()).collect();
    let few = drawn[..3].to_vec();
    // The layout is byte 1 of the frame behind the header of 24 bytes.
    for (references, layout) in [(drawn, 1), (few, 0)] {
        let file = folder.path().join(format!("{layout}.slt"));
        write(&file, Codec::Zstd, &references, &[]);
        assert_eq!(std::fs::read(&file).unwrap()[24..26], [b'E', layout]);
        let trace = Trace::open(&file).unwrap();
        let (table, mut block) = (trace.page_table().unwrap(), Block::default());
        trace.read_block(0, &mut block).unwrap();
        let read: Vec<_> = block.accesses.iter().map(|a| (0, table.numbers[a.page() as usize], a.op())).collect();
        assert_eq!(read, references);
    }
}

#[test]
fn the_description_names_the_content() {
    let folder = folder();
    let path = folder.path().join("t.slt");
    let hash = write(&path, Codec::Zstd, &[(0, 1, Op::Read), (0, 2, Op::Write)], &[]);
    let found = TraceInfo::of(&Trace::open(&path).unwrap()).unwrap();
    assert_eq!((found.content_hash, found.references, found.footprint_pages), (Some(hash), 2, 2));
    assert_eq!(Trace::open(&path).unwrap().named("a.csv".into()).place(), "a.csv");
}

/// A file of a header's length is read; a shorter one is no trace whatever it has.
#[test]
fn a_file_without_a_whole_header_is_refused_by_its_length() {
    let folder = folder();
    let path = folder.path().join("t.slt");
    write(&path, Codec::Zstd, &[(0, 1, Op::Read)], &[]);
    let whole = std::fs::read(&path).unwrap();
    let refusal = |bytes: usize| {
        std::fs::write(&path, &whole[..bytes]).unwrap();
        Trace::open(&path).err().unwrap().to_string()
    };
    assert!(refusal(23).contains("23 bytes; expected a .slt trace, whose header alone has 24"), "{}", refusal(23));
    assert!(!refusal(24).contains("whose header alone"), "{}", refusal(24));
}
