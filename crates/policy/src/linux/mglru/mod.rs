//! What: Linux's multi-generational LRU. Each kind of page (anonymous, file) has up to four
//! generations. A page enters the youngest one. Passes of rising urgency isolate pages of the
//! oldest generation, of the kind that refaults less; used pages among them go to the youngest
//! generation, and the others are evicted. When the oldest generations are used up, a new one is
//! opened (aging).
//! Why: the reclaim of phones since Android 14: less scanning than two lists, and a finer order
//! than active and inactive.
//! Source: Linux 6.12, mm/vmscan.c (lru_gen_*, evict_folios, scan_folios, get_nr_to_scan,
//! inc_max_seq), mm/workingset.c (lru_gen_eviction, lru_gen_refault), include/linux/mm_inline.h
//! (lru_gen_add_folio), Documentation/mm/multigen_lru.rst; we read the behavior there, the code is
//! our own.
//! Two ways to find used pages: with `walks=on`, on processors that set accessed bits themselves
//! (`arch_has_hw_pte_young`), aging walks the page tables and moves used pages to the youngest
//! generation. With `walks=off` aging moves nothing, and reclaim that finds a used page also clears
//! the accessed bits of its neighbours, up to 64 pages, and moves those to the youngest generation
//! (`lru_gen_look_around`).
//! Deviations: a batch pauses at each evicted page; walks have no Bloom filter, and with them
//! reclaim does not look around; the neighbours of a page are those with adjacent numbers; no
//! control groups; no tiers, because only reads through file descriptors raise a page's tier and a
//! trace of accesses lacks those. `min_ttl` is in references; where the kernel would kill a
//! process, the policy evicts and counts that (`min_ttl_broken`).
//! Weakness: a walk reads all page tables; a page used just after its generation opened looks as
//! old as the oldest page there.

mod generations;
mod pass;
mod refaults;
mod scan;
#[cfg(test)]
mod tests;

use super::scan_pass::{Reclaimer, BATCH, MAX_RECLAIM_RETRIES};
use super::suspended::{Pass as _, Suspended};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use generations::{Generations, MOST};
use pass::Pass;
use refaults::{Refaults, ANON, FILE};
use std::ops::Range;
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

/// The accessed bit of the page-table entry.
const ACCESSED: u8 = 1;
/// The page is evicted and has a shadow entry with its generation.
const SHADOW: u8 = 2;
/// The page is being written to swap, or has been written. It is in a list, but not resident.
const WRITING: u8 = 4;
const WRITTEN: u8 = 8;

/// Counts that the result shows. No decision depends on them, except that background reclaim waits
/// for the end of a pass.
#[derive(Default)]
struct Counts {
    /// Completed passes of background reclaim.
    passes: u64,
    scanned: u64,
    refilled: u64,
    agings: u64,
    min_ttl_broken: u64,
}

impl Counts {
    fn examined(&mut self, pages: usize, refilled: usize) {
        self.scanned += pages as u64;
        self.refilled += refilled as u64;
    }
}

pub struct MglruPolicy {
    generations: Generations,
    flags: Vec<u8>,
    /// By page: the oldest generation of its kind when it was evicted.
    evicted_in: Vec<u32>,
    /// The index of the reference at which each generation was opened.
    born: [u64; MOST as usize],
    now: u64,
    refaults: Refaults,
    swappiness: u64,
    min_ttl: u64,
    walks: bool,
    swappable: bool,
    pass: Pass,
    suspended: Suspended<Pass>,
    /// Whether the last call of `reclaim` returned because it had scanned a batch in vain.
    goes_on: bool,
    counts: Counts,
}

impl Describe for MglruPolicy {
    const ENTRY: Entry = Entry {
        key: "mglru",
        what: "Linux's multi-generational LRU",
        source: "Linux 6.12, mm/vmscan.c and Documentation/mm/multigen_lru.rst",
        parameters: &[
            Parameter::new(
                "swappiness",
                Kind::Integer { low: 0, high: 200 },
                "60",
                "willingness to swap, 0 to 200; 100 weighs anonymous and file alike",
            )
            .sets(Place::Sysctl, "vm.swappiness"),
            Parameter::new("walks", Kind::Switch, "on", "on or off: aging walks page tables, as where the processor sets accessed bits"),
            Parameter::new(
                "min_ttl",
                Kind::Integer { low: 0, high: u64::MAX },
                "0",
                "references for which a generation should stay in memory",
            ),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<MglruPolicy> {
        Ok(MglruPolicy {
            generations: Generations::new(setup.pages),
            flags: vec![0; setup.pages],
            evicted_in: vec![0; setup.pages],
            born: [0; MOST as usize],
            now: 0,
            refaults: Refaults::default(),
            swappiness: params.integer("swappiness"),
            min_ttl: params.integer("min_ttl"),
            walks: params.switch("walks"),
            swappable: true,
            pass: Pass::of(Reclaimer::Group),
            suspended: Suspended::new(),
            goes_on: false,
            counts: Counts::default(),
        })
    }
}

impl MglruPolicy {
    /// Whether an evicted page of this kind was evicted from the generation that is the oldest now.
    fn is_recent(&self, page: PageId, kind: usize) -> bool {
        self.flags[page as usize] & SHADOW != 0 && self.evicted_in[page as usize] == self.generations.oldest[kind] as u32
    }

    /// Whether anonymous pages are evicted (`get_swappiness`): they are not if swap is full or
    /// swappiness is 0, unless there are no file pages.
    fn can_swap(&self) -> bool {
        self.swappable && self.swappiness > 0 || self.generations.pages_of(FILE) == 0
    }

    /// Note that a page whose eviction was counted is not evicted.
    fn take_back(&mut self, page: PageId, pages: &PageView) {
        if self.flags[page as usize] & SHADOW != 0 {
            self.refaults.kept(pages.backing(page) as usize);
            self.pass.note_kept();
        }
    }
}

impl Policy for MglruPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        self.now += 1;
        self.flags[page as usize] |= ACCESSED;
    }

    fn touch_run(&mut self, first: PageId, ops: &[Op], _: &PageView) {
        self.now += ops.len() as u64;
        self.flags[first as usize..][..ops.len()].iter_mut().for_each(|flags| *flags |= ACCESSED);
    }

    fn unaccessed(&self, pages: Range<PageId>) -> usize {
        self.flags[pages.start as usize..pages.end as usize].iter().filter(|flags| **flags & ACCESSED == 0).count()
    }

    fn miss(&mut self, page: PageId, _: Op, pages: &PageView) {
        if self.flags[page as usize] & (WRITING | WRITTEN) != 0 {
            return;
        }
        let kind = pages.backing(page) as usize;
        if self.is_recent(page, kind) {
            self.refaults.refaulted(kind);
        }
        self.flags[page as usize] = 0;
    }

    fn is_of_working_set(&self, page: PageId, pages: &PageView) -> bool {
        self.is_recent(page, pages.backing(page) as usize)
    }

    fn begin_reclaim(&mut self, by: Reclaimer) {
        match by {
            Reclaimer::KswapdAgain(pages) => {
                self.suspended.resume_kswapd(&mut self.pass, self.goes_on);
                self.pass.resume(pages);
            }
            Reclaimer::DirectAgain => self.suspended.resume_direct(&mut self.pass),
            Reclaimer::Kswapd(_) | Reclaimer::Direct(_) | Reclaimer::Group => {
                self.suspended.begin(&self.pass);
                self.pass = Pass::of(by);
            }
        }
    }

    fn passes(&self) -> Option<u64> {
        Some(self.counts.passes)
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        self.goes_on = false;
        let mut in_vain = 0;
        while !self.generations.is_empty() && self.pass.idle_rounds < MAX_RECLAIM_RETRIES {
            if let Some(page) = self.generations.first_isolated() {
                if self.shrink(page, pages) {
                    return;
                }
                in_vain += 1;
                continue;
            }
            if in_vain >= BATCH {
                self.goes_on = true;
                return;
            }
            if !self.pass.runs {
                let anonymous = if self.swappable { self.generations.inactive(ANON) } else { 0 };
                self.pass.start(self.generations.inactive(FILE) + anonymous);
            }
            let (continues, walked) = self.next_batch(pages);
            in_vain += walked;
            if !continues {
                self.counts.passes += u64::from(self.pass.is_background());
                let ends = self.pass.ends_direct();
                self.pass.next();
                if ends {
                    return;
                }
            }
        }
        self.pass.idle_rounds = 0;
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.now += 1;
        let found = self.flags[page as usize] & (WRITING | WRITTEN) != 0;
        self.flags[page as usize] = ACCESSED; // by the fault
        if !found {
            self.generations.put_front(page, pages.backing(page) as usize, self.generations.youngest);
        } // else it was found in the swap cache (`do_swap_page`) and stays where it is
    }

    fn keep(&mut self, page: PageId, pages: &mut PageView) {
        self.take_back(page, pages);
        self.flags[page as usize] = 0;
        self.generations.put_front(page, pages.backing(page) as usize, self.generations.youngest);
    }

    fn takes_back(&mut self, page: PageId, pages: &PageView) -> bool {
        self.take_back(page, pages);
        self.flags[page as usize] = WRITING;
        // A page under write-back (`lru_gen_add_folio`).
        self.generations.put_front(page, ANON, self.generations.youngest - 1);
        true
    }

    fn written(&mut self, page: PageId) {
        self.flags[page as usize] = WRITTEN;
        self.generations.put_last(page, ANON);
    }

    fn forget(&mut self, page: PageId) {
        self.generations.remove(page);
        self.flags[page as usize] = 0;
    }

    fn set_swappable(&mut self, swappable: bool) {
        self.swappable = swappable;
    }

    fn scanned(&self) -> u64 {
        self.counts.scanned
    }

    fn refilled(&self) -> u64 {
        self.counts.refilled
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("generations_anon", self.generations.count(ANON) as f64),
            ("generations_file", self.generations.count(FILE) as f64),
            ("agings", self.counts.agings as f64),
            ("min_ttl_broken", self.counts.min_ttl_broken as f64),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.generations.check(pages, |page| self.flags[page as usize] & (WRITING | WRITTEN) != 0)
    }
}
