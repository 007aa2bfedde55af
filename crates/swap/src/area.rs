//! A swap area that copies whole pages: what `flash`, `sd-card`, `ramdisk` and `nvm-copy` share; they differ in the medium and
//! in the path to it.

use crate::registry::Setup;
use crate::{Medium, Scheme, Served, Slots, Step, Stored, Transfer, Transfers, Usage, Work};
use swaplab_policy::{Parameter, Params};
use swaplab_vocab::{BadInput, Memory, Op, PageId, Result, PAGE_SIZE};

/// The size of a swap area, which most schemes have.
pub const SIZE: Parameter = Parameter { name: "size", default: "unlimited", meaning: "size of the swap area, such as 128MiB" };
pub const READAHEAD: Parameter =
    Parameter { name: "readahead", default: "1", meaning: "pages a swap-in reads, 1 to 64, a power of two (kernel: 8; Android: 1)" };
pub const MERGE: Parameter =
    Parameter { name: "merge", default: "1", meaning: "adjacent pages written in one request at most (kernel: up to 32)" };

/// Pages that a size parameter gives; nothing is unlimited.
pub fn pages(owner: &str, name: &str, params: &Params) -> Result<Option<u64>> {
    let text = params.text(name);
    if text == "unlimited" {
        return Ok(None);
    }
    let pages = match Memory::parse(text).map_err(|e| e.within(owner))? {
        Memory::Bytes(bytes) => bytes / PAGE_SIZE,
        Memory::Pages(pages) => pages,
        Memory::Percent(_) => return Err(BadInput::new(owner, format!("{name}={text}"), "bytes or pages, such as 128MiB or 4096p")),
    };
    match pages {
        0 => Err(BadInput::new(owner, format!("{name}={text} is less than one page"), format!("at least {PAGE_SIZE} bytes"))),
        pages => Ok(Some(pages)),
    }
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

pub struct CopyingArea {
    slots: Slots,
    at: Vec<At>,
    limited: bool,
    medium: Medium,
    /// Through the block layer, or by loads and stores.
    block_layer: bool,
    readahead: u32,
    merge: u32,
    /// Slot and length of the write request that the next page may still join.
    run: (u32, u32),
    /// Pages at `Both`, and where the search for one of them stands.
    cached: usize,
    hand: usize,
}

impl CopyingArea {
    pub fn new(setup: &Setup, medium: Medium, size: Option<u64>) -> CopyingArea {
        CopyingArea {
            slots: Slots::new(setup.pages, size),
            at: vec![At::Nowhere; setup.pages],
            limited: size.is_some(),
            medium,
            block_layer: false,
            readahead: 1,
            merge: 1,
            run: (0, 0),
            cached: 0,
            hand: 0,
        }
    }

    /// Requests pass the block layer; adjacent ones are read ahead and merged as `params` say.
    pub fn behind_block_layer(mut self, owner: &str, params: &Params) -> Result<CopyingArea> {
        self.block_layer = true;
        self.readahead = params.integer(READAHEAD.name, 1, 64)? as u32;
        if !self.readahead.is_power_of_two() {
            return Err(BadInput::new(owner, format!("readahead={}", self.readahead), "a power of two from 1 to 64"));
        }
        self.merge = params.integer(MERGE.name, 1, 256)? as u32;
        Ok(self)
    }

    fn set(&mut self, page: PageId, at: At) {
        let before = std::mem::replace(&mut self.at[page as usize], at);
        self.cached = self.cached + usize::from(at == At::Both) - usize::from(before == At::Both);
    }

    fn write(&mut self, page: PageId, slot: u32, out: &mut Transfers) {
        let continues = self.run.1 > 0 && self.run.1 < self.merge && slot == self.run.0 + 1;
        self.run = (slot, if continues { self.run.1 + 1 } else { 1 });
        if !continues {
            out.cpu(page, if self.block_layer { Work::BlockRequest } else { Work::Copy });
        }
        let step = Step::Write { medium: self.medium, slot, bytes: PAGE_SIZE as u32, continues };
        out.steps.push(Transfer { page, step });
    }

    fn read(&mut self, page: PageId, slot: u32, out: &mut Transfers) {
        self.run.1 = 0;
        out.cpu(page, if self.block_layer { Work::BlockRequest } else { Work::Copy });
        out.read(page, self.medium, slot, PAGE_SIZE as u32);
        if self.readahead == 1 {
            return;
        }
        for (slot, neighbour) in self.slots.window(slot, self.readahead) {
            if self.at[neighbour as usize] == At::Swap && self.slots.of(neighbour) == Some(slot) {
                let step = Step::Read { medium: self.medium, slot, bytes: PAGE_SIZE as u32, continues: true };
                out.steps.push(Transfer { page: neighbour, step });
                out.ahead.push(neighbour);
            }
        }
        // Those pages are in memory and in swap now.
        out.ahead.iter().for_each(|p| self.set(*p, At::Both));
    }

    /// Full: a slot whose page is in memory can be given up; its page must be written when it leaves.
    fn make_room(&mut self) -> bool {
        for _ in 0..self.at.len() {
            if self.cached == 0 {
                return false;
            }
            let page = self.hand as PageId;
            self.hand = (self.hand + 1) % self.at.len();
            if self.at[page as usize] == At::Both {
                self.set(page, At::Memory);
                if self.slots.release(page) {
                    return true;
                }
            }
        }
        false
    }
}

impl Scheme for CopyingArea {
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored {
        let at = self.at[page as usize];
        match at {
            At::Nowhere if !dirty => return Stored::Dropped,
            At::Both if !dirty => {
                self.set(page, At::Swap);
                return Stored::Unchanged;
            }
            _ => {}
        }
        // The kernel gave the stale slot up at the write; until then it counts.
        self.slots.release(page);
        let slot = self.slots.take(page).or_else(|| if self.make_room() { self.slots.take(page) } else { None });
        match slot {
            Some(slot) => {
                self.set(page, At::Swap);
                self.write(page, slot, out);
                Stored::Written
            }
            None => {
                self.set(page, At::Memory);
                Stored::Full
            }
        }
    }

    fn fault(&mut self, page: PageId, op: Op, out: &mut Transfers) -> Served {
        let Some(slot) = self.slots.of(page) else {
            return Served::ZeroFilled;
        };
        self.read(page, slot, out);
        // `should_try_to_free_swap`: a write will make the slot stale; a crowded area can't afford two copies.
        let kept = !(op.is_write() || self.limited && self.slots.crowded());
        if !kept {
            self.slots.release(page);
        }
        self.set(page, if kept { At::Both } else { At::Memory });
        Served::Copied { kept }
    }

    fn discard(&mut self, page: PageId) {
        self.slots.release(page);
        self.set(page, At::Nowhere);
    }

    fn share(&mut self, page: PageId, heir: PageId) {
        if self.slots.of(page).is_some() {
            self.slots.share(page, heir);
            self.set(heir, At::Swap);
        }
    }

    fn adopt(&mut self, page: PageId) -> bool {
        let taken = self.slots.take(page).is_some();
        if taken {
            self.set(page, At::Swap);
        }
        taken
    }

    fn usage(&self) -> Usage {
        let bytes = self.slots.used() * PAGE_SIZE;
        let on = |medium: &[Medium]| if medium.contains(&self.medium) { bytes } else { 0 };
        Usage {
            pages: self.slots.used(),
            dram_bytes: on(&[Medium::Dram]),
            metadata_bytes: self.slots.metadata_bytes(),
            nvm_bytes: on(&[Medium::Nvm]),
            flash_bytes: on(&[Medium::Flash, Medium::SdCard]),
        }
    }

    fn check(&self) -> std::result::Result<(), String> {
        self.slots.check()?;
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
