//! The census: which managed pages are in DRAM. The page table, scanned range by range, is the
//! pager's only source; memory that it has seen in DRAM and that cannot have left is not scanned
//! again each time, and evicted memory only if the kernel counts more pages than were found. A page
//! that was out and is in DRAM again has been written (the kernel copied it). A page that is mapped
//! from the NVM file has been read in place. A page that the policy does not know is new.

use crate::kernel::pagemap::{PageMap, Run, Where};
use crate::kernel::sparse::Sparse;
use crate::kernel::PAGE;
use crate::managed::bit::*;
use crate::managed::ManagedMemory;
use crate::record::EventKind;
use crate::spans::{addresses, PageRange, Span};
use crate::stats::{add, set};
use crate::{CHUNK, PAGES};
use rustix::io::Result;
use std::sync::atomic::Ordering;

/// Buffers that each census reuses, so that a census does not allocate in the steady state.
pub struct Census {
    map: PageMap,
    pieces: Vec<(PageRange, Span)>,
    /// The parts of a piece, and all parts whose pages were evicted.
    parts: Vec<(PageRange, Part)>,
    evicted: Vec<PageRange>,
    /// Pages that are new in DRAM, each with whether its arrival is already in the record.
    arrivals: Vec<(usize, bool)>,
    /// Pages that are newly read in place.
    reads: Vec<usize>,
    /// Number of this census (mod 256) and, for each page, of the last census that saw it in DRAM.
    turn: u8,
    stamp: Sparse<u8>,
}

impl Census {
    pub fn new(map: PageMap) -> Result<Census> {
        // SAFETY: zero is a u8.
        let stamp = unsafe { Sparse::new(PAGES) }?;
        let (pieces, parts, evicted) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Census { map, pieces, parts, evicted, arrivals: Vec::new(), reads: Vec::new(), turn: 0, stamp })
    }

    /// Find every managed page in DRAM, report arrivals and departures to the policy, and append
    /// its victims: enough to leave `kept_free` frames free beyond its reserve. Returns the number
    /// of pages in DRAM.
    ///
    /// Pages read in place are counted only with `all` and in every [`FULL`]th census, as they
    /// outnumber the pages in DRAM. Settled memory is scanned only then, too, and evicted memory
    /// also if `misses`, given the number of pages found, says that there are more.
    pub fn take(
        &mut self,
        managed: &mut ManagedMemory,
        all: bool,
        kept_free: usize,
        misses: impl Fn(usize) -> bool,
        victims: &mut Vec<usize>,
    ) -> Result<usize> {
        let Census { map, pieces, parts, evicted, arrivals, reads, turn, stamp } = self;
        *turn = turn.wrapping_add(1);
        let full = all || *turn % FULL == 0;
        pieces.clear();
        pieces.extend(managed.spans.all().filter(|(_, s)| s.counts()));
        evicted.clear();
        arrivals.clear();
        reads.clear();
        let mut counts = Counts::default();
        let (state, turn) = (&mut managed.state, *turn);
        for (piece, span) in pieces.iter() {
            let may_leave = span.evictable();
            parts.clear();
            parts.extend(state.runs(piece.clone(), CHUNK, |states| Part::of(states, may_leave)));
            let mut scan = Scan { state, stamp, turn, may_leave, arrivals, reads, counts: &mut counts };
            for (pages, part) in parts.iter() {
                match part {
                    Part::Settled if !full => scan.skip(pages.clone()),
                    Part::Evicted if !full => evicted.push(pages.clone()),
                    Part::Settled | Part::Plain => map.scan_plain(addresses(pages), |run| scan.see(run))?,
                    Part::Evicted | Part::Other if full => map.scan(addresses(pages), |run| scan.see(run))?,
                    Part::Evicted | Part::Other => map.scan_dram(addresses(pages), |run| scan.see(run))?,
                }
            }
        }
        if !evicted.is_empty() && misses(counts.dram) {
            let mut scan = Scan { state, stamp, turn, may_leave: true, arrivals, reads, counts: &mut counts };
            evicted.iter().try_for_each(|pages| map.scan_dram(addresses(pages), |run| scan.see(run)))?;
        }
        add(&managed.stats.copied_pages, counts.copied);
        add(&managed.stats.direct_reads, reads.len());
        reads.iter().for_each(|page| managed.note(EventKind::Read, *page..*page + 1));
        if counts.known != managed.frames().resident_count() {
            forget_absent(managed, pieces, stamp, turn);
        }
        let stuck = counts.stuck;
        for (page, recorded) in arrivals.iter() {
            if !recorded {
                managed.note(EventKind::Write, *page..*page + 1);
            }
            managed.state[*page] |= KNOWN | REMEMBERED;
            managed.frames().arrive(*page, stuck + kept_free, victims);
        }
        managed.frames().shrink(stuck + kept_free, victims);
        for page in victims.iter() {
            managed.state[*page] &= !KNOWN;
        }
        set(&managed.stats.dram_bytes, counts.dram * PAGE);
        set(&managed.stats.stuck_bytes, stuck * PAGE);
        managed.stats.dram_peak_bytes.fetch_max((counts.dram * PAGE) as u64, Ordering::Relaxed);
        Ok(counts.dram)
    }
}

/// Numbers of pages that a census has seen in DRAM: all of them, those that may not leave, those
/// that the policy knows, and those that the kernel has copied since their eviction.
#[derive(Default)]
struct Counts {
    dram: usize,
    stuck: usize,
    known: usize,
    copied: usize,
}

/// The scan of one piece of managed memory.
struct Scan<'a> {
    state: &'a mut Sparse<u8>,
    stamp: &'a mut Sparse<u8>,
    turn: u8,
    may_leave: bool,
    arrivals: &'a mut Vec<(usize, bool)>,
    reads: &'a mut Vec<usize>,
    counts: &'a mut Counts,
}

impl Scan<'_> {
    /// Note a run of pages of the page table.
    fn see(&mut self, run: Run) {
        match run.place() {
            Where::Dram => {
                self.counts.dram += run.pages().len();
                for page in run.pages() {
                    let s = &mut self.state[page];
                    self.counts.copied += (*s & OUT != 0) as usize;
                    let recorded = *s & SEEN != 0 && *s & OUT == 0;
                    *s &= !(OUT | SEEN);
                    self.stamp[page] = self.turn;
                    match *s {
                        _ if !self.may_leave => self.counts.stuck += 1,
                        s if s & KNOWN != 0 => self.counts.known += 1,
                        _ => self.arrivals.push((page, recorded)),
                    }
                }
            }
            Where::File => {
                for page in run.pages() {
                    let s = &mut self.state[page];
                    if *s & (OUT | SEEN) == OUT {
                        *s |= SEEN;
                        self.reads.push(page);
                    }
                }
            }
            Where::Zero | Where::Swapped => (),
        }
    }

    /// Count settled pages without a look at the page table.
    fn skip(&mut self, settled: PageRange) {
        self.counts.dram += settled.len();
        self.counts.known += settled.len();
        self.stamp.change(settled, |stamp| *stamp = self.turn);
    }
}

/// What the states of pages of one chunk say about where the pages can be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Plain anonymous memory that a census has seen in DRAM. It stays there until the pager evicts
    /// it or the program drops it, which the pager is told. A program's own system calls, of which
    /// the pager is not told, and the kernel's swap are found by every [`FULL`]th census.
    Settled,
    /// Other plain anonymous memory.
    Plain,
    /// Memory that was evicted and that no census has seen in DRAM since.
    Evicted,
    /// Other memory that is mapped from the store.
    Other,
}

impl Part {
    fn of(states: &[u8], may_leave: bool) -> Part {
        let any = states.iter().fold(0, |any, state| any | state);
        let all = states.iter().fold(u8::MAX, |all, state| all & state);
        match any & (PAGED | OUT | SEEN | FROZEN) {
            0 if all & KNOWN != 0 && may_leave => Part::Settled,
            bits if bits & PAGED == 0 => Part::Plain,
            _ if all & OUT != 0 && may_leave => Part::Evicted,
            _ => Part::Other,
        }
    }
}

/// One census of so many scans all memory.
const FULL: u8 = 8;

/// Make the policy forget the pages that this census did not see: they were dropped by a system
/// call that was not intercepted, or swapped out by the kernel.
fn forget_absent(managed: &mut ManagedMemory, pieces: &[(PageRange, Span)], stamp: &Sparse<u8>, turn: u8) {
    for (piece, _) in pieces {
        let written: Vec<_> = managed.state.written(piece.clone()).collect();
        for page in written.into_iter().flatten() {
            if managed.state[page] & KNOWN != 0 && stamp[page] != turn {
                managed.forget(page..page + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan_of<T>(states: &[(PageRange, u8)], may_leave: bool, test: impl FnOnce(&mut Scan) -> T) -> T {
        // SAFETY: zero is a u8.
        let (mut state, mut stamp) = unsafe { (Sparse::new(PAGES).unwrap(), Sparse::new(PAGES).unwrap()) };
        for (pages, bits) in states {
            state.change(pages.clone(), |state: &mut u8| *state = *bits);
        }
        let (mut arrivals, mut reads, mut counts) = (Vec::new(), Vec::new(), Counts::default());
        let (arrivals, reads, counts) = (&mut arrivals, &mut reads, &mut counts);
        test(&mut Scan { state: &mut state, stamp: &mut stamp, turn: 3, may_leave, arrivals, reads, counts })
    }

    #[test]
    fn the_policy_forgets_known_pages_that_a_census_did_not_see() {
        static STATS: crate::stats::Stats = crate::stats::Stats::new();
        let mut managed = ManagedMemory::new(64, 8, &STATS).unwrap();
        let policy = swaplab_policy::PolicySpec::parse("fifo").unwrap();
        let costs = swaplab_policy::Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
        managed.frames = Some(crate::frames::Frames::new(policy, 8, costs).unwrap());
        let start = managed.spans.reserved().start;
        // SAFETY: zero is a u8.
        let mut stamp: Sparse<u8> = unsafe { Sparse::new(PAGES) }.unwrap();
        let mut victims = Vec::new();
        for page in start..start + 3 {
            managed.frames().arrive(page, 0, &mut victims);
            managed.state[page] = KNOWN;
            stamp[page] = 3;
        }
        stamp[start + 1] = 2;
        forget_absent(&mut managed, &[(start..start + 3, Span::Foreign)], &stamp, 3);
        assert_eq!([0, 1, 2].map(|at| managed.state[start + at]), [KNOWN, 0, KNOWN]);
        assert_eq!(managed.frames().resident_count(), 2);
    }

    #[test]
    fn a_chunk_is_settled_or_evicted_only_if_all_its_pages_are() {
        let states = [
            (0..CHUNK, PAGED | OUT),
            (CHUNK..2 * CHUNK, KNOWN | PAGED),
            (2 * CHUNK..3 * CHUNK, KNOWN | REMEMBERED),
            (3 * CHUNK..4 * CHUNK - 1, KNOWN),
            (5 * CHUNK..6 * CHUNK, KNOWN | FROZEN),
            (6 * CHUNK..7 * CHUNK - 1, PAGED | OUT),
            (7 * CHUNK..8 * CHUNK, PAGED | OUT | SEEN),
        ];
        let parts = [Part::Evicted, Part::Other, Part::Settled, Part::Plain, Part::Plain, Part::Plain, Part::Other, Part::Evicted];
        scan_of(&states, true, |scan| {
            let parts_of = |pages| scan.state.runs(pages, CHUNK, |states| Part::of(states, true)).collect::<Vec<_>>();
            let runs = [0..1, 1..2, 2..3, 3..6, 6..7, 7..8].map(|chunks| (chunks.start * CHUNK..chunks.end * CHUNK, parts[chunks.start]));
            assert_eq!(parts_of(0..8 * CHUNK), runs);
            assert_eq!(parts_of(4 * CHUNK - 2..4 * CHUNK - 1), [(4 * CHUNK - 2..4 * CHUNK - 1, Part::Settled)]);
            scan.skip(2 * CHUNK..3 * CHUNK);
            assert_eq!((scan.counts.dram, scan.counts.known, scan.counts.stuck), (CHUNK, CHUNK, 0));
            assert_eq!((scan.stamp[2 * CHUNK], scan.stamp[3 * CHUNK - 1], scan.stamp[3 * CHUNK]), (3, 3, 0));
        });
    }

    #[test]
    fn memory_that_may_not_leave_is_neither_settled_nor_evicted() {
        assert_eq!([KNOWN, PAGED | OUT].map(|state| Part::of(&[state; CHUNK], false)), [Part::Plain, Part::Other]);
    }
}
