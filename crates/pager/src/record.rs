//! Records a run as the pager saw it, for a replay in the simulator: arrivals in DRAM, reads in
//! place, evictions, discards. The order of accesses between two censuses is unknown; their pages
//! are recorded in the order of addresses.

use crate::spans::PageRange;
use rustix::fd::OwnedFd;
use std::mem::ManuallyDrop;
use std::path::Path;

/// An event of a run of pages. The letters are those of a trace's references and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// Written, and therefore in DRAM.
    Write = b'W',
    /// Read in place, or swapped in by a read.
    Read = b'R',
    Evict = b'E',
    /// Its content was discarded, or its mapping was replaced by fresh memory.
    Discard = b'D',
    Unmap = b'U',
}

impl EventKind {
    fn from_letter(letter: u8) -> Option<EventKind> {
        [EventKind::Write, EventKind::Read, EventKind::Evict, EventKind::Discard, EventKind::Unmap].into_iter().find(|w| *w as u8 == letter)
    }
}

/// An open record with buffered events of 16 bytes: a letter with the first page's number, and a
/// number of pages.
pub struct Record {
    /// In the pager thread's descriptor table, which the kernel closes with the thread.
    file: ManuallyDrop<OwnedFd>,
    buffer: Vec<[u64; 2]>,
}

const PAGE_BITS: u32 = 56;

impl Record {
    /// Create the file `path`, which must not exist.
    pub fn create(path: &Path) -> rustix::io::Result<Record> {
        use rustix::fs::{Mode, OFlags};
        let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        Ok(Record { file: ManuallyDrop::new(file), buffer: Vec::new() })
    }

    /// Append an event to the buffer.
    pub fn note(&mut self, what: EventKind, pages: PageRange) {
        let first = pages.start as u64;
        match self.buffer.last_mut() {
            // The pages continue the last event's run.
            Some([head, count]) if *head >> PAGE_BITS == what as u64 && (*head << 8 >> 8) + *count == first => *count += pages.len() as u64,
            _ => self.buffer.push([(what as u64) << PAGE_BITS | first, pages.len() as u64]),
        }
    }

    /// Write the buffered events to the file. Only the pager thread has the file's descriptor.
    pub fn flush(&mut self) {
        let bytes: Vec<u8> = self.buffer.drain(..).flatten().flat_map(u64::to_le_bytes).collect();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match rustix::io::write(&*self.file, rest) {
                Ok(0) => return,
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => (),
                // The disk is full: the run continues, and its record is incomplete.
                Err(_) => return,
            }
        }
    }
}

/// Parse a record into events: their kind, the number of the first page, the number of pages. Stops
/// at an incomplete or unknown event.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = (EventKind, u64, u64)> + '_ {
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("eight bytes"));
    bytes.chunks_exact(16).map_while(move |event| {
        let (head, count) = (word(&event[..8]), word(&event[8..]));
        EventKind::from_letter((head >> PAGE_BITS) as u8).map(|what| (what, head << 8 >> 8, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_pages_are_one_event_and_an_incomplete_event_ends_the_record() {
        let path = std::env::temp_dir().join(format!("swaplab-record-{}", std::process::id()));
        let mut record = Record::create(&path).unwrap();
        for (what, pages) in [
            (EventKind::Write, 7..8),
            (EventKind::Write, 8..10),
            (EventKind::Evict, 10..11),
            (EventKind::Write, 16..17),
            (EventKind::Write, 16..17),
        ] {
            record.note(what, pages);
        }
        record.flush();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let events = [(EventKind::Write, 7, 3), (EventKind::Evict, 10, 1), (EventKind::Write, 16, 1), (EventKind::Write, 16, 1)];
        assert_eq!(read(&bytes).collect::<Vec<_>>(), events);
        assert_eq!(read(&bytes[..40]).collect::<Vec<_>>(), events[..2]);
    }
}
