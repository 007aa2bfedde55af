//! What: Linux's multi-generational LRU. Each kind of page (anonymous, file) has up to four
//! generations. Aging opens a new generation and moves pages used since the last aging there.
//! Reclaim evicts from the oldest generation of the kind that refaults less. Pages used more often
//! are in higher tiers; a controller protects a tier that refaults more than the lowest one.
//! Why: the reclaim of phones since Android 14: less scanning than two lists, and a finer order
//! than active and inactive.
//! Source: Linux 6.1, mm/vmscan.c (lru_gen_*), mm/workingset.c (lru_gen_refault),
//! Documentation/mm/multigen_lru.rst; we read the behavior there, the code is our own.
//! Deviations: a tier counts the accessed bits harvested from a page (the kernel counts reads
//! through file descriptors, which a trace of accesses lacks); one page at a time; no look-around
//! of accessed pages, no Bloom filters, no control groups. `min_ttl` is in references; where the
//! kernel would kill a process, the policy evicts and counts that (`min_ttl_broken`).
//! Weakness: aging walks all of memory; a page used just after its generation opened looks as old
//! as the oldest page there.

#[cfg(test)]
mod tests;
mod tiers;

use crate::containers::links::{Links, List};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::spec::Place;
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};
use tiers::{Tiers, ANON, FILE};

/// The most generations, and the fewest with which the oldest one may be evicted from.
const MOST: u64 = 4;
const FEWEST: u64 = 2;

/// The accessed bit of the page-table entry.
const ACCESSED: u8 = 1;
/// The page is evicted and has a shadow entry with its generation and tier.
const SHADOW: u8 = 2;
/// The page is in a list of file pages.
const OF_FILE: u8 = 4;
/// Unit of the use count above the flags: accessed bits harvested since the page came in, up to 7.
const USE: u8 = 8;
const MOST_USES: u8 = 7;

fn list(kind: usize, generation: u64) -> List {
    List(kind * MOST as usize + (generation % MOST) as usize)
}

pub struct MglruPolicy {
    lists: Links,
    flags: Vec<u8>,
    /// By page: the generation that it entered. If that one has been closed since, the page is in
    /// the oldest one. Of an evicted page: the oldest generation at its eviction.
    generation: Vec<u32>,
    youngest: u64,
    oldest: [u64; 2],
    /// The index of the reference at which each generation was opened.
    born: [u64; MOST as usize],
    now: u64,
    tiers: Tiers,
    swappiness: u64,
    min_ttl: u64,
    swappable: bool,
    broken: u64,
    walks: u64,
    scanned: u64,
}

impl Describe for MglruPolicy {
    const ENTRY: Entry = Entry {
        key: "mglru",
        what: "Linux's multi-generational LRU",
        source: "Linux 6.1, mm/vmscan.c and Documentation/mm/multigen_lru.rst",
        parameters: &[
            Parameter::new(
                "swappiness",
                Kind::Integer { low: 0, high: 200 },
                "60",
                "willingness to swap, 0 to 200; 100 weighs anonymous and file alike",
            )
            .sets(Place::Sysctl, "vm.swappiness"),
            Parameter::new("tiers", Kind::Integer { low: 1, high: 4 }, "4", "tiers of use, 1 to 4; 1 protects none"),
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
            lists: Links::new(setup.pages, 2 * MOST as usize),
            flags: vec![0; setup.pages],
            generation: vec![0; setup.pages],
            youngest: FEWEST - 1,
            oldest: [0; 2],
            born: [0; MOST as usize],
            now: 0,
            tiers: Tiers::new(params.integer("tiers") as usize),
            swappiness: params.integer("swappiness"),
            min_ttl: params.integer("min_ttl"),
            swappable: true,
            broken: 0,
            walks: 0,
            scanned: 0,
        })
    }
}

impl MglruPolicy {
    /// The list of a page that is in a list.
    fn list_of(&self, page: PageId) -> List {
        let kind = if self.flags[page as usize] & OF_FILE != 0 { FILE } else { ANON };
        list(kind, u64::from(self.generation[page as usize]).max(self.oldest[kind]))
    }

    /// Move a page of `from` to the front of a generation.
    fn move_to(&mut self, from: List, kind: usize, generation: u64, page: PageId) {
        self.note_place(kind, generation, page);
        self.lists.transfer_to_front(from, list(kind, generation), page);
    }

    fn note_place(&mut self, kind: usize, generation: u64, page: PageId) {
        let flags = &mut self.flags[page as usize];
        *flags = *flags & !OF_FILE | if kind == FILE { OF_FILE } else { 0 };
        self.generation[page as usize] = generation as u32;
    }

    /// Whether an evicted page of this kind was evicted from the generation that is the oldest now.
    fn is_recent(&self, page: PageId, kind: usize) -> bool {
        self.generation[page as usize] == self.oldest[kind] as u32
    }

    /// Clear a page's accessed bit and count it as a use. Returns whether it was set.
    fn harvest(&mut self, page: PageId) -> bool {
        let flags = &mut self.flags[page as usize];
        if *flags & ACCESSED == 0 {
            return false;
        }
        *flags -= ACCESSED;
        *flags += if *flags / USE < MOST_USES { USE } else { 0 };
        true
    }

    /// Open a new generation and move pages used since the last aging there.
    fn age(&mut self) {
        self.walks += 1;
        self.youngest += 1;
        self.born[(self.youngest % MOST) as usize] = self.now;
        for kind in [ANON, FILE] {
            while self.youngest - self.oldest[kind] >= MOST {
                self.retire(kind);
            }
            for generation in self.oldest[kind]..self.youngest {
                let from = list(kind, generation);
                self.scanned += self.lists.len(from) as u64;
                let mut at = self.lists.back(from);
                while let Some(last) = at {
                    // Used pages that follow one another move together.
                    let (mut first, mut count) = (last, 0);
                    while let Some(page) = at.filter(|page| self.harvest(*page)) {
                        self.generation[page as usize] = self.youngest as u32;
                        (first, count) = (page, count + 1);
                        at = self.lists.before(page);
                    }
                    match count {
                        0 => at = self.lists.before(last),
                        _ => self.lists.transfer_run_to_front(from, list(kind, self.youngest), first, last, count),
                    }
                }
            }
        }
    }

    /// Close the oldest generation of a kind. Its remaining pages become the oldest of the next.
    fn retire(&mut self, kind: usize) {
        let (from, to) = (list(kind, self.oldest[kind]), list(kind, self.oldest[kind] + 1));
        self.lists.append(from, to);
        self.oldest[kind] += 1;
        self.tiers.next_generation(kind);
    }

    /// Retire empty generations, and age until there is a generation to evict from.
    fn make_old(&mut self) {
        loop {
            for kind in [ANON, FILE] {
                while self.oldest[kind] + FEWEST <= self.youngest && self.lists.is_empty(list(kind, self.oldest[kind])) {
                    self.retire(kind);
                }
            }
            if [ANON, FILE].iter().any(|kind| self.can_evict(*kind)) {
                return;
            }
            self.age();
        }
    }

    /// Whether this kind may be evicted. While anonymous pages cannot be swapped out, they are only
    /// evicted when no file page is left (`get_swappiness`).
    fn is_evicted(&self, kind: usize) -> bool {
        kind == FILE || self.swappable || (self.oldest[FILE]..=self.youngest).all(|generation| self.lists.is_empty(list(FILE, generation)))
    }

    fn can_evict(&self, kind: usize) -> bool {
        self.is_evicted(kind) && self.oldest[kind] + FEWEST <= self.youngest && !self.lists.is_empty(list(kind, self.oldest[kind]))
    }

    fn kind_to_scan(&self) -> usize {
        if !self.can_evict(ANON) || !self.can_evict(FILE) {
            return if self.can_evict(ANON) { ANON } else { FILE };
        }
        match self.swappiness {
            0 => FILE,
            _ if self.oldest[ANON] < self.oldest[FILE] => ANON,
            1 => FILE,
            200 => ANON,
            swappiness => self.tiers.kind_to_scan([swappiness, 200 - swappiness]),
        }
    }

    /// Scan the oldest page of a kind. Returns whether it was evicted.
    fn scan(&mut self, kind: usize, pages: &mut PageView) -> bool {
        let oldest = self.oldest[kind];
        let from = list(kind, oldest);
        let Some(page) = self.lists.back(from) else { return false };
        self.scanned += 1;
        let now = pages.backing(page) as usize;
        if now != kind {
            // A private file page that was written joins the anonymous generation of the same age,
            // or the oldest one if that is closed.
            self.move_to(from, now, self.oldest[now].max(oldest), page);
            return false;
        }
        if self.harvest(page) {
            self.move_to(from, kind, self.youngest, page);
            return false;
        }
        let tier = self.tiers.tier(self.flags[page as usize] / USE);
        self.tiers.handled(kind, tier);
        if tier > self.tiers.highest_evictable(kind) {
            self.move_to(from, kind, oldest + 1, page);
            return false;
        }
        if self.now - self.born[(oldest % MOST) as usize] < self.min_ttl {
            self.broken += 1;
        }
        self.flags[page as usize] |= SHADOW;
        self.generation[page as usize] = oldest as u32;
        self.lists.remove(from, page);
        pages.release(page);
        true
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

    fn miss(&mut self, page: PageId, _: Op, pages: &PageView) {
        let flags = std::mem::take(&mut self.flags[page as usize]);
        let kind = pages.backing(page) as usize;
        if flags & SHADOW != 0 && self.is_recent(page, kind) {
            let tier = self.tiers.tier(flags / USE);
            self.tiers.refaulted(kind, tier);
        }
    }

    fn is_of_working_set(&self, page: PageId, pages: &PageView) -> bool {
        self.flags[page as usize] & SHADOW != 0 && self.is_recent(page, pages.backing(page) as usize)
    }

    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        while (0..2 * MOST as usize).any(|l| !self.lists.is_empty(List(l))) {
            self.make_old();
            if self.scan(self.kind_to_scan(), pages) {
                return;
            }
        }
    }

    fn insert(&mut self, page: PageId, _: Op, pages: &mut PageView) {
        self.now += 1;
        let kind = pages.backing(page) as usize;
        self.flags[page as usize] = ACCESSED; // by the fault
        self.note_place(kind, self.youngest, page);
        self.lists.push_front(list(kind, self.youngest), page);
    }

    fn forget(&mut self, page: PageId) {
        if self.lists.contains(page) {
            self.lists.remove(self.list_of(page), page);
        }
        self.flags[page as usize] = 0;
    }

    fn set_swappable(&mut self, swappable: bool) {
        self.swappable = swappable;
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("generations_anon", (self.youngest - self.oldest[ANON] + 1) as f64),
            ("generations_file", (self.youngest - self.oldest[FILE] + 1) as f64),
            ("walks", self.walks as f64),
            ("min_ttl_broken", self.broken as f64),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        for list in (0..2 * MOST as usize).map(List) {
            self.lists.check(list)?;
            if let Some(page) = self.lists.iter(list).find(|page| self.list_of(*page) != list) {
                return Err(format!("page {page} is in list {}, noted in {}", list.0, self.list_of(page).0));
            }
        }
        crate::check_residency(pages, (0..2 * MOST as usize).map(List).flat_map(|l| self.lists.iter(l)))?;
        for kind in [ANON, FILE] {
            let generations = self.youngest - self.oldest[kind] + 1;
            if !(FEWEST..=MOST).contains(&generations) {
                return Err(format!("{generations} generations of kind {kind}"));
            }
            let listed: usize = (self.oldest[kind]..=self.youngest).map(|g| self.lists.len(list(kind, g))).sum();
            let all: usize = (0..MOST).map(|g| self.lists.len(list(kind, g))).sum();
            if listed != all {
                return Err(format!("{} pages of kind {kind} are in no generation", all - listed));
            }
        }
        Ok(())
    }
}
