//! Traces that claim more data than they have are refused, within memory for their own size and a
//! few blocks.

use swaplab_fuzz_targets::frames::{frame, varint};
use swaplab_trace::{Block, Trace};

/// Peak resident memory of this process so far, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") / 1024
}

/// A compressed trace: header, `frames`, and an index whose payload `index` makes of the frames'
/// offsets.
fn trace(frames: &[(u8, Vec<u8>)], index: impl Fn(&[u64]) -> Vec<u8>) -> Vec<u8> {
    let mut out = swaplab_fuzz_targets::frames::header(0, 12, true);
    let mut offsets = Vec::new();
    for (kind, payload) in frames {
        offsets.push(out.len() as u64);
        frame(&mut out, *kind, payload, true);
    }
    let at = out.len() as u64;
    frame(&mut out, b'X', &index(&offsets), true);
    swaplab_fuzz_targets::frames::trailer(&mut out, at);
    out
}

/// The payload of an index with these offsets of event blocks, page tables and metadata, which
/// claims `pages` pages.
fn index(events: &[u64], tables: &[u64], meta: u64, pages: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for list in [events, tables] {
        varint(&mut out, list.len() as u64);
        let mut before = 0;
        for offset in list {
            varint(&mut out, offset.wrapping_sub(before));
            before = *offset;
        }
    }
    varint(&mut out, meta);
    varint(&mut out, pages);
    out
}

/// The error message of reading the whole trace.
fn refusal(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.slt");
    std::fs::write(&path, bytes).expect("a file in it");
    let read = || {
        let trace = Trace::open(&path)?;
        trace.page_table()?;
        (0..trace.blocks()).try_for_each(|number| trace.read_block(number, &mut Block::default()))
    };
    read().expect_err("a hostile trace is refused").to_string()
}

// A single test, as the peak of memory is the process's.
#[test]
fn hostile_traces_are_refused_in_bounded_memory() {
    let before = peak_mib();
    let meta = || (b'M', b"{}".to_vec());
    let zeros = |bytes: usize| vec![0u8; bytes];
    let mut table = zeros(8 + 11 * 65_536);
    table[..4].copy_from_slice(&65_536u32.to_le_bytes());
    let bomb = (b'P', table);
    // Three traces: one claims 2^60 pages and has none; one claims them with one table; one names
    // the same table ten million times.
    let none = trace(&[meta()], |at| index(&[], &[], at[0], 1 << 60));
    let few = trace(&[bomb.clone(), meta()], |at| index(&[], &at[..1], at[1], 1 << 60));
    let repeated = trace(&[bomb.clone(), meta()], |at| {
        let mut payload = vec![0];
        varint(&mut payload, 10_000_000);
        varint(&mut payload, at[0]);
        payload.extend(zeros(9_999_999));
        varint(&mut payload, at[1]);
        varint(&mut payload, 1 << 39);
        payload
    });
    assert!(repeated.len() < 20_000, "{} bytes claim ten million tables", repeated.len());
    // Many tables of zeros, which are kilobytes and would be many megabytes after decompression.
    let many: Vec<_> = std::iter::repeat_n(bomb, 64).chain([meta()]).collect();
    let many = trace(&many, |at| index(&[], &at[..64], at[64], 64 * 65_536));
    assert!(many.len() < 64 << 10, "{} bytes", many.len());
    // A block of 16 MiB of zeros, compressed to about a kilobyte: it has no references, and bytes
    // are left over.
    let block = trace(&[(b'E', zeros(16 << 20)), meta()], |at| index(&at[..1], &[], at[1], 0));
    assert!(block.len() < 4096, "{} bytes", block.len());
    // A frame that claims a smaller size than it has after decompression, and one that claims 4
    // GiB.
    let mut liar = block.clone();
    liar[28..32].copy_from_slice(&100u32.to_le_bytes());
    let mut huge = block.clone();
    huge[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
    for (label, bytes, expected) in [
        ("none", &none, "1152921504606846976 pages, page-table frames: 0"),
        ("few", &few, "1152921504606846976 pages, page-table frames: 1"),
        ("repeated", &repeated, "frames that overlap"),
        ("many", &many, "100 times at most"),
        ("block", &block, "bytes left over"),
        ("liar", &liar, "its checksum does not match"),
        ("huge", &huge, "the file was altered"),
    ] {
        let message = refusal(bytes);
        assert!(message.contains(expected) && !message.contains('\n'), "{label}: {message}");
    }
    // The peak includes the blocks themselves, which this test builds, and a few blocks of the
    // reader.
    let growth = peak_mib() - before;
    assert!(growth < 250, "the peak of memory grew by {growth} MiB");
}
