//! What: four rings with a hand each, {read, write} x {anonymous, file}; a page that was read and written is in two of them.
//!   Each ring has a shadow, a list of the pages that left it. Faults on pages of a shadow, weighed by the cost of the ring's
//!   operation, make that ring grow at the expense of another.
//! Why: a write to NVM swap costs five times a read, a read from flash twice a read from NVM; CLOCK ignores both.
//! Source: Yoon, Cho and Bahn, "Storage type and hot partition aware page reclamation for NVM swap in smartphones",
//!   Electronics 11(3):386, 2022, section 2. `docs/models/spo-clock.md` has the steps in full.
//! Deviations: only where the paper does not say, or where Algorithm 1 lacks a symbol. The access bits of both operations are examined
//!   for every page under the hand, the victim too; a reclaim inside a reclaim cross-inserts, but never reclaims again. A
//!   fault takes its frame from its own region if that is at or over its size, else from the region most over its size.
//!   A private file page stays linked as a file page after its first write until a hand reaches it and moves it to the
//!   anonymous region of the same operation. Every shadow is trimmed at the end of each fault.
//! Weakness: the sizes follow the gain of each ring alone, though a page in two rings needs only one frame; a read ring that
//!   is cheap to refill is starved even if all its pages are hot. On our real traces it loses to CLOCK more often than it
//!   wins (CLAIMS.md).

mod balance;
mod state;
#[cfg(test)]
mod tests;

use crate::containers::ring::Ring;
use crate::{Backing, Describe, Entry, Info, PageView, Policy, Setup, Signal};
use balance::{Balance, Region, Shrink};
use state::{side, state_in, ACCESSED, FILE, LINKED, SHADOWED};
use swaplab_vocab::{prefetch, BadInput, Kind, Op, PageId, Parameter, Params, Result};

/// Distance, in entries, at which the state of pages is prefetched ahead of a hand.
const AHEAD: usize = 12;

/// A mask with one bit per shadow.
const ALL: u8 = 15;
/// Metadata per page in bytes: one entry per operation, the counts of stale entries of eight lists, and the state.
const METADATA_BYTES: f64 = 13.0;

pub struct SpoClockPolicy {
    /// One ring per region; its hand is at the front.
    rings: [Ring; 4],
    /// The pages that left each region, oldest first.
    shadows: [Ring; 4],
    state: Vec<u8>,
    balance: Balance,
    /// The access bit that each operation sets.
    sets: [u8; 3],
    /// Mask on region numbers: 3 with four regions; 0 with a single region, so that every number becomes 0.
    mask: usize,
    literal: bool,
    /// With `literal`: whether this fault has already reclaimed from its region.
    reclaimed: bool,
    /// Bit mask of the shadows that may exceed their limit.
    untrimmed: u8,
    scanned: u64,
}

impl Describe for SpoClockPolicy {
    const ENTRY: Entry = Entry {
        key: "spo-clock",
        what: "CLOCK in four regions by operation and storage, sized by the cost of their shadow hits",
        source: "Yoon, Cho and Bahn 2022, section 2",
        parameters: &[
            Parameter::new(
                "mode",
                Kind::Choice(&["frame", "descriptor"]),
                "frame",
                "frame: reclaim until a frame is free; descriptor: one list entry whenever the region is full, as printed",
            ),
            Parameter::new(
                "t0",
                Kind::Integer { low: 1, high: 1_000_000 },
                "8",
                "shadow hits that grow the region of the costliest operation by a page",
            ),
            Parameter::new(
                "victim",
                Kind::Choice(&Shrink::NAMES),
                "score",
                "region that shrinks: score (cost x decayed hits / shadow size) raw (hits / threshold) round-robin largest cheapest-first",
            ),
            Parameter::new("regions", Kind::Choice(&["1", "4"]), "4", "4, or 1: CLOCK"),
        ],
        info: Info::online(Signal::ReferenceBit),
    };

    fn build(setup: &Setup, params: &Params) -> Result<SpoClockPolicy> {
        let literal = params.choice("mode") == 1;
        let t0 = params.integer("t0");
        let shrink = Shrink::ALL[params.choice("victim")];
        let regions = [1, 4][params.choice("regions")];
        if setup.frames < regions {
            return Err(BadInput::new("spo-clock", format!("{} frames", setup.frames), "at least 4, a frame for each region"));
        }
        Ok(SpoClockPolicy {
            rings: std::array::from_fn(|_| Ring::new(setup.pages)),
            shadows: std::array::from_fn(|_| Ring::new(setup.pages)),
            state: vec![0; setup.pages],
            balance: Balance::new(setup.frames, regions, &setup.costs, t0, shrink),
            sets: if regions == 4 { [ACCESSED, ACCESSED << 1, ACCESSED] } else { [ACCESSED; 3] },
            mask: regions - 1,
            literal,
            reclaimed: false,
            untrimmed: 0,
            scanned: 0,
        })
    }
}

impl SpoClockPolicy {
    #[inline]
    fn region(&self, backing: Backing, op: Op) -> Region {
        (2 * (backing as usize) + usize::from(op.is_write())) & self.mask
    }

    #[inline]
    fn is(&self, page: PageId, bit: u8, side: usize) -> bool {
        self.state[page as usize] & bit << side != 0
    }

    #[inline]
    fn len(&self, region: Region) -> usize {
        self.rings[region].len()
    }

    #[inline]
    fn is_full(&self, region: Region) -> bool {
        self.len(region) >= self.balance.size(region)
    }

    /// Remove the page from the ring or shadow of this side, if it is in one.
    #[inline(never)]
    fn unlink(&mut self, page: PageId, side: usize) {
        let state = &mut self.state[page as usize];
        let region = 2 * usize::from(*state & FILE << side != 0) + side;
        if *state & SHADOWED << side != 0 {
            self.shadows[region].forget(page);
        } else if *state & LINKED << side != 0 {
            self.rings[region].forget(page);
        }
        *state &= !((LINKED | SHADOWED | FILE) << side);
    }

    /// Append the page to a ring, after removing it from any other list of that side.
    #[inline]
    fn link(&mut self, page: PageId, region: Region) {
        let side = side(region);
        if self.is(page, LINKED | SHADOWED, side) {
            self.unlink(page, side);
        }
        self.state[page as usize] |= state_in(region, LINKED);
        self.rings[region].push(page);
    }

    /// Algorithm 1, `Reclaim`: turn the hand until a page leaves the region. Returns whether any page left memory.
    fn reclaim_from(&mut self, region: Region, inner: bool, pages: &mut PageView) -> bool {
        let (side, other) = (side(region), side(region ^ 1));
        let (accessed, linked, shadowed) = (ACCESSED << side, LINKED << side, SHADOWED << side);
        let mut freed = false;
        // The popped page keeps its linked bit until it is linked elsewhere, so that it counts as resident meanwhile.
        while let Some(page) = self.rings[region].pop() {
            self.scanned += 1;
            let soon = self.rings[region].coming(AHEAD);
            prefetch(&self.state, soon as usize);
            pages.prefetch(soon);
            let home = (2 * (pages.backing(page) as usize) + side) & self.mask;
            if home != region {
                self.state[page as usize] &= !(linked | FILE << side);
                self.link(page, home);
                continue;
            }
            // A page under the hand that was accessed by the other operation also enters the region of that operation.
            if self.state[page as usize] & (ACCESSED | LINKED) << other == ACCESSED << other {
                freed |= self.cross_insert(page, region ^ 1, inner, pages);
            }
            let state = &mut self.state[page as usize];
            if *state & accessed != 0 {
                *state &= !accessed;
                self.rings[region].push(page);
                continue;
            }
            *state ^= linked | shadowed;
            let elsewhere = *state & LINKED << other != 0;
            self.shadows[region].push(page);
            self.untrimmed |= 1 << region;
            if !elsewhere {
                pages.release(page);
                freed = true;
            }
            break;
        }
        freed
    }

    /// Link a page into the region of the other operation too. Returns whether any page left memory.
    #[inline]
    fn cross_insert(&mut self, page: PageId, region: Region, inner: bool, pages: &mut PageView) -> bool {
        let freed = !inner && self.is_full(region) && self.reclaim_from(region, true, pages);
        self.link(page, region);
        self.state[page as usize] &= !(ACCESSED << side(region));
        freed
    }

    /// Of the regions with pages, the one that exceeds its size by most.
    #[inline]
    fn most_over(&self) -> Option<Region> {
        let over = |r: Region| self.len(r) as i64 - self.balance.size(r) as i64;
        (0..=self.mask).filter(|r| self.len(*r) > 0).max_by_key(|r| (over(*r), std::cmp::Reverse(*r)))
    }

    fn shadow_entries(&self) -> usize {
        self.shadows.iter().map(Ring::len).sum()
    }

    #[inline(always)]
    fn trim_shadows(&mut self) {
        while self.untrimmed != 0 {
            let region = self.untrimmed.trailing_zeros() as usize;
            self.untrimmed &= self.untrimmed - 1;
            let (side, most) = (side(region), self.balance.shadow_size(region));
            while self.shadows[region].len() > most {
                prefetch(&self.state, self.shadows[region].coming(AHEAD) as usize);
                if let Some(oldest) = self.shadows[region].pop() {
                    self.state[oldest as usize] &= !((SHADOWED | FILE) << side);
                }
            }
        }
    }
}

impl Policy for SpoClockPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        prefetch(&self.state, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        self.state[page as usize] |= self.sets[op as usize];
    }

    #[inline(always)]
    fn miss(&mut self, page: PageId, op: Op, pages: &PageView) {
        let region = self.region(pages.backing(page), op);
        let (side, file) = (side(region), region >= 2);
        if self.is(page, SHADOWED, side) && self.is(page, FILE, side) == file {
            self.unlink(page, side);
            if self.balance.shadow_hit(region) {
                self.untrimmed = ALL;
            }
        }
    }

    #[inline(always)]
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let target = incoming.map(|(page, op)| self.region(pages.backing(page), op));
        let mut freed = false;
        while !freed {
            let from = match target {
                Some(region) if self.is_full(region) && self.len(region) > 0 && !self.reclaimed => region,
                _ => match self.most_over() {
                    Some(region) => region,
                    None => break,
                },
            };
            self.reclaimed = self.literal;
            freed = self.reclaim_from(from, false, pages);
        }
        if incoming.is_none() {
            self.reclaimed = false;
            self.trim_shadows();
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView) {
        let region = self.region(pages.backing(page), op);
        if self.literal && !self.reclaimed && self.is_full(region) {
            self.reclaim_from(region, false, pages);
        }
        self.reclaimed = false;
        self.state[page as usize] &= !(ACCESSED | ACCESSED << 1);
        self.link(page, region);
        self.trim_shadows();
    }

    fn forget(&mut self, page: PageId) {
        self.unlink(page, 0);
        self.unlink(page, 1);
        self.state[page as usize] = 0;
    }

    fn resize(&mut self, frames: usize) {
        self.balance.resize(frames);
        self.untrimmed = ALL;
        self.trim_shadows();
    }

    fn scanned(&self) -> u64 {
        self.scanned
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let [read_anon, write_anon, read_file, write_file] = std::array::from_fn(|r| self.balance.size(r) as f64);
        vec![
            ("read_anon_size", read_anon),
            ("write_anon_size", write_anon),
            ("read_file_size", read_file),
            ("write_file_size", write_file),
            ("shadow_entries", self.shadow_entries() as f64),
            ("shadow_hits", self.balance.total_hits() as f64),
            ("metadata_bytes_a_page", METADATA_BYTES),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.balance.check()?;
        for region in 0..4 {
            let shadow = &self.shadows[region];
            if shadow.len() > self.balance.shadow_size(region) {
                return Err(format!("the shadow of region {region} holds {} entries", shadow.len()));
            }
            let all = (LINKED | SHADOWED | FILE) << side(region);
            let listed = self.rings[region].iter().map(|page| (page, LINKED));
            for (page, bit) in listed.chain(shadow.iter().map(|page| (page, SHADOWED))) {
                let state = self.state[page as usize];
                if state & all != state_in(region, bit) {
                    return Err(format!("page {page} of region {region} has state {state:#b}"));
                }
            }
        }
        for (bit, listed) in [(LINKED, self.rings.iter().map(Ring::len).sum()), (SHADOWED, self.shadow_entries())] {
            let with_bit: usize = (0..2).map(|side| self.state.iter().filter(|s| **s & bit << side != 0).count()).sum();
            if with_bit != listed {
                return Err(format!("{with_bit} pages have the bit set, but {listed} pages are listed"));
            }
        }
        for page in 0..pages.len() as PageId {
            let linked = self.is(page, LINKED, 0) || self.is(page, LINKED, 1);
            if linked != pages.is_resident(page) {
                return Err(format!("page {page} is linked: {linked}, resident: {}", !linked));
            }
        }
        Ok(())
    }
}
