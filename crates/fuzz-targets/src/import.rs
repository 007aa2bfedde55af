//! Targets for the importers. Input: a file and, after a line `=====`, the second file that some
//! formats need (page table, ranges).

use crate::trace::read;
use crate::{accepted, quiet};
use swaplab_capture::{record_lackey, CacheSizes, Limits, Request, Shared};
use swaplab_trace::import::{open, Options};
use swaplab_trace::Trace;

const SEPARATOR: &[u8] = b"\n=====\n";

/// Import the input as a file of this format.
pub fn file(format: &str, data: &[u8]) {
    import(Some(format), data);
}

/// Import the input as a file whose format, and compression by gzip or zstd, is detected from its
/// first bytes.
pub fn detected(data: &[u8]) {
    import(None, data);
}

fn import(format: Option<&str>, data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The end of the name, `_k16`, tells the importer that a filter of 16 pages was used.
    let (path, second_path) = (folder.path().join("t_k16"), folder.path().join("second"));
    let at = data.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
    let (main, second) = at.map_or((data, None), |at| (&data[..at], Some(&data[at + SEPARATOR.len()..])));
    std::fs::write(&path, main).expect("a file in it");
    let mut options = Options { format: format.map(Into::into), ..Options::default() };
    if let Some(second) = second {
        std::fs::write(&second_path, second).expect("a file in it");
        let place = Some(second_path);
        match format {
            Some("pgcsv") => options.pages = place,
            Some("ftrace-block") => options.filefrag = place,
            _ => options.ranges = place,
        }
    }
    if let Some(trace) = accepted(open(&path, &options, &mut quiet)) {
        accepted(read(&trace)).expect("an imported trace can be read");
    }
}

/// Record a trace from the output of valgrind's tool lackey. Input: one byte that selects the
/// filter and the caches, then the output.
pub fn captured(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    if text.split(|byte| *byte == b'\n').filter(|line| moves_much(line)).count() > 1 {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("t.slt");
    let caches = (first & 4 != 0).then(|| CacheSizes::parse("L1:512B,LL:1KiB").expect("valid sizes"));
    let request = Request {
        output: output.clone(),
        program: "program".into(),
        limits: Limits { filter: usize::from(first & 3), caches, max: (first & 8 != 0).then_some(40) },
        caches: None,
        root: None,
        provenance: Default::default(),
    };
    let shared = Shared::default();
    shared.program_ended(first & 16 != 0);
    // No process has this id, so the recorder can learn nothing from /proc.
    if accepted(record_lackey(text, u32::MAX, request, &shared)).is_some() {
        let trace = Trace::open(&output).expect("a recorded trace can be opened");
        accepted(read(&trace)).expect("a recorded trace can be read");
    }
}

/// Whether a line is a system call that transfers 16 MiB or more. One call can transfer two
/// gigabytes, half a million pages, which takes many seconds in an instrumented program, so an
/// input may have one such line. The results of `mmap`, `brk` and `mremap` (numbers 9, 12 and 25 on
/// x86-64) are addresses, not sizes.
fn moves_much(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let Some((_, result)) = line.rsplit_once("Success(") else { return false };
    let digits: String = result.trim_start_matches("0x").chars().take_while(char::is_ascii_hexdigit).collect();
    let address = ["](9)", "](12)", "](25)"].iter().any(|call| line.contains(call));
    // A decimal number that is read as hexadecimal only becomes larger.
    !address && u64::from_str_radix(&digits, 16).map_or(!digits.is_empty(), |bytes| bytes >> 24 != 0)
}
