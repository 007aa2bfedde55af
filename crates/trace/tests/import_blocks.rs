//! Tests of importers of block requests, by cases worked by hand.

mod folder;

use folder::Folder;
use swaplab_trace::import::Options;
use swaplab_trace::Trace;
use swaplab_vocab::Class;

#[test]
fn a_block_trace_may_say_itself_which_sectors_are_swap() {
    let head = "# swaplab: command app\n# swaplab: lost 0\n# swaplab: partition swap 254,0 800 808\n# tracer: nop\n";
    let request =
        |kind: &str, sector: u32| format!(" app-1 [000] ..... 1.5: block_rq_complete: 254,0 {kind} () {sector} + 16 none,0,0 [0]\n");
    let text = [head, &request("R", 800), &request("WS", 0)].concat();
    let folder = Folder::new();
    let meta = folder.import("t", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(
        (meta.partitions["swap"].read_bytes, meta.partitions["file"].read_bytes, meta.partitions["file"].write_bytes),
        (4096, 4096, 8192)
    );
    let classes = Trace::open(&folder.slt()).unwrap().page_table().unwrap().classes.clone();
    assert_eq!(classes, [Class::Anonymous, Class::Shared, Class::Shared, Class::Shared], "swap, the rest of that request, the other one");
    let ranges = folder.file("ranges", b"other 0 99\n");
    let meta = folder.import("t", text.as_bytes(), &Options { ranges: Some(ranges), ..Options::default() }).unwrap();
    assert_eq!(meta.partitions.keys().collect::<Vec<_>>(), ["file", "other"]);
    let late = [&request("R", 8), head].concat();
    let error = folder.import("t", late.as_bytes(), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 4") && error.contains("before any request"), "{error}");
}

/// Completed requests of 16 sectors are 8,192 bytes. A flush before a write (FW) is part of the
/// write; the other kinds transfer nothing and are counted, or are a driver's own command.
#[test]
fn each_kind_of_block_request_is_counted() {
    let request = |kind: &str| format!(" app-1 [000] ..... 1.5: block_rq_complete: 254,0 {kind} () 0 + 16 none,0,0 [0]\n");
    let text: String = ["R", "FW", "W", "D", "DE", "E", "F", "FF", "N"].map(request).concat();
    let folder = Folder::new();
    let meta = folder.import("t", text.as_bytes(), &Options::default()).unwrap();
    assert_eq!((meta.partitions["file"].read_bytes, meta.partitions["file"].write_bytes), (8192, 2 * 8192));
    assert_eq!((meta.provenance["discards"].as_str(), meta.provenance["flushes"].as_str()), ("3", "2"));
    let error = folder.import("t", request("X").as_bytes(), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("line 1: a request of kind 'X'; expected a kind of R, W, D, E, F or N"), "{error}");
}
