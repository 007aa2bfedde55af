//! Writes a `.slt` block by block to a temporary file in the target's folder, which is renamed when
//! it is complete.

use super::*;
use crate::event::{Block, Mark};
use crate::meta::{Kind, Meta, PageTable};
use crate::replace::Replacement;
use sha2::{Digest, Sha256};
use std::io::{BufWriter, Write};
use std::path::Path;
use swaplab_vocab::{Access, BadInput, Op, Result};

/// The compression of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Uncompressed and without a content hash, for a temporary file that is read once and deleted.
    Stored = 0,
    Zstd = 1,
}

/// At level 6 files have three quarters of the size at level 3, and parsing still dominates the
/// time of an import.
const ZSTD_LEVEL: i32 = 6;

/// Number of references that are compressed on trial to select the layout.
const SAMPLE: usize = 8192;

/// Whether an event payload compresses better in planes, by its first references.
fn planes_pack_better(payload: &[u8]) -> std::io::Result<bool> {
    let accesses = u32::from_le_bytes(payload[..4].try_into().unwrap()).min(SAMPLE as u32);
    let rows = [&accesses.to_le_bytes(), &payload[4..8 + 4 * accesses as usize]].concat();
    Ok(zstd::bulk::compress(&wire::to_planes(&rows).concat(), 1)?.len() < zstd::bulk::compress(&rows, 1)?.len())
}

/// Compress a payload in planes, each plane as a zstd frame. A plane that would shrink by less than
/// an eighth is stored uncompressed, because decompressing it would take half of the time of
/// reading a block.
fn pack_planes(payload: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = Vec::with_capacity(payload.len());
    for plane in wire::to_planes(payload) {
        // Without repetitions the fast level compresses better: it leaves more to the entropy
        // coder, which also decompresses faster.
        let (quick, thorough) = (zstd::bulk::compress(&plane, 1)?, zstd::bulk::compress(&plane, ZSTD_LEVEL)?);
        let small = if quick.len() <= thorough.len() { quick } else { thorough };
        let worth_it = small.len() <= plane.len() - plane.len() / 8;
        packed.extend(if worth_it { small } else { zstd::bulk::compress(&plane, *zstd::compression_level_range().start())? });
    }
    Ok(packed)
}

/// Number of references in a block that follows a block in planes. Without repetitions a longer
/// block compresses hardly better, and the data that a replay needs for a short one stay in the
/// cache of a core.
const PLANES_ACCESSES: usize = BLOCK_ACCESSES / 4;

pub struct TraceWriter {
    out: BufWriter<Replacement>,
    place: String,
    codec: Codec,
    block: Block,
    /// Maximum number of references in the current block.
    most: usize,
    raw: Vec<u8>,
    offset: u64,
    events: Vec<u64>,
    hash: Sha256,
    counts: [u64; 3],
    launches: u64,
}

impl TraceWriter {
    /// Start writing `path`. The file appears under that name only at
    /// [`finish`](TraceWriter::finish).
    pub fn create(path: &Path, kind: Kind, page_size: u64, codec: Codec) -> Result<TraceWriter> {
        let place = swaplab_vocab::path_for_message(path);
        if ![4096, 16384].contains(&page_size) {
            return Err(BadInput::new(place, format!("page size {page_size}"), "4096 or 16384"));
        }
        let to = Replacement::of(path).map_err(|e| BadInput::io(&place, e))?;
        let is_standard_output = path == Path::new("-");
        if is_standard_output || to.is_device() {
            let found = if is_standard_output { "standard output" } else { "a device or a pipe" };
            return Err(BadInput::new(place, found, "a file: a trace is read back once it is written"));
        }
        let mut header = [0u8; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&VERSION.to_le_bytes());
        header[10] = kind as u8;
        header[11] = page_size.trailing_zeros() as u8;
        header[12] = codec as u8;
        let sum = wire::checksum(&header[..16]);
        header[16..].copy_from_slice(&sum.to_le_bytes());
        let mut writer = TraceWriter {
            out: BufWriter::with_capacity(1 << 16, to), // frames are longer and bypass the buffer
            place,
            codec,
            block: Block::default(),
            most: BLOCK_ACCESSES,
            raw: Vec::new(),
            offset: 0,
            events: Vec::new(),
            hash: Sha256::new(),
            counts: [0; 3],
            launches: 0,
        };
        writer.hash.update(&header[..12]);
        writer.put(&header)?;
        Ok(writer)
    }

    #[inline]
    pub fn accesses(&mut self, mut accesses: &[Access]) -> Result<()> {
        while let Some((some, rest)) = accesses.split_at_checked(self.most - self.block.accesses.len()) {
            self.block.accesses.extend_from_slice(some);
            self.flush_block()?;
            accesses = rest;
        }
        self.block.accesses.extend_from_slice(accesses);
        Ok(())
    }

    pub fn mark(&mut self, mark: Mark) -> Result<()> {
        self.launches += u64::from(matches!(mark, Mark::Launch { .. }));
        self.block.marks.push((self.block.accesses.len() as u32, mark));
        if self.block.marks.len() == BLOCK_MARKS {
            self.flush_block()?;
        }
        Ok(())
    }

    /// Write the last block, the page table, metadata and index, and rename the file. Sets counts
    /// and hash in `meta`.
    pub fn finish(mut self, mut meta: Meta, table: &PageTable) -> Result<Meta> {
        if !self.block.accesses.is_empty() || !self.block.marks.is_empty() {
            self.flush_block()?;
        }
        let mut tables = Vec::new();
        for first in (0..table.len()).step_by(TABLE_PAGES) {
            let range = first..(first + TABLE_PAGES).min(table.len());
            wire::encode_table(table, range.clone(), &mut self.raw);
            tables.push(self.offset);
            self.put_frame(FrameKind::Table, range.len())?;
        }
        meta.reads = self.counts[Op::Read as usize];
        meta.writes = self.counts[Op::Write as usize];
        meta.ifetches = self.counts[Op::Fetch as usize];
        meta.launches = self.launches;
        if self.codec != Codec::Stored {
            let digest = std::mem::take(&mut self.hash).finalize();
            meta.content_hash = format!("sha256:{}", digest.iter().map(|b| format!("{b:02x}")).collect::<String>());
        }
        let meta_offset = self.offset;
        self.raw = serde_json::to_vec(&meta).expect("metadata is plain data");
        self.put_frame(FrameKind::Meta, 1)?;
        let index_offset = self.offset;
        let mut raw = std::mem::take(&mut self.raw);
        wire::encode_index(&self.events, &tables, meta_offset, table.len() as u64, &mut raw);
        self.raw = raw;
        self.put_frame(FrameKind::Index, self.events.len())?;
        let mut trailer = [0u8; TRAILER_BYTES];
        trailer[..8].copy_from_slice(&index_offset.to_le_bytes());
        trailer[8..16].copy_from_slice(&wire::checksum(&index_offset.to_le_bytes()).to_le_bytes());
        trailer[16..].copy_from_slice(&END_MAGIC);
        self.put(&trailer)?;
        let io = |e| BadInput::io(&self.place, e);
        self.out.into_inner().map_err(|e| io(e.into_error()))?.finish().map_err(io)?;
        Ok(meta)
    }

    fn flush_block(&mut self) -> Result<()> {
        // Counting whole blocks lets the compiler use vector instructions.
        for (op, count) in [Op::Read, Op::Write, Op::Fetch].into_iter().zip(&mut self.counts) {
            *count += self.block.accesses.iter().map(|access| u32::from(access.op() == op)).sum::<u32>() as u64;
        }
        let mut raw = std::mem::take(&mut self.raw);
        wire::encode_block(&self.block, &mut raw);
        self.raw = raw;
        self.events.push(self.offset);
        let items = self.block.accesses.len();
        self.block.clear();
        self.put_frame(FrameKind::Events, items)
    }

    /// Write `self.raw` as a frame: kind, lengths, number of items, a checksum over these and the
    /// compressed payload; then the payload.
    fn put_frame(&mut self, kind: FrameKind, items: usize) -> Result<()> {
        if matches!(kind, FrameKind::Events | FrameKind::Table) && self.codec != Codec::Stored {
            self.hash.update(&self.raw);
        }
        let raw = std::mem::take(&mut self.raw);
        let io = |e| BadInput::io(&self.place, e);
        let (layout, packed) = match self.codec {
            Codec::Stored => (Layout::Rows, None),
            Codec::Zstd if kind == FrameKind::Events && planes_pack_better(&raw).map_err(io)? => {
                (Layout::Planes, Some(pack_planes(&raw).map_err(io)?))
            }
            Codec::Zstd => (Layout::Rows, Some(zstd::bulk::compress(&raw, ZSTD_LEVEL).map_err(io)?)),
        };
        if kind == FrameKind::Events {
            self.most = if layout == Layout::Planes { PLANES_ACCESSES } else { BLOCK_ACCESSES };
        }
        let payload = packed.as_ref().unwrap_or(&raw);
        let mut header = [0u8; FRAME_BYTES];
        header[0] = kind as u8;
        header[1] = layout as u8;
        header[4..8].copy_from_slice(&(raw.len() as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(items as u32).to_le_bytes());
        let sum = wire::checksum(&header[..16]) ^ wire::checksum(payload).rotate_left(1);
        header[16..].copy_from_slice(&sum.to_le_bytes());
        self.put(&header)?;
        self.put(payload)?;
        self.raw = raw;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|e| BadInput::io(&self.place, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of four random bits without repetitions take half of their size. Random bytes are
    /// stored, and so are those of seven bits, which would take an eighth less.
    #[test]
    fn a_plane_is_compressed_where_that_saves_an_eighth() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let head: Vec<u8> = [10_000u32, 0].into_iter().flat_map(u32::to_le_bytes).collect();
        let mut payload = |mask| head.iter().copied().chain((0..40_000).map(|_| random() & mask)).collect();
        let of: [Vec<u8>; 3] = [0x0f, 0x7f, 0xff].map(&mut payload);
        let sizes: Vec<usize> = of.iter().map(|payload| pack_planes(payload).unwrap().len()).collect();
        let best: Vec<usize> = of
            .iter()
            .map(|payload| wire::to_planes(payload).map(|p| [1, ZSTD_LEVEL].map(|level| zstd::bulk::compress(&p, level).unwrap().len())))
            .map(|planes| planes.into_iter().map(|sizes| sizes[0].min(sizes[1])).sum())
            .collect();
        assert_eq!(sizes[0], best[0]);
        assert!((19_000..22_000).contains(&sizes[0]) && sizes[1] > 40_000 && sizes[2] > 40_000, "{sizes:?} {best:?}");
    }

    /// A frame takes 24 bytes and its payload, so two blocks that begin one byte apart overlap.
    #[test]
    fn an_index_whose_blocks_overlap_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.slt");
        let mut writer = TraceWriter::create(&path, Kind::Page, 4096, Codec::Stored).unwrap();
        writer.accesses(&[Access::new(0, Op::Read)]).unwrap();
        writer.flush_block().unwrap();
        writer.events.push(writer.events[0] + 1);
        writer.finish(Meta::default(), &PageTable::default()).unwrap();
        let refusal = Trace::open(&path).err().unwrap().to_string();
        assert!(refusal.contains("frames that overlap"), "{refusal}");
    }
}
