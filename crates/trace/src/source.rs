//! Input from a file or standard input, decompressed if its first bytes are those of zstd, gzip or
//! zlib; and text in chunks of complete lines.

pub use crate::input::Progress;
use crate::input::{Input, Reading};
use std::io::{Read, Write};
use std::path::Path;
use std::rc::Rc;
use swaplab_vocab::{BadInput, Result};

/// Number of bytes that are read at a time; they stay in the processor's cache until they are
/// parsed.
const CHUNK: usize = 1 << 18;

pub struct Source<'a> {
    pub name: String,
    reader: Box<dyn Read + 'a>,
    reading: Rc<Reading<'a>>,
    /// The first bytes, decompressed, for the detection of the format. Reading starts with them.
    head: Vec<u8>,
}

impl<'a> Source<'a> {
    /// `path` is a file or a pipe, or `-` for standard input.
    pub fn open(path: &Path, progress: Progress<'a>) -> Result<Source<'a>> {
        let (name, reading) = (name_of(path), Reading::new(progress));
        let failed = |e| stopped(&name, &reading).unwrap_or_else(|| BadInput::io(&name, e));
        let missing = |e| stopped(&name, &reading).unwrap_or_else(|| no_trace(&name, &e));
        let mut packed = Input::open(path, &reading).map_err(missing)?;
        if packed.is_folder() {
            return Err(BadInput::new(name, "a folder", "a file"));
        }
        let magic = fill(&mut packed, 4).map_err(failed)?;
        let packed = std::io::Cursor::new(magic.clone()).chain(packed);
        let mut reader: Box<dyn Read + 'a> = match magic.as_slice() {
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::stream::read::Decoder::new(packed).map_err(failed)?),
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            // zlib; 'x' followed by one of these bytes is not the start of a text.
            [0x78, 0x01 | 0x9c | 0xda, ..] => Box::new(flate2::read::ZlibDecoder::new(packed)),
            _ => Box::new(packed),
        };
        let mut head = fill(&mut reader, 4096).map_err(|e| cut(&name, &reading, &e))?;
        if head.is_empty() {
            return Err(BadInput::new(name, "it is empty", "a trace"));
        }
        // Skip the byte order mark that some editors write. A binary trace may start with the same
        // bytes, but it has zeros.
        if head.starts_with(&[0xef, 0xbb, 0xbf]) && !head.contains(&0) {
            head.drain(..3);
        }
        Ok(Source { name, reader, reading, head })
    }

    /// The first 4 KiB, or less in a shorter file, decompressed.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Fill `buffer` or read to the end of the input. Returns the number of bytes read.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.reading.goes_on() {
            return Err(cut(&self.name, &self.reading, &std::io::Error::other("stopped")));
        }
        let from_head = self.head.len().min(buffer.len());
        buffer[..from_head].copy_from_slice(&self.head[..from_head]);
        self.head.drain(..from_head);
        let mut n = from_head;
        while n < buffer.len() {
            match self.reader.read(&mut buffer[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(cut(&self.name, &self.reading, &e)),
            }
        }
        Ok(n)
    }
}

/// Write the rest of `source` to `file`.
pub fn copy(source: &mut Source, file: &mut std::fs::File) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let n = source.read(&mut buffer)?;
        file.write_all(&buffer[..n]).map_err(|e| BadInput::io("temporary folder", e))?;
        if n < CHUNK {
            return Ok(());
        }
    }
}

/// Read the rest of `source`, at most `limit` bytes.
pub fn read_to_end(source: &mut Source, limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let filled = bytes.len();
        bytes.resize(filled + CHUNK, 0);
        let n = source.read(&mut bytes[filled..])?;
        bytes.truncate(filled + n);
        if bytes.len() > limit {
            return Err(BadInput::new(&source.name, format!("more than {limit} bytes in one document"), "a smaller one"));
        }
        if n < CHUNK {
            return Ok(bytes);
        }
    }
}

/// The name of `path` in errors, where `-` is standard input.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".into()
    } else {
        swaplab_vocab::path_for_message(path)
    }
}

/// The error for a reading that the caller has stopped; `None` if it has not.
fn stopped(name: &str, reading: &Reading) -> Option<BadInput> {
    reading.is_stopped().then(|| BadInput::Interrupted { place: format!("{name}: byte {}", reading.taken()) })
}

/// The error for a trace that cannot be opened.
pub(crate) fn no_trace(name: &str, error: &std::io::Error) -> BadInput {
    BadInput::new(name, swaplab_vocab::cause_of(error), "a trace")
}

/// The error for input that cannot be read further.
fn cut(name: &str, reading: &Reading, error: &std::io::Error) -> BadInput {
    stopped(name, reading).unwrap_or_else(|| {
        BadInput::new(format!("{name}: byte {}", reading.taken()), swaplab_vocab::cause_of(error), "whole input: it seems cut or altered")
    })
}

fn fill(reader: &mut dyn Read, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

/// Text in chunks of complete lines.
pub struct Lines<'s, 'p> {
    source: &'s mut Source<'p>,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were already returned, and bytes filled.
    start: usize,
    end: usize,
    /// Number of lines before the current chunk.
    before: u64,
    chunk_lines: u64,
}

impl<'s, 'p> Lines<'s, 'p> {
    pub fn new(source: &'s mut Source<'p>) -> Lines<'s, 'p> {
        Lines { source, buffer: vec![0; CHUNK], start: 0, end: 0, before: 0, chunk_lines: 0 }
    }

    /// The next chunk and the number of lines before it. Every chunk ends with a line end, except
    /// possibly the last one.
    pub fn chunk(&mut self) -> Result<Option<(&[u8], u64)>> {
        self.before += self.chunk_lines;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        let n = self.source.read(&mut self.buffer[self.end..])?;
        self.end += n;
        let filled = &self.buffer[..self.end];
        let complete = if self.end < self.buffer.len() { self.end } else { memchr::memrchr(b'\n', filled).map_or(0, |at| at + 1) };
        if self.end == 0 {
            return Ok(None);
        }
        if complete == 0 {
            return Err(self.bad(0, "a line longer than 256 KiB", "lines of a text trace"));
        }
        self.start = complete;
        self.chunk_lines = memchr::memchr_iter(b'\n', &filled[..complete]).count() as u64;
        Ok(Some((&self.buffer[..complete], self.before)))
    }

    /// Call `each` with every line, without its line end. Empty lines are skipped. Errors of `each`
    /// get the line number as their place.
    pub fn each(&mut self, mut each: impl FnMut(&[u8]) -> std::result::Result<(), LineError>) -> Result<()> {
        self.each_but(&mut (), |(), _| Ok(0), |(), line| each(line))
    }

    /// As [`each`](Self::each), with a fast path. `simple` gets the text from the start of a line
    /// on, consumes complete lines of a simple form and returns their number of bytes. `each` gets
    /// the line at which it stopped.
    pub fn each_but<S>(
        &mut self,
        state: &mut S,
        mut simple: impl FnMut(&mut S, &[u8]) -> Result<usize>,
        mut each: impl FnMut(&mut S, &[u8]) -> std::result::Result<(), LineError>,
    ) -> Result<()> {
        let name = self.source.name.clone();
        while let Some((chunk, before)) = self.chunk()? {
            let mut at = 0;
            loop {
                at += simple(state, &chunk[at..])?;
                let rest = &chunk[at..];
                if rest.is_empty() {
                    break;
                }
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
                if !line.is_empty() {
                    let number = || before + memchr::memchr_iter(b'\n', &chunk[..at]).count() as u64 + 1;
                    each(state, line).map_err(|e| e.at(&name, number(), line))?;
                }
                at = (at + end + 1).min(chunk.len());
            }
        }
        Ok(())
    }

    /// An error at a line of the current chunk, counted from 0.
    pub fn bad(&self, line: u64, found: &str, expected: &str) -> BadInput {
        BadInput::new(format!("{}: line {}", self.source.name, self.before + line + 1), found, expected)
    }
}

/// An error in a line.
pub enum LineError {
    /// What was expected in place of the line.
    Expected(&'static str),
    Found(String, &'static str),
    /// An error that is not about the form of the line.
    Other(BadInput),
}

impl From<BadInput> for LineError {
    fn from(error: BadInput) -> LineError {
        LineError::Other(error)
    }
}

impl LineError {
    fn at(self, name: &str, number: u64, line: &[u8]) -> BadInput {
        let place = format!("{name}: line {number}");
        match self {
            LineError::Expected(expected) => BadInput::new(place, quoted(line), expected),
            LineError::Found(found, expected) => BadInput::new(place, found, expected),
            LineError::Other(BadInput::Value { place: inner, found, expected }) if !inner.is_empty() => {
                BadInput::new(format!("{place}: {inner}"), found, expected)
            }
            LineError::Other(error) => error,
        }
    }
}

/// A line for use in an error: at most 60 characters.
pub fn quoted(line: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(line).chars().take(60).collect();
    format!("'{text}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_several_chunks_is_read_whole_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("document");
        let content: Vec<u8> = (0..2 * CHUNK + 7).map(|at| at as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let of = |limit| read_to_end(&mut Source::open(&path, &mut |_, _| true).unwrap(), limit);
        assert!(of(content.len()).unwrap() == content);
        assert!(of(content.len() - 1).unwrap_err().to_string().contains("more than 524294 bytes in one document"));
    }

    /// The lines of the first chunk count, whose last line goes on in the second one.
    #[test]
    fn an_error_names_its_line_in_any_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "123456\n".repeat(CHUNK / 7 + 10) + "bad\n").unwrap();
        let mut progress = |_, _| true;
        let mut source = Source::open(&path, &mut progress).unwrap();
        let mut lines = 0;
        let error = Lines::new(&mut source).each(|line| {
            lines += 1;
            (line == b"123456").then_some(()).ok_or(LineError::Expected("123456"))
        });
        assert_eq!(lines, CHUNK / 7 + 11);
        assert!(error.unwrap_err().to_string().ends_with(&format!("lines: line {lines}: 'bad'; expected 123456")));
    }

    /// The buffer's only line end is its first byte.
    #[test]
    fn a_line_that_fills_a_chunk_but_one_byte_is_read_after_an_empty_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, format!("\n{}\n", "x".repeat(CHUNK - 1))).unwrap();
        let mut progress = |_, _| true;
        let mut source = Source::open(&path, &mut progress).unwrap();
        let mut lengths = vec![];
        let read = Lines::new(&mut source).each(|line| {
            lengths.push(line.len());
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!(lengths, [CHUNK - 1]);
    }

    #[test]
    fn a_file_is_read_as_it_is_or_decompressed() {
        const TEXT: &[u8] = b"page,op\n1,R\n";
        let zlib = |mut encoder: flate2::write::ZlibEncoder<Vec<u8>>| encoder.write_all(TEXT).and_then(|()| encoder.finish()).unwrap();
        let gzip = |mut encoder: flate2::write::GzEncoder<Vec<u8>>| encoder.write_all(TEXT).and_then(|()| encoder.finish()).unwrap();
        let level = flate2::Compression::default();
        let files = [
            TEXT.to_vec(),
            gzip(flate2::write::GzEncoder::new(Vec::new(), level)),
            zlib(flate2::write::ZlibEncoder::new(Vec::new(), level)),
            zstd::encode_all(TEXT, 1).unwrap(),
        ];
        let folder = tempfile::tempdir().unwrap();
        for content in files {
            let path = folder.path().join("trace");
            std::fs::write(&path, content).unwrap();
            assert_eq!(Source::open(&path, &mut |_, _| true).unwrap().head(), TEXT);
        }
    }
}
