//! Backend with one uncompressed page per slot on a single medium. `flash`, `sd-card`, `ramdisk`
//! and `nvm-copy` differ in the medium and in the path to it. Also the parameters of every path
//! through the block layer: readahead, and merging of adjacent pages.

use crate::area::Backend;
use crate::{Medium, Setup, Slot, Slots, Step, Transfer, Transfers, Usage, Work};
use swaplab_vocab::{Kind, PageId, Parameter, Params, Result, PAGE_SIZE};

pub const READAHEAD: Parameter = Parameter::new(
    "readahead",
    Kind::Integer { low: 1, high: 64 },
    "1",
    "pages a swap-in reads, 1 to 64, a power of two (kernel: 8; Android: 1)",
);
pub const MERGE: Parameter =
    Parameter::new("merge", Kind::Integer { low: 1, high: 256 }, "1", "adjacent pages written in one request at most (kernel: up to 32)");

/// The parameter `readahead`: number of pages that one swap-in reads.
pub fn readahead_of(params: &Params) -> Result<u32> {
    let readahead = params.integer(READAHEAD.name) as u32;
    if !readahead.is_power_of_two() {
        return Err(params.bad(READAHEAD.name, "a power of two from 1 to 64"));
    }
    Ok(readahead)
}

/// Merges writes to a swap area: a page whose slot is adjacent to that of the previous page joins
/// the same request.
pub struct WriteRequests {
    /// Maximum number of pages in a request.
    limit: u32,
    /// The last slot of the open request, and its number of pages; 0 pages if no request is open,
    /// as after a read.
    last: Slot,
    pages: u32,
}

impl WriteRequests {
    /// Merge up to `limit` pages into a request.
    pub fn new(limit: u32) -> WriteRequests {
        WriteRequests { limit, last: 0, pages: 0 }
    }

    /// Merge up to as many pages as the parameter `merge` allows.
    pub fn of(params: &Params) -> WriteRequests {
        WriteRequests::new(params.integer(MERGE.name) as u32)
    }

    /// Write the content of `page` to `slot`. `path` is the processor work of a new request.
    pub fn write(&mut self, page: PageId, medium: Medium, slot: Slot, path: Work, out: &mut Transfers) {
        let continues = self.pages > 0 && self.pages < self.limit && slot == self.last + 1;
        (self.last, self.pages) = (slot, if continues { self.pages + 1 } else { 1 });
        if !continues {
            out.cpu(page, path);
        }
        out.steps.push(Transfer { page, step: Step::Write { medium, slot, bytes: PAGE_SIZE as u32, continues } });
    }

    /// End the open request: the next page begins a new one.
    pub fn close(&mut self) {
        self.pages = 0;
    }
}

pub struct Plain {
    medium: Medium,
    /// Processor work of an access: a copy, or a request through the block layer.
    path: Work,
    readahead: u32,
    /// Whether a slot stays valid after a swap-in.
    keeps: bool,
    requests: WriteRequests,
    used: u64,
}

impl Plain {
    /// A medium that is accessed by loads and stores.
    pub fn memory(medium: Medium, setup: &Setup) -> Plain {
        Plain { medium, path: Work::Copy, readahead: 1, keeps: !setup.bypasses_swap_cache, requests: WriteRequests::new(1), used: 0 }
    }

    /// A medium that is accessed through the block layer. `params` are those of readahead and
    /// merging.
    pub fn block_device(medium: Medium, params: &Params) -> Result<Plain> {
        let (readahead, requests) = (readahead_of(params)?, WriteRequests::of(params));
        Ok(Plain { medium, path: Work::BlockRequest, readahead, keeps: true, requests, used: 0 })
    }

    /// A RAM disk: a block device in memory, whose pages the kernel of `setup` may read without the
    /// swap cache and without readahead.
    pub fn ramdisk(setup: &Setup, params: &Params) -> Result<Plain> {
        let disk = Plain::block_device(Medium::Dram, params)?;
        Ok(if setup.bypasses_swap_cache { Plain { keeps: false, readahead: 1, ..disk } } else { disk })
    }
}

impl Backend for Plain {
    fn store(&mut self, page: PageId, slot: Slot, _: &Slots, out: &mut Transfers) -> bool {
        self.requests.write(page, self.medium, slot, self.path, out);
        self.used += 1;
        true
    }

    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers) {
        self.requests.close();
        if !along {
            out.cpu(page, self.path);
        }
        let step = Step::Read { medium: self.medium, slot, bytes: PAGE_SIZE as u32, continues: along };
        out.steps.push(Transfer { page, step });
    }

    fn readahead(&self) -> u32 {
        self.readahead
    }

    fn keeps(&self) -> bool {
        self.keeps
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemeSpec;

    fn continues(out: &Transfers) -> Vec<bool> {
        let of = |step: &Step| match *step {
            Step::Read { continues, .. } | Step::Write { continues, .. } => Some(continues),
            Step::Cpu(_) => None,
        };
        out.steps.iter().filter_map(|transfer| of(&transfer.step)).collect()
    }

    /// Up to two pages of adjacent slots share a request, which a read ends.
    #[test]
    fn writes_of_adjacent_slots_share_a_request() {
        let (mut requests, mut out) = (WriteRequests::new(2), Transfers::default());
        for slot in [4, 5, 6, 8, 9] {
            requests.write(0, Medium::Flash, slot, Work::BlockRequest, &mut out);
        }
        requests.close();
        requests.write(0, Medium::Flash, 10, Work::BlockRequest, &mut out);
        assert_eq!(continues(&out), [false, true, false, false, true, false]);
        // Four requests.
        assert_eq!(out.steps.len() - 6, 4);
    }

    #[test]
    fn a_page_that_is_read_along_takes_no_request_of_its_own() {
        let params = SchemeSpec::parse("flash").unwrap().params;
        let (mut flash, mut out) = (Plain::block_device(Medium::Flash, &params).unwrap(), Transfers::default());
        flash.load(0, 0, false, &mut out);
        assert_eq!(out.steps[0].step, Step::Cpu(Work::BlockRequest));
        flash.load(1, 1, true, &mut out);
        assert_eq!((continues(&out), out.steps.len()), (vec![false, true], 3));
    }
}
