//! Reads a `.slt`: the index from the end of the file, then blocks in any order. The content is not
//! trusted: lengths are checked before memory is allocated, and a truncated or altered file is an
//! error that names the block and its byte offset.

use super::*;
use crate::event::Block;
use crate::meta::{Kind, Meta, PageTable};
use crate::source::{no_trace, Progress};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use swaplab_vocab::{BadInput, Result, MAX_PAGES};
use zstd::bulk::Decompressor;

/// An open trace. Cheap to share: blocks are read by position.
pub struct Trace {
    file: File,
    place: String,
    bytes: u64,
    codec: Codec,
    pub kind: Kind,
    pub page_size: u64,
    pub meta: Meta,
    index: wire::Index,
    table: OnceLock<PageTable>,
}

struct Frame {
    kind: u8,
    raw: usize,
    stored: usize,
    sum: u64,
    header: [u8; 16],
}

impl Trace {
    pub fn open(path: &Path) -> Result<Trace> {
        let place = swaplab_vocab::path_for_message(path);
        let io = |e| BadInput::io(&place, e);
        let file = File::open(path).map_err(|e| no_trace(&place, &e))?;
        let bytes = file.metadata().map_err(io)?.len();
        let mut header = [0u8; HEADER_BYTES];
        if bytes < HEADER_BYTES as u64 {
            return Err(BadInput::new(place, format!("{bytes} bytes"), format!("a .slt trace, whose header alone has {HEADER_BYTES}")));
        }
        file.read_exact_at(&mut header, 0).map_err(io)?;
        let bad = |found: String, expected: &str| BadInput::new(format!("{place}: byte 0 (header)"), found, expected);
        if header[..8] != MAGIC {
            return Err(bad("not a .slt trace".into(), "the magic bytes 'swaplab'"));
        }
        if wire::checksum(&header[..16]).to_le_bytes() != header[16..] {
            return Err(bad("its checksum does not match".into(), "an unaltered file"));
        }
        let version = u16::from_le_bytes([header[8], header[9]]);
        if version != VERSION {
            return Err(bad(format!("format version {version}"), &format!("version {VERSION}")));
        }
        let kind = Kind::from_code(header[10]).ok_or_else(|| bad(format!("trace kind {}", header[10]), "0, 1 or 2"))?;
        if !matches!(header[11], 12 | 14) {
            return Err(bad(format!("page size 2^{}", header[11]), "4096 or 16384"));
        }
        let codec = match header[12] {
            0 => Codec::Stored,
            1 => Codec::Zstd,
            other => return Err(bad(format!("codec {other}"), "0 or 1")),
        };
        let index = wire::Index { events: vec![], tables: vec![], meta: 0, pages: 0 };
        let mut trace =
            Trace { file, place, bytes, codec, kind, page_size: 1 << header[11], meta: Meta::default(), index, table: OnceLock::new() };
        trace.index = trace.read_index()?;
        let meta = trace.payload(FrameKind::Meta, trace.index.meta, "metadata")?;
        trace.meta =
            serde_json::from_slice(&meta).map_err(|e| trace.bad("metadata", trace.index.meta, &e.to_string(), "valid metadata"))?;
        Ok(trace)
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    /// The footprint: number of distinct pages.
    pub fn pages(&self) -> usize {
        self.index.pages as usize
    }

    /// Set the name of the trace in errors, such as the file from which it was imported.
    pub fn named(self, place: String) -> Trace {
        Trace { place, ..self }
    }

    /// Refuse a trace without references, such as one of launches or samples only.
    pub fn require_references(&self) -> Result<()> {
        match self.meta.references() {
            0 => Err(BadInput::new(&self.place, "no references in it", "a trace of pages or of block requests")),
            _ => Ok(()),
        }
    }

    pub fn blocks(&self) -> usize {
        self.index.events.len()
    }

    /// Decode block `number` into `block`, whose buffers are reused.
    pub fn read_block(&self, number: usize, block: &mut Block) -> Result<()> {
        let (name, offset) = (format!("block {number}"), self.index.events[number]);
        let frame = self.frame(offset, &name)?;
        let layout = match frame.header[1] {
            0 => Layout::Rows,
            1 => Layout::Planes,
            other => return Err(self.bad(&name, offset, &format!("references in layout {other}"), "0 or 1")),
        };
        BUFFERS.with_borrow_mut(|buffers| {
            let payload = self.unpacked(FrameKind::Events, &frame, offset, &name, buffers)?;
            wire::decode_block(payload, layout, self.pages(), self.apps(), block)
                .map_err(|found| self.bad(&name, offset, &found, "a valid event block"))
        })
    }

    /// Call `each` with every block, in order. Before each block, `progress` is called with (blocks
    /// done, blocks in total). It may stop the iteration, which then fails with
    /// [`BadInput::Interrupted`]. `each` may take the block's buffers; else the next block reuses
    /// them.
    pub fn for_each_block(&self, progress: Progress, mut each: impl FnMut(&mut Block) -> Result<()>) -> Result<()> {
        self.for_blocks_while(progress, |block| each(block).map(|()| true))
    }

    /// As [`for_each_block`](Self::for_each_block), until `each` returns `false`: later blocks are
    /// not read.
    pub fn for_blocks_while(&self, progress: Progress, mut each: impl FnMut(&mut Block) -> Result<bool>) -> Result<()> {
        let mut block = Block::default();
        for number in 0..self.blocks() {
            self.report_block(number, progress)?;
            self.read_block(number, &mut block)?;
            if !each(&mut block)? {
                break;
            }
        }
        Ok(())
    }

    /// Report to `progress` that block `number` is next. Returns an error if it stops the
    /// iteration.
    pub fn report_block(&self, number: usize, progress: Progress) -> Result<()> {
        if progress(number as u64, self.blocks() as u64) {
            return Ok(());
        }
        Err(BadInput::Interrupted { place: format!("{}: block {number} of {}", self.place, self.blocks()) })
    }

    /// Number of apps to which events and pages may refer: those of the metadata, or one if it has
    /// none.
    fn apps(&self) -> usize {
        self.meta.apps.len().max(1)
    }

    /// The pages of the trace, read at the first call and cached.
    pub fn page_table(&self) -> Result<&PageTable> {
        match self.table.get() {
            Some(table) => Ok(table),
            None => self.read_page_table().map(|table| self.table.get_or_init(|| table)),
        }
    }

    fn read_page_table(&self) -> Result<PageTable> {
        let mut table = PageTable::default();
        for (number, offset) in self.index.tables.iter().enumerate() {
            let name = format!("page table frame {number}");
            let payload = self.payload(FrameKind::Table, *offset, &name)?;
            wire::decode_table(&payload, self.apps(), &mut table)
                .map_err(|found| self.bad(&name, *offset, &found, "a valid page table"))?;
        }
        if table.len() != self.pages() {
            return Err(BadInput::new(
                &self.place,
                format!("a page table of {} pages", table.len()),
                format!("{} as the index says", self.pages()),
            ));
        }
        Ok(table)
    }

    fn bad(&self, part: &str, offset: u64, found: &str, expected: &str) -> BadInput {
        BadInput::new(format!("{}: {part} at byte {offset}", self.place), found, expected)
    }

    fn read_index(&self) -> Result<wire::Index> {
        let at = self.bytes.saturating_sub(TRAILER_BYTES as u64);
        let mut trailer = [0u8; TRAILER_BYTES];
        let has_trailer = at >= HEADER_BYTES as u64 && self.file.read_exact_at(&mut trailer, at).is_ok();
        let sum = wire::checksum(&trailer[..8]).to_le_bytes();
        if !has_trailer || trailer[16..] != END_MAGIC || trailer[8..16] != sum {
            return Err(self.first_broken_frame());
        }
        let offset = u64::from_le_bytes(trailer[..8].try_into().unwrap());
        let payload = self.payload(FrameKind::Index, offset, "index")?;
        let index = wire::decode_index(&payload).map_err(|found| self.bad("index", offset, &found, "a valid index"))?;
        // Frames take at least 24 bytes each and do not overlap. This check refuses a false index
        // before memory is allocated for it.
        for list in [&index.events, &index.tables] {
            let disjoint = list.windows(2).all(|pair| pair[1] - pair[0] >= FRAME_BYTES as u64);
            if !disjoint || list.last().is_some_and(|last| *last >= self.bytes) {
                return Err(self.bad("index", offset, "frames that overlap or lie behind the end", "frames one after the other"));
            }
        }
        // The first frame must follow the header, the metadata must end at the index, and the index
        // must end at the trailer.
        let begin = index.events.iter().chain(&index.tables).chain([&index.meta]).min();
        let ends = |at: u64, name| self.frame(at, name).map(|frame| at + (FRAME_BYTES + frame.stored) as u64);
        if begin != Some(&(HEADER_BYTES as u64)) || ends(index.meta, "metadata")? != offset || ends(offset, "index")? != at {
            return Err(self.bad("index", offset, "frames that do not follow one another", "a complete trace and nothing else"));
        }
        let most = (index.tables.len() as u64 * TABLE_PAGES as u64).min(MAX_PAGES as u64);
        if index.pages > most {
            return Err(self.bad(
                "index",
                offset,
                &format!("{} pages, page-table frames: {}", index.pages, index.tables.len()),
                "pages that the table holds",
            ));
        }
        Ok(index)
    }

    /// The error for a file without a valid trailer: walk the frames from the start to the first
    /// invalid one.
    fn first_broken_frame(&self) -> BadInput {
        let mut offset = HEADER_BYTES as u64;
        let mut number = 0;
        loop {
            let name = format!("block {number}");
            if offset >= self.bytes {
                return self.bad(&name, offset, "the file ends", "a whole .slt trace: it was cut");
            }
            match self.frame(offset, &name) {
                Ok(frame) => {
                    if let Err(e) = self.stored(&frame, offset, &name, &mut Vec::new()) {
                        return e;
                    }
                    offset += (FRAME_BYTES + frame.stored) as u64;
                }
                Err(e) => return e,
            }
            number += 1;
        }
    }

    fn frame(&self, offset: u64, name: &str) -> Result<Frame> {
        let mut bytes = [0u8; FRAME_BYTES];
        if offset.saturating_add(FRAME_BYTES as u64) > self.bytes {
            return Err(self.bad(name, offset, "the file ends", "a whole block: it was cut"));
        }
        self.file.read_exact_at(&mut bytes, offset).map_err(|e| BadInput::io(&self.place, e))?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let frame = Frame {
            kind: bytes[0],
            raw: word(4),
            stored: word(8),
            sum: u64::from_le_bytes(bytes[16..].try_into().unwrap()),
            header: bytes[..16].try_into().unwrap(),
        };
        if frame.raw > MAX_FRAME || frame.stored > MAX_FRAME {
            return Err(self.bad(
                name,
                offset,
                &format!("a block of {} bytes", frame.raw.max(frame.stored)),
                &format!("at most {MAX_FRAME}: the file was altered"),
            ));
        }
        Ok(frame)
    }

    /// Read the payload of a frame into `stored`, without decompressing it.
    fn stored(&self, frame: &Frame, offset: u64, name: &str, stored: &mut Vec<u8>) -> Result<()> {
        if offset + (FRAME_BYTES + frame.stored) as u64 > self.bytes {
            return Err(self.bad(
                name,
                offset,
                &format!("the file ends {} bytes too early", offset + (FRAME_BYTES + frame.stored) as u64 - self.bytes),
                "a whole block: it was cut",
            ));
        }
        stored.resize(frame.stored, 0);
        self.file.read_exact_at(stored, offset + FRAME_BYTES as u64).map_err(|e| BadInput::io(&self.place, e))?;
        if wire::checksum(&frame.header) ^ wire::checksum(stored).rotate_left(1) != frame.sum {
            return Err(self.bad(name, offset, "its checksum does not match", "an unaltered block"));
        }
        Ok(())
    }

    fn payload(&self, kind: FrameKind, offset: u64, name: &str) -> Result<Vec<u8>> {
        let mut buffers = Buffers::default();
        self.unpacked(kind, &self.frame(offset, name)?, offset, name, &mut buffers).map(<[u8]>::to_vec)
    }

    fn unpacked<'a>(&self, kind: FrameKind, frame: &Frame, offset: u64, name: &str, buffers: &'a mut Buffers) -> Result<&'a [u8]> {
        let Buffers { stored, raw, zstd } = buffers;
        self.stored(frame, offset, name, stored)?;
        if frame.kind != kind as u8 {
            return Err(self.bad(name, offset, &format!("a block of kind {:?}", frame.kind as char), &format!("{:?}", kind as u8 as char)));
        }
        if kind == FrameKind::Table && frame.raw / MAX_TABLE_RATIO > frame.stored {
            return Err(self.bad(
                name,
                offset,
                &format!("{} bytes packed into {}", frame.raw, frame.stored),
                &format!("pages that differ: they pack {MAX_TABLE_RATIO} times at most"),
            ));
        }
        let raw = match self.codec {
            Codec::Stored => stored,
            Codec::Zstd => {
                let unreadable = |e: std::io::Error| self.bad(name, offset, &e.to_string(), "a block that zstd can unpack");
                let zstd = match zstd {
                    Some(zstd) => zstd,
                    None => zstd.insert(Decompressor::new().map_err(unreadable)?),
                };
                raw.clear();
                raw.reserve(frame.raw);
                zstd.decompress_to_buffer(stored, raw).map_err(unreadable)?;
                raw
            }
        };
        if raw.len() != frame.raw {
            return Err(self.bad(name, offset, &format!("{} bytes unpacked", raw.len()), &format!("{} as the block says", frame.raw)));
        }
        Ok(raw)
    }
}

/// Buffers for decompression, reused between blocks, because allocating them for each block would
/// take as long as decompressing it.
#[derive(Default)]
struct Buffers {
    stored: Vec<u8>,
    raw: Vec<u8>,
    zstd: Option<Decompressor<'static>>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}
