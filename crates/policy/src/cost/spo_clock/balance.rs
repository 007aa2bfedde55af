//! The sizes of the regions: how shadow hits make a region grow, and which region shrinks in
//! return.

use crate::{Backing, Costs};

/// A region is {anonymous, file} x {read, write}: 0 read/anon, 1 write/anon, 2 read/file, 3
/// write/file.
pub type Region = usize;

/// The rule that selects the region that gives up a frame when another region grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// The lowest cost x decayed shadow hits / shadow size.
    Score,
    /// The lowest ratio of shadow hits to threshold.
    Raw,
    RoundRobin,
    Largest,
    CheapestFirst,
}

impl Shrink {
    pub const ALL: [Shrink; 5] = [Shrink::Score, Shrink::Raw, Shrink::RoundRobin, Shrink::Largest, Shrink::CheapestFirst];
    pub const NAMES: [&'static str; 5] = ["score", "raw", "round-robin", "largest", "cheapest-first"];
}

/// Factor by which the score of every region decays at each shadow hit.
const DECAY: f64 = 0.999;

pub struct Balance {
    frames: usize,
    regions: usize,
    size: [usize; 4],
    /// Four times the number of frames that the ring lacks to its size, plus the number of the
    /// region. The lowest value belongs to the region most over its size and, of equals, to the one
    /// with the lowest number.
    room: [i64; 4],
    /// Cost of the operation that puts a page into the region, in nanoseconds.
    cost: [u64; 4],
    threshold: [u64; 4],
    /// Shadow hits since the region last grew, and since the start.
    hits: [u64; 4],
    total: [u64; 4],
    decayed: [f64; 4],
    shrink: Shrink,
    /// The region that shrank last, for round-robin.
    last: Region,
}

/// The `room` of a region of this size with `linked` pages in its ring.
fn room(region: Region, size: usize, linked: usize) -> i64 {
    4 * (size as i64 - linked as i64) + region as i64
}

impl Balance {
    pub fn new(frames: usize, regions: usize, costs: &Costs, t0: u64, shrink: Shrink) -> Balance {
        let cost = [costs.read(Backing::Swap), costs.write(Backing::Swap), costs.read(Backing::File), costs.write(Backing::File)];
        let cost = cost.map(|c| c.max(1));
        let highest = cost.into_iter().max().unwrap_or(1);
        let mut balance = Balance {
            frames,
            regions,
            size: [0; 4],
            room: [i64::MAX; 4],
            cost,
            threshold: cost.map(|c| (t0 as f64 * highest as f64 / c as f64).round() as u64),
            hits: [0; 4],
            total: [0; 4],
            decayed: [0.0; 4],
            shrink,
            last: 3,
        };
        for (r, size) in balance.size.iter_mut().enumerate().take(regions) {
            *size = frames / regions + usize::from(r < frames % regions);
            balance.room[r] = room(r, *size, 0);
        }
        balance
    }

    /// A page has entered the ring of `region`.
    #[inline]
    pub fn enter(&mut self, region: Region) {
        self.room[region] -= 4;
    }

    /// A page has left the ring of `region`.
    #[inline]
    pub fn leave(&mut self, region: Region) {
        self.room[region] += 4;
    }

    /// Whether the ring of `region` is at or over its size.
    #[inline]
    pub fn is_full(&self, region: Region) -> bool {
        self.room[region] < 4
    }

    /// Of the regions with pages, the one that exceeds its size by most.
    #[inline]
    pub fn most_over(&self) -> Option<Region> {
        let [a, b, c, d] = self.room;
        let least = a.min(b).min(c.min(d));
        if least < 4 {
            // A ring at or over its size is not empty.
            return Some((least & 3) as Region);
        }
        self.least_under()
    }

    /// Of the regions with pages, the one closest to its size, if none is at or over it.
    #[cold]
    fn least_under(&self) -> Option<Region> {
        let with_pages = (0..self.regions).filter(|r| self.room[*r] < room(*r, self.size[*r], 0));
        with_pages.min_by_key(|r| self.room[*r])
    }

    pub fn size(&self, region: Region) -> usize {
        self.size[region]
    }

    /// Maximum number of shadow entries of a region: its size and its shadow's add up to the number
    /// of frames.
    pub fn shadow_size(&self, region: Region) -> usize {
        self.frames.saturating_sub(self.size[region])
    }

    pub fn total_hits(&self) -> u64 {
        self.total.iter().sum()
    }

    /// Count a fault on a page in the shadow of `region`. At the threshold the region grows and
    /// another one shrinks. Returns whether sizes have changed.
    pub fn shadow_hit(&mut self, region: Region) -> bool {
        self.decayed = self.decayed.map(|d| d * DECAY);
        self.decayed[region] += 1.0;
        self.total[region] += 1;
        self.hits[region] += 1;
        if self.hits[region] < self.threshold[region] {
            return false;
        }
        self.hits[region] = 0;
        let Some(smaller) = self.victim(region) else { return false };
        self.size[region] += 1;
        self.size[smaller] -= 1;
        self.room[region] += 4;
        self.room[smaller] -= 4;
        self.last = smaller;
        true
    }

    /// The region to shrink: never the growing one, nor one with a single frame. Ties go to the
    /// lowest number.
    fn victim(&self, growing: Region) -> Option<Region> {
        let candidates = (0..self.regions).filter(|r| *r != growing && self.size[*r] > 1);
        let lowest = |key: &dyn Fn(Region) -> f64| candidates.clone().min_by(|a, b| key(*a).total_cmp(&key(*b)));
        match self.shrink {
            Shrink::Score => lowest(&|r| self.cost[r] as f64 * self.decayed[r] / self.shadow_size(r) as f64),
            Shrink::Raw => lowest(&|r| self.total[r] as f64 / self.threshold[r] as f64),
            Shrink::RoundRobin => candidates.min_by_key(|r| (*r + 3 - self.last) % 4),
            Shrink::Largest => lowest(&|r| -(self.size[r] as f64)),
            Shrink::CheapestFirst => lowest(&|r| self.cost[r] as f64),
        }
    }

    /// Scale the sizes to a new number of frames: rounded down, at least one frame each. Remaining
    /// frames go to the first regions.
    pub fn resize(&mut self, frames: usize) {
        let before: usize = self.size.iter().sum();
        let linked = self.linked();
        for size in &mut self.size[..self.regions] {
            *size = ((*size as u128 * frames as u128 / before as u128) as usize).max(1);
        }
        let mut sum: usize = self.size.iter().sum();
        for r in (0..self.regions).cycle() {
            if sum < frames {
                self.size[r] += 1;
                sum += 1;
            } else if sum > frames && sum > self.regions {
                sum -= usize::from(self.size[r] > 1);
                self.size[r] -= usize::from(self.size[r] > 1);
            } else {
                break;
            }
        }
        for (r, linked) in linked.into_iter().enumerate().take(self.regions) {
            self.room[r] = room(r, self.size[r], linked);
        }
        self.frames = frames;
    }

    /// Number of pages in each ring, from the room that it has.
    fn linked(&self) -> [usize; 4] {
        std::array::from_fn(|r| if r < self.regions { (self.size[r] as i64 - (self.room[r] >> 2)) as usize } else { 0 })
    }

    pub fn check(&self, linked: [usize; 4]) -> Result<(), String> {
        if self.linked() != linked {
            return Err(format!("rings of {linked:?} pages are counted as {:?}", self.linked()));
        }
        let sum: usize = self.size.iter().sum();
        if sum != self.frames.max(self.regions) || self.size[..self.regions].contains(&0) {
            return Err(format!("sizes {:?} for {} frames", self.size, self.frames));
        }
        Ok(())
    }
}
