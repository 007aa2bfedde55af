//! A swap area that copies pages: what every scheme but `none` and `nvm-direct` shares. Which slot holds what is decided here;
//! how a slot's content is kept is the [`Backend`]'s part.

use crate::{Scheme, Served, Slot, Slots, Stored, Transfers, Usage, Work};
use swaplab_vocab::{Kind, Nanos, Op, PageId, Parameter};

/// The size of a swap area.
pub const SIZE: Parameter = Parameter::new("size", Kind::Size, "unlimited", "size of the swap area, such as 128MiB");

/// How the content of a slot is kept. Slots come and go through [`store`](Backend::store) and [`free`](Backend::free).
pub trait Backend: Send {
    /// A page written to again goes to the slot that it has, whose content the backend then replaces.
    const REUSES_SLOTS: bool = false;

    /// The content of `page` leaves memory for `slot`. False: there is no room, and the slot holds nothing.
    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool;

    /// The content of `slot` comes back to memory; `along`: right after that of its neighbour, as readahead.
    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers);

    /// Whether a slot stays valid when its page has come back (the swap cache), until the page is written.
    fn keeps(&self) -> bool {
        true
    }

    /// Slots that one load reads, aligned.
    fn readahead(&self) -> u32 {
        1
    }

    /// A page whose content `slot` still holds leaves memory.
    fn left_clean(&mut self, _page: PageId, _slot: Slot, _slots: &Slots, _out: &mut Transfers) {}

    /// Content of `page` is in `slot` from before the run. False if there is no room.
    fn adopt(&mut self, page: PageId, slot: Slot) -> bool;

    fn free(&mut self, slot: Slot);

    fn tick(&mut self, _now: Nanos, _slots: &Slots, _out: &mut Transfers) {}

    /// Add what the content takes; pages and metadata of the slots are there already.
    fn usage(&self, usage: &mut Usage);

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String>;
}

/// What a page's content is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum At {
    /// Never written, or given up: zeros.
    Nowhere,
    /// In its slot and in no frame.
    Swap,
    /// In a frame, and in its slot as of when it was brought in.
    Both,
    /// In a frame alone.
    Memory,
}

pub struct Area<B> {
    slots: Slots,
    at: Vec<At>,
    limited: bool,
    backend: B,
    /// Pages at `Both`, and where the search for one of them stands.
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

    /// A slot for the new content of `page`. Its old one, if any, was stale since the write; when the area is full, the slot of a
    /// page that is in memory can be given up, and that page must be written when it leaves.
    fn slot_for(&mut self, page: PageId, out: &mut Transfers) -> Option<Slot> {
        if let Some(slot) = self.slots.of(page).filter(|s| B::REUSES_SLOTS && self.slots.owners(*s) == 1) {
            return Some(slot);
        }
        self.release(page);
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
        for (slot, neighbour) in self.slots.window(slot, self.backend.readahead()) {
            if self.at[neighbour as usize] == At::Swap && self.slots.of(neighbour) == Some(slot) {
                out.cpu(neighbour, Work::SwapIn);
                self.backend.load(neighbour, slot, true, out);
                out.ahead.push(neighbour);
            }
        }
        // Those pages are in memory and in swap now.
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
        // `should_try_to_free_swap`: a write will make the slot stale; a crowded area can't afford two copies.
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
