//! What: a small NVM cache in front of a swap area on flash. Victims enter it if the admission condition allows, otherwise flash.
//! Why: a few percent of the swapped data cause most of the swap traffic, so a small NVM suffices for them.
//! Source: Kim and Bahn (2019), Section III: filled by evictions from DRAM, admission at the second eviction, LRU or LFU.
//! Deviations: clean victims may enter like dirty ones (the paper says "evicted", not "written"). Every page in the NVM has a
//! reserved slot on flash. The cache is below the swap cache, so readahead and merged requests are those of a swap area.
//! Weakness: a page in the NVM also takes a slot on flash; the first eviction always goes to flash.

use crate::admission::AdmissionSpec;
use crate::area::{Area, Backend, SIZE};
use crate::cache::{Asked, Cache};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::{readahead_of, WriteRequests, MERGE, READAHEAD};
use crate::{Medium, Scheme, Slot, Slots, Step, Transfer, Transfers, Usage, Work};
use swaplab_policy::PolicySpec;
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result, World, PAGE_SIZE};

const NVM: Parameter = Parameter::new("nvm", Kind::Size, "64MiB", "size of the NVM");
const REPLACEMENT: Parameter = Parameter::new("replacement", Kind::Text, "lru", "lru, lfu or any other online policy");
const ADMISSION: Parameter = Parameter::new("admission", Kind::Text, "second-touch", "always, second-touch, compressible or write-heavy");

pub static ENTRY: Entry = Entry {
    key: "nvm-cache",
    what: "NVM cache with admission control before a swap area on flash",
    source: "Kim & Bahn, Section III",
    parameters: &[SIZE, NVM, REPLACEMENT, ADMISSION, READAHEAD, MERGE],
    info: Info {
        medium: Some(Medium::Nvm),
        areas: &[Reservation::new("size", Medium::Flash), Reservation::new("nvm", Medium::Nvm)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Memory, World::Kernel],
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let size = setup.pages_of(params, "size")?;
            let contents = Slots::count(setup.pages, size);
            let capacity = setup.pages_of(params, NVM.name)?.unwrap_or(u64::MAX);
            let replacement = PolicySpec::parse(params.text(REPLACEMENT.name))?;
            let admission = AdmissionSpec::parse(params.text(ADMISSION.name))?;
            let cache = Cache::new(contents, capacity, &replacement, &admission, setup.content.clone())?;
            let backend = NvmCache {
                cache,
                place: vec![NONE; contents],
                free: Vec::new(),
                places: 0,
                on_flash: vec![false; contents],
                flash_pages: 0,
                readahead: readahead_of(params)?,
                evicted: WriteRequests::of(params),
                turned_away: WriteRequests::of(params),
            };
            Ok(Box::new(Area::new(setup.pages, size, backend)))
        },
    },
};

const NONE: Slot = Slot::MAX;

/// The backend. Content is identified by its slot of the swap area.
struct NvmCache {
    cache: Cache,
    /// By slot: the NVM page with its content. `free` lists unused NVM pages, and `places` is the number of NVM pages used so far.
    place: Vec<Slot>,
    free: Vec<Slot>,
    places: Slot,
    /// By slot: whether flash has its current content.
    on_flash: Vec<bool>,
    flash_pages: u64,
    readahead: u32,
    /// Write requests of pages evicted from the NVM, and of pages that the NVM rejects. They are separate streams, so that only adjacent
    /// pages of the same stream are merged.
    evicted: WriteRequests,
    turned_away: WriteRequests,
}

impl NvmCache {
    fn set_flash(&mut self, slot: Slot, valid: bool) {
        let before = std::mem::replace(&mut self.on_flash[slot as usize], valid);
        self.flash_pages = self.flash_pages + u64::from(valid) - u64::from(before);
    }

    fn write_nvm(&mut self, page: PageId, slot: Slot, out: &mut Transfers) {
        out.cpu(page, Work::Copy);
        out.write(page, Medium::Nvm, self.place[slot as usize], PAGE_SIZE as u32);
    }

    /// Offer the content of `page` to the NVM. Returns whether it was admitted.
    fn ask(&mut self, page: PageId, slot: Slot, op: Op, slots: &Slots, out: &mut Transfers) -> bool {
        let Asked::Entered { victim } = self.cache.ask(slot, op, op.is_write()) else { return false };
        if let Some((victim, dirty)) = victim {
            let place = std::mem::replace(&mut self.place[victim as usize], NONE);
            if dirty {
                let owner = slots.page_at(victim);
                out.read(owner, Medium::Nvm, place, PAGE_SIZE as u32);
                self.set_flash(victim, true);
                self.evicted.write(owner, Medium::Flash, victim, Work::BlockRequest, out);
            }
            self.free.push(place);
        }
        self.place[slot as usize] = self.free.pop().unwrap_or_else(|| {
            self.places += 1;
            self.places - 1
        });
        self.write_nvm(page, slot, out);
        true
    }
}

impl Backend for NvmCache {
    /// The admission history and the NVM identify a page by its slot, so a page must keep its slot from one eviction to the next.
    const REUSES_SLOTS: bool = true;

    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        self.set_flash(slot, false);
        if self.cache.holds(slot) {
            self.cache.hit(slot, Op::Write);
            self.write_nvm(page, slot, out);
        } else if !self.ask(page, slot, Op::Write, slots, out) {
            self.set_flash(slot, true);
            self.turned_away.write(page, Medium::Flash, slot, Work::BlockRequest, out);
        }
        true
    }

    fn left_clean(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) {
        if !self.cache.holds(slot) {
            self.ask(page, slot, Op::Read, slots, out);
        }
    }

    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers) {
        if self.cache.holds(slot) {
            self.cache.hit(slot, Op::Read);
            out.cpu(page, Work::Copy);
            out.read(page, Medium::Nvm, self.place[slot as usize], PAGE_SIZE as u32);
        } else {
            self.cache.look(slot);
            self.evicted.close();
            self.turned_away.close();
            let continues = along && out.steps.iter().any(|done| matches!(done.step, Step::Read { medium: Medium::Flash, .. }));
            if !continues {
                out.cpu(page, Work::BlockRequest);
            }
            let step = Step::Read { medium: Medium::Flash, slot, bytes: PAGE_SIZE as u32, continues };
            out.steps.push(Transfer { page, step });
        }
    }

    fn readahead(&self) -> u32 {
        self.readahead
    }

    fn adopt(&mut self, _: PageId, slot: Slot) -> bool {
        self.set_flash(slot, true);
        true
    }

    fn free(&mut self, slot: Slot) {
        self.cache.forget(slot);
        self.set_flash(slot, false);
        let place = std::mem::replace(&mut self.place[slot as usize], NONE);
        if place != NONE {
            self.free.push(place);
        }
    }

    fn usage(&self, usage: &mut Usage) {
        usage.nvm_bytes += self.cache.used() * PAGE_SIZE;
        usage.flash_bytes += self.flash_pages * PAGE_SIZE;
        usage.metadata_bytes += self.cache.metadata_bytes();
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("nvm_pages", self.cache.used() as f64)]
    }

    fn check(&self, slots: &Slots) -> std::result::Result<(), String> {
        self.cache.check()?;
        for slot in 0..slots.capacity() as Slot {
            let (nvm, flash) = (self.cache.holds(slot), self.on_flash[slot as usize]);
            if nvm != (self.place[slot as usize] != NONE) || (nvm || flash) != (slots.owners(slot) > 0) {
                return Err(format!("slot {slot}: {} owners, in the NVM {nvm}, on flash {flash}", slots.owners(slot)));
            }
            if nvm && !flash && !self.cache.is_dirty(slot) {
                return Err(format!("slot {slot} is clean in the NVM and not on flash"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Medium, SchemeSpec, Setup, Step, Transfers};
    use swaplab_vocab::Op;

    /// For each step on flash, whether it continues the previous request.
    fn joins(out: &Transfers) -> Vec<bool> {
        let of_flash = |step| match step {
            Step::Read { medium: Medium::Flash, continues, .. } | Step::Write { medium: Medium::Flash, continues, .. } => Some(continues),
            _ => None,
        };
        out.steps.iter().filter_map(|transfer| of_flash(transfer.step)).collect()
    }

    /// Pages 0 to 3 leave memory in this order. With `second-touch` the NVM rejects all of them: one request. With `always` each enters
    /// the single page of NVM and evicts the previous page to flash: one request too, as their slots are adjacent.
    #[test]
    fn adjacent_pages_are_one_request() {
        for (admission, written, read) in [
            ("second-touch", vec![false, true, true, true], vec![false, true, true, true]),
            // Page 3 is in the NVM, so flash reads only the others.
            ("always", vec![false, true, true], vec![false, true, true]),
        ] {
            let spec = SchemeSpec::parse(&format!("nvm-cache:nvm=1p,merge=8,readahead=4,admission={admission}")).unwrap();
            let (mut scheme, mut out) = (spec.build(&Setup::new(4, 4)).unwrap(), Transfers::default());
            for page in 0..4 {
                scheme.swap_out(page, true, &mut out);
            }
            assert_eq!(joins(&out), written, "{admission}");
            out.clear();
            scheme.fault(3, Op::Read, &mut out);
            assert_eq!((joins(&out), out.ahead.as_slice()), (read, [0, 1, 2].as_slice()), "{admission}");
            scheme.check().unwrap();
        }
    }
}
