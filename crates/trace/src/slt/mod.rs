//! The native trace file, `.slt` (docs/trace-format.md): a header, event blocks, page-table blocks, metadata, an index, a
//! trailer. Written and read as a stream; every frame carries a checksum.

mod read;
mod wire;
mod write;

pub use read::Trace;
pub use write::{Codec, TraceWriter};

/// References a block holds at most: 512 KiB of them, which stay in a processor's cache while several sizes replay it.
pub const BLOCK_ACCESSES: usize = 1 << 17;
/// Marks a block holds at most.
const BLOCK_MARKS: usize = 1 << 16;
/// Pages a page-table frame holds at most.
const TABLE_PAGES: usize = 1 << 16;
/// The largest frame a reader unpacks, so that a hostile file can't claim memory.
const MAX_FRAME: usize = 16 << 20;
/// What a page-table frame may unpack to, as a multiple of its size: pages differ, so none packs well (11 times at most when they follow
/// one another). With it, the memory that a page table takes is bounded by the file's size.
const MAX_TABLE_RATIO: usize = 100;

const MAGIC: [u8; 8] = *b"swaplab\0";
const END_MAGIC: [u8; 8] = *b"slt-end\0";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 24;
const FRAME_BYTES: usize = 24;
const TRAILER_BYTES: usize = 24;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum FrameKind {
    Events = b'E',
    Table = b'P',
    Meta = b'M',
    Index = b'X',
}

/// How the references of an event frame lie in its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Layout {
    /// Four bytes each, one after the other: a program's repeated paths stay whole, so that zstd finds them.
    Rows = 0,
    /// All first bytes, then all second bytes, and so on: of references that never repeat, only some bytes are random.
    Planes = 1,
}
