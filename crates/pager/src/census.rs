//! The census: which managed pages are in DRAM. The page table, scanned range by range, is the
//! pager's only source. A page that was out and is in DRAM again has been written (the kernel
//! copied it). A page that is mapped from the NVM file has been read in place. A page that the
//! policy does not know is new.

use crate::kernel::pagemap::{PageMap, Run, Where};
use crate::kernel::sparse::Sparse;
use crate::kernel::PAGE;
use crate::record::EventKind;
use crate::spans::{addresses, Span};
use crate::stats::{add, set};
use crate::world::bit::*;
use crate::world::World;
use crate::PAGES;
use rustix::io::Result;
use std::sync::atomic::Ordering;

/// Buffers that each census reuses, so that a census does not allocate in the steady state.
pub struct Census {
    map: PageMap,
    pieces: Vec<(crate::spans::PageRange, Span)>,
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
        Ok(Census { map, pieces: Vec::new(), arrivals: Vec::new(), reads: Vec::new(), turn: 0, stamp: unsafe { Sparse::new(PAGES) }? })
    }

    /// Scan every managed page, report arrivals and departures to the policy, and append its
    /// victims: enough to leave `kept_free` frames free beyond its reserve. Returns the number of
    /// pages in DRAM.
    ///
    /// Pages read in place are counted only with `all` and in every eighth census, as they
    /// outnumber the pages in DRAM.
    pub fn take(&mut self, world: &mut World, all: bool, kept_free: usize, victims: &mut Vec<usize>) -> Result<usize> {
        let Census { map, pieces, arrivals, reads, turn, stamp } = self;
        *turn = turn.wrapping_add(1);
        pieces.clear();
        pieces.extend(world.spans.all().filter(|(_, s)| s.counts()));
        arrivals.clear();
        reads.clear();
        let (mut dram, mut stuck, mut known, mut copied) = (0, 0, 0, 0);
        for (piece, span) in pieces.iter() {
            let (bytes, may_leave) = (addresses(piece), span.evictable());
            let state = &mut world.state;
            let show = |run: Run| {
                let pages = run.pages();
                match run.place() {
                    Where::Dram => {
                        dram += pages.len();
                        for page in pages {
                            let s = &mut state[page];
                            copied += (*s & OUT != 0) as usize;
                            let recorded = *s & SEEN != 0 && *s & OUT == 0;
                            *s &= !(OUT | SEEN);
                            stamp[page] = *turn;
                            match *s {
                                _ if !may_leave => stuck += 1,
                                s if s & KNOWN != 0 => known += 1,
                                _ => arrivals.push((page, recorded)),
                            }
                        }
                    }
                    Where::File => {
                        for page in pages {
                            let new = state[page] & (OUT | SEEN) == OUT;
                            if new {
                                state[page] |= SEEN;
                                reads.push(page);
                            }
                        }
                    }
                    Where::Zero | Where::Swapped => (),
                }
            };
            if all || *turn % 8 == 0 {
                map.scan(bytes, show)?;
            } else {
                map.scan_dram(bytes, show)?;
            }
        }
        add(&world.stats.copied_pages, copied);
        add(&world.stats.direct_reads, reads.len());
        reads.iter().for_each(|page| world.note(EventKind::Read, *page..*page + 1));
        if known != world.frames().resident_count() {
            forget_absent(world, pieces, stamp, *turn);
        }
        for (page, recorded) in arrivals.iter() {
            if !recorded {
                world.note(EventKind::Write, *page..*page + 1);
            }
            world.state[*page] |= KNOWN | REMEMBERED;
            world.frames().arrive(*page, stuck + kept_free, victims);
        }
        world.frames().shrink(stuck + kept_free, victims);
        for page in victims.iter() {
            world.state[*page] &= !KNOWN;
        }
        set(&world.stats.dram_bytes, dram * PAGE);
        set(&world.stats.stuck_bytes, stuck * PAGE);
        world.stats.dram_peak_bytes.fetch_max((dram * PAGE) as u64, Ordering::Relaxed);
        Ok(dram)
    }
}

/// Make the policy forget the pages that this census did not see: they were dropped by a system
/// call that was not intercepted, or swapped out by the kernel.
fn forget_absent(world: &mut World, pieces: &[(crate::spans::PageRange, Span)], stamp: &Sparse<u8>, turn: u8) {
    for (piece, _) in pieces {
        let written: Vec<_> = world.state.written(piece.clone()).collect();
        for page in written.into_iter().flatten() {
            if world.state[page] & KNOWN != 0 && stamp[page] != turn {
                world.forget(page..page + 1);
            }
        }
    }
}
