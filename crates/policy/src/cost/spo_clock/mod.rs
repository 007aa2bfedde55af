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
mod printed;
mod shadows;
mod state;
#[cfg(test)]
mod tests;

use crate::containers::ring::Ring;
use crate::{bits, Describe, Entry, Info, PageView, Policy, Setup, Signal};
use balance::{Balance, Region, Shrink};
use shadows::Shadows;
use state::{in_ring, in_shadow, number, side, ACCESSED, FILE, LINKED, NUMBERS};
use swaplab_vocab::{prefetch, BadInput, Kind, Op, PageId, Parameter, Params, Result};

/// Distance, in entries, at which the words of pages are prefetched ahead of a hand.
const AHEAD: usize = 12;
/// Distance at which a ring's own entries are prefetched: the processor does not prefetch ahead in
/// so many rings by itself.
const FAR_AHEAD: usize = 64;
/// Eight bytes of words for each page, and in each region two bits for the numbers of its shadow.
const BYTES_A_PAGE: f64 = 9.0;

pub struct SpoClockPolicy {
    /// One ring per region; its hand is at the front.
    rings: [Ring; 4],
    shadows: Shadows,
    /// By page: its words (`state.rs`).
    pages: Vec<[u32; 2]>,
    balance: Balance,
    /// By operation and state bits of a page: the region of such an access.
    region_of: [[u8; 256]; 3],
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
        let regions = [1, 4][params.choice("regions")];
        if setup.frames < regions {
            return Err(BadInput::new("spo-clock", format!("frames = {}", setup.frames), "at least 4, one for each region"));
        }
        if setup.pages >= NUMBERS {
            return Err(BadInput::new("spo-clock", format!("{} pages", setup.pages), format!("fewer than {NUMBERS}")));
        }
        let balance = Balance::new(setup.frames, regions, &setup.costs, params.integer("t0"), Shrink::ALL[params.choice("victim")]);
        let mut policy = SpoClockPolicy {
            rings: std::array::from_fn(|_| Ring::new(setup.pages)),
            shadows: Shadows::new(setup.pages),
            pages: vec![[0; 2]; setup.pages],
            balance,
            region_of: [Op::Read, Op::Write, Op::Fetch].map(|op| {
                let number = |bits| 2 * bits::backing(bits) as u8 + u8::from(op.is_write());
                std::array::from_fn(|bits| if regions == 4 { number(bits as u8) } else { 0 })
            }),
            literal: params.choice("mode") == 1,
            reclaimed: false,
            scanned: 0,
        };
        policy.shadows.set_limits(&policy.balance);
        Ok(policy)
    }
}

impl SpoClockPolicy {
    #[inline]
    fn region(&self, page: PageId, op: Op, pages: &PageView) -> Region {
        Region::from(self.region_of[op as usize][pages.bits(page) as usize] & 3)
    }

    /// Append the page, which is in no ring of this side, to a ring, and remove it from the shadow
    /// of this side that it is in. Clears the access bit of this side, and the bits `clear` of the
    /// other.
    #[inline(always)]
    fn link(&mut self, page: PageId, region: Region, clear: u32) {
        let words = &mut self.pages[page as usize];
        words[side(region ^ 1)] &= !clear;
        let before = std::mem::replace(&mut words[side(region)], in_ring(region));
        self.shadows.remove(state::region(before, side(region)), number(before));
        self.rings[region].push(page);
        self.balance.enter(region);
    }

    /// Give the pages in the shadow of a region numbers from 1.
    #[cold]
    #[inline(never)]
    fn number_anew(&mut self, region: Region) {
        let anew = self.shadows.begin_anew(region);
        for word in self.pages.iter_mut().map(|words| &mut words[side(region)]) {
            if state::region(*word, side(region)) == region {
                *word = *word & (ACCESSED | LINKED | FILE) | in_shadow(region, anew(number(*word)));
            }
        }
    }

    /// Reclaim until a page leaves memory: from `target` while it is full, else from the region
    /// most over its size.
    #[inline(always)]
    fn free_frame(&mut self, target: Option<Region>, pages: &mut PageView) {
        loop {
            let full = target.filter(|region| self.balance.is_full(*region));
            let Some(from) = full.or_else(|| self.balance.most_over()) else { break };
            if self.reclaim_from::<false>(from, pages) {
                break;
            }
        }
    }

    /// Algorithm 1, `Reclaim`: turn the hand until a page leaves the region. Returns whether any
    /// page left memory. With `INNER` this is a reclaim inside another one, which never starts a
    /// further one; as a constant it keeps the function from calling itself.
    #[inline(always)]
    fn reclaim_from<const INNER: bool>(&mut self, region: Region, pages: &mut PageView) -> bool {
        let (side, other) = (side(region), side(region ^ 1));
        let mut freed = false;
        if self.shadows.is_out_of_numbers(region) {
            self.number_anew(region);
        }
        // The popped page keeps its linked bit until it is linked elsewhere, so that it counts as
        // resident meanwhile.
        while let Some(page) = self.rings[region].pop() {
            self.scanned += 1;
            let soon = self.rings[region].coming(AHEAD);
            prefetch(&self.pages, soon as usize);
            pages.prefetch(soon);
            self.rings[region].prefetch(FAR_AHEAD);
            let home = self.region(page, [Op::Read, Op::Write][side], pages);
            if home != region {
                self.move_home(page, region, home);
                continue;
            }
            // A page under the hand that was accessed by the other operation also enters the region
            // of that operation.
            if self.pages[page as usize][other] & (ACCESSED | LINKED) == ACCESSED {
                freed |= self.cross_insert::<INNER>(page, region ^ 1, pages);
            }
            let words = &mut self.pages[page as usize];
            if words[side] & ACCESSED != 0 {
                words[side] &= !ACCESSED;
                self.rings[region].push(page);
                continue;
            }
            words[side] = in_shadow(region, self.shadows.push(region));
            let is_linked = words[other] & LINKED != 0;
            self.balance.leave(region);
            if !is_linked {
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
        self.link(page, region, 0);
        freed
    }

    /// Move a page that the hand of `region` has popped to the region of its current backing.
    #[cold]
    fn move_home(&mut self, page: PageId, region: Region, home: Region) {
        let accessed = self.pages[page as usize][side(region)] & ACCESSED;
        self.pages[page as usize][side(region)] = 0;
        self.balance.leave(region);
        self.link(page, home, 0);
        self.pages[page as usize][side(region)] |= accessed;
    }

    /// Handle a fault on a page in the shadow of its region.
    #[inline(never)]
    fn shadow_hit(&mut self, page: PageId, region: Region) {
        let word = &mut self.pages[page as usize][side(region)];
        self.shadows.give_up(region, number(*word));
        *word &= ACCESSED;
        if self.balance.shadow_hit(region) {
            self.shadows.set_limits(&self.balance);
        }
    }

    fn is_in_shadow(&self, page: PageId, region: Region) -> bool {
        let word = self.pages[page as usize][side(region)];
        state::region(word, side(region)) == region && self.shadows.holds(region, number(word))
    }

    /// The number of entries in rings.
    fn entries(&self) -> usize {
        self.rings.iter().map(Ring::len).sum()
    }
}

impl Policy for SpoClockPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        prefetch(&self.pages, page as usize);
    }

    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        self.pages[page as usize][side(Region::from(self.region_of[op as usize][0]))] |= ACCESSED;
    }

    #[inline(always)]
    fn miss(&mut self, page: PageId, op: Op, pages: &PageView) {
        let region = self.region(page, op, pages);
        if self.is_in_shadow(page, region) {
            self.shadow_hit(page, region);
        }
    }

    #[inline(always)]
    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let target = incoming.map(|(page, op)| self.region(page, op, pages));
        if self.literal {
            self.free_frame_as_printed(target, pages);
        } else {
            self.free_frame(target, pages);
        }
        if incoming.is_none() {
            self.shadows.trim();
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, op: Op, pages: &mut PageView) {
        let region = self.region(page, op, pages);
        if self.literal {
            self.reclaim_as_printed(region, pages);
        }
        self.link(page, region, ACCESSED);
        self.shadows.trim();
    }

    fn forget(&mut self, page: PageId) {
        for side in 0..2 {
            let word = std::mem::take(&mut self.pages[page as usize][side]);
            let region = state::region(word, side);
            self.shadows.remove(region, number(word));
            if word & LINKED != 0 {
                self.rings[region].forget(page);
                self.balance.leave(region);
            }
        }
    }

    fn resize(&mut self, frames: usize) {
        self.balance.resize(frames);
        self.shadows.set_limits(&self.balance);
        self.shadows.trim();
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
            ("shadow_entries", (0..4).map(|region| self.shadows.len(region)).sum::<usize>() as f64),
            ("shadow_hits", self.balance.total_hits() as f64),
            ("metadata_bytes_a_page", BYTES_A_PAGE + (size_of::<PageId>() * self.entries()) as f64 / self.pages.len() as f64),
        ]
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.balance.check(std::array::from_fn(|region| self.rings[region].len()))?;
        for region in 0..4 {
            let listed = (0..pages.len() as PageId).filter(|page| self.is_in_shadow(*page, region)).count();
            self.shadows.check(region, listed)?;
            for page in self.rings[region].iter() {
                let word = self.pages[page as usize][side(region)];
                if word & !ACCESSED != in_ring(region) {
                    return Err(format!("page {page} of region {region} has the word {word:#b}"));
                }
            }
        }
        let linked = self.pages.iter().flatten().filter(|word| *word & LINKED != 0).count();
        if linked != self.entries() {
            return Err(format!("{linked} words have the bit set, but {} pages are listed", self.entries()));
        }
        for page in 0..pages.len() as PageId {
            let linked = self.pages[page as usize].iter().any(|word| word & LINKED != 0);
            if linked != pages.is_resident(page) {
                return Err(format!("page {page} is linked: {linked}, resident: {}", !linked));
            }
        }
        Ok(())
    }
}
