//! A file on flash, read and written past the page cache (`O_DIRECT`): with the cache, swapped pages would be in DRAM after all.

use super::page::{whole, PageBytes};
use crate::kernel::{Missing, PAGE, TMPFS};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::Result;
use std::mem::ManuallyDrop;
use std::path::Path;
use swaplab_swap::Slot;

pub struct DirectFile {
    /// As [`NvmFile`](super::NvmFile)'s.
    file: ManuallyDrop<OwnedFd>,
}

impl DirectFile {
    /// A nameless file in `directory`, of the user's own: nothing is left behind, whatever ends the program.
    pub fn open(directory: &Path) -> std::result::Result<DirectFile, Missing> {
        let failed = |e: Errno| {
            Missing::new(
                "flash directory",
                format!("{}: {e}; a directory of a file system with direct I/O is expected", directory.display()),
            )
        };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = rustix::fs::open(directory, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        if rustix::fs::fstatfs(&file).map_err(failed)?.f_type as i64 == TMPFS {
            return Err(Missing::new("flash directory", format!("{}: a tmpfs, which is memory and no flash", directory.display())));
        }
        let file = DirectFile { file: ManuallyDrop::new(file) };
        // Some file systems take the flag and refuse the transfer.
        file.write(0, &PageBytes::zeroed()).map_err(|e| failed(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        Ok(file)
    }

    /// End a probe. (Dropping it does not: see above.)
    pub fn close(self) {
        drop(ManuallyDrop::into_inner(self.file));
    }

    pub fn write(&self, slot: Slot, content: &PageBytes) -> Result<()> {
        whole(rustix::io::pwrite(&*self.file, &content.0, slot as u64 * PAGE as u64), libc::ENOSPC)
    }

    pub fn read(&self, slot: Slot, content: &mut PageBytes) -> Result<()> {
        whole(rustix::io::pread(&*self.file, content.0.as_mut_slice(), slot as u64 * PAGE as u64), libc::EIO)
    }
}
