//! What: a small NVM cache in front of flash, for the swap area and, on the phone, for pages of
//! files. Victims of DRAM enter it if the admission condition allows; otherwise a page of swap goes
//! to flash, and a file page, which is clean, is dropped.
//! Why: a few percent of the swapped data cause most of the swap traffic, so a small NVM suffices
//! for them.
//! Source: Kim and Bahn (2019), Section III: filled by evictions from DRAM, admission at the second
//! eviction, LRU or LFU.
//! Deviations: clean victims may enter like dirty ones (the paper says "evicted", not "written").
//! Every page in the NVM has a reserved slot on flash. The cache is below the swap cache and the
//! page cache, so readahead and merged requests are those of flash. In worlds other than the phone
//! no file pages pass, and the cache holds pages of swap alone.
//! Weakness: a page in the NVM also takes a slot on flash; the first eviction always goes to flash.

use crate::admission::AdmissionSpec;
use crate::area::{Area, Backend, SIZE};
use crate::cache::{Cache, MissOutcome};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::{readahead_of, WriteRequests, MERGE, READAHEAD};
use crate::{Medium, Scheme, Slot, Slots, Step, Transfer, Transfers, Usage, Work};
use swaplab_policy::PolicySpec;
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result, World, PAGE_SIZE};

const NVM: Parameter = Parameter::new("nvm", Kind::Size, "64MiB", "size of the NVM");
const REPLACEMENT: Parameter = Parameter::new("replacement", Kind::Text, "lru", "lru, lfu or any other online policy");
const ADMISSION: Parameter = Parameter::new("admission", Kind::Text, "second-touch", "always, second-touch, compressible or write-heavy");

const FILES: Parameter = Parameter::new("files", Kind::Switch, "on", "whether the NVM holds pages of files too, on the simulated phone");

pub static ENTRY: Entry = Entry {
    key: "nvm-cache",
    what: "NVM cache with admission control before a swap area on flash",
    source: "Kim & Bahn, Section III",
    parameters: &[SIZE, NVM, REPLACEMENT, ADMISSION, FILES, READAHEAD, MERGE],
    info: Info {
        medium: Some(Medium::Nvm),
        areas: &[Reservation::new("size", Medium::Flash), Reservation::new("nvm", Medium::Nvm)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Memory, World::Kernel],
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let size = setup.pages_of(params, "size")?;
            let slots = Slots::count(setup.pages, size);
            // Contents are numbered by their slots; pages of files come after them.
            let files = setup.files && params.switch(FILES.name);
            let contents = slots + if files { setup.pages } else { 0 };
            let capacity = setup.pages_of(params, NVM.name)?.unwrap_or(u64::MAX);
            let replacement = PolicySpec::parse(params.text(REPLACEMENT.name))?;
            let admission = AdmissionSpec::parse(params.text(ADMISSION.name))?;
            let cache = Cache::new(contents, capacity, &replacement, &admission, setup.content.clone())?;
            let backend = NvmCache {
                cache,
                files: files.then_some(slots as Slot),
                place: vec![NONE; contents],
                free: Vec::new(),
                places: 0,
                on_flash: vec![false; slots],
                flash_pages: 0,
                readahead: readahead_of(params)?,
                evicted: WriteRequests::of(params),
                rejected: WriteRequests::of(params),
            };
            Ok(Box::new(Area::new(setup.pages, size, backend)))
        },
    },
};

const NONE: Slot = Slot::MAX;

/// The backend. Content is identified by its slot of the swap area, and that of a file page by the
/// number of slots plus its page.
struct NvmCache {
    cache: Cache,
    /// The number of slots, if the cache holds pages of files.
    files: Option<Slot>,
    /// By content: the NVM page with its content. `free` lists unused NVM pages, and `places` is
    /// the number of NVM pages used so far.
    place: Vec<Slot>,
    free: Vec<Slot>,
    places: Slot,
    /// By slot: whether flash has its current content.
    on_flash: Vec<bool>,
    flash_pages: u64,
    readahead: u32,
    /// Write requests of pages evicted from the NVM, and of pages that the NVM rejects. They are
    /// separate streams, so that only adjacent pages of the same stream are merged.
    evicted: WriteRequests,
    rejected: WriteRequests,
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
    fn offer(&mut self, page: PageId, slot: Slot, op: Op, slots: &Slots, out: &mut Transfers) -> bool {
        let MissOutcome::Entered { victim } = self.cache.offer(slot, op, op.is_write()) else { return false };
        // A dirty victim is a page of swap, because file pages enter clean.
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
    /// The admission history and the NVM identify a page by its slot, so a page must keep its slot
    /// from one eviction to the next.
    const REUSES_SLOTS: bool = true;

    fn store(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) -> bool {
        self.set_flash(slot, false);
        if self.cache.holds(slot) {
            self.cache.hit(slot, Op::Write);
            self.write_nvm(page, slot, out);
        } else if !self.offer(page, slot, Op::Write, slots, out) {
            self.set_flash(slot, true);
            self.rejected.write(page, Medium::Flash, slot, Work::BlockRequest, out);
        }
        true
    }

    fn left_clean(&mut self, page: PageId, slot: Slot, slots: &Slots, out: &mut Transfers) {
        if !self.cache.holds(slot) {
            self.offer(page, slot, Op::Read, slots, out);
        }
    }

    fn load(&mut self, page: PageId, slot: Slot, along: bool, out: &mut Transfers) {
        if self.cache.holds(slot) {
            self.cache.hit(slot, Op::Read);
            out.cpu(page, Work::Copy);
            out.read(page, Medium::Nvm, self.place[slot as usize], PAGE_SIZE as u32);
        } else {
            self.cache.note_miss(slot);
            self.evicted.close();
            self.rejected.close();
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

    fn caches_files(&self) -> bool {
        self.files.is_some()
    }

    fn file_left(&mut self, page: PageId, slots: &Slots, out: &mut Transfers) {
        let Some(of_swap) = self.files else { return };
        let content = of_swap + page;
        if !self.cache.holds(content) {
            self.offer(page, content, Op::Read, slots, out);
        }
    }

    fn read_files(&mut self, window: &[PageId], out: &mut Transfers) {
        let Some(of_swap) = self.files else { return };
        let mut last_read = None;
        for page in window.iter().copied() {
            let content = of_swap + page;
            if self.cache.holds(content) {
                self.cache.hit(content, Op::Read);
                out.cpu(page, Work::Copy);
                out.read(page, Medium::Nvm, self.place[content as usize], PAGE_SIZE as u32);
                continue;
            }
            self.cache.note_miss(content);
            let continues = last_read.is_some_and(|last| page == last + 1);
            if !continues {
                out.cpu(page, Work::BlockRequest);
            }
            let step = Step::Read { medium: Medium::Flash, slot: page, bytes: PAGE_SIZE as u32, continues };
            out.steps.push(Transfer { page, step });
            last_read = Some(page);
        }
        if last_read.is_some() {
            self.evicted.close();
            self.rejected.close();
        }
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
        let mut gauges = vec![("nvm_pages", self.cache.used() as f64)];
        if let Some(of_swap) = self.files {
            let file_pages = self.place[of_swap as usize..].iter().filter(|place| **place != NONE).count();
            gauges.push(("nvm_file_pages", file_pages as f64));
        }
        gauges
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
        for content in self.files.map_or(self.place.len(), |of_swap| of_swap as usize)..self.place.len() {
            let (held, place) = (self.cache.holds(content as PageId), self.place[content]);
            if held != (place != NONE) || held && self.cache.is_dirty(content as PageId) {
                return Err(format!("content {content} of a file: in the NVM {held}, its place {place}"));
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

    /// Pages 0 to 3 leave memory in this order. With `second-touch` the NVM rejects all of them:
    /// one request. With `always` each enters the single page of NVM and evicts the previous page
    /// to flash: one request too, as their slots are adjacent.
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

    /// One page of NVM, with `always`. Pages 4 to 7 belong to a file. Page 5 leaves memory and
    /// enters the NVM. A window of four is then a request for page 4, a copy of page 5, and a
    /// request for pages 6 and 7. Page 0, of swap, replaces page 5, which is clean and dropped.
    /// Page 6 replaces page 0, which is dirty and written to flash.
    #[test]
    fn pages_of_files_and_of_swap_share_the_nvm() {
        let spec = SchemeSpec::parse("nvm-cache:nvm=1p,size=4p,admission=always").unwrap();
        let (mut scheme, mut out) = (spec.build(&Setup { files: true, ..Setup::new(8, 8) }).unwrap(), Transfers::default());
        assert!(scheme.caches_files());
        scheme.file_left(5, &mut out);
        assert_eq!((joins(&out).len(), media(&out)), (0, vec![(5, Medium::Nvm)]));
        out.clear();
        scheme.read_files(&[4, 5, 6, 7], &mut out);
        assert_eq!(joins(&out), [false, false, true]);
        assert_eq!(media(&out), [(4, Medium::Flash), (5, Medium::Nvm), (6, Medium::Flash), (7, Medium::Flash)]);
        out.clear();
        scheme.swap_out(0, true, &mut out);
        assert_eq!(media(&out), [(0, Medium::Nvm)]);
        out.clear();
        scheme.file_left(6, &mut out);
        assert_eq!(media(&out), [(0, Medium::Nvm), (0, Medium::Flash), (6, Medium::Nvm)]);
        assert_eq!(scheme.gauges(), [("nvm_pages", 1.0), ("nvm_file_pages", 1.0)]);
        scheme.check().unwrap();
        // In other worlds, or with `files=off`, no file page enters.
        for (text, files) in [("nvm-cache:nvm=1p,size=4p", false), ("nvm-cache:nvm=1p,size=4p,files=off", true)] {
            let spec = SchemeSpec::parse(text).unwrap();
            assert!(!spec.build(&Setup { files, ..Setup::new(8, 8) }).unwrap().caches_files());
        }
    }

    /// The transfers by page and medium.
    fn media(out: &Transfers) -> Vec<(u32, Medium)> {
        let medium = |step| match step {
            Step::Read { medium, .. } | Step::Write { medium, .. } => Some(medium),
            Step::Cpu(_) => None,
        };
        out.steps.iter().filter_map(|transfer| Some((transfer.page, medium(transfer.step)?))).collect()
    }

    /// A single write is too few for NVM. 4 bytes for the slot of each of 8 pages, 8 for each taken
    /// slot, and 1 for the writes to each of 16 + 512 slots.
    #[test]
    fn what_does_not_enter_nvm_is_on_flash() {
        let (mut cache, mut out) =
            (SchemeSpec::parse("nvm-cache:nvm=4p,admission=write-heavy").unwrap().build(&Setup::new(8, 8)).unwrap(), Transfers::default());
        (0..2).for_each(|page| assert_eq!(cache.swap_out(page, true, &mut out), crate::Stored::Written));
        let usage = cache.usage();
        assert_eq!((usage.nvm_bytes, usage.flash_bytes, usage.metadata_bytes), (0, 2 * 4096, 8 * 4 + 2 * 8 + 528));
    }
}
