//! Events of a capture, and their encoding in the ring: 64-bit words, with the tag in the low four
//! bits of the first.

use crate::probe::Measured;
use swaplab_vocab::{Class, Op};

/// A range of page numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    pub pages: u64,
}

impl Span {
    /// The pages that hold `length` bytes from `address` on.
    pub fn of_bytes(address: u64, length: u64) -> Span {
        let first = address >> 12;
        Span { first, pages: (address.saturating_add(length).saturating_add(4095) >> 12).saturating_sub(first) }
    }

    pub fn end(self) -> u64 {
        self.first + self.pages
    }
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Exit,
    /// The requested number of references is reached.
    Limit,
    /// The program replaced itself by `execve`. The new program does not run under the plugin.
    Exec,
}

/// The totals at the end of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub reason: Reason,
    pub raw_references: u64,
    pub measured: Vec<Measured>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Access {
        page: u64,
        op: Op,
    },
    /// The name of a file. Files are numbered from 1 in the order of these events.
    File(String),
    /// A mapping. `file` is 0 for no file; `offset` is in pages.
    Map {
        span: Span,
        class: Class,
        file: u32,
        offset: u64,
    },
    Unmap(Span),
    Discard(Span),
    Remap {
        from: Span,
        to: Span,
    },
    RawReferences(u64),
    /// The label with this number, counted from 0, was requested.
    Label(u64),
    End(Summary),
}

/// A receiver of events. `put` returns false once it accepts no more.
pub trait Sink {
    fn put(&mut self, event: &Event) -> bool;

    /// Report the number of the program's references. It is called often, so that the number is
    /// known even after a crash.
    fn progress(&mut self, _raw: u64) {}

    /// Number of labels requested so far.
    fn labels(&self) -> u64 {
        0
    }
}

const FILE: u64 = 3;
const MAP: u64 = 4;
const UNMAP: u64 = 5;
const DISCARD: u64 = 6;
const REMAP: u64 = 7;
const RAW: u64 = 8;
const LABEL: u64 = 9;
const END: u64 = 10;
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Fetch];
const REASONS: [Reason; 3] = [Reason::Exit, Reason::Limit, Reason::Exec];

impl Event {
    /// Append the event's words.
    pub fn encode(&self, words: &mut Vec<u64>) {
        match self {
            Event::Access { page, op } => words.push(page << 4 | *op as u64),
            Event::File(name) => {
                words.push((name.len() as u64) << 4 | FILE);
                for chunk in name.as_bytes().chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..chunk.len()].copy_from_slice(chunk);
                    words.push(u64::from_le_bytes(bytes));
                }
            }
            Event::Map { span, class, file, offset } => {
                words.extend([span.first << 4 | MAP, span.pages, (*file as u64) << 8 | *class as u64, *offset]);
            }
            Event::Unmap(span) => words.extend([span.first << 4 | UNMAP, span.pages]),
            Event::Discard(span) => words.extend([span.first << 4 | DISCARD, span.pages]),
            Event::Remap { from, to } => words.extend([from.first << 4 | REMAP, from.pages, to.first, to.pages]),
            Event::RawReferences(count) => words.push(count << 4 | RAW),
            Event::Label(number) => words.push(number << 4 | LABEL),
            Event::End(summary) => {
                words.extend([(summary.reason as u64) << 4 | END, summary.raw_references, summary.measured.len() as u64]);
                words.extend(summary.measured.iter().flat_map(|m| [m.frames, m.faults_full, m.faults_recorded]));
            }
        }
    }

    /// Decode the event at the start of `words`. `None` if there is none, or if its tag is unknown.
    pub fn decode(words: &mut impl Iterator<Item = u64>) -> Option<Event> {
        let word = words.next()?;
        let (value, tag) = (word >> 4, word & 15);
        Some(match tag {
            0..=2 => Event::Access { page: value, op: OPS[tag as usize] },
            FILE => {
                let mut bytes = Vec::new();
                for _ in 0..value.div_ceil(8) {
                    bytes.extend(words.next()?.to_le_bytes());
                }
                bytes.truncate(value as usize);
                Event::File(String::from_utf8_lossy(&bytes).into_owned())
            }
            MAP => {
                let (pages, code, offset) = (words.next()?, words.next()?, words.next()?);
                Event::Map { span: Span { first: value, pages }, class: Class::from_code(code as u8)?, file: (code >> 8) as u32, offset }
            }
            UNMAP => Event::Unmap(Span { first: value, pages: words.next()? }),
            DISCARD => Event::Discard(Span { first: value, pages: words.next()? }),
            REMAP => {
                let from = Span { first: value, pages: words.next()? };
                Event::Remap { from, to: Span { first: words.next()?, pages: words.next()? } }
            }
            RAW => Event::RawReferences(value),
            LABEL => Event::Label(value),
            END => {
                let (raw_references, probes) = (words.next()?, words.next()?);
                let mut measured = Vec::new();
                for _ in 0..probes {
                    measured.push(Measured { frames: words.next()?, faults_full: words.next()?, faults_recorded: words.next()? });
                }
                Event::End(Summary { reason: *REASONS.get(value as usize)?, raw_references, measured })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_comes_back_from_its_words() {
        let (a, b) = (Span { first: 0x4000, pages: 3 }, Span { first: 1 << 51, pages: 1 << 40 });
        let events = [
            Event::Access { page: (1 << 52) - 1, op: Op::Fetch },
            Event::Access { page: 0, op: Op::Write },
            Event::File("/a/file of 17 b.".into()),
            Event::File(String::new()),
            Event::Map { span: a, class: Class::Shared, file: u32::MAX, offset: u64::MAX },
            Event::Unmap(b),
            Event::Discard(a),
            Event::Remap { from: a, to: b },
            Event::RawReferences(1 << 59),
            Event::Label(3),
            Event::End(Summary {
                reason: Reason::Exec,
                raw_references: u64::MAX,
                measured: vec![Measured { frames: 128, faults_full: 9, faults_recorded: 8 }],
            }),
        ];
        let mut words = Vec::new();
        events.iter().for_each(|e| e.encode(&mut words));
        let mut words = words.into_iter();
        let back: Vec<_> = std::iter::from_fn(|| Event::decode(&mut words)).collect();
        assert_eq!(back, events);
    }

    #[test]
    fn a_span_of_bytes_covers_every_page_it_touches() {
        assert_eq!(Span::of_bytes(4095, 2), Span { first: 0, pages: 2 });
        assert_eq!(Span::of_bytes(8192, 4096), Span { first: 2, pages: 1 });
        assert_eq!(Span::of_bytes(8192, 0).pages, 0);
    }
}
