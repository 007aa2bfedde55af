//! The native trace file, `.slt` (docs/trace-format.md): a header, event blocks, page-table blocks,
//! metadata, an index and a trailer. It is written and read as a stream. Every frame has a
//! checksum.

mod read;
mod wire;
mod write;

pub use read::Trace;
pub use write::{Codec, TraceWriter};

/// Maximum number of references in a block: 512 KiB, which stay in the processor's cache while
/// several memory sizes replay it.
pub const BLOCK_ACCESSES: usize = 1 << 17;
/// Maximum number of marks in a block.
const BLOCK_MARKS: usize = 1 << 16;
/// Maximum number of pages in a page-table frame.
const TABLE_PAGES: usize = 1 << 16;
/// Maximum uncompressed size of a frame, so that a malicious file cannot make the reader allocate
/// more.
const MAX_FRAME: usize = 16 << 20;
/// Maximum compression ratio of a page-table frame. Pages differ, so real ones do not compress well
/// (11 times at most, for consecutive pages). The limit bounds the memory of a page table by the
/// file's size.
const MAX_TABLE_RATIO: usize = 100;

pub const MAGIC: [u8; 8] = *b"swaplab\0";
const END_MAGIC: [u8; 8] = *b"slt-end\0";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 24;
const FRAME_BYTES: usize = 24;
const TRAILER_BYTES: usize = 24;

/// The kind of a frame's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum FrameKind {
    Events = b'E',
    Table = b'P',
    Meta = b'M',
    Index = b'X',
}

/// The layout of references in the payload of an event frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Layout {
    /// Four bytes per reference, one after the other. Repeated sequences of references stay
    /// contiguous, so that zstd finds them.
    Rows = 0,
    /// All first bytes, then all second bytes, and so on. This suits references that never repeat,
    /// of which only some bytes are random.
    Planes = 1,
}
