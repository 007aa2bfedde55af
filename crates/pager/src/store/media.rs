//! The media of the copying schemes: NVM posed by a file in memory, a flash file, a pool of compressed pages.

use super::content::Current;
use super::page::{whole, PageBytes};
use super::DirectFile;
use crate::kernel::PAGE;
use rustix::fd::OwnedFd;
use rustix::fs::FallocateFlags;
use std::collections::HashMap;
use std::io::{ErrorKind, Result};
use std::mem::ManuallyDrop;
use swaplab_swap::{compress, Algorithm, Medium, Slot};
use swaplab_vocab::PageId;

/// What one scheme moves pages between. Content is named by medium and slot, as the scheme names it, and by its page.
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

    /// Keep `content`; `bytes` and `shown` say how, where it is compressed.
    pub fn write(&mut self, medium: Medium, slot: Slot, page: PageId, content: &PageBytes, bytes: u32, shown: &Current) -> Result<()> {
        match (medium, &mut self.nvm, &self.flash) {
            (Medium::Pool, ..) => self.pool.put(page, content, bytes, shown),
            (Medium::Nvm, Some(nvm), _) => nvm.write(slot, page, content),
            (Medium::Flash, _, Some(flash)) => flash.write(slot, content),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    /// The content of `page` is given up wherever it is. (What flash holds is written over.)
    pub fn free(&mut self, page: PageId) {
        self.pool.free(page);
        if let Some(nvm) = &mut self.nvm {
            nvm.free(page);
        }
    }

    /// Give memory of freed NVM back; only the pager thread can.
    pub fn tidy(&mut self) {
        if let Some(nvm) = &mut self.nvm {
            nvm.tidy();
        }
    }

    /// Bytes of DRAM and of what poses as NVM.
    pub fn memory_bytes(&self) -> u64 {
        self.pool.bytes + self.nvm.as_ref().map_or(0, NvmFile::bytes)
    }
}

const NOBODY: PageId = PageId::MAX;

/// NVM as a file in memory. Schemes name slots all over their area, so what is freed is punched out.
pub struct NvmFile {
    /// In the pager thread's table of descriptors, which the kernel closes with the thread; elsewhere its number means
    /// another file, so it is never closed from here.
    file: ManuallyDrop<OwnedFd>,
    /// By slot and by page.
    owner: Vec<PageId>,
    slot_of: HashMap<PageId, Slot>,
    freed: Vec<Slot>,
}

impl NvmFile {
    pub fn new(file: OwnedFd) -> NvmFile {
        NvmFile { file: ManuallyDrop::new(file), owner: Vec::new(), slot_of: HashMap::new(), freed: Vec::new() }
    }

    fn write(&mut self, slot: Slot, page: PageId, content: &PageBytes) -> Result<()> {
        whole(rustix::io::pwrite(&*self.file, &content.0, slot as u64 * PAGE as u64), libc::ENOSPC)?;
        if self.owner.len() <= slot as usize {
            self.owner.resize(slot as usize + 1, NOBODY);
        }
        self.owner[slot as usize] = page;
        if let Some(before) = self.slot_of.insert(page, slot).filter(|s| *s != slot) {
            self.let_go(before, page);
        }
        const SOME: usize = 32;
        if self.freed.len() >= SOME {
            self.tidy();
        }
        Ok(())
    }

    fn read(&self, slot: Slot, content: &mut PageBytes) -> Result<()> {
        whole(rustix::io::pread(&*self.file, content.0.as_mut_slice(), slot as u64 * PAGE as u64), libc::EIO)
    }

    fn free(&mut self, page: PageId) {
        if let Some(slot) = self.slot_of.remove(&page) {
            self.let_go(slot, page);
        }
    }

    /// `slot` is no longer that of `page`; another page may have it already.
    fn let_go(&mut self, slot: Slot, page: PageId) {
        if self.owner[slot as usize] == page {
            self.owner[slot as usize] = NOBODY;
            self.freed.push(slot);
        }
    }

    fn tidy(&mut self) {
        self.freed.sort_unstable();
        for run in self.freed.chunk_by(|a, b| a + 1 == *b || a == b) {
            let free = run.iter().filter(|slot| self.owner[**slot as usize] == NOBODY);
            // A slot that was taken again splits the run; that is rare, and a slot alone is punched as well.
            let whole = run.iter().all(|slot| self.owner[*slot as usize] == NOBODY);
            let punch = |first: Slot, slots: usize| {
                let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let _ = rustix::fs::fallocate(&*self.file, mode, first as u64 * PAGE as u64, (slots * PAGE) as u64);
            };
            if whole {
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
    /// All words of the page are this one.
    Word([u8; 8]),
    Compressed(Algorithm, Box<[u8]>),
    Plain(Box<PageBytes>),
}

impl Block {
    fn bytes(&self) -> u64 {
        /// What the table and the heap add to a block.
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
    fn put(&mut self, page: PageId, content: &PageBytes, bytes: u32, shown: &Current) -> Result<()> {
        self.free(page);
        let block = match bytes as usize {
            0 => Block::Word(content.0[..8].try_into().expect("eight bytes")),
            PAGE => {
                let mut plain = PageBytes::zeroed();
                plain.0 = content.0;
                Block::Plain(plain)
            }
            _ => {
                let (algorithm, block) = shown.compressed().ok_or(ErrorKind::InvalidData)?;
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
