//! What: NVM as a plain swap area: the page lies in a file in memory and is copied out and back.
//! Why: the paper's own baseline inside DR.Swap: same medium as `nvm-direct`, without Direct Read.
//! Source: Zhong et al., DR.Swap, section III (in-memory paging without DR).
//! Deviations: the copy back is made by the pager thread, so a fault also costs two switches between threads.
//! Weakness: a page that is only read still takes a DRAM page and a copy.

use super::slots::Slots;
use super::{PageBytes, Store};
use crate::kernel::PAGE;
use rustix::fd::OwnedFd;
use std::mem::ManuallyDrop;

pub struct NvmCopy {
    /// In the pager thread's table of descriptors, which the kernel closes with the thread; elsewhere its number means
    /// another file, so it is never closed from here.
    file: ManuallyDrop<OwnedFd>,
    slots: Slots,
}

impl NvmCopy {
    pub fn new(file: OwnedFd, slots: Slots) -> NvmCopy {
        NvmCopy { file: ManuallyDrop::new(file), slots }
    }
}

impl Store for NvmCopy {
    fn write(&mut self, page: u32, content: &PageBytes) -> std::io::Result<()> {
        let slot = self.slots.give(page)?;
        match rustix::io::pwrite(&*self.file, content, slot as u64 * PAGE as u64) {
            Ok(PAGE) => Ok(()),
            other => {
                self.slots.free(page);
                Err(other.map_or_else(Into::into, |_| std::io::Error::from_raw_os_error(libc::ENOSPC)))
            }
        }
    }

    fn read(&mut self, page: u32, content: &mut PageBytes) -> std::io::Result<()> {
        let slot = self.slots.of(page).ok_or(std::io::ErrorKind::NotFound)?;
        match rustix::io::pread(&*self.file, content.as_mut_slice(), slot as u64 * PAGE as u64)? {
            PAGE => Ok(()),
            _ => Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "its file was truncated")),
        }
    }

    fn free(&mut self, page: u32) {
        self.slots.free(page);
    }

    fn bytes(&self) -> u64 {
        (self.slots.live() * PAGE) as u64 + self.slots.overhead()
    }
}
