//! Slots that are places on one medium, a page each: `flash`, `sd-card`, `ramdisk` and `nvm-copy` differ in the medium and in the
//! path to it.

use crate::area::Backend;
use crate::{Medium, Slot, Slots, Step, Transfer, Transfers, Usage, Work};
use swaplab_vocab::{Kind, PageId, Parameter, Params, Result, PAGE_SIZE};

pub const READAHEAD: Parameter = Parameter::new(
    "readahead",
    Kind::Integer { low: 1, high: 64 },
    "1",
    "pages a swap-in reads, 1 to 64, a power of two (kernel: 8; Android: 1)",
);
pub const MERGE: Parameter =
    Parameter::new("merge", Kind::Integer { low: 1, high: 256 }, "1", "adjacent pages written in one request at most (kernel: up to 32)");

pub struct Plain {
    medium: Medium,
    /// Work of one access: a copy, or a request through the block layer.
    path: Work,
    readahead: u32,
    merge: u32,
    /// Slot and length of the write request that the next page may still join.
    run: (Slot, u32),
    used: u64,
}

impl Plain {
    /// Reached by loads and stores.
    pub fn memory(medium: Medium) -> Plain {
        Plain { medium, path: Work::Copy, readahead: 1, merge: 1, run: (0, 0), used: 0 }
    }

    /// Reached through the block layer; `params` say how adjacent requests are read ahead and merged.
    pub fn block_device(medium: Medium, params: &Params) -> Result<Plain> {
        let readahead = params.integer(READAHEAD.name) as u32;
        if !readahead.is_power_of_two() {
            return Err(params.bad(READAHEAD.name, "a power of two from 1 to 64"));
        }
        let merge = params.integer(MERGE.name) as u32;
        Ok(Plain { medium, path: Work::BlockRequest, readahead, merge, run: (0, 0), used: 0 })
    }
}

impl Backend for Plain {
    fn store(&mut self, page: PageId, slot: Slot, _: &Slots, out: &mut Transfers) -> bool {
        let continues = self.run.1 > 0 && self.run.1 < self.merge && slot == self.run.0 + 1;
        self.run = (slot, if continues { self.run.1 + 1 } else { 1 });
        if !continues {
            out.cpu(page, self.path);
        }
        let step = Step::Write { medium: self.medium, slot, bytes: PAGE_SIZE as u32, continues };
        out.steps.push(Transfer { page, step });
        self.used += 1;
        true
    }

    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers) {
        self.run.1 = 0;
        if !along {
            out.cpu(page, self.path);
        }
        let step = Step::Read { medium: self.medium, slot, bytes: PAGE_SIZE as u32, continues: along };
        out.steps.push(Transfer { page, step });
    }

    fn readahead(&self) -> u32 {
        self.readahead
    }

    fn adopt(&mut self, _: PageId, _: Slot) -> bool {
        self.used += 1;
        true
    }

    fn free(&mut self, _: Slot) {
        self.used -= 1;
    }

    fn usage(&self, usage: &mut Usage) {
        let bytes = self.used * PAGE_SIZE;
        match self.medium {
            Medium::Dram | Medium::Pool => usage.dram_bytes += bytes,
            Medium::Nvm => usage.nvm_bytes += bytes,
            Medium::Flash | Medium::SdCard => usage.flash_bytes += bytes,
        }
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        if self.used != slots.used() {
            return Err(format!("{} slots are taken, {} hold content", slots.used(), self.used));
        }
        Ok(())
    }
}
