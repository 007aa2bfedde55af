//! Other formats into ours. A format is one file here and one line in [`FORMATS`].

mod block_csv;
mod csv;
mod damon;
mod ftrace_block;
mod lackey;
mod launches;
mod memory_samples;
mod oracle_general;
mod oslab;
pub mod partitions;
mod perfetto;
mod pgcsv;

pub use lackey::parse as lackey_access;

use crate::builder::TraceBuilder;
use crate::meta::{Kind, Meta};
use crate::slt::{Codec, Trace};
use crate::source::{Progress, Source};
use std::path::{Path, PathBuf};
use swaplab_vocab::{unknown_key, BadInput, Class, Result};

/// A format that can be read.
pub struct Format {
    pub key: &'static str,
    pub what: &'static str,
    pub kind: Kind,
    /// Whether a source with this name and these first bytes (unpacked) is of this format.
    detect: fn(name: &str, head: &[u8]) -> bool,
    import: fn(&mut Source, &mut TraceBuilder, &Options) -> Result<()>,
}

/// In the order in which they are tried on a source of unknown format.
pub const FORMATS: &[&Format] = &[
    &csv::FORMAT,
    &launches::FORMAT,
    &memory_samples::FORMAT,
    &pgcsv::FORMAT,
    &oslab::FORMAT,
    &lackey::FORMAT,
    &block_csv::FORMAT,
    // Both are kernel trace text; an event's name tells them apart.
    &damon::FORMAT,
    &ftrace_block::FORMAT,
    &perfetto::FORMAT,
    &oracle_general::FORMAT,
];

/// What a user may say beside the file.
#[derive(Clone, Debug)]
pub struct Options {
    /// A format's key; `None`: detect.
    pub format: Option<String>,
    /// `pgcsv`: the page table (`*.pages.csv`).
    pub pages: Option<PathBuf>,
    pub page_size: u64,
    /// References that hit an LRU filter of this many entries were dropped at capture.
    pub filter_entries: Option<u64>,
    /// Block formats: named ranges of sectors, and the extents of a swap file.
    pub ranges: Option<PathBuf>,
    pub filefrag: Option<PathBuf>,
    /// Class of pages of unknown class that are only read as data (READING 002, point 8).
    pub data_read_class: Class,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: None,
            pages: None,
            page_size: 4096,
            filter_entries: None,
            ranges: None,
            filefrag: None,
            data_read_class: Class::Anonymous,
        }
    }
}

fn find(key: &str) -> Result<&'static Format> {
    FORMATS.iter().copied().find(|f| f.key == key).ok_or_else(|| unknown_key("--format", "format", key, FORMATS.iter().map(|f| f.key)))
}

fn detect(source: &Source) -> Result<&'static Format> {
    FORMATS.iter().copied().find(|f| (f.detect)(&source.name, source.head())).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|f| f.key).collect();
        BadInput::new(&source.name, "its format can't be told from its first lines", format!("--format with one of: {}", known.join(" ")))
    })
}

/// Import `input` (a file, or `-`) into the `.slt` at `output`.
pub fn import(input: &Path, output: &Path, codec: Codec, options: &Options, progress: Progress) -> Result<Meta> {
    if let Some(key) = &options.format {
        find(key)?;
    }
    let mut source = Source::open(input, progress)?;
    let format = match &options.format {
        Some(key) => find(key)?,
        None => detect(&source)?,
    };
    let mut builder = TraceBuilder::create(output, format.kind, options.page_size, codec)?;
    builder.set_data_read_class(options.data_read_class);
    let file_name = input.file_name().map_or("-".into(), |n| n.to_string_lossy().into_owned());
    builder.meta.filter.lru_entries = options.filter_entries.or_else(|| filter_in_name(&file_name));
    builder.meta.provenance.insert("imported_from".into(), file_name);
    builder.meta.provenance.insert("format".into(), format.key.into());
    (format.import)(&mut source, &mut builder, options)?;
    let name = source.name.clone();
    builder.finish().map_err(|e| e.within(&name))
}

/// `NAME_k64.csv.zst`: the capture tool's way of saying that hits of a 64-entry filter were dropped (data/README of the traces).
fn filter_in_name(name: &str) -> Option<u64> {
    let stem = name.split('.').next()?;
    stem.rsplit('_').next()?.strip_prefix('k')?.parse().ok().filter(|n| *n > 0)
}

/// Open any trace: a `.slt` as it is, anything else imported into a spool that goes when the trace does.
pub fn open(path: &Path, options: &Options, progress: Progress) -> Result<OpenTrace> {
    if options.format.is_none() && is_slt(path)? {
        return Ok(OpenTrace { trace: Trace::open(path)?, spool: None });
    }
    let spool = tempfile::Builder::new().prefix("swaplab-").tempdir().map_err(|e| BadInput::io("temporary folder", e))?;
    let name = spool.path().join("spool.slt");
    import(path, &name, Codec::Stored, options, progress)?;
    Ok(OpenTrace { trace: Trace::open(&name)?, spool: Some(spool) })
}

fn is_slt(path: &Path) -> Result<bool> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let mut head = [0u8; 8];
    let mut file = std::fs::File::open(path).map_err(|e| BadInput::io(path.display().to_string(), e))?;
    Ok(std::io::Read::read_exact(&mut file, &mut head).is_ok() && &head == b"swaplab\0" || path.extension().is_some_and(|e| e == "slt"))
}

/// A trace and, if it was imported for this one use, its temporary folder.
pub struct OpenTrace {
    pub trace: Trace,
    #[allow(dead_code)] // held for its Drop, which deletes the spool
    spool: Option<tempfile::TempDir>,
}

impl std::ops::Deref for OpenTrace {
    type Target = Trace;
    fn deref(&self) -> &Trace {
        &self.trace
    }
}

/// The first line of a text's head.
fn first_line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    head[..end].strip_suffix(b"\r").unwrap_or(&head[..end])
}

/// A whole decimal number below 2^64.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add((digit - b'0') as u64),
        _ => None,
    })
}

/// A whole hexadecimal number below 2^64, without a prefix.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| Some(value << 4 | (*digit as char).to_digit(16)? as u64))
}
