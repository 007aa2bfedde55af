//! Encoding and decoding: little-endian integers, LEB128 varints, and the payloads of event and
//! page-table frames.

use super::{Layout, BLOCK_MARKS, TABLE_PAGES};
use crate::event::{Block, Counter, Mark, Range};
use crate::meta::{FilePage, PageTable};
use swaplab_vocab::{Access, Class, Op, PageId};
use xxhash_rust::xxh3::xxh3_64;

/// A decoded value, or what is wrong with the payload. The reader adds block and offset to the
/// error.
pub type Decoded<T> = Result<T, String>;

pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a payload from its front.
struct Input<'a> {
    left: &'a [u8],
    /// Number of apps: valid indices are below this.
    apps: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, n: usize) -> Decoded<&'a [u8]> {
        if n > self.left.len() {
            return Err(format!("{n} more bytes wanted, {} left", self.left.len()));
        }
        let (head, rest) = self.left.split_at(n);
        self.left = rest;
        Ok(head)
    }

    fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().unwrap()))
    }

    fn varint(&mut self) -> Decoded<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = (byte & 0x7f) as u64;
            if shift == 63 && bits > 1 {
                return Err("a number beyond 2^64".into());
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number beyond 2^64".into())
    }

    fn app(&mut self) -> Decoded<u16> {
        let app = self.varint()?;
        u16::try_from(app).ok().filter(|a| usize::from(*a) < self.apps).ok_or_else(|| format!("app {app} of {}", self.apps))
    }

    fn range(&mut self) -> Decoded<Range> {
        let range = Range { app: self.app()?, first: self.varint()?, pages: self.varint()? };
        if range.first.checked_add(range.pages).is_none() {
            return Err(format!("a range of {} pages from {} on", range.pages, range.first));
        }
        Ok(range)
    }
}

pub fn encode_block(block: &Block, out: &mut Vec<u8>) {
    out.clear();
    out.extend((block.accesses.len() as u32).to_le_bytes());
    out.extend((block.marks.len() as u32).to_le_bytes());
    // Writing into existing bytes lets the compiler emit a single copy.
    out.resize(8 + 4 * block.accesses.len(), 0);
    for (bytes, access) in out[8..].chunks_exact_mut(4).zip(&block.accesses) {
        bytes.copy_from_slice(&access.0.to_le_bytes());
    }
    let mut before = 0;
    for (at, mark) in &block.marks {
        put_varint(out, (at - before) as u64);
        before = *at;
        encode_mark(mark, out);
    }
}

fn encode_mark(mark: &Mark, out: &mut Vec<u8>) {
    let range = |out: &mut Vec<u8>, r: &Range| [r.app as u64, r.first, r.pages].into_iter().for_each(|v| put_varint(out, v));
    match mark {
        Mark::Map { range: r, class, file, offset } => {
            out.push(b'M');
            range(out, r);
            out.push(*class as u8);
            put_varint(out, *file as u64);
            put_varint(out, *offset);
        }
        Mark::Unmap(r) => {
            out.push(b'U');
            range(out, r);
        }
        Mark::Discard(r) => {
            out.push(b'D');
            range(out, r);
        }
        Mark::Evict(r) => {
            out.push(b'E');
            range(out, r);
        }
        Mark::Remap { from, to } => {
            out.push(b'V');
            range(out, from);
            range(out, to);
        }
        Mark::Launch { app, foreground_ns } => {
            out.push(b'L');
            put_varint(out, *app as u64);
            put_varint(out, *foreground_ns);
        }
        Mark::Switch { app } => {
            out.push(b'S');
            put_varint(out, *app as u64);
        }
        Mark::Kill { app } => {
            out.push(b'K');
            put_varint(out, *app as u64);
        }
        Mark::Time { ns } => {
            out.push(b'T');
            put_varint(out, *ns);
        }
        Mark::RawReferences { count } => {
            out.push(b'R');
            put_varint(out, *count);
        }
        Mark::Sample { app, counter, value } => {
            out.push(b'C');
            put_varint(out, *app as u64);
            out.push(*counter as u8);
            // Zigzag encoding keeps small numbers of either sign short.
            put_varint(out, (value << 1 ^ value >> 63) as u64);
        }
    }
}

/// Convert an event payload to the layout `Planes`: the first bytes of all references, then the
/// second ones, and so on. The two counts precede the first plane, the marks follow the last one.
pub fn to_planes(payload: &[u8]) -> [Vec<u8>; 4] {
    let (head, rest) = payload.split_at(8);
    let (rows, marks) = rest.split_at(4 * u32::from_le_bytes(head[..4].try_into().unwrap()) as usize);
    let mut planes = [0, 1, 2, 3].map(|plane| if plane == 0 { head.to_vec() } else { Vec::new() });
    for (number, plane) in planes.iter_mut().enumerate() {
        plane.extend(rows.chunks_exact(4).map(|row| row[number]));
    }
    planes[3].extend(marks);
    planes
}

/// Number of references that are converted from planes at a time.
const PIECE: usize = 256;

/// Decode an event payload into `block` (whose buffers are reused); every page index must be below
/// `pages`, every app's below `apps`.
pub fn decode_block(payload: &[u8], layout: Layout, pages: usize, apps: usize, block: &mut Block) -> Decoded<()> {
    block.clear();
    let mut input = Input { left: payload, apps };
    let (accesses, marks) = (input.u32()? as usize, input.u32()? as usize);
    match layout {
        Layout::Rows => {
            let rows = input.take(accesses.saturating_mul(4))?;
            block.accesses.extend(rows.chunks_exact(4).map(|b| Access(u32::from_le_bytes(b.try_into().unwrap()))));
        }
        Layout::Planes => {
            let [a, b, c, d] = [input.take(accesses)?, input.take(accesses)?, input.take(accesses)?, input.take(accesses)?];
            // In two steps, because the processor combines more narrow numbers per instruction.
            let halves = |low: &[u8], high: &[u8], joined: &mut [u16; PIECE]| {
                joined.iter_mut().zip(low.iter().zip(high)).for_each(|(word, (low, high))| *word = u16::from_le_bytes([*low, *high]));
            };
            let (mut low, mut high) = ([0; PIECE], [0; PIECE]);
            for from in (0..accesses).step_by(PIECE) {
                let piece = from..(from + PIECE).min(accesses);
                halves(&a[piece.clone()], &b[piece.clone()], &mut low);
                halves(&c[piece.clone()], &d[piece.clone()], &mut high);
                let rows = low.iter().zip(&high).take(piece.len());
                block.accesses.extend(rows.map(|(low, high)| Access(u32::from(*high) << 16 | u32::from(*low))));
            }
        }
    }
    // A pass without branches detects page indices beyond the table and the invalid fourth
    // operation code.
    let most = Access::new(pages.saturating_sub(1) as PageId, Op::Read).0 | 3;
    let (beyond, codes) = block.accesses.iter().fold((false, 0), |(beyond, codes), a| (beyond | (a.0 > most), codes | (a.0 & a.0 << 1)));
    if accesses > 0 && (beyond || pages == 0) {
        let largest = block.accesses.iter().map(|access| access.page()).max().unwrap_or(0);
        return Err(format!("page index {largest} where the table has {pages} pages"));
    }
    if codes & 2 != 0 {
        return Err("an operation that is none of I, R and W".into());
    }
    if marks > BLOCK_MARKS {
        return Err(format!("{marks} marks where a block has at most {BLOCK_MARKS}"));
    }
    let mut at = 0u64;
    for _ in 0..marks {
        at = at.saturating_add(input.varint()?);
        if at > accesses as u64 {
            return Err(format!("a mark at reference {at} of {accesses}"));
        }
        block.marks.push((at as u32, decode_mark(&mut input)?));
    }
    if !input.left.is_empty() {
        return Err(format!("{} bytes left over", input.left.len()));
    }
    Ok(())
}

fn decode_mark(input: &mut Input) -> Decoded<Mark> {
    Ok(match input.take(1)?[0] {
        b'M' => {
            let range = input.range()?;
            let code = input.take(1)?[0];
            let class = Class::from_code(code).ok_or_else(|| format!("page class {code}"))?;
            let file = input.varint()?.try_into().map_err(|_| "a file index beyond 2^32")?;
            Mark::Map { range, class, file, offset: input.varint()? }
        }
        b'U' => Mark::Unmap(input.range()?),
        b'D' => Mark::Discard(input.range()?),
        b'E' => Mark::Evict(input.range()?),
        b'V' => Mark::Remap { from: input.range()?, to: input.range()? },
        b'L' => Mark::Launch { app: input.app()?, foreground_ns: input.varint()? },
        b'S' => Mark::Switch { app: input.app()? },
        b'K' => Mark::Kill { app: input.app()? },
        b'T' => Mark::Time { ns: input.varint()? },
        b'R' => Mark::RawReferences { count: input.varint()? },
        b'C' => {
            let (app, code) = (input.app()?, input.take(1)?[0]);
            let counter = Counter::from_code(code).ok_or_else(|| format!("counter {code}"))?;
            let zigzag = input.varint()?;
            Mark::Sample { app, counter, value: (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64) }
        }
        tag => return Err(format!("mark of unknown kind {tag}")),
    })
}

const WRITTEN: u8 = 4;

/// The pages `range` of the table, column after column.
pub fn encode_table(table: &PageTable, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
    out.clear();
    let with_files = !table.file_pages.is_empty();
    out.extend((range.len() as u32).to_le_bytes());
    out.extend(u32::from(with_files).to_le_bytes());
    out.extend(table.numbers[range.clone()].iter().flat_map(|v| v.to_le_bytes()));
    out.extend(table.apps[range.clone()].iter().flat_map(|v| v.to_le_bytes()));
    out.extend(range.clone().map(|i| table.classes[i] as u8 | if table.written[i] { WRITTEN } else { 0 }));
    if with_files {
        out.extend(table.file_pages[range.clone()].iter().flat_map(|f| f.file.to_le_bytes()));
        out.extend(table.file_pages[range].iter().flat_map(|f| f.offset.to_le_bytes()));
    }
}

/// Append the pages of one table frame to `table`; they are of apps below `apps`.
pub fn decode_table(payload: &[u8], apps: usize, table: &mut PageTable) -> Decoded<()> {
    let mut input = Input { left: payload, apps };
    let (pages, with_files) = (input.u32()? as usize, input.u32()? != 0);
    if pages > TABLE_PAGES {
        return Err(format!("{pages} pages where a frame has at most {TABLE_PAGES}"));
    }
    table.numbers.extend(input.take(pages * 8)?.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())));
    let before = table.apps.len();
    table.apps.extend(input.take(pages * 2)?.chunks_exact(2).map(|b| u16::from_le_bytes(b.try_into().unwrap())));
    if let Some(app) = table.apps[before..].iter().find(|app| usize::from(**app) >= apps) {
        return Err(format!("a page of app {app} of {apps}"));
    }
    for flags in input.take(pages)? {
        table.classes.push(Class::from_code(flags & 3).ok_or_else(|| format!("page class {}", flags & 3))?);
        table.written.push(flags & WRITTEN != 0);
    }
    if with_files {
        let files = input.take(pages * 4)?.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
        let offsets = input.take(pages * 8)?.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap()));
        table.file_pages.extend(files.zip(offsets).map(|(file, offset)| FilePage { file, offset }));
        if table.file_pages.len() != table.numbers.len() {
            return Err("files for some pages and none for others".into());
        }
    }
    if !input.left.is_empty() {
        return Err(format!("{} bytes left over", input.left.len()));
    }
    Ok(())
}

/// The index: offset of each event frame, then of each table frame, then of the metadata.
pub fn encode_index(events: &[u64], tables: &[u64], meta: u64, pages: u64, out: &mut Vec<u8>) {
    out.clear();
    for list in [events, tables] {
        put_varint(out, list.len() as u64);
        let mut before = 0;
        for offset in list {
            put_varint(out, offset - before);
            before = *offset;
        }
    }
    put_varint(out, meta);
    put_varint(out, pages);
}

pub struct Index {
    pub events: Vec<u64>,
    pub tables: Vec<u64>,
    pub meta: u64,
    pub pages: u64,
}

pub fn decode_index(payload: &[u8]) -> Decoded<Index> {
    let mut input = Input { left: payload, apps: 0 };
    let mut list = || -> Decoded<Vec<u64>> {
        let n = input.varint()?;
        let mut at = 0u64;
        // Each offset takes at least a byte, so a false count exhausts the payload before it
        // exhausts memory.
        (0..n)
            .map(|_| {
                at = at.checked_add(input.varint()?).ok_or("an offset beyond 2^64")?;
                Ok(at)
            })
            .collect()
    };
    Ok(Index { events: list()?, tables: list()?, meta: input.varint()?, pages: input.varint()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        let read = |last: u8| Input { left: &[&[0xff; 9][..], &[last]].concat(), apps: 0 }.varint();
        assert_eq!((read(0), read(1)), (Ok(u64::MAX >> 1), Ok(u64::MAX)));
        assert!([2, 3, 0x7f, 0x81].into_iter().all(|last| read(last) == Err("a number beyond 2^64".to_string())));
    }
}
