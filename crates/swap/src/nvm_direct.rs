//! What: a swap area in byte-addressable NVM. A read fault maps the page in place; only a write
//! fault copies it back to DRAM.
//! Why: zero copies and no frame for pages that are only read after their swap-out (Direct Read).
//! Source: DR.Swap (Zhong et al. 2016), Section III; docs/papers/dr-swap.md has the state machine.
//! Deviations: content shared by several owners stays in NVM for the others when one of them
//! writes.
//! Weakness: all reads of a mapped page run at the speed of NVM; a page that is read and then
//! written faults twice.

use crate::area::SIZE;
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::{Medium, Scheme, Served, Slots, Stored, Transfers, Usage, Work};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result, World, PAGE_SIZE};

/// Cache lines of 64 bytes in a page of 4 KiB.
const PAGE_LINES: u64 = PAGE_SIZE / 64;

/// Every line once is the upper end for a page that is used once. DR.Swap's equations count none.
pub const LINES: Parameter = Parameter::new(
    "lines",
    Kind::Integer { low: 0, high: PAGE_LINES },
    "64",
    "cache lines of 64 bytes that a use of a mapped page reads from NVM in simulated worlds (a reference of a replay: one); 0: Direct Reads are free",
);

pub static ENTRY: Entry = Entry {
    key: "nvm-direct",
    what: "swap area in NVM on the memory bus, read faults map in place (Direct Read)",
    source: "DR.Swap, Section III-B",
    parameters: &[SIZE, LINES],
    info: Info {
        medium: Some(Medium::Nvm),
        areas: &[Reservation::new("size", Medium::Nvm)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: true,
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let slots = Slots::new(setup.pages, setup.pages_of(params, "size")?);
            Ok(Box::new(DirectRead { slots, at: vec![At::Nowhere; setup.pages], mapped: 0 }))
        },
    },
};

/// Where the content of a page is. It is never in both places: a page with its own frame has no
/// slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum At {
    /// Nowhere: the page was never written, or its content was discarded. It reads as zeros.
    Nowhere,
    /// In its slot, not mapped.
    Swap,
    /// In its slot, mapped read-only (the mark in its page-table entry is set).
    Mapped,
    /// In a frame.
    Memory,
}

struct DirectRead {
    slots: Slots,
    at: Vec<At>,
    /// Number of pages at `Mapped`.
    mapped: u64,
}

impl DirectRead {
    fn set(&mut self, page: PageId, at: At) {
        let before = std::mem::replace(&mut self.at[page as usize], at);
        self.mapped = self.mapped + u64::from(at == At::Mapped) - u64::from(before == At::Mapped);
    }
}

impl Scheme for DirectRead {
    fn swap_out(&mut self, page: PageId, dirty: bool, out: &mut Transfers) -> Stored {
        debug_assert!(self.slots.of(page).is_none(), "page {page} leaves a frame and has a slot");
        if self.at[page as usize] == At::Nowhere && !dirty {
            return Stored::Dropped;
        }
        match self.slots.take(page) {
            Some(slot) => {
                self.set(page, At::Swap);
                out.cpu(page, Work::Copy);
                out.write(page, Medium::Nvm, slot, PAGE_SIZE as u32);
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
        if op.is_write() {
            out.cpu(page, Work::SwapIn);
            out.cpu(page, Work::Copy);
            out.read(page, Medium::Nvm, slot, PAGE_SIZE as u32);
            self.slots.release(page);
            self.set(page, At::Memory);
            return Served::Copied { kept: false };
        }
        if self.at[page as usize] != At::Mapped {
            out.cpu(page, Work::Map);
            self.set(page, At::Mapped);
        }
        Served::MappedInPlace
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
        Usage {
            pages: self.slots.used(),
            metadata_bytes: self.slots.metadata_bytes(),
            nvm_bytes: self.slots.used() * PAGE_SIZE,
            ..Usage::default()
        }
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("mapped_pages", self.mapped as f64)]
    }

    fn check(&self) -> std::result::Result<(), String> {
        self.slots.check()?;
        for (page, at) in self.at.iter().enumerate() {
            if self.slots.of(page as PageId).is_some() != matches!(at, At::Swap | At::Mapped) {
                return Err(format!("page {page} is {at:?}, its slot {:?}", self.slots.of(page as PageId)));
            }
        }
        let mapped = self.at.iter().filter(|at| **at == At::Mapped).count() as u64;
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} counted", self.mapped));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SchemeSpec, Step};

    fn scheme(text: &str) -> Box<dyn Scheme> {
        SchemeSpec::parse(text).unwrap().build(&Setup::new(8, 8)).unwrap()
    }

    fn media(out: &mut Transfers) -> Vec<Step> {
        let steps = out.steps.iter().map(|t| t.step).filter(|s| !matches!(s, Step::Cpu(Work::Copy | Work::SwapIn))).collect();
        out.clear();
        steps
    }

    /// Figure 6 of the paper: a page is swapped out, read in place, then written.
    #[test]
    fn read_maps_write_copies_and_frees_the_slot() {
        let (mut s, mut out) = (scheme("nvm-direct"), Transfers::default());
        assert_eq!(s.swap_out(3, true, &mut out), Stored::Written);
        assert_eq!(media(&mut out), [Step::Write { medium: Medium::Nvm, slot: 0, bytes: 4096, continues: false }]);
        for _ in 0..2 {
            assert_eq!(s.fault(3, Op::Fetch, &mut out), Served::MappedInPlace);
        }
        assert_eq!(media(&mut out), [Step::Cpu(Work::Map)]);
        assert_eq!((s.usage().pages, s.gauges()[0].1), (1, 1.0));
        assert_eq!(s.fault(3, Op::Write, &mut out), Served::Copied { kept: false });
        assert_eq!(media(&mut out), [Step::Read { medium: Medium::Nvm, slot: 0, bytes: 4096, continues: false }]);
        assert_eq!((s.usage().pages, s.gauges()[0].1), (0, 0.0));
        // Its frame has the only copy, so it must be written again even if it is clean.
        assert_eq!(s.swap_out(3, false, &mut out), Stored::Written);
        s.check().unwrap();
    }

    #[test]
    fn full_nvm_takes_no_page_until_one_is_freed() {
        let (mut s, mut out) = (scheme("nvm-direct:size=2p"), Transfers::default());
        assert_eq!([0, 1, 2].map(|p| s.swap_out(p, true, &mut out)), [Stored::Written, Stored::Written, Stored::Full]);
        s.discard(0); // its owner was killed
        assert_eq!(s.swap_out(2, false, &mut out), Stored::Written);
        assert!(!s.adopt(5));
        s.check().unwrap();
    }

    #[test]
    fn owners_release_content_one_by_one() {
        let (mut s, mut out) = (scheme("nvm-direct"), Transfers::default());
        s.swap_out(0, true, &mut out);
        s.share(0, 1);
        assert_eq!(s.fault(1, Op::Read, &mut out), Served::MappedInPlace);
        assert_eq!(s.fault(0, Op::Write, &mut out), Served::Copied { kept: false });
        assert_eq!((s.fault(1, Op::Read, &mut out), s.usage().pages), (Served::MappedInPlace, 1));
        s.discard(1);
        assert_eq!((s.fault(1, Op::Read, &mut out), s.usage().pages), (Served::ZeroFilled, 0));
        s.check().unwrap();
    }
}
