//! The sequence of a run as the pager saw it, for a replay in the simulator: pages that came to DRAM, pages read in place, pages
//! evicted or given up. Between two looks at the page table the order of accesses is not known; pages stand in the order of
//! their addresses there.

use crate::spans::PageRange;
use rustix::fd::OwnedFd;
use std::mem::ManuallyDrop;
use std::path::Path;

/// What happened to a run of pages; the letters are those of trace marks and references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// Written: it came to DRAM.
    Write = b'W',
    /// Read in place, or copied in by a read.
    Read = b'R',
    Evict = b'E',
    /// Its content was given up, its memory not; or both.
    Discard = b'D',
    Unmap = b'U',
}

impl What {
    fn from_letter(letter: u8) -> Option<What> {
        [What::Write, What::Read, What::Evict, What::Discard, What::Unmap].into_iter().find(|w| *w as u8 == letter)
    }
}

/// Events wait here, 16 bytes each: a letter and a page number, a count of pages.
pub struct Record {
    /// As the store's files: the pager thread's own, closed with it.
    file: ManuallyDrop<OwnedFd>,
    waiting: Vec<[u64; 2]>,
}

const PAGE_BITS: u32 = 56;

impl Record {
    pub fn create(path: &Path) -> rustix::io::Result<Record> {
        use rustix::fs::{Mode, OFlags};
        let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        Ok(Record { file: ManuallyDrop::new(file), waiting: Vec::new() })
    }

    pub fn note(&mut self, what: What, pages: PageRange) {
        let first = pages.start as u64;
        match self.waiting.last_mut() {
            // A run that goes on.
            Some([head, count]) if *head >> PAGE_BITS == what as u64 && (*head << 8 >> 8) + *count == first => *count += pages.len() as u64,
            _ => self.waiting.push([(what as u64) << PAGE_BITS | first, pages.len() as u64]),
        }
    }

    /// Write what waits; only the pager thread can.
    pub fn flush(&mut self) {
        let bytes: Vec<u8> = self.waiting.drain(..).flatten().flat_map(u64::to_le_bytes).collect();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match rustix::io::write(&*self.file, rest) {
                Ok(0) => return,
                Ok(n) => rest = &rest[n..],
                Err(rustix::io::Errno::INTR) => (),
                Err(_) => return, // the disk is full; the run goes on, its record ends here
            }
        }
    }
}

/// The events of a record: what, the first page's number in the address space, how many pages. Ends at what is cut short.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = (What, u64, u64)> + '_ {
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("eight bytes"));
    bytes.chunks_exact(16).map_while(move |event| {
        let (head, count) = (word(&event[..8]), word(&event[8..]));
        What::from_letter((head >> PAGE_BITS) as u8).map(|what| (what, head << 8 >> 8, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_go_on_are_one_event_and_a_cut_file_ends() {
        let path = std::env::temp_dir().join(format!("swaplab-record-{}", std::process::id()));
        let mut record = Record::create(&path).unwrap();
        for (what, pages) in
            [(What::Write, 7..8), (What::Write, 8..10), (What::Evict, 10..11), (What::Write, 16..17), (What::Write, 16..17)]
        {
            record.note(what, pages);
        }
        record.flush();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let events = [(What::Write, 7, 3), (What::Evict, 10, 1), (What::Write, 16, 1), (What::Write, 16, 1)];
        assert_eq!(read(&bytes).collect::<Vec<_>>(), events);
        assert_eq!(read(&bytes[..40]).collect::<Vec<_>>(), events[..2]);
    }
}
