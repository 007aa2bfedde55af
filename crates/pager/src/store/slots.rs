//! Which slot of a file holds which page: the lowest free slots are given first, so the file stays short.

use crate::kernel::memory::Zeroed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub struct Slots {
    /// Slot plus one, by page; 0: none.
    of: Zeroed<u32>,
    free: BinaryHeap<Reverse<u32>>,
    next: u32,
    limit: u32,
}

impl Slots {
    /// For pages below `pages`, with at most `limit` slots.
    pub fn new(pages: usize, limit: u32) -> rustix::io::Result<Slots> {
        // SAFETY: zero is a u32.
        Ok(Slots { of: unsafe { Zeroed::new(pages) }?, free: BinaryHeap::new(), next: 0, limit })
    }

    /// The slot of `page`, a new one if it has none. Full: `StorageFull`.
    pub fn give(&mut self, page: u32) -> std::io::Result<u32> {
        if let Some(slot) = self.of(page) {
            return Ok(slot);
        }
        let slot = match self.free.pop() {
            Some(Reverse(slot)) => slot,
            None if self.next < self.limit => {
                self.next += 1;
                self.next - 1
            }
            None => return Err(std::io::Error::from_raw_os_error(libc::ENOSPC)),
        };
        self.of[page as usize] = slot + 1;
        Ok(slot)
    }

    pub fn of(&self, page: u32) -> Option<u32> {
        self.of[page as usize].checked_sub(1)
    }

    pub fn free(&mut self, page: u32) {
        if let Some(slot) = self.of(page) {
            self.of[page as usize] = 0;
            self.free.push(Reverse(slot));
        }
    }

    /// Slots that hold a page.
    pub fn live(&self) -> usize {
        self.next as usize - self.free.len()
    }

    /// Bytes of the two tables.
    pub fn overhead(&self) -> u64 {
        4 * (self.next as u64 + self.free.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_given_from_the_bottom_and_given_back() {
        let mut slots = Slots::new(10, 2).unwrap();
        assert_eq!((slots.give(7).unwrap(), slots.give(3).unwrap(), slots.give(7).unwrap()), (0, 1, 0));
        assert_eq!(slots.give(1).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        slots.free(7);
        slots.free(7);
        assert_eq!((slots.live(), slots.of(7), slots.of(3)), (1, None, Some(1)));
        assert_eq!(slots.give(1).unwrap(), 0);
    }
}
