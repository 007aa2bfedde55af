//! The swap file on flash. It is read and written with `O_DIRECT`, as the page cache would keep
//! swapped pages in DRAM.

use super::page::{check_full_page, PageBytes};
use crate::kernel::{Missing, PAGE, TMPFS};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::Result;
use std::mem::ManuallyDrop;
use std::path::Path;
use swaplab_swap::Slot;

/// A swap file that bypasses the page cache.
pub struct DirectFile {
    /// Never closed from here, for the reason given at [`NvmFile`](super::NvmFile)'s field.
    file: ManuallyDrop<OwnedFd>,
}

impl DirectFile {
    /// Create a nameless file in `directory`, which only the user can access. The kernel deletes it
    /// when the program ends.
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
            return Err(Missing::new("flash directory", format!("{}: a tmpfs, whose files are in memory", directory.display())));
        }
        let file = DirectFile { file: ManuallyDrop::new(file) };
        // Some file systems accept the flag and fail the transfer, so write a page.
        file.write(0, &PageBytes::zeroed()).map_err(|e| failed(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        Ok(file)
    }

    /// Close the file, for a probe. Dropping does not close it.
    pub fn close(self) {
        drop(ManuallyDrop::into_inner(self.file));
    }

    /// Write a page to `slot`. ENOSPC if the write is incomplete.
    pub fn write(&self, slot: Slot, content: &PageBytes) -> Result<()> {
        check_full_page(rustix::io::pwrite(&*self.file, &content.0, slot as u64 * PAGE as u64), libc::ENOSPC)
    }

    /// Read a page from `slot`. EIO if the read is incomplete.
    pub fn read(&self, slot: Slot, content: &mut PageBytes) -> Result<()> {
        check_full_page(rustix::io::pread(&*self.file, content.0.as_mut_slice(), slot as u64 * PAGE as u64), libc::EIO)
    }
}
