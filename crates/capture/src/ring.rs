//! The ring between plugin and front end, in shared memory. Its content outlives the plugin, so
//! nothing of the trace is lost when the program crashes.

use crate::stream::{Event, Sink};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Indices of header words. Words of different writers are on different cache lines. `HEAD` counts
/// words written, `TAIL` words taken.
const HEAD: usize = 8;
const TAIL: usize = 16;
/// Written by the front end: 1 once it has stopped reading, the number of requested labels, its
/// process id.
const CLOSED: usize = 24;
const LABELS: usize = 25;
const READER: usize = 26;
/// Written by the plugin: the number of references before the filter.
const RAW: usize = 32;
/// Index of the first word of data; the header takes the first page.
const DATA: usize = 512;
const CAPACITY: u64 = 1 << 19;
const WORDS: usize = DATA + CAPACITY as usize;
const RING_BYTES: u64 = 8 * WORDS as u64;

const PAUSE: Duration = Duration::from_micros(100);

pub struct Ring {
    words: *const AtomicU64,
    /// Kept open, so that [`Ring::path`] stays valid for other processes.
    file: File,
    scratch: Vec<u64>,
}

// SAFETY: the memory behind `words` is shared by design, reached through atomics only, and mapped
// until the ring is dropped.
unsafe impl Send for Ring {}
// SAFETY: as above; `scratch` changes through `&mut` only.
unsafe impl Sync for Ring {}

impl Ring {
    /// Create a ring in anonymous memory.
    pub fn create() -> std::io::Result<Ring> {
        // SAFETY: the name is a C string; the call accesses no other memory of this program.
        let descriptor = unsafe { libc::memfd_create(c"swaplab-capture".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and no other code uses it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(RING_BYTES)?;
        let ring = Ring::map(file)?;
        ring.word(READER).store(u64::from(std::process::id()), Ordering::Release);
        Ok(ring)
    }

    /// Open the ring at a path from [`Ring::path`] of another process.
    pub fn open(path: &str) -> std::io::Result<Ring> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() != RING_BYTES {
            return Err(std::io::Error::other("not a ring of this version"));
        }
        Ring::map(file)
    }

    fn map(file: File) -> std::io::Result<Ring> {
        // SAFETY: a new shared mapping at an address of the kernel's choice, over a file of that
        // length that only we resize.
        let words = unsafe {
            libc::mmap(std::ptr::null_mut(), RING_BYTES as usize, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if words == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(Ring { words: words as *const AtomicU64, file, scratch: Vec::new() })
    }

    /// The path by which another process can open the ring while this process is alive.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < WORDS);
        // SAFETY: inside the mapping, aligned to a page, and only ever used as atomics, by both
        // processes.
        unsafe { &*self.words.add(at) }
    }

    fn slot(&self, position: u64) -> &AtomicU64 {
        self.word(DATA + (position % CAPACITY) as usize)
    }

    /// Take all available words.
    pub fn take(&self, words: &mut Vec<u64>) {
        let (head, tail) = (self.word(HEAD).load(Ordering::Acquire), self.word(TAIL).load(Ordering::Relaxed));
        words.extend((tail..head).map(|at| self.slot(at).load(Ordering::Relaxed)));
        self.word(TAIL).store(head, Ordering::Release);
    }

    /// Tell the plugin that the front end has stopped reading.
    pub fn close(&self) {
        self.word(CLOSED).store(1, Ordering::Relaxed);
    }

    /// The last reported number of the program's references.
    pub fn raw_references(&self) -> u64 {
        self.word(RAW).load(Ordering::Relaxed)
    }

    /// Request a label at the current position of the program.
    pub fn request_label(&self) {
        self.word(LABELS).fetch_add(1, Ordering::Relaxed);
    }

    fn reader_lives(&self) -> bool {
        std::path::Path::new(&format!("/proc/{}", self.word(READER).load(Ordering::Relaxed))).exists()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; no reference into it outlives `self`.
        unsafe { libc::munmap(self.words as *mut libc::c_void, RING_BYTES as usize) };
    }
}

impl Sink for Ring {
    fn put(&mut self, event: &Event) -> bool {
        let mut words = std::mem::take(&mut self.scratch);
        words.clear();
        event.encode(&mut words);
        let head = self.word(HEAD).load(Ordering::Relaxed);
        let end = head + words.len() as u64;
        let mut pauses = 0u64;
        while end - self.word(TAIL).load(Ordering::Acquire) > CAPACITY {
            pauses += 1;
            if self.word(CLOSED).load(Ordering::Relaxed) != 0 || (pauses & 0x3fff == 0 && !self.reader_lives()) {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        for (at, word) in (head..).zip(&words) {
            self.slot(at).store(*word, Ordering::Relaxed);
        }
        self.word(HEAD).store(end, Ordering::Release);
        self.scratch = words;
        self.word(CLOSED).load(Ordering::Relaxed) == 0
    }

    fn progress(&mut self, raw: u64) {
        self.word(RAW).store(raw, Ordering::Relaxed);
    }

    fn labels(&self) -> u64 {
        self.word(LABELS).load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_vocab::Op;

    #[test]
    fn events_are_read_in_order_across_the_end_of_the_ring() {
        let reader = Ring::create().unwrap();
        let mut writer = Ring::open(&reader.path()).unwrap();
        let count = 3 * CAPACITY / 2;
        let producer = std::thread::spawn(move || (0..count).all(|page| writer.put(&Event::Access { page, op: Op::Read })));
        let mut words = Vec::new();
        while (words.len() as u64) < count {
            reader.take(&mut words);
        }
        assert!(producer.join().unwrap());
        assert!(words.iter().enumerate().all(|(i, w)| *w == (i as u64) << 4));
    }

    #[test]
    fn a_closed_ring_takes_no_more() {
        let reader = Ring::create().unwrap();
        let mut writer = Ring::open(&reader.path()).unwrap();
        assert!(writer.put(&Event::RawReferences(1)));
        reader.close();
        assert!((0..=CAPACITY).any(|_| !writer.put(&Event::RawReferences(2))));
    }
}
