//! A swap area that copies pages, shared by every scheme except `none` and `nvm-direct`. This
//! module assigns slots to pages; a [`Backend`] stores the content of a slot.

use crate::{Scheme, Served, Slot, Slots, Stored, Transfers, Usage, Work};
use swaplab_vocab::{Kind, Nanos, Op, PageId, Parameter};

/// The size of a swap area.
pub const SIZE: Parameter = Parameter::new("size", Kind::Size, "unlimited", "size of the swap area, such as 128MiB");

/// Storage for the content of slots. [`store`](Backend::store) fills a slot and
/// [`free`](Backend::free) empties it.
pub trait Backend: Send {
    /// Whether a page that has a slot is swapped out to the same slot when it was written in
    /// between. The backend replaces the content.
    const REUSES_SLOTS: bool = false;

    /// Store the content of `page` in `slot` at swap-out. Returns false if there is no room; the
    /// slot is then empty.
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool;

    /// Load the content of `slot` at swap-in. `along`: the slot is in the readahead window of the
    /// previous load and belongs to the same request, even if there is a hole between the two
    /// slots.
    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers);

    /// Whether a slot stays valid after a swap-in until its page is written, as in the kernel's
    /// swap cache.
    fn keeps(&self) -> bool {
        true
    }

    /// Number of slots that one swap-in reads, as an aligned window.
    fn readahead(&self) -> u32 {
        1
    }

    /// A clean page leaves memory. `slot` still has its content.
    fn left_clean(&mut self, _page: PageId, _slot: Slot, _slots: &Slots, _out: &mut Transfers) {}

    /// Set up `slot` with content of `page` from before the run. Returns false if there is no room.
    fn adopt(&mut self, page: PageId, slot: Slot) -> bool;

    fn free(&mut self, slot: Slot);

    fn tick(&mut self, _now: Nanos, _slots: &Slots, _out: &mut Transfers) {}

    /// As [`Scheme::caches_files`].
    fn caches_files(&self) -> bool {
        false
    }

    /// As [`Scheme::file_left`].
    fn file_left(&mut self, _page: PageId, _slots: &Slots, _out: &mut Transfers) {}

    /// As [`Scheme::read_files`].
    fn read_files(&mut self, _window: &[PageId], _out: &mut Transfers) {}

    /// Add the space that the stored content takes. `usage` already includes the number of pages
    /// and the metadata of slots.
    fn usage(&self, usage: &mut Usage);

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String>;
}

/// Where the content of a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum At {
    /// Nowhere: the page was never written, or its content was discarded. It reads as zeros.
    Nowhere,
    /// Only in its slot.
    Swap,
    /// In a frame, and in its slot as of its swap-in.
    Both,
    /// Only in a frame.
    Memory,
}

pub struct Area<B> {
    slots: Slots,
    at: Vec<At>,
    limited: bool,
    backend: B,
    /// Number of pages at `Both`, and the page at which the next search for one of them starts.
    cached: usize,
    hand: usize,
}

impl<B: Backend> Area<B> {
    pub fn new(pages: usize, size: Option<u64>, backend: B) -> Area<B> {
        Area { slots: Slots::new(pages, size), at: vec![At::Nowhere; pages], limited: size.is_some(), backend, cached: 0, hand: 0 }
    }

    fn set(&mut self, page: PageId, at: At) {
        let before = std::mem::replace(&mut self.at[page as usize], at);
        self.cached = self.cached + usize::from(at == At::Both) - usize::from(before == At::Both);
    }

    fn release(&mut self, page: PageId) -> bool {
        let slot = self.slots.of(page);
        let gone = self.slots.release(page);
        if let (Some(slot), true) = (slot, gone) {
            self.backend.free(slot);
        }
        gone
    }

    /// Allocate a slot for the new content of `page` and free its old slot, whose content is stale.
    /// If the area is full, free the slot of a resident page; that page must then be written when
    /// it is evicted.
    fn slot_for(&mut self, page: PageId, out: &mut Transfers) -> Option<Slot> {
        if let Some(slot) = self.slots.of(page) {
            if B::REUSES_SLOTS && self.slots.owners(slot) == 1 {
                return Some(slot);
            }
            self.release(page);
        }
        self.slots.take(page).or_else(|| if self.make_room(out) { self.slots.take(page) } else { None })
    }

    fn make_room(&mut self, out: &mut Transfers) -> bool {
        for _ in 0..self.at.len() {
            if self.cached == 0 {
                return false;
            }
            let page = self.hand as PageId;
            self.hand = (self.hand + 1) % self.at.len();
            if self.at[page as usize] == At::Both {
                self.set(page, At::Memory);
                out.given_up.push(page);
                if self.release(page) {
                    return true;
                }
            }
        }
        false
    }

    fn load_window(&mut self, slot: Slot, out: &mut Transfers) {
        for (slot, neighbor) in self.slots.window(slot, self.backend.readahead()) {
            if self.at[neighbor as usize] == At::Swap && self.slots.of(neighbor) == Some(slot) {
                out.cpu(neighbor, Work::SwapIn);
                self.backend.load(neighbor, slot, true, out);
                out.ahead.push(neighbor);
            }
        }
        // Pages that were read ahead are both in memory and in swap.
        out.ahead.iter().for_each(|p| self.set(*p, At::Both));
    }
}

impl<B: Backend> Scheme for Area<B> {
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored {
        match (self.at[page as usize], self.slots.of(page)) {
            (At::Nowhere, _) if !dirty => return Stored::Dropped,
            (At::Both, Some(slot)) if !dirty => {
                self.set(page, At::Swap);
                self.backend.left_clean(page, slot, &self.slots, out);
                return Stored::Unchanged;
            }
            _ => {}
        }
        self.set(page, At::Memory);
        let Some(slot) = self.slot_for(page, out) else { return Stored::Full };
        if !self.backend.store(page, slot, &self.slots, out) {
            self.slots.release(page);
            return Stored::Full;
        }
        self.set(page, At::Swap);
        Stored::Written
    }

    fn fault(&mut self, page: PageId, op: Op, out: &mut Transfers) -> Served {
        let Some(slot) = self.slots.of(page) else {
            return Served::ZeroFilled;
        };
        out.cpu(page, Work::SwapIn);
        self.backend.load(page, slot, false, out);
        if self.backend.readahead() > 1 {
            self.load_window(slot, out);
        }
        // As `should_try_to_free_swap`: free the slot if a write will make it stale, or if the area
        // is too full for two copies.
        let kept = self.backend.keeps() && (B::REUSES_SLOTS || !op.is_write()) && !(self.limited && self.slots.crowded());
        if !kept {
            self.release(page);
        }
        self.set(page, if kept { At::Both } else { At::Memory });
        Served::Copied { kept }
    }

    fn discard(&mut self, page: PageId) {
        self.release(page);
        self.set(page, At::Nowhere);
    }

    fn share(&mut self, page: PageId, heir: PageId) {
        if self.slots.of(page).is_some() {
            self.slots.share(page, heir);
            self.set(heir, At::Swap);
        }
    }

    fn reserve_run(&mut self, first: PageId, count: u32) -> bool {
        self.slots.reserve_run(first, count)
    }

    fn is_run(&self, first: PageId, count: u32) -> bool {
        self.slots.is_run(first, count)
    }

    fn adopt(&mut self, page: PageId) -> bool {
        let Some(slot) = self.slots.take(page) else { return false };
        let room = self.backend.adopt(page, slot);
        if room {
            self.set(page, At::Swap);
        } else {
            self.slots.release(page);
        }
        room
    }

    fn tick(&mut self, now: Nanos, out: &mut Transfers) {
        self.backend.tick(now, &self.slots, out);
    }

    fn caches_files(&self) -> bool {
        self.backend.caches_files()
    }

    fn file_left(&mut self, page: PageId, out: &mut Transfers) {
        self.backend.file_left(page, &self.slots, out);
    }

    fn read_files(&mut self, window: &[PageId], out: &mut Transfers) {
        self.backend.read_files(window, out);
    }

    fn usage(&self) -> Usage {
        let mut usage = Usage { pages: self.slots.used(), metadata_bytes: self.slots.metadata_bytes(), ..Usage::default() };
        self.backend.usage(&mut usage);
        usage
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.backend.gauges()
    }

    fn check(&self) -> std::result::Result<(), String> {
        self.slots.check()?;
        self.backend.check(&self.slots)?;
        for (page, at) in self.at.iter().enumerate() {
            if self.slots.of(page as PageId).is_some() != matches!(at, At::Swap | At::Both) {
                return Err(format!("page {page} is {at:?}, its slot {:?}", self.slots.of(page as PageId)));
            }
        }
        let cached = self.at.iter().filter(|at| **at == At::Both).count();
        if cached != self.cached {
            return Err(format!("{cached} pages are in memory and in swap, {} counted", self.cached));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Plain;
    use crate::{Medium, Setup};

    #[test]
    fn a_broken_count_is_reported() {
        let mut area = Area::new(2, None, Plain::memory(Medium::Nvm, &Setup::new(2, 2)));
        area.swap_out(0, true, &mut Transfers::default());
        area.check().unwrap();
        assert!(area.gauges().is_empty());
        area.cached = 1;
        assert_eq!(area.check().unwrap_err(), "0 pages are in memory and in swap, 1 counted");
    }
}
