//! Slices, merged traces and anonymized copies: which marks they keep, and what their ranges and
//! files mean.

use std::path::{Path, PathBuf};
use swaplab_trace::{tools, Block, Codec, Kind, Mark, Range, Step, Trace, TraceBuilder};
use swaplab_vocab::{Class, Op};

/// Write page 10 of app `a`, 20 of `b` and 12 of `a`, with `marks` before the references of these
/// numbers. The traces name a file.
fn write(folder: &Path, name: &str, file: &str, marks: &[(usize, Mark)]) -> PathBuf {
    let path = folder.join(name);
    let mut builder = TraceBuilder::create(&path, Kind::Page, 4096, Codec::Zstd).unwrap();
    ["a", "b"].iter().for_each(|name| _ = builder.app(name, None).unwrap());
    builder.meta.files = vec![String::new(), file.into()];
    for (at, (app, page)) in [(0, 10), (1, 20), (0, 12)].into_iter().enumerate() {
        for (_, mark) in marks.iter().filter(|(before, _)| *before == at) {
            builder.mark(mark.clone()).unwrap();
        }
        builder.access(app, page, Op::Read).unwrap();
    }
    builder.finish().unwrap();
    path
}

/// The marks of a trace, and the apps and pages of its references.
fn content(path: &Path) -> (Vec<Mark>, Vec<(u16, u64)>) {
    let trace = Trace::open(path).unwrap();
    let table = trace.page_table().unwrap();
    let (mut marks, mut references, mut block) = (Vec::new(), Vec::new(), Block::default());
    for number in 0..trace.blocks() {
        trace.read_block(number, &mut block).unwrap();
        for step in block.steps() {
            match step {
                Step::Accesses(run) => {
                    references.extend(run.iter().map(|a| (table.apps[a.page() as usize], table.numbers[a.page() as usize])))
                }
                Step::Mark(mark) => marks.push(mark.clone()),
            }
        }
    }
    (marks, references)
}

fn map(app: u16, first: u64, pages: u64, file: u32) -> Mark {
    Mark::Map { range: Range { app, first, pages }, class: Class::File, file, offset: 0 }
}

#[test]
fn a_slice_has_the_marks_before_its_references() {
    let folder = tempfile::tempdir().unwrap();
    let marks = [(0, Mark::Switch { app: 0 }), (1, Mark::Switch { app: 1 }), (2, Mark::Kill { app: 1 })];
    let trace = Trace::open(&write(folder.path(), "t.slt", "lib", &marks)).unwrap();
    let out = folder.path().join("out.slt");
    let slice = |from, count, app: Option<&str>| {
        let part = tools::Slice { from, count, app: app.map(String::from) };
        tools::slice(&trace, &part, &out, &mut |_, _| true).map(|_| content(&out))
    };
    assert_eq!(slice(0, Some(2), None).unwrap(), (vec![Mark::Switch { app: 0 }, Mark::Switch { app: 1 }], vec![(0, 10), (1, 20)]));
    assert_eq!(slice(1, None, Some("b")).unwrap(), (vec![Mark::Switch { app: 1 }, Mark::Kill { app: 1 }], vec![(1, 20)]));
    let refused = |from, app| slice(from, None, app).unwrap_err().to_string();
    assert!(refused(0, Some("c")).contains("unknown app 'c'"));
    assert!(refused(1 << 40, None).contains("no reference in this part of "));
}

/// Files of the second trace follow those of the first one; file 0 is none in both.
#[test]
fn a_merged_trace_keeps_the_files_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["lib", "data"].map(|file| {
        let marks = [(0, map(0, 10, 1, 1)), (1, map(1, 20, 1, 0))];
        Trace::open(&write(folder.path(), file, file, &marks)).unwrap()
    });
    let out = folder.path().join("out.slt");
    let merged = tools::merge(&[("one", &one), ("two", &two)], 3, &out, &mut |_, _| true).unwrap();
    assert_eq!(merged.files, ["", "lib", "data"]);
    let expected = [map(0, 10, 1, 1), map(1, 20, 1, 0), map(2, 10, 1, 2), map(3, 20, 1, 0)];
    assert_eq!(content(&out).0, expected);
}

/// Pages of an app keep their distances. A range that begins below the app's lowest page is clipped
/// there.
#[test]
fn an_anonymized_trace_keeps_distances() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.slt", "lib", &[(0, map(0, 7, 10, 1)), (1, map(0, 11, 2, 1))]);
    let out = folder.path().join("out.slt");
    tools::anonymize(&Trace::open(&path).unwrap(), 1, &out, &mut |_, _| true).unwrap();
    let (marks, references) = content(&out);
    tools::anonymize(&Trace::open(&path).unwrap(), 2, &out, &mut |_, _| true).unwrap();
    assert_ne!(content(&out).1, references, "the seed decides where the pages lie");
    let base = references[0].1;
    assert!(base != 10 && references == [(0, base), (1, references[1].1), (0, base + 2)]);
    assert_eq!(marks, [map(0, base, 7, 1), map(0, base + 1, 2, 1)]);
}
