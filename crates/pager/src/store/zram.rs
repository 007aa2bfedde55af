//! What: a pool of lz4-compressed pages in DRAM; a page of zeros takes no room, one that does not shrink is kept as it is.
//! Why: what phones do today, on the same program under the same pager.
//! Source: Linux drivers/block/zram/zram_drv.c.
//! Deviations: blocks come from the pager's own heap instead of zsmalloc; the pool is not part of the DRAM budget, its
//! bytes are reported beside it.
//! Weakness: the pool takes the memory it is to save, and every swap-in costs a decompression and a copy.

use super::{PageBytes, Store};
use crate::kernel::PAGE;
use std::collections::HashMap;

pub struct Zram {
    /// Empty: zeros; a whole page: as it was; else compressed.
    pool: HashMap<u32, Box<[u8]>>,
    bytes: usize,
    limit: usize,
    buffer: Vec<u8>,
}

/// What the table and the heap add to a block.
const ENTRY: usize = 32;

impl Zram {
    /// A pool of at most `limit` bytes.
    pub fn new(limit: usize) -> Zram {
        let buffer = vec![0; lz4_flex::block::get_maximum_output_size(PAGE)];
        Zram { pool: HashMap::new(), bytes: 0, limit, buffer }
    }
}

impl Store for Zram {
    fn write(&mut self, page: u32, content: &PageBytes) -> std::io::Result<()> {
        self.free(page);
        let block = if content.iter().all(|b| *b == 0) {
            &[]
        } else {
            match lz4_flex::block::compress_into(content, &mut self.buffer) {
                Ok(len) if len < PAGE => &self.buffer[..len],
                _ => content.as_slice(),
            }
        };
        if self.bytes + block.len() + ENTRY > self.limit {
            return Err(std::io::Error::from_raw_os_error(libc::ENOSPC));
        }
        self.bytes += block.len() + ENTRY;
        self.pool.insert(page, block.into());
        Ok(())
    }

    fn read(&mut self, page: u32, content: &mut PageBytes) -> std::io::Result<()> {
        let block = self.pool.get(&page).ok_or(std::io::ErrorKind::NotFound)?;
        match block.len() {
            0 => content.fill(0),
            PAGE => content.copy_from_slice(block),
            _ => {
                let len = lz4_flex::block::decompress_into(block, content).map_err(std::io::Error::other)?;
                if len != PAGE {
                    return Err(std::io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(())
    }

    fn free(&mut self, page: u32) {
        if let Some(block) = self.pool.remove(&page) {
            self.bytes -= block.len() + ENTRY;
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_page_comes_back_and_the_limit_holds() {
        let mut random = [0u8; PAGE];
        let mut x = 1u32;
        random.iter_mut().for_each(|b| {
            x = x.wrapping_mul(1664525).wrapping_add(1013904223);
            *b = (x >> 24) as u8;
        });
        let text: PageBytes = std::array::from_fn(|i| b"swap "[i % 5]);
        let mut zram = Zram::new(PAGE + 3 * ENTRY + 200);
        for (page, content) in [(7, &[0; PAGE]), (8, &text), (9, &random)] {
            zram.write(page, content).unwrap();
            let mut back = [1; PAGE];
            zram.read(page, &mut back).unwrap();
            assert!(back == *content, "page {page}");
        }
        assert!(zram.bytes() as usize <= PAGE + 3 * ENTRY + 200 && zram.bytes() as usize > PAGE);
        assert_eq!(zram.write(10, &random).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert!(zram.read(10, &mut [0; PAGE]).is_err());
        zram.free(9);
        zram.write(10, &random).unwrap();
    }
}
