//! `opt-cost`: what no policy can go below in I/O time, from the whole trace. The model and its proof: docs/models/opt-cost.md.
//!
//! Between two references to a page lies an interval: the page stays in memory, or it leaves once and is read again. Over the interval's
//! inner references it takes one of the `frames - 1` places that the page referenced leaves. So each policy is a choice of intervals that
//! are given up, and what it pays for one is known from the trace, but for the write of a dirty page: the first eviction after a write pays
//! it, whichever interval that falls into. Charging it to one interval alone, the longest, can only lower the sum. What is left is interval
//! packing with weights of a few values. By levels: a weight is the sum of the steps up to it, and for each step the fewest
//! intervals that reach it and must be given up are counted by themselves, exactly, by the greedy that gives up the furthest end.

use super::engine::Counts;
use super::resolve::for_each_resolved;
use std::collections::BinaryHeap;
use swaplab_experiment::{FirstTouch, Mapping};
use swaplab_policy::bits::{COPIED, SLOT, TOUCHED};
use swaplab_policy::{Backing, Costs, Residency};
use swaplab_trace::source::Progress;
use swaplab_trace::Trace;
use swaplab_vocab::{Access, BadInput, Class, PageId, Result};

/// What giving an interval up costs, in its lower four bits: one bit an operation.
type Kind = u8;
const SWAP_READ: Kind = 1;
const SWAP_WRITE: Kind = 2;
const FILE_READ: Kind = 4;
const FILE_WRITE: Kind = 8;
/// The page is referenced at the interval's end, so giving it up is a fault, whatever it costs.
const FAULT: Kind = 16;
/// No reference yet, or none since the page was freed.
const NONE: u32 = u32::MAX;

/// A point at which a bound is computed.
pub struct Place {
    pub frames: u64,
    pub first_touch: FirstTouch,
    pub costs: Costs,
}

/// The bound `opt-cost` at each place, in their order. The trace is read once for each kind of first touch.
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

/// Every interval of a trace, by the reference that it starts at.
pub struct Intervals {
    /// The reference at which the page is needed again or, before which, is gone; the number of references if that never happens.
    end: Vec<u32>,
    kind: Vec<Kind>,
    /// What first touches cost, whatever the policy.
    compulsory: Counts,
}

/// Reads a trace front to back.
struct Reader {
    pages: Residency,
    last: Vec<u32>,
    /// What writing the page costs, if it was written since it came to be; 0 for a clean one.
    owed: Vec<Kind>,
    /// The longest interval since its last write: where it starts, and its length.
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

    /// What a fault of the page reads now.
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
            self.settle(page);
            self.pages.set(page, if self.pages.class(page) == Class::File { COPIED } else { 0 });
            // Whenever it leaves memory from now on, it has gone to its slot before it is read again.
            let owed = if self.pages.backing(page) == Backing::Swap { (SLOT, SWAP_WRITE) } else { (0, FILE_WRITE) };
            self.pages.set(page, owed.0);
            self.owed[page as usize] = owed.1;
        }
        self.last[page as usize] = now;
        self.intervals.end.push(now + 1);
        self.intervals.kind.push(0);
    }

    /// The page's interval ends before the next reference, or at it.
    fn close(&mut self, page: PageId, kind: Kind) {
        let (start, now) = (self.last[page as usize], self.now());
        self.intervals.end[start as usize] = now;
        self.intervals.kind[start as usize] = kind;
        let longest = &mut self.longest[page as usize];
        if now - start >= longest.1 {
            *longest = (start, now - start);
        }
    }

    /// The page is written anew, or gone: the write that it owed is charged to one of the intervals since.
    fn settle(&mut self, page: PageId) {
        let (start, length) = std::mem::take(&mut self.longest[page as usize]);
        if length > 0 {
            self.intervals.kind[start as usize] |= std::mem::take(&mut self.owed[page as usize]);
        }
    }

    /// As `Engine::apply`: anonymous content that was touched is gone.
    fn free(&mut self, page: PageId) {
        if self.pages.backing(page) == Backing::File || self.pages.bits(page) & TOUCHED == 0 {
            return;
        }
        if self.last[page as usize] != NONE {
            self.close(page, 0);
            self.settle(page);
            self.last[page as usize] = NONE;
        }
        self.pages.clear(page, SLOT | COPIED);
    }

    fn finish(mut self) -> Intervals {
        for page in 0..self.last.len() as PageId {
            if self.last[page as usize] != NONE {
                self.close(page, 0);
                self.settle(page);
            }
        }
        self.intervals
    }
}

impl Intervals {
    /// Those of a trace, for any number of frames.
    pub fn read(trace: &Trace, mapping: Mapping, first_touch: FirstTouch, progress: Progress) -> Result<Intervals> {
        if trace.meta.references() >= NONE as u64 {
            return Err(BadInput::new(trace.place(), "2^32 references or more", "fewer, where the future must be known"));
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

    /// The bound for so many frames, as counts that add up to it at `costs`. `faults` is a bound of its own: the fewest.
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
        // The kinds that there are, by what they cost; of those that cost the same, the first stands for all.
        let mut levels: Vec<(u64, Kind)> = self.kinds().map(|kind| (cost(kind), kind)).filter(|(ns, _)| *ns > 0).collect();
        levels.sort_unstable();
        levels.dedup_by_key(|(ns, _)| *ns);
        let reach: Vec<u64> = levels.iter().map(|(ns, _)| self.given_up(frames, |kind| cost(kind) >= *ns)).collect();
        for (i, (_, kind)) in levels.iter().enumerate() {
            // Fewer reach a higher level, so this many cost just this.
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
        let mut there = [false; 32];
        self.kind.iter().for_each(|kind| there[*kind as usize] = true);
        (0..32).filter(move |kind| there[*kind as usize])
    }

    /// The fewest of the intervals that `counted` names that must be given up; the others may be, for nothing.
    fn given_up(&self, frames: usize, counted: impl Fn(Kind) -> bool) -> u64 {
        let counted: [bool; 32] = std::array::from_fn(|kind| counted(kind as Kind));
        let places = frames - 1;
        // Kept intervals over the reference looked at: how many, how many end where, and the ends, the furthest on top.
        let (mut kept, mut ending, mut ends) = (0usize, vec![0u32; self.end.len() + 1], BinaryHeap::new());
        let mut given_up = 0;
        for (now, (&end, &kind)) in (0..).zip(self.end.iter().zip(&self.kind)) {
            kept -= ending[now as usize] as usize;
            while kept > places {
                let furthest: u32 = ends.pop().expect("every kept interval has its end here");
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
