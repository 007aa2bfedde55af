//! The bytes of a file, a pipe or standard input. While a pipe has none, work can still be stopped.

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::rc::Rc;

/// A callback for progress with (work done, total work or 0 if unknown). Returning `false` stops
/// the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// How long a pipe is waited for before the progress is reported again.
const PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The state of a reading: its progress, and whether the caller has stopped it.
pub struct Reading<'a> {
    progress: RefCell<Progress<'a>>,
    taken: Cell<u64>,
    total: Cell<u64>,
    stopped: Cell<bool>,
}

impl<'a> Reading<'a> {
    pub fn new(progress: Progress<'a>) -> Rc<Reading<'a>> {
        Rc::new(Reading { progress: RefCell::new(progress), taken: Cell::new(0), total: Cell::new(0), stopped: Cell::new(false) })
    }

    /// Number of bytes read.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Report the progress. Returns whether to go on.
    pub fn goes_on(&self) -> bool {
        let stops = !(self.progress.borrow_mut())(self.taken.get(), self.total.get());
        self.stopped.set(self.stopped.get() || stops);
        !self.stopped.get()
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.get()
    }
}

/// An open file, or standard input.
pub struct Input<'a> {
    file: File,
    /// Whether a read may have to wait for another process.
    waits: bool,
    reading: Rc<Reading<'a>>,
}

impl<'a> Input<'a> {
    /// `path` is a file, or `-` for standard input. A named pipe is opened without waiting for its
    /// writer.
    pub fn open(path: &Path, reading: &Rc<Reading<'a>>) -> Result<Input<'a>> {
        let file = if path == Path::new("-") {
            File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 0)?)
        } else if std::fs::metadata(path)?.file_type().is_fifo() {
            OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?
        } else {
            File::open(path)?
        };
        let meta = file.metadata()?;
        reading.total.set(if meta.is_file() && path != Path::new("-") { meta.len() } else { 0 });
        Ok(Input { waits: !meta.is_file(), file, reading: reading.clone() })
    }

    pub fn is_folder(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.is_dir())
    }

    /// Wait until there are bytes, or the end. Fails if the reading is stopped.
    fn wait(&self) -> Result<()> {
        loop {
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PERIOD)) {
                Ok(0) | Err(Errno::INTR) if self.reading.goes_on() => {}
                Ok(0) | Err(Errno::INTR) => return Err(Error::other("stopped")),
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if self.waits {
                self.wait()?;
            }
            match self.file.read(buffer) {
                // Another process took the bytes.
                Err(error) if self.waits && error.kind() == ErrorKind::WouldBlock => {}
                read => {
                    self.reading.taken.set(self.reading.taken.get() + *read.as_ref().unwrap_or(&0) as u64);
                    return read;
                }
            }
        }
    }
}
