//! `opt-cost`: a lower bound of any policy's I/O time, computed from the whole trace. The model and
//! its proof: docs/models/opt-cost.md.
//!
//! An interval is the time between two references to a page. In it the page stays in memory, or is
//! evicted once and read again. A page that stays takes one of the `frames - 1` frames that the
//! page referenced meanwhile leaves free. So a policy is a choice of intervals to give up. The cost
//! of giving one up is known from the trace, except for the write of a dirty page, which the first
//! eviction after the write pays, in whichever interval that is. To charge it only to the longest
//! interval can only lower the sum. The problem is now interval packing with a few different
//! weights. A weight is the sum of the cost levels up to it. For each level, a greedy algorithm,
//! which gives up the interval with the furthest end, counts exactly how many of the intervals that
//! reach the level must be given up.

use super::engine::Counts;
use super::resolve::for_each_resolved;
use std::collections::BinaryHeap;
use swaplab_experiment::{FirstTouch, Mapping};
use swaplab_policy::bits::{COPIED, SLOT, TOUCHED};
use swaplab_policy::{Backing, Costs, Residency};
use swaplab_trace::source::Progress;
use swaplab_trace::Trace;
use swaplab_vocab::{Access, BadInput, Class, PageId, Result};

/// The operations that giving up an interval costs: one bit each, in the lower four bits.
type Kind = u8;
const SWAP_READ: Kind = 1;
const SWAP_WRITE: Kind = 2;
const FILE_READ: Kind = 4;
const FILE_WRITE: Kind = 8;
/// The page is referenced at the interval's end, so giving the interval up causes a fault, even if
/// that reads nothing.
const FAULT: Kind = 16;
/// No reference yet, or none since the page was freed.
const NONE: u32 = u32::MAX;

/// A point at which a bound is computed.
pub struct Place {
    pub frames: u64,
    pub first_touch: FirstTouch,
    pub costs: Costs,
}

/// The bound `opt-cost` at each place, in their order. The trace is read once for each kind of
/// first touch.
pub fn opt_cost(trace: &Trace, mapping: Mapping, places: &[Place], progress: Progress) -> Result<Vec<Counts>> {
    let mut read = |first_touch: FirstTouch| match places.iter().any(|place| place.first_touch == first_touch) {
        true => Intervals::read(trace, mapping, first_touch, progress).map(Some),
        false => Ok(None),
    };
    let (charged, zero_fill) = (read(FirstTouch::Charged)?, read(FirstTouch::ZeroFill)?);
    let least = |place: &Place| {
        let intervals = match place.first_touch {
            FirstTouch::Charged => &charged,
            FirstTouch::ZeroFill => &zero_fill,
        };
        intervals.as_ref().expect("read above").least(place.frames as usize, &place.costs)
    };
    Ok(places.iter().map(least).collect())
}

/// Every interval of a trace, by the reference at which it starts.
pub struct Intervals {
    /// The reference at which the page is referenced again, or before which it is freed; the number
    /// of all references if neither happens.
    end: Vec<u32>,
    kind: Vec<Kind>,
    /// Operations of first touches, which every policy needs.
    compulsory: Counts,
}

/// Collects the intervals of a trace in one forward pass.
struct Reader {
    pages: Residency,
    last: Vec<u32>,
    /// By page, the write that is not charged to an interval yet; 0 for a clean page.
    owed: Vec<Kind>,
    /// By page, start and length of its longest interval since its last write.
    longest: Vec<(u32, u32)>,
    intervals: Intervals,
}

impl Reader {
    fn new(classes: &[Class], first_touch: FirstTouch) -> Reader {
        let mut pages = Residency::new(classes.iter().copied());
        if first_touch == FirstTouch::Charged {
            for (page, _) in classes.iter().enumerate().filter(|(_, class)| **class == Class::Anonymous) {
                pages.set(page as PageId, SLOT);
            }
        }
        let n = classes.len();
        let intervals = Intervals { end: Vec::new(), kind: Vec::new(), compulsory: Counts::default() };
        Reader { pages, last: vec![NONE; n], owed: vec![0; n], longest: vec![(0, 0); n], intervals }
    }

    fn now(&self) -> u32 {
        self.intervals.end.len() as u32
    }

    /// The operation by which a fault on the page would read it now; 0 if it reads nothing.
    fn read(&self, page: PageId) -> Kind {
        match self.pages.backing(page) {
            Backing::Swap if self.pages.bits(page) & SLOT != 0 => SWAP_READ,
            Backing::Swap => 0,
            Backing::File => FILE_READ,
        }
    }

    fn reference(&mut self, access: Access) {
        let (page, now) = (access.page(), self.now());
        if self.last[page as usize] == NONE {
            let counts = &mut self.intervals.compulsory;
            counts.faults += 1;
            match self.read(page) {
                SWAP_READ => self.intervals.compulsory.swap_reads += 1,
                FILE_READ => self.intervals.compulsory.file_reads += 1,
                _ => {}
            }
        } else {
            self.close(page, FAULT | self.read(page));
        }
        self.pages.set(page, TOUCHED);
        if access.is_write() {
            self.charge_write(page);
            self.pages.set(page, if self.pages.class(page) == Class::File { COPIED } else { 0 });
            // At its next eviction it is written to its slot, and after that it is read from there.
            let owed = if self.pages.backing(page) == Backing::Swap { (SLOT, SWAP_WRITE) } else { (0, FILE_WRITE) };
            self.pages.set(page, owed.0);
            self.owed[page as usize] = owed.1;
        }
        self.last[page as usize] = now;
        self.intervals.end.push(now + 1);
        self.intervals.kind.push(0);
    }

    /// End the page's interval before the next reference, or at it.
    fn close(&mut self, page: PageId, kind: Kind) {
        let (start, now) = (self.last[page as usize], self.now());
        self.intervals.end[start as usize] = now;
        self.intervals.kind[start as usize] = kind;
        let longest = &mut self.longest[page as usize];
        if now - start >= longest.1 {
            *longest = (start, now - start);
        }
    }

    /// Charge the write of the page to its longest interval since. Called when the page is written
    /// again or freed.
    fn charge_write(&mut self, page: PageId) {
        let (start, length) = std::mem::take(&mut self.longest[page as usize]);
        if length > 0 {
            self.intervals.kind[start as usize] |= std::mem::take(&mut self.owed[page as usize]);
        }
    }

    /// Drop anonymous content that was touched, as `Engine::apply` does.
    fn free(&mut self, page: PageId) {
        if self.pages.backing(page) == Backing::File || self.pages.bits(page) & TOUCHED == 0 {
            return;
        }
        if self.last[page as usize] != NONE {
            self.close(page, 0);
            self.charge_write(page);
            self.last[page as usize] = NONE;
        }
        self.pages.clear(page, SLOT | COPIED);
    }

    fn finish(mut self) -> Intervals {
        for page in 0..self.last.len() as PageId {
            if self.last[page as usize] != NONE {
                self.close(page, 0);
                self.charge_write(page);
            }
        }
        self.intervals
    }
}

impl Intervals {
    /// Read the intervals of a trace. They hold for any number of frames.
    pub fn read(trace: &Trace, mapping: Mapping, first_touch: FirstTouch, progress: Progress) -> Result<Intervals> {
        if trace.meta.references() >= NONE as u64 {
            return Err(BadInput::new(trace.place(), "2^32 references or more", "fewer, as the future must be known"));
        }
        let table = trace.page_table()?;
        let mut reader = Reader::new(&table.classes, first_touch);
        for_each_resolved(trace, mapping, progress, |resolved| {
            for (accesses, event) in resolved.steps() {
                accesses.iter().for_each(|access| reader.reference(*access));
                event.into_iter().flat_map(|e| &e.freed).for_each(|page| reader.free(*page));
            }
            Ok(())
        })?;
        Ok(reader.finish())
    }

    /// The bound for `frames` frames, as counts whose times at `costs` add up to it. `faults` is a
    /// separate bound: the fewest faults.
    pub fn least(&self, frames: usize, costs: &Costs) -> Counts {
        let cost = |kind: Kind| {
            [
                (SWAP_READ, costs.swap_read_ns),
                (SWAP_WRITE, costs.swap_write_ns),
                (FILE_READ, costs.file_read_ns),
                (FILE_WRITE, costs.file_write_ns),
            ]
            .into_iter()
            .map(|(bit, ns)| if kind & bit != 0 { ns } else { 0 })
            .sum::<u64>()
        };
        let mut counts = self.compulsory;
        counts.references = self.end.len() as u64;
        counts.faults += self.given_up(frames, |kind| kind & FAULT != 0);
        // The existing kinds, by their costs. Of kinds with the same cost only the first is kept.
        let mut levels: Vec<(u64, Kind)> = self.kinds().map(|kind| (cost(kind), kind)).filter(|(ns, _)| *ns > 0).collect();
        levels.sort_unstable();
        levels.dedup_by_key(|(ns, _)| *ns);
        let reach: Vec<u64> = levels.iter().map(|(ns, _)| self.given_up(frames, |kind| cost(kind) >= *ns)).collect();
        for (i, (_, kind)) in levels.iter().enumerate() {
            // Some of them also reach the next level, so this many cost exactly this level.
            let count = reach[i] - reach.get(i + 1).copied().unwrap_or(0);
            let times = |bit: Kind| if kind & bit != 0 { count } else { 0 };
            counts.swap_reads += times(SWAP_READ);
            counts.swap_writes += times(SWAP_WRITE);
            counts.file_reads += times(FILE_READ);
            counts.file_writes += times(FILE_WRITE);
        }
        counts
    }

    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let mut exists = [false; 32];
        self.kind.iter().for_each(|kind| exists[*kind as usize] = true);
        (0..32).filter(move |kind| exists[*kind as usize])
    }

    /// The smallest number of `counted` intervals that must be given up, if giving up the others
    /// costs nothing.
    fn given_up(&self, frames: usize, counted: impl Fn(Kind) -> bool) -> u64 {
        let counted: [bool; 32] = std::array::from_fn(|kind| counted(kind as Kind));
        let places = frames - 1;
        // Kept intervals that span the present reference: their number, their number by end, and
        // their ends, the furthest on top.
        let (mut kept, mut ending, mut ends) = (0usize, vec![0u32; self.end.len() + 1], BinaryHeap::new());
        let mut given_up = 0;
        for (now, (&end, &kind)) in (0..).zip(self.end.iter().zip(&self.kind)) {
            kept -= ending[now as usize] as usize;
            while kept > places {
                let furthest: u32 = ends.pop().expect("every kept interval has an end in the heap");
                ending[furthest as usize] -= 1;
                kept -= 1;
                given_up += 1;
            }
            if counted[kind as usize] && end > now + 1 {
                ends.push(end);
                ending[end as usize] += 1;
                kept += 1;
                if ends.len() > 2 * frames + 64 {
                    ends.retain(|end| *end > now);
                }
            }
        }
        given_up
    }
}

#[cfg(test)]
mod tests;
