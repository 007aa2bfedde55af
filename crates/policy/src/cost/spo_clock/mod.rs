//! What: four rings with a hand each, {read, write} x {anonymous, file}; a page that was read and
//!   written is in two of them. Each ring has a shadow, a list of the pages that left it. Faults on
//!   pages of a shadow, weighed by the cost of the ring's operation, make that ring grow at the
//!   expense of another.
//! Why: a write to NVM swap costs five times a read, a read from flash twice a read from NVM; CLOCK
//! ignores both.
//! Source: Yoon, Cho and Bahn, "Storage type and hot partition aware page reclamation for NVM swap
//!   in smartphones", Electronics 11(3):386, 2022, section 2. `docs/models/spo-clock.md` has the
//!   steps in full.
//! Deviations: only where the paper does not say, or where Algorithm 1 lacks a symbol. The access
//!   bits of both operations are examined for every page under the hand, the victim too; a reclaim
//!   inside a reclaim cross-inserts, but never reclaims again. A fault takes its frame from its own
//!   region if that is at or over its size, else from the region most over its size. A private file
//!   page stays linked as a file page after its first write until a hand reaches it and moves it to
//!   the anonymous region of the same operation. Every shadow is trimmed at the end of each fault.
//! Weakness: the sizes follow the gain of each ring alone, though a page in two rings needs only
//!   one frame; a read ring that is cheap to refill is starved even if all its pages are hot. On
//!   our real traces it loses to CLOCK more often than it wins (CLAIMS.md).

mod balance;
mod shadows;
mod state;
#[cfg(test)]
mod tests;

use crate::containers::ring::Ring;
use crate::{Backing, Describe, Entry, Info, PageView, Policy, Setup, Signal};
use balance::{Balance, Region, Shrink};
use shadows::Shadows;
use state::{side, ACCESSED, FILE, IN_RING, IN_SHADOW, LINKED, SHADOWED};
use swaplab_vocab::{prefetch, BadInput, Kind, Op, PageId, Parameter, Params, Result};

/// Distance, in entries, at which the state of pages is prefetched ahead of a hand.
const AHEAD: usize = 12;

/// Metadata per page in bytes: one entry per operation, the counts of stale entries of eight lists,
/// and the state.
const METADATA_BYTES: f64 = 13.0;
/// Distance at which a ring's own entries are prefetched: a processor does not foresee the next
/// lines of so many rings.
const FAR_AHEAD: usize = 64;

pub struct SpoClockPolicy {
    /// One ring per region; its hand is at the front.
    rings: [Ring; 4],
    shadows: Shadows,
    state: Vec<u8>,
    balance: Balance,
    /// The access bit that each operation sets.
    sets: [u8; 3],
    /// Mask on region numbers: 3 with four regions; 0 with one, so that every number becomes 0.
    mask: usize,
    literal: bool,
    /// With `literal`: whether this fault has already reclaimed from its region.
    reclaimed: bool,
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
        let balance = Balance::new(setup.frames, regions, &setup.costs, t0, shrink);
        Ok(SpoClockPolicy {
            rings: std::array::from_fn(|_| Ring::new(setup.pages)),
            shadows: Shadows::new(setup.pages, &balance),
            state: vec![0; setup.pages],
            balance,
            sets: if regions == 4 { [ACCESSED, ACCESSED << 1, ACCESSED] } else { [ACCESSED; 3] },
            mask: regions - 1,
            literal,
            reclaimed: false,
            scanned: 0,
        })
    }
}

impl SpoClockPolicy {
    #[inline]
    fn region(&self, backing: Backing, op: Op) -> Region {
        (2 * (backing as usize) + usize::from(op.is_write())) & self.mask
    }

    /// Remove the page from the ring or shadow of this side, if it is in one.
    #[inline(never)]
    fn unlink(&mut self, page: PageId, side: usize) {
        let state = self.state[page as usize];
        let region = 2 * usize::from(state & FILE << side != 0) + side;
        if state & SHADOWED << side != 0 {
            self.shadows.remove(region, page, &mut self.state);
        } else if state & LINKED << side != 0 {
            self.rings[region].forget(page);
            self.balance.leave(region);
            self.state[page as usize] &= !((LINKED | FILE) << side);
        }
    }

    /// Append the page to a ring, after removing it from any other list of that side. Clears the
    /// access bits in `clear`.
    #[inline(always)]
    fn link(&mut self, page: PageId, region: Region, clear: u8) {
        let side = side(region);
        let mut state = self.state[page as usize];
        if state & (LINKED | SHADOWED) << side != 0 {
            self.unlink(page, side);
            state = self.state[page as usize];
        }
        self.state[page as usize] = state & !clear | IN_RING[region];
        self.rings[region].push(page);
        self.balance.enter(region);
    }

    /// Reclaim until a page leaves memory: from `target` while it is full, else from the region
    /// most over its size.
    #[inline(never)]
    fn free_frame(&mut self, target: Option<Region>, pages: &mut PageView) {
        let mut freed = false;
        while !freed {
            let from = match target {
                Some(region) if self.balance.is_full(region) && !self.reclaimed => region,
                _ => match self.balance.most_over() {
                    Some(region) => region,
                    None => break,
                },
            };
            self.reclaimed = self.literal;
            freed = self.reclaim_from::<false>(from, pages);
        }
    }

    /// Algorithm 1, `Reclaim`: turn the hand until a page leaves the region. Returns whether any
    /// page left memory. A reclaim inside of a reclaim is `INNER`. It is a function of its own, so
    /// that the outer one needs no recursion and can be inlined.
    #[inline(always)]
    fn reclaim_from<const INNER: bool>(&mut self, region: Region, pages: &mut PageView) -> bool {
        let (side, other) = (side(region), side(region ^ 1));
        let (accessed, linked, shadowed) = (ACCESSED << side, LINKED << side, SHADOWED << side);
        let mut freed = false;
        // The popped page keeps its linked bit until it is linked elsewhere, so that it counts as
        // resident meanwhile.
        while let Some(page) = self.rings[region].pop() {
            self.scanned += 1;
            let soon = self.rings[region].coming(AHEAD);
            prefetch(&self.state, soon as usize);
            pages.prefetch(soon);
            self.rings[region].prefetch(FAR_AHEAD);
            let home = (2 * (pages.backing(page) as usize) + side) & self.mask;
            if home != region {
                self.move_home(page, region, home);
                continue;
            }
            let mut state = self.state[page as usize];
            // A page under the hand that was accessed by the other operation also enters the region
            // of that operation.
            if state & (ACCESSED | LINKED) << other == ACCESSED << other {
                freed |= self.cross_insert::<INNER>(page, region ^ 1, pages);
                state = self.state[page as usize];
            }
            if state & accessed != 0 {
                self.state[page as usize] = state & !accessed;
                self.rings[region].push(page);
                continue;
            }
            self.state[page as usize] = state ^ (linked | shadowed);
            self.balance.leave(region);
            self.shadows.push(region, page, &mut self.state);
            if state & LINKED << other == 0 {
                pages.release(page);
                freed = true;
            }
            break;
        }
        freed
    }

    #[inline(never)]
    fn reclaim_inside(&mut self, region: Region, pages: &mut PageView) -> bool {
        self.reclaim_from::<true>(region, pages)
    }

    /// Link a page into the region of the other operation too. Returns whether any page left
    /// memory.
    #[inline(never)]
    fn cross_insert<const INNER: bool>(&mut self, page: PageId, region: Region, pages: &mut PageView) -> bool {
        let freed = !INNER && self.balance.is_full(region) && self.reclaim_inside(region, pages);
        self.link(page, region, ACCESSED << side(region));
        freed
    }

    /// A page that the hand of `region` has taken enters the region of the backing that it has now.
    #[cold]
    fn move_home(&mut self, page: PageId, region: Region, home: Region) {
        self.state[page as usize] &= !((LINKED | FILE) << side(region));
        self.balance.leave(region);
        self.link(page, home, 0);
    }

    /// Mode `descriptor`: a fault of a full region reclaims from it, even if a frame is free.
    #[cold]
    fn reclaim_as_printed(&mut self, region: Region, pages: &mut PageView) {
        if self.balance.is_full(region) {
            self.reclaim_from::<false>(region, pages);
        }
    }

    /// A fault of a page that may be in the shadow of its region.
    #[inline(never)]
    fn shadow_hit(&mut self, page: PageId, region: Region) {
        if self.shadows.remove(region, page, &mut self.state) && self.balance.shadow_hit(region) {
            self.shadows.set_limits(&self.balance);
        }
    }

    fn shadow_entries(&self) -> usize {
        (0..4).map(|region| self.shadows.len(region)).sum()
    }
}

impl Policy for SpoClockPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        prefetch(&self.state, page as usize);
        self.shadows.prefetch(page);
    }

    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        self.state[page as usize] |= self.sets[op as usize];
    }

    #[inline(always)]
    fn miss(&mut self, page: PageId, op: Op, pages: &PageView) {
        let region = self.region(pages.backing(page), op);
        if self.state[page as usize] & (SHADOWED | FILE) << side(region) == IN_SHADOW[region] {
            self.shadow_hit(page, region);
        }
    }

    #[inline(always)]
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let target = incoming.map(|(page, op)| self.region(pages.backing(page), op));
        self.free_frame(target, pages);
        if incoming.is_none() {
            self.reclaimed = false;
            self.shadows.end_fault();
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView) {
        let region = self.region(pages.backing(page), op);
        if self.literal && !self.reclaimed {
            self.reclaim_as_printed(region, pages);
        }
        self.reclaimed = false;
        self.link(page, region, ACCESSED | ACCESSED << 1);
        self.shadows.end_fault();
    }

    fn forget(&mut self, page: PageId) {
        self.unlink(page, 0);
        self.unlink(page, 1);
        self.state[page as usize] = 0;
    }

    fn resize(&mut self, frames: usize) {
        self.balance.resize(frames);
        self.shadows.set_limits(&self.balance);
        self.shadows.end_fault();
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
        self.balance.check(std::array::from_fn(|region| self.rings[region].len()))?;
        self.shadows.check(&self.balance)?;
        for region in 0..4 {
            let all = (LINKED | SHADOWED | FILE) << side(region);
            let listed = self.rings[region].iter().map(|page| (page, IN_RING[region]));
            for (page, bits) in listed.chain(self.shadows.queued(region).into_iter().map(|page| (page, IN_SHADOW[region]))) {
                let state = self.state[page as usize];
                if state & all != bits {
                    return Err(format!("page {page} of region {region} has state {state:#b}"));
                }
            }
        }
        let queued = (0..4).map(|region| self.shadows.queued(region).len()).sum::<usize>();
        for (bit, listed) in [(LINKED, self.rings.iter().map(Ring::len).sum()), (SHADOWED, queued)] {
            let with_bit: usize = (0..2).map(|side| self.state.iter().filter(|s| **s & bit << side != 0).count()).sum();
            if with_bit != listed {
                return Err(format!("{with_bit} pages have the bit set, but {listed} pages are listed"));
            }
        }
        for page in 0..pages.len() as PageId {
            let linked = self.state[page as usize] & (LINKED | LINKED << 1) != 0;
            if linked != pages.is_resident(page) {
                return Err(format!("page {page} is linked: {linked}, resident: {}", !linked));
            }
        }
        Ok(())
    }
}
