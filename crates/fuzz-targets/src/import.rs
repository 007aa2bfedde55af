//! Importers: a file, and behind a line of `=====` the file that may lie beside it (page table, ranges).

use crate::trace::read;
use crate::{quiet, refused};
use swaplab_capture::{record_lackey, CacheSizes, Limits, Request, Shared};
use swaplab_trace::import::{open, Options};
use swaplab_trace::Trace;

const BESIDE: &[u8] = b"\n=====\n";

/// A file of a known format.
pub fn file(format: &str, data: &[u8]) {
    import(Some(format), data);
}

/// A file whose format is told from its first bytes; packed by gzip or zstd if they say so.
pub fn detected(data: &[u8]) {
    import(None, data);
}

fn import(format: Option<&str>, data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, other) = (folder.path().join("t_k16"), folder.path().join("beside"));
    let at = data.windows(BESIDE.len()).position(|window| window == BESIDE);
    let (main, beside) = at.map_or((data, None), |at| (&data[..at], Some(&data[at + BESIDE.len()..])));
    std::fs::write(&path, main).expect("a file in it");
    let mut options = Options { format: format.map(Into::into), ..Options::default() };
    if let Some(beside) = beside {
        std::fs::write(&other, beside).expect("a file in it");
        let place = Some(other);
        match format {
            Some("pgcsv") => options.pages = place,
            Some("ftrace-block") => options.filefrag = place,
            _ => options.ranges = place,
        }
    }
    if let Some(trace) = refused(open(&path, &options, &mut quiet)) {
        refused(read(&trace)).expect("what was imported can be read");
    }
}

/// What valgrind prints, recorded as it comes; the first byte chooses the filter and the caches.
pub fn captured(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("t.slt");
    let caches = (first & 4 != 0).then(|| CacheSizes::parse("L1:512B,LL:1KiB").expect("sizes of ours"));
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
    // No process has this number: what the trace does not say stays unknown.
    if refused(record_lackey(text, u32::MAX, request, &shared)).is_some() {
        let trace = Trace::open(&output).expect("what was recorded can be read");
        refused(read(&trace)).expect("what was recorded can be read");
    }
}
