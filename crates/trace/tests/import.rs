//! Tests of importers with handwritten cases, exported again as `csv`, and of the errors for bad
//! input.

mod folder;

use folder::{to_csv, with_format, Folder};
use std::path::Path;
use swaplab_trace::import::{import, open, Options};
use swaplab_trace::{export, tools, Codec, Trace};
use swaplab_vocab::Class;

#[test]
fn a_byte_order_mark_is_skipped_in_text_alone() {
    let folder = Folder::new();
    let text = b"page,op\n3,R\n4,W\n";
    let marked = [&b"\xef\xbb\xbf"[..], text].concat();
    assert_eq!(folder.csv("marked.csv", &marked, &Options::default()), folder.csv("plain.csv", text, &Options::default()));
    // libCacheSim's records may begin with the same bytes: a time.
    let record = |time: [u8; 4]| [&time[..], &7u64.to_le_bytes(), &4096u32.to_le_bytes(), &(-1i64).to_le_bytes()].concat();
    let two = [record([0xef, 0xbb, 0xbf, 0]), record([0xf0, 0xbb, 0xbf, 0])].concat();
    assert_eq!(folder.import("two.oracleGeneral", &two, &Options::default()).unwrap().references(), 2);
}

#[test]
fn oslab_takes_spaces_tabs_commas_and_empty_lines() {
    let text = b"12 R\n7\tW\n\n12,I\r\n18446744073709551615 R";
    let expected = "page,op\n12,R\n7,W\n12,I\n18446744073709551615,R\n";
    assert_eq!(Folder::new().csv("t.txt", text, &Options::default()), expected);
    let packed = zstd::bulk::compress(text, 3).unwrap();
    assert_eq!(Folder::new().csv("t.zst", &packed, &Options::default()), expected);
}

#[test]
fn csv_comes_back_as_it_was() {
    let long = "page,op\n7,R\n1234567,W\n12345678,I\n123456789012345,R\n1234567890123456,W\n18446744073709551615,I\n7,W\n12345678,R\n";
    for text in [long, "page,op\n5,R\n6,W\n5,I\n", "page,op,app,class\n5,R,maps,file\n5,W,chat,anonymous\n5,W,maps,file\n9,R,chat,shared\n"]
    {
        assert_eq!(Folder::new().csv("t.csv", text.as_bytes(), &Options::default()), text);
    }
}

/// The last lines, which are not taken for simple ones, have them all.
#[test]
fn a_line_has_the_fields_of_its_header() {
    for (header, said) in [("page,op,app", "an app's name third"), ("page,op,class", "a class")] {
        let text = format!("{header}\n{}{}", "7,R\n".repeat(9), "7,R,shared\n".repeat(9));
        let error = Folder::new().import("t.csv", text.as_bytes(), &Options::default()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn classes_that_are_not_given_follow_from_the_references() {
    let folder = Folder::new();
    folder.import("t.txt", b"1 I\n2 R\n3 W\n4 I\n4 W\n", &Options::default()).unwrap();
    let table = Trace::open(&folder.slt()).unwrap().page_table().unwrap().clone();
    assert_eq!(table.classes, [Class::File, Class::Anonymous, Class::Anonymous, Class::Anonymous]);
    folder.import("t.txt", b"1 I\n2 R\n", &Options { data_read_class: Class::File, ..Options::default() }).unwrap();
    assert_eq!(Trace::open(&folder.slt()).unwrap().page_table().unwrap().classes, [Class::File, Class::File]);
}

#[test]
fn pgcsv_takes_classes_from_the_page_table_then_from_maps() {
    let folder = Folder::new();
    let text = b"M,10,4,F,1,100\nI,10\nR,11\nM,20,2,A,0,0\nW,20\nT,500\nV,20,2,30,4\nR,33\nU,10,4\nR,40\n";
    let meta = folder.import("prog_k64.csv", text, &Options::default()).unwrap();
    assert_eq!((meta.filter.lru_entries, meta.raw_references), (Some(64), Some(500)));
    let table = Trace::open(&folder.slt()).unwrap().page_table().unwrap().clone();
    assert_eq!(table.numbers, [0x10, 0x11, 0x20, 0x33, 0x40]);
    // 0x33 is in the part that the mapping grew by; 0x40 was never mapped and is only read.
    assert_eq!(table.classes, [Class::File, Class::File, Class::Anonymous, Class::Anonymous, Class::Anonymous]);
    assert_eq!(table.file_pages[1].offset, 101);
    let pages =
        folder.file("p.csv", b"vpn,class,fileid,pgoff,first_ref\n11,s,2,7,0\n20,C,1,3,0\n#file,1,/lib/a,b.so\n#file,2,/dev/shm/x\n");
    let meta = folder.import("prog_k64.csv", text, &Options { pages: Some(pages), ..Options::default() }).unwrap();
    assert_eq!(meta.files, ["", "/lib/a,b.so", "/dev/shm/x"]);
    let table = Trace::open(&folder.slt()).unwrap().page_table().unwrap().clone();
    assert_eq!(table.classes, [Class::File, Class::Shared, Class::File, Class::Anonymous, Class::Anonymous]);
    let pages = folder.file("p.csv", b"vpn,class,fileid,pgoff\n20,F,1048576,3\n");
    let error = folder.import("prog_k64.csv", text, &Options { pages: Some(pages), ..Options::default() }).unwrap_err().to_string();
    assert!(error.ends_with("p.csv: line 2: '20,F,1048576,3'; expected a file number third"), "{error}");
}

/// A mapping that was moved keeps its file, and its file its class.
#[test]
fn a_moved_mapping_keeps_its_file() {
    let folder = Folder::new();
    folder.import("t.csv", b"M,10,4,F,1,100\nV,10,4,30,4\nR,32\n", &Options::default()).unwrap();
    let table = Trace::open(&folder.slt()).unwrap().page_table().unwrap().clone();
    assert_eq!((table.classes[0], table.file_pages[0].file, table.file_pages[0].offset), (Class::File, 1, 102));
}

/// What a trace is, is in its first bytes or its name.
#[test]
fn a_trace_is_opened_under_any_name_and_a_broken_one_is_refused_under_its_own() {
    let folder = Folder::new();
    folder.import("t.txt", b"1 R\n2 W\n", &Options::default()).unwrap();
    let renamed = folder.file("trace", &std::fs::read(folder.slt()).unwrap());
    assert_eq!(open(&renamed, &Options::default(), &mut |_, _| true).unwrap().meta.references(), 2);
    let broken = folder.file("broken.slt", b"1 R\n2 W\n");
    let error = open(&broken, &Options::default(), &mut |_, _| true).err().unwrap().to_string();
    assert!(error.contains("broken.slt") && !error.contains("format"), "{error}");
}

#[test]
fn lackey_splits_accesses_across_pages_and_modifies_twice() {
    let text = b"==1== Lackey\nI  04000ffe,3\n L 1000,8\n S 1ffc,8\n M 5000,4\n";
    assert_eq!(Folder::new().csv("t.txt", text, &Options::default()), "page,op\n16384,I\n16385,I\n1,R\n1,W\n2,W\n5,R\n5,W\n");
}

#[test]
fn oracle_general_goes_and_comes_back() {
    let folder = Folder::new();
    folder.import("t.csv", b"page,op\n9,W\n5,R\n9,R\n", &Options::default()).unwrap();
    let trace = Trace::open(&folder.slt()).unwrap();
    let path = folder.0.path().join("t.oracleGeneral.zst");
    export::convert(&trace, "oracle-general", &path, &mut |_, _| true).unwrap();
    let bytes = zstd::stream::decode_all(std::fs::File::open(&path).unwrap()).unwrap();
    let next: Vec<i64> = bytes.chunks(24).map(|r| i64::from_le_bytes(r[16..].try_into().unwrap())).collect();
    assert_eq!(next, [2, -1, -1]);
    // Across blocks, too: pages 0 to 99,999 twice.
    let twice: String = (0..200_000).map(|at| format!("{} R\n", at % 100_000)).collect();
    folder.import("twice.txt", twice.as_bytes(), &Options::default()).unwrap();
    let next = export::next_uses(&Trace::open(&folder.slt()).unwrap()).unwrap();
    assert!(next.iter().zip(0..).all(|(next, at)| *next == if at < 100_000 { at + 100_000 } else { u32::MAX }));
    assert_eq!(
        to_csv(&open(&path, &Options::default(), &mut |_, _| true).unwrap(), &folder.0.path().join("b.csv")),
        "page,op\n9,R\n5,R\n9,R\n"
    );
}

#[test]
fn slices_merges_and_anonymized_copies() {
    let folder = Folder::new();
    let text = b"page,op,app,class\n1,R,a,file\n2,W,b,anonymous\n3,R,a,shared\n2,R,b,anonymous\n1,W,a,file\n";
    folder.import("t.csv", text, &Options::default()).unwrap();
    let trace = Trace::open(&folder.slt()).unwrap();
    let (out, back) = (folder.0.path().join("x.slt"), folder.0.path().join("x.csv"));
    let slice = tools::Slice { from: 1, count: Some(3), app: Some("a".into()) };
    tools::slice(&trace, &slice, &out, &mut |_, _| true).unwrap();
    assert_eq!(to_csv(&Trace::open(&out).unwrap(), &back), "page,op,app,class\n3,R,a,shared\n");
    tools::merge(&[("one", &trace), ("two", &trace)], 2, &out, &mut |_, _| true).unwrap();
    let merged = Trace::open(&out).unwrap();
    assert_eq!((merged.meta.references(), merged.pages()), (10, 6));
    assert_eq!(merged.meta.apps.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["a", "b", "a#2", "b#2"]);
    assert!(to_csv(&merged, &back)
        .starts_with("page,op,app,class\n1,R,a,file\n2,W,b,anonymous\n1,R,a#2,file\n2,W,b#2,anonymous\n3,R,a,shared\n"));
    tools::anonymize(&trace, 1, &out, &mut |_, _| true).unwrap();
    let hidden = Trace::open(&out).unwrap();
    let (old, new) = (trace.page_table().unwrap(), hidden.page_table().unwrap());
    assert_eq!((&new.classes, &new.apps), (&old.classes, &old.apps));
    assert_eq!(new.numbers[2] - new.numbers[0], 2, "pages 1 and 3 of one app stay as far apart");
    assert_ne!(new.numbers, old.numbers);
    assert_eq!(hidden.meta.apps[0].name, "A01");
    assert!(!std::fs::read(&out).unwrap().windows(5).any(|w| w == b"t.csv"));
}

/// One snapshot of two regions, of which the first was accessed in four samples and the second in
/// two; a minute later a third. The same in every form that damo writes.
#[test]
fn damon_sweeps_regions_as_often_as_they_were_accessed() {
    let expected = "page,op,app\n1,R,target 0\n2,R,target 0\n1,R,target 0\n2,R,target 0\n3,R,target 0\n1,R,target 0\n2,R,target 0\n\
                    1,R,target 0\n2,R,target 0\n3,R,target 0\n3,R,target 0\n";
    let report = "base_time_absolute: 16 m 40.100 s\n\nmonitoring_start:           0 ns\nmonitoring_end:       100 ms\n\
                  monitoring_duration:       100 ms\ntarget_id: 0\nnr_regions: 3\n# start_addr     end_addr        length  nr_accesses   age\n\
                  000000001000-000000003000 (   8.000 KiB)           4     1\n000000003000-000000004000 (   4.000 KiB)           2     1\n\
                  000000004000-000000104000 (   1.000 MiB)           0     7\n\nmonitoring_start:       100 ms\n\
                  monitoring_end:     1 m 0.100 s\ntarget_id: 0\nnr_regions: 1\n000000003000-000000004000 (   4.000 KiB)           1     2\n";
    let line = |time: &str, regions: u8, rest: &str| {
        format!("kdamond.0  4452 [000] {time}: damon:damon_aggregated: target_id=0 nr_regions={regions} {rest}\n")
    };
    let events = [
        line("1.100000", 3, "4096-12288: 4 1"),
        line("1.100000", 3, "12288-16384: 2 1"),
        line("1.100000", 3, "16384-1064960: 0 7"),
        line("61.100000", 1, "12288-16384: 1 2"),
    ]
    .concat();
    let region = |start: &str, end: &str, samples: u8| {
        format!(
            r#"{{"start": "{start}", "end": "{end}", "nr_accesses": {{"samples": {samples}, "percent": null}}, "age": {{"usec": null}}}}"#
        )
    };
    let record = format!(
        r#"[{{"target_id": "0", "snapshots": [{{"start_time": "1", "end_time": "1100000000", "regions": [{}, {}]}},
            {{"start_time": "2", "end_time": "1 m 1.100 s", "regions": [{}]}}]}}]"#,
        region("4,096", "12,288", 4),
        region("12,288", "16,384", 2),
        region("12,288", "16,384", 1),
    );
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, record.as_bytes()).unwrap();
    for (name, text) in
        [("raw", report.as_bytes()), ("perf", events.as_bytes()), ("json", record.as_bytes()), ("packed", &packed.finish().unwrap())]
    {
        assert_eq!(Folder::new().csv(name, text, &Options::default()), expected, "{name}");
    }
    let bad: [(&str, &str); 5] = [
        ("base_time_absolute: 1 x\n", "line 1: 'base_time_absolute: 1 x'; expected a time"),
        ("base_time_absolute: 0 ns\n000000003000-000000004000 ( 4 KiB) 1 2\n", "expected target_id: before the first region"),
        ("base_time_absolute: 0 ns\ntarget_id: 0\n3000-1000 ( 4 KiB) 1 2\n", "line 3: '3000-1000 ( 4 KiB) 1 2'; expected a region"),
        ("base_time_absolute: 0 ns\n", "no snapshot in it"),
        ("[{\"snapshots\": 7}]", "expected a damo record"),
    ];
    for (text, said) in bad {
        let error = Folder::new().import("d", text.as_bytes(), &with_format("damon")).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

/// A recording of Perfetto begins with a line feed, as a text may. The second byte is the length of
/// its first packet.
#[test]
fn a_text_that_begins_with_an_empty_line_is_no_recording_of_perfetto() {
    for text in ["\n", "\n1 R\n", "\n\u{2}xx"] {
        let error = Folder::new().import("t", text.as_bytes(), &Options::default()).unwrap_err().to_string();
        assert!(error.contains("format can't be told"), "{text:?}: {error}");
    }
}

#[test]
fn bad_input_is_refused_with_its_place_and_leaves_no_file() {
    let cases: &[(&str, &str, &[u8], &str)] = &[
        ("oslab", "letter", b"1 R\nx W\n", "line 2: 'x W'; expected a page number below 2^64 in decimal, then I, R or W"),
        ("oslab", "type", b"1 R\n2 X\n", "line 2: '2 X'; expected"),
        ("oslab", "big", b"1 R\n18446744073709551616 W\n", "line 2: '18446744073709551616 W'; expected a page number below 2^64"),
        ("oslab", "no-op", b"1\n", "line 1: '1'; expected"),
        ("oslab", "empty", b"", "it is empty; expected a trace"),
        ("oslab", "blank", b"\n\n", "no reference in it; expected at least one"),
        ("csv", "header", b"op,page\n", "line 1: 'op,page'; expected the header page,op[,app,class]"),
        ("csv", "op", b"page,op\n1,Q\n", "line 2: '1,Q'; expected page,op: I, R or W second"),
        ("csv", "class", b"page,op,class\n1,R,file\n1,R,shared\n", "line 3: page 1 is shared here and file before; expected one class"),
        ("csv", "extra", b"page,op\n1,R,2\n", "line 2: '1,R,2'; expected as many fields as the header has"),
        ("pgcsv", "hex", b"I,zz\n", "line 1: 'I,zz'; expected I, R or W, a comma, and a page number in hexadecimal"),
        ("pgcsv", "event", b"I,1\nQ,1\n", "line 2: 'Q,1'; expected a line that begins with"),
        ("pgcsv", "range", b"U,ffffffffffffffff,9\n", "line 1: 'U,ffffffffffffffff,9'; expected U,<page hex>,<pages>"),
        ("lackey", "line", b"I  12,4\nhello\n", "line 2: 'hello'; expected 'I  ', ' L '"),
        ("oracle-general", "short", &[0; 25], "byte 24: a record of 1 bytes; expected 24-byte records"),
    ];
    for (format, name, content, expected) in cases {
        let folder = Folder::new();
        let error = folder.import(name, content, &with_format(format)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains(expected) && !error.contains('\n'), "{format} {name}: {error}");
        assert_eq!(folder.names(), [*name], "{format} {name}");
    }
}

#[test]
fn a_truncated_zst_and_an_unknown_format_are_refused() {
    let folder = Folder::new();
    let text = "123 R\n".repeat(100_000);
    let packed = zstd::bulk::compress(text.as_bytes(), 3).unwrap();
    let error = folder.import("t.zst", &packed[..packed.len() - 8], &Options::default()).unwrap_err().to_string();
    assert!(error.contains("t.zst: byte") && error.contains("cut"), "{error}");
    let error = folder.import("t.txt", b"hello\n", &Options::default()).unwrap_err().to_string();
    assert!(error.contains("format can't be told"), "{error}");
    let error = folder.import("t.txt", b"1 R\n", &with_format("oslabs")).unwrap_err().to_string();
    assert!(error.contains("expected 'oslab' (did you mean that?)"), "{error}");
    assert_eq!(folder.names(), ["t.txt", "t.zst"]);
}

#[test]
fn an_import_that_is_stopped_says_where_and_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.file("t.txt", "123 R\n".repeat(500_000).as_bytes());
    let mut calls = 0;
    let error = import(&path, &folder.slt(), Codec::Zstd, &Options::default(), &mut |_, _| {
        calls += 1;
        calls < 3
    });
    assert!(error.unwrap_err().to_string().starts_with("interrupted at "));
    assert_eq!(folder.names(), ["t.txt"]);
}

#[test]
fn times_of_launches_count_from_the_first_one_and_never_run_backwards() {
    let folder = Folder::new();
    let good = b"seq,t_s,app,category,fg_s\n0,0,A,Tools,15\n1,2.5,B,,1\n2,2.5,A,Tools,4\n";
    let meta = folder.import("l.csv", good, &Options::default()).unwrap();
    assert_eq!((meta.launches, meta.apps.len(), meta.apps[0].category.as_deref()), (3, 2, Some("Tools")));
    let launches = swaplab_trace::launches::read(&Trace::open(&folder.slt()).unwrap()).unwrap();
    let seen: Vec<_> = launches.iter().map(|l| (l.at_ns, l.app, l.foreground_ns)).collect();
    assert_eq!(seen, [(0, 0, 15_000_000_000), (2_500_000_000, 1, 1_000_000_000), (2_500_000_000, 0, 4_000_000_000)]);
    // Of a clock that counts from 1970, the same launches.
    let later = b"seq,t_s,app,category,fg_s\n0,1700000000,A,Tools,15\n1,1700000002.5,B,,1\n2,1700000002.5,A,Tools,4\n";
    folder.import("later.csv", later, &Options::default()).unwrap();
    assert_eq!(swaplab_trace::launches::read(&Trace::open(&folder.slt()).unwrap()).unwrap(), launches);
    let bad: [(&[u8], &str); 5] = [
        (b"0,9,A,,1\n1,8.5,B,,1\n", "l.csv: line 3: t_s = 8.5 after 9; expected times that do not run backwards"),
        (b"0,0,A,1\n", "five fields"),
        (b"0,x,A,,1\n", "t_s: seconds"),
        (b"0,0,,,1\n", "an app's name third"),
        (b"", "no launch in it"),
    ];
    for (lines, said) in bad {
        let text = [b"seq,t_s,app,category,fg_s\n", lines].concat();
        let error = folder.import("l.csv", &text, &Options::default()).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

/// The figures that the data's README gives for its windows; the data are not part of the project.
#[test]
fn windows_of_real_launches_have_their_recorded_reuse() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/apps");
    if !data.is_dir() {
        return eprintln!("skipped: no ../shared/data/apps beside the project");
    }
    for (file, apps, stack) in [("apps256_small_vh1.csv", 13, 1.83), ("apps256_medium_vh2.csv", 23, 4.56)] {
        let trace = open(&data.join(file), &Options::default(), &mut |_, _| true).unwrap();
        let distances = swaplab_trace::launches::reuse(swaplab_trace::launches::read(&trace).unwrap().iter().map(|l| l.app));
        assert_eq!(distances.unique_apps, Some(apps));
        assert!((distances.average_stack_distance.unwrap() - stack).abs() < 0.005, "{file}: {distances:?}");
    }
}
