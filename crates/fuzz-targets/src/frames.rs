//! Target that puts hostile frames with correct checksums into a `.slt` file. A fuzzer of plain
//! bytes would hardly ever find such a file. It is written as specified in docs/trace-format.md,
//! without the crate's own writer.

use crate::trace::exercise;
use crate::{accepted, Draw};
use swaplab_trace::Trace;
use xxhash_rust::xxh3::xxh3_64;

/// Read and use a trace that is made of the input's frames.
///
/// Input: one byte of flags, then frames. Flags: bit 0 compresses frames with zstd, bits 1-2 are
/// the trace's kind, bit 3 makes pages of 16 KiB, bit 4 makes a correct index, bits 5-7 are a
/// number of pages that the correct index claims in addition. A frame is one byte for its kind (0
/// events, 1 page table, 2 metadata), two for the length, and the payload; kind 3 ends the frames.
/// Without bit 4, the rest of the input is the index's payload.
pub fn frames(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("t.slt");
    std::fs::write(&path, file(data)).expect("a file in it");
    if let Some(trace) = accepted(Trace::open(&path)) {
        exercise(&trace, folder.path());
    }
}

/// The `.slt` file that the input describes.
pub fn file(data: &[u8]) -> Vec<u8> {
    let mut draw = Draw(data);
    let flags = draw.byte();
    let compressed = flags & 1 != 0;
    let mut out = header(flags >> 1 & 3, if flags & 8 != 0 { 14 } else { 12 }, compressed);
    let (mut offsets, mut pages) = ([Vec::new(), Vec::new()], u64::from(flags >> 5));
    let mut meta = 0;
    loop {
        let kind = draw.byte() & 3;
        if kind == 3 || draw.0.is_empty() {
            break;
        }
        let length = usize::from(draw.short());
        let payload = draw.take(length);
        let at = out.len() as u64;
        match kind {
            2 => meta = at,
            list => offsets[usize::from(list)].push(at),
        }
        if kind == 1 && payload.len() >= 4 {
            pages += u64::from(u32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]));
        }
        frame(&mut out, b"EPM"[usize::from(kind)], payload, compressed);
    }
    if meta == 0 {
        meta = out.len() as u64;
        frame(&mut out, b'M', b"{\"apps\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", compressed);
    }
    let index = out.len() as u64;
    let payload = if flags & 16 != 0 { correct_index(&offsets, meta, pages) } else { draw.0.to_vec() };
    frame(&mut out, b'X', &payload, compressed);
    trailer(&mut out, index);
    out
}

/// The header: the first 24 bytes of a file.
pub fn header(kind: u8, page_shift: u8, compressed: bool) -> Vec<u8> {
    let mut header = [0u8; 24];
    header[..8].copy_from_slice(b"swaplab\0");
    header[8] = 1;
    header[10] = kind;
    header[11] = page_shift;
    header[12] = u8::from(compressed);
    let sum = xxh3_64(&header[..16]);
    header[16..].copy_from_slice(&sum.to_le_bytes());
    header.to_vec()
}

/// Append the trailer, the last 24 bytes of a file, whose index begins at byte `index`.
pub fn trailer(out: &mut Vec<u8>, index: u64) {
    out.extend(index.to_le_bytes());
    out.extend(xxh3_64(&index.to_le_bytes()).to_le_bytes());
    out.extend(b"slt-end\0");
}

/// Append one frame with a correct checksum.
pub fn frame(out: &mut Vec<u8>, kind: u8, payload: &[u8], compressed: bool) {
    let stored = if compressed { zstd::bulk::compress(payload, 1).expect("zstd compresses any bytes") } else { payload.to_vec() };
    let mut header = [0u8; 24];
    header[0] = kind;
    header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    let sum = xxh3_64(&header[..16]) ^ xxh3_64(&stored).rotate_left(1);
    header[16..].copy_from_slice(&sum.to_le_bytes());
    out.extend(header);
    out.extend(stored);
}

/// The payload of a correct index: the positions of the file's frames.
fn correct_index(offsets: &[Vec<u64>; 2], meta: u64, pages: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for list in offsets {
        varint(&mut out, list.len() as u64);
        let mut before = 0;
        for offset in list {
            varint(&mut out, offset - before);
            before = *offset;
        }
    }
    varint(&mut out, meta);
    varint(&mut out, pages);
    out
}

/// Append a number as LEB128.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
