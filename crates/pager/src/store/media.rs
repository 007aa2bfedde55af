//! The media of the copying schemes: emulated NVM (a file in memory), a flash file, a pool of
//! compressed pages.

use super::content::Current;
use super::page::{check_full_page, PageBytes};
use super::DirectFile;
use crate::kernel::full_size::FullSize;
use crate::kernel::PAGE;
use rustix::fd::OwnedFd;
use rustix::fs::FallocateFlags;
use std::collections::HashMap;
use std::io::{ErrorKind, Result};
use std::mem::ManuallyDrop;
use swaplab_swap::{compress, Algorithm, Medium, Slot};
use swaplab_vocab::PageId;

/// The media of one scheme. Content is addressed by medium and slot, or in a pool by its page.
pub struct Media {
    nvm: Option<NvmFile>,
    flash: Option<DirectFile>,
    pool: Pool,
}

impl Media {
    pub fn new(nvm: Option<NvmFile>, flash: Option<DirectFile>) -> Media {
        Media { nvm, flash, pool: Pool::default() }
    }

    pub fn read(&mut self, medium: Medium, slot: Slot, page: PageId, content: &mut PageBytes) -> Result<()> {
        match (medium, &self.nvm, &self.flash) {
            (Medium::Pool, ..) => self.pool.get(page, content),
            (Medium::Nvm, Some(nvm), _) => nvm.read(slot, content),
            (Medium::Flash, _, Some(flash)) => flash.read(slot, content),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Store `content`. In a pool, `bytes` is its compressed size and `victim` has its compressed
    /// form.
    pub fn write(&mut self, medium: Medium, slot: Slot, page: PageId, content: &PageBytes, bytes: u32, victim: &Current) -> Result<()> {
        match (medium, &mut self.nvm, &self.flash) {
            (Medium::Pool, ..) => self.pool.put(page, content, bytes, victim),
            (Medium::Nvm, Some(nvm), _) => nvm.write(slot, page, content),
            (Medium::Flash, _, Some(flash)) => flash.write(slot, content),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// Discard the content of `page` from the pool and NVM. A slot on flash is overwritten later.
    pub fn free(&mut self, page: PageId) {
        self.pool.free(page);
        if let Some(nvm) = &mut self.nvm {
            nvm.free(page);
        }
    }

    /// Free the memory of freed NVM slots. Only the pager thread has the file's descriptor.
    pub fn free_released_slots(&mut self) {
        if let Some(nvm) = &mut self.nvm {
            nvm.free_released_slots();
        }
    }

    /// Bytes in the pool and in the file that emulates NVM.
    pub fn memory_bytes(&self) -> u64 {
        self.pool.bytes + self.nvm.as_ref().map_or(0, NvmFile::bytes)
    }
}

const NO_OWNER: PageId = PageId::MAX;

/// NVM emulated by a file in memory. Schemes use slots anywhere in their area, so freed slots are
/// punched out of the file.
pub struct NvmFile {
    /// In the pager thread's descriptor table, which the kernel closes with the thread. In another
    /// thread's table the same number is another file, so this is never closed here.
    file: ManuallyDrop<OwnedFd>,
    size: FullSize,
    /// The page of each slot, and the slot of each page.
    owner: Vec<PageId>,
    slot_of: HashMap<PageId, Slot>,
    freed: Vec<Slot>,
}

impl NvmFile {
    pub fn new(file: OwnedFd) -> NvmFile {
        NvmFile { size: FullSize::of(&file), file: ManuallyDrop::new(file), owner: Vec::new(), slot_of: HashMap::new(), freed: Vec::new() }
    }

    fn write(&mut self, slot: Slot, page: PageId, content: &PageBytes) -> Result<()> {
        self.size.require(&*self.file);
        check_full_page(rustix::io::pwrite(&*self.file, &content.0, slot as u64 * PAGE as u64), libc::ENOSPC)?;
        if self.owner.len() <= slot as usize {
            self.owner.resize(slot as usize + 1, NO_OWNER);
        }
        self.owner[slot as usize] = page;
        if let Some(before) = self.slot_of.insert(page, slot).filter(|s| *s != slot) {
            self.release_slot(before, page);
        }
        /// Freed slots that are punched out together.
        const RELEASE_BATCH: usize = 32;
        if self.freed.len() >= RELEASE_BATCH {
            self.free_released_slots();
        }
        Ok(())
    }

    fn read(&self, slot: Slot, content: &mut PageBytes) -> Result<()> {
        check_full_page(rustix::io::pread(&*self.file, content.0.as_mut_slice(), slot as u64 * PAGE as u64), libc::EIO)
    }

    fn free(&mut self, page: PageId) {
        if let Some(slot) = self.slot_of.remove(&page) {
            self.release_slot(slot, page);
        }
    }

    /// Free `slot`, formerly of `page`, unless another page has it already.
    fn release_slot(&mut self, slot: Slot, page: PageId) {
        if self.owner[slot as usize] == page {
            self.owner[slot as usize] = NO_OWNER;
            self.freed.push(slot);
        }
    }

    fn free_released_slots(&mut self) {
        self.freed.sort_unstable();
        for run in self.freed.chunk_by(|a, b| a + 1 == *b || a == b) {
            let free = run.iter().filter(|slot| self.owner[**slot as usize] == NO_OWNER);
            // If a slot of the run was reused, the others are punched one by one. That is rare.
            let all_free = run.iter().all(|slot| self.owner[*slot as usize] == NO_OWNER);
            let punch = |first: Slot, slots: usize| {
                let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let _ = rustix::fs::fallocate(&*self.file, mode, first as u64 * PAGE as u64, (slots * PAGE) as u64);
            };
            if all_free {
                punch(run[0], (run[run.len() - 1] - run[0]) as usize + 1);
            } else {
                free.for_each(|slot| punch(*slot, 1));
            }
        }
        self.freed.clear();
    }

    fn bytes(&self) -> u64 {
        rustix::fs::fstat(&*self.file).map_or(0, |s| s.st_blocks as u64 * 512)
    }
}

/// Compressed pages on the pager's own heap.
#[derive(Default)]
struct Pool {
    blocks: HashMap<PageId, Block>,
    bytes: u64,
}

enum Block {
    /// A page that is filled with this word.
    Word([u8; 8]),
    Compressed(Algorithm, Box<[u8]>),
    Plain(Box<PageBytes>),
}

impl Block {
    fn bytes(&self) -> u64 {
        /// Bytes that the table and the heap add to a block.
        const ENTRY: usize = 32;
        let content = match self {
            Block::Word(_) => 0,
            Block::Compressed(_, block) => block.len(),
            Block::Plain(_) => PAGE,
        };
        (ENTRY + content) as u64
    }
}

impl Pool {
    fn put(&mut self, page: PageId, content: &PageBytes, bytes: u32, victim: &Current) -> Result<()> {
        self.free(page);
        let block = match bytes as usize {
            0 => Block::Word(content.0[..8].try_into().expect("eight bytes")),
            PAGE => {
                let mut plain = PageBytes::zeroed();
                plain.0 = content.0;
                Block::Plain(plain)
            }
            _ => {
                let (algorithm, block) = victim.compressed().ok_or(ErrorKind::InvalidData)?;
                Block::Compressed(algorithm, block)
            }
        };
        self.bytes += block.bytes();
        self.blocks.insert(page, block);
        Ok(())
    }

    fn get(&self, page: PageId, content: &mut PageBytes) -> Result<()> {
        match self.blocks.get(&page).ok_or(ErrorKind::NotFound)? {
            Block::Word(word) => content.0.chunks_exact_mut(8).for_each(|w| w.copy_from_slice(word)),
            Block::Plain(plain) => content.0 = plain.0,
            Block::Compressed(algorithm, block) => compress::restore(block, *algorithm, &mut content.0)?,
        }
        Ok(())
    }

    fn free(&mut self, page: PageId) {
        if let Some(block) = self.blocks.remove(&page) {
            self.bytes -= block.bytes();
        }
    }
}
