//! Import of traces in other formats. A format is one file here and one line in [`registry`].

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
mod registry;

pub use lackey::parse as lackey_access;
pub use registry::FORMATS;

use crate::builder::TraceBuilder;
use crate::meta::{Kind, Meta};
use crate::slt::{Codec, Trace, MAGIC};
use crate::source::{name_of, no_trace, Progress, Source};
use serde::Serialize;
use std::path::{Path, PathBuf};
use swaplab_vocab::{BadInput, Class, Entry, Op, Result};

/// Properties of a format in the registry, in addition to its key.
#[derive(Debug, Serialize)]
pub struct Info {
    pub kind: Kind,
    /// The format-specific options that the format reads: `pages`, `ranges`, `filefrag`.
    pub own_options: &'static [&'static str],
    /// Whether a source with this name and these first bytes (decompressed) is of this format.
    #[serde(skip)]
    detect: fn(name: &str, head: &[u8]) -> bool,
    #[serde(skip)]
    import: fn(&mut Source, &mut TraceBuilder, &Options) -> Result<()>,
}

/// An importable format.
pub type Format = Entry<Info>;

/// A user's options for an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The key of the format; `None` to detect it.
    pub format: Option<String>,
    /// `pgcsv`: the page table (`*.pages.csv`).
    pub pages: Option<PathBuf>,
    pub page_size: u64,
    /// Number of entries of the LRU filter whose hits were dropped at capture.
    pub filter_entries: Option<u64>,
    /// Block formats: named ranges of sectors, and the extents of a swap file.
    pub ranges: Option<PathBuf>,
    pub filefrag: Option<PathBuf>,
    /// The class of pages that are only read as data and whose class is unknown
    /// (docs/papers/spo-clock.md, point 8).
    pub data_read_class: Class,
}

impl Options {
    /// Refuse an option that the importer of `name` would ignore. `read_by` is a format's key,
    /// `read` are the options that it reads.
    fn refuse_unread(&self, name: &str, read_by: &str, read: &[&str]) -> Result<()> {
        let given = [("pages", self.pages.is_some()), ("ranges", self.ranges.is_some()), ("filefrag", self.filefrag.is_some())];
        match given.iter().find(|(option, given)| *given && !read.contains(option)) {
            None => Ok(()),
            Some((option, _)) => {
                let readers: Vec<&str> = FORMATS.iter().filter(|f| f.info.own_options.contains(option)).map(|f| f.key).collect();
                let expected = format!("no '{option}', or a format that reads it: {}", readers.join(" "));
                Err(BadInput::new(name, format!("'{option}' has no effect on format {read_by}"), expected))
            }
        }
    }
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

fn detect(source: &Source) -> Result<&'static Format> {
    FORMATS.iter().find(|f| (f.info.detect)(&source.name, source.head())).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.keys().collect();
        BadInput::new(&source.name, "its format can't be told from its first lines", format!("a format: {}", known.join(" ")))
    })
}

/// Import `input` (a file, or `-`) into the `.slt` at `output`.
pub fn import(input: &Path, output: &Path, codec: Codec, options: &Options, progress: Progress) -> Result<Meta> {
    // An unknown format is refused before the source is opened, which may take long.
    let given = given_format(options)?;
    import_source(Source::open(input, progress)?, input, output, codec, options, given)
}

fn given_format(options: &Options) -> Result<Option<&'static Format>> {
    options.format.as_deref().map(|key| FORMATS.entry(key)).transpose()
}

fn import_source(
    mut source: Source,
    input: &Path,
    output: &Path,
    codec: Codec,
    options: &Options,
    given: Option<&'static Format>,
) -> Result<Meta> {
    let format = match given {
        Some(format) => format,
        None => detect(&source)?,
    };
    options.refuse_unread(&source.name, format.key, format.info.own_options)?;
    let mut builder = TraceBuilder::create(output, format.info.kind, options.page_size, codec)?;
    builder.set_data_read_class(options.data_read_class);
    let file_name = input.file_name().map_or("-".into(), |n| n.to_string_lossy().into_owned());
    builder.meta.filter.lru_entries = options.filter_entries.or_else(|| filter_in_name(&file_name));
    builder.meta.provenance.insert("imported_from".into(), file_name);
    builder.meta.provenance.insert("format".into(), format.key.into());
    (format.info.import)(&mut source, &mut builder, options)?;
    let name = source.name.clone();
    builder.finish().map_err(|e| e.within(&name))
}

/// The number of filter entries in a file name such as `NAME_k64.csv.zst`, by which the capture
/// tool marks that hits of a filter of 64 entries were dropped.
fn filter_in_name(name: &str) -> Option<u64> {
    let stem = name.split('.').next()?;
    stem.rsplit('_').next()?.strip_prefix('k')?.parse().ok().filter(|n| *n > 0)
}

/// Open a trace. Other formats than `.slt` are imported into a temporary file, which is deleted
/// when the trace is dropped. So is the copy of a `.slt` that comes from a pipe.
pub fn open(path: &Path, options: &Options, progress: Progress) -> Result<OpenTrace> {
    if options.format.is_none() && is_slt(path)? {
        return Ok(OpenTrace { trace: Trace::open(path)?, spool: None });
    }
    let spool = tempfile::Builder::new().prefix("swaplab-").tempdir().map_err(|e| BadInput::io("temporary folder", e))?;
    let name = spool.path().join("spool.slt");
    let given = given_format(options)?;
    let mut source = Source::open(path, progress)?;
    if given.is_none() && source.head().starts_with(&MAGIC) {
        if *options != Options::default() {
            return Err(BadInput::new(&source.name, "options for its import", "none, as it is a .slt, which says it itself"));
        }
        let mut file = std::fs::File::create(&name).map_err(|e| BadInput::io("temporary folder", e))?;
        crate::source::copy(&mut source, &mut file)?;
    } else {
        import_source(source, path, &name, Codec::Stored, options, given)?;
    }
    Ok(OpenTrace { trace: Trace::open(&name)?.named(name_of(path)), spool: Some(spool) })
}

fn is_slt(path: &Path) -> Result<bool> {
    let is_pipe = |path: &Path| path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if path == Path::new("-") || is_pipe(path) {
        return Ok(false);
    }
    let mut head = [0u8; 8];
    let mut file = std::fs::File::open(path).map_err(|e| no_trace(&swaplab_vocab::path_for_message(path), &e))?;
    Ok(std::io::Read::read_exact(&mut file, &mut head).is_ok() && head == MAGIC || path.extension().is_some_and(|e| e == "slt"))
}

/// A trace and, if it was imported, the temporary folder that holds it.
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

/// The first line of a text.
fn first_line(head: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    head[..end].strip_suffix(b"\r").unwrap_or(&head[..end])
}

/// Parse a decimal number below 2^64 that takes all of `text`.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| match digit {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add((digit - b'0') as u64),
        _ => None,
    })
}

/// Parse the decimal digits that `text` begins with, at most eight. Returns their value and their
/// number. It processes all eight bytes at once, because a loop over digits has a branch at the end
/// of each number that the processor cannot predict.
#[inline]
fn front_digits(text: [u8; 8]) -> (u64, u32) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Digits become 0 to 9. `others` has the high bit of every byte that is not a digit; only the
    // first such byte matters.
    let values = u64::from_le_bytes(text) ^ (ONES * b'0' as u64);
    let others = (((values & (ONES * 0x7f)) + ONES * 0x76) | values) & (ONES * 0x80);
    let digits = others.trailing_zeros() / 8;
    // Pad with leading zeros to eight digits; then combine digits to pairs, pairs to groups of
    // four, and these to the number.
    let eight = values.checked_shl(64 - 8 * digits).unwrap_or(0);
    let pairs = (eight * 10 + (eight >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours * 10_000 + (fours >> 32)) & 0xffff_ffff, digits)
}

/// Parse the number of 1 to 15 digits that `text` begins with. Returns its value and its number of
/// digits.
#[inline]
fn front_decimal(text: &[u8; 16]) -> Option<(u64, usize)> {
    const TENS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];
    let [first, second] = [0, 8].map(|at| <[u8; 8]>::try_from(&text[at..at + 8]).expect("eight bytes"));
    let (number, digits) = front_digits(first);
    if digits < 8 {
        return (digits > 0).then_some((number, digits as usize));
    }
    let (rest, more) = front_digits(second);
    Some((number * TENS.get(more as usize)? + rest, 8 + more as usize))
}

/// Import the simple lines at the front of `text`, up to the first other line. A simple line has a
/// page number of at most 15 digits, a separator, `I`, `R` or `W`, and the line end. Returns the
/// number of bytes consumed.
#[inline]
fn take_plain(text: &[u8], is_separator: impl Fn(u8) -> bool, builder: &mut TraceBuilder) -> Result<usize> {
    const OPS: [Option<Op>; 256] = {
        let mut ops = [None; 256];
        (ops[b'R' as usize], ops[b'W' as usize], ops[b'I' as usize]) = (Some(Op::Read), Some(Op::Write), Some(Op::Fetch));
        ops
    };
    let mut at = 0;
    while let Some(line) = text[at..].first_chunk::<18>() {
        let Some((page, digits)) = line.first_chunk().and_then(front_decimal) else { break };
        let Some(op) = OPS[line[digits + 1] as usize] else { break };
        if !is_separator(line[digits]) || line[digits + 2] != b'\n' {
            break;
        }
        builder.access(0, page, op)?;
        at += digits + 3;
    }
    Ok(at)
}

/// Parse a hexadecimal number below 2^64, without a prefix, that takes all of `text`.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |value, digit| Some(value << 4 | (*digit as char).to_digit(16)? as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_numbers_have_one_to_sixteen_digits() {
        let of = |text: &str| hexadecimal(text.as_bytes());
        assert_eq!([of("0"), of("7fFf"), of("ffffffffffffffff")], [Some(0), Some(0x7fff), Some(u64::MAX)]);
        assert_eq!([of(""), of("10000000000000000"), of("00000000000000000"), of("12g4"), of("0x12")], [None; 5]);
    }

    #[test]
    fn numbers_at_the_front_are_those_that_digit_by_digit_gives() {
        let digits = "9080706050403021";
        for count in 0..=16 {
            for behind in [b',', b' ', b'/', b':', 0, b'0' ^ 0x80, 0xff] {
                let mut text = [behind; 16];
                text[..count].copy_from_slice(&digits.as_bytes()[..count]);
                let expected = (1..=15).contains(&count).then(|| (decimal(&text[..count]).unwrap(), count));
                assert_eq!(front_decimal(&text), expected, "{count} digits, then {behind}");
            }
        }
        assert_eq!(front_decimal(b"0000000100000002"), None);
        assert_eq!(front_decimal(b"000000010000000,"), Some((10_000_000, 15)));
        assert_eq!(front_decimal(b"12,W\n13,R\n14,I\n1"), Some((12, 2)));
    }
}
