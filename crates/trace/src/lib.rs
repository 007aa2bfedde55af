//! Traces on disk: the native `.slt` file, importers, exporters and tools. All of them stream.

pub mod analyze;
mod builder;
mod event;
pub mod export;
pub mod import;
mod info;
mod input;
pub mod launches;
mod mappings;
mod meta;
mod page_map;
mod perfetto;
mod replace;
pub mod series;
mod slt;
pub mod source;
pub mod synth;
pub mod tools;

pub use builder::TraceBuilder;
pub use event::{Block, Counter, Mark, Range, Step, MACHINE};
pub use info::TraceInfo;
pub use mappings::ClassAndFile;
pub use meta::{App, FilePage, Filter, Kind, Meta, PageTable, Traffic};
pub use slt::{Codec, Trace, TraceWriter, BLOCK_ACCESSES};
