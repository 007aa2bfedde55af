//! Numbers of stored pages. A scheme is built for a fixed count of dense page numbers, but
//! addresses are sparse. A page gets a number when it is first stored, and loses it when its
//! content is discarded.

use crate::kernel::sparse::Sparse;
use crate::PAGES;
use swaplab_vocab::PageId;

/// A map between pages and the numbers that a scheme knows them by.
pub struct Numbers {
    /// The number of each page plus one; 0: no number.
    of: Sparse<u32>,
    page_of: Vec<usize>,
    free: Vec<PageId>,
    limit: u32,
}

impl Numbers {
    /// A map for at most `limit` pages at a time.
    pub fn new(limit: u32) -> rustix::io::Result<Numbers> {
        // SAFETY: four zero bytes are a valid u32.
        Ok(Numbers { of: unsafe { Sparse::new(PAGES) }?, page_of: Vec::new(), free: Vec::new(), limit })
    }

    /// The number of `page`, a new one if it has none. ENOSPC if all numbers are in use.
    pub fn give(&mut self, page: usize) -> std::io::Result<PageId> {
        if let Some(number) = self.of(page) {
            return Ok(number);
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.page_of.len() < self.limit as usize => {
                self.page_of.push(0);
                self.page_of.len() as PageId - 1
            }
            None => return Err(std::io::Error::from_raw_os_error(libc::ENOSPC)),
        };
        self.of[page] = number + 1;
        self.page_of[number as usize] = page;
        Ok(number)
    }

    pub fn of(&self, page: usize) -> Option<PageId> {
        self.of[page].checked_sub(1)
    }

    /// The page of a number that is in use.
    pub fn page(&self, number: PageId) -> usize {
        self.page_of[number as usize]
    }

    pub fn free(&mut self, page: usize) {
        if let Some(number) = self.of(page) {
            self.of[page] = 0;
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_reused_after_they_are_freed() {
        let mut numbers = Numbers::new(2).unwrap();
        assert_eq!((numbers.give(7).unwrap(), numbers.give(3).unwrap(), numbers.give(7).unwrap()), (0, 1, 0));
        assert_eq!(numbers.give(1).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        numbers.free(7);
        numbers.free(7);
        assert_eq!((numbers.of(7), numbers.of(3), numbers.page(1)), (None, Some(1), 3));
        assert_eq!(numbers.give(1).unwrap(), 0);
    }
}
