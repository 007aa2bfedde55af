//! Which managed pages are in DRAM: the kernel's page table is the only signal there is, read a range at a time.
//! A page that was out and is in DRAM again was written (the kernel copied it); one that is mapped from the file was
//! read in place; one the policy never heard of is new.

use crate::kernel::pagemap::{PageMap, Run, Where};
use crate::kernel::sparse::Sparse;
use crate::kernel::PAGE;
use crate::record::What;
use crate::spans::{addresses, Span};
use crate::stats::{add, set};
use crate::world::bit::*;
use crate::world::World;
use crate::PAGES;
use rustix::io::Result;
use std::sync::atomic::Ordering;

/// Scratch that a census reuses, so that in the long run it allocates nothing.
pub struct Census {
    map: PageMap,
    pieces: Vec<(crate::spans::PageRange, Span)>,
    /// And whether the record has it already.
    arrivals: Vec<(usize, bool)>,
    /// Newly read in place.
    reads: Vec<usize>,
    /// Number of this census (mod 256) and, a page, of the last one that saw it in DRAM.
    turn: u8,
    stamp: Sparse<u8>,
}

impl Census {
    pub fn new(map: PageMap) -> Result<Census> {
        // SAFETY: zero is a u8.
        Ok(Census { map, pieces: Vec::new(), arrivals: Vec::new(), reads: Vec::new(), turn: 0, stamp: unsafe { Sparse::new(PAGES) }? })
    }

    /// Look at every managed page, tell the policy what came and went, and append its victims, so many that `kept_free` more than
    /// its own reserve are free. Gives the pages in DRAM.
    /// Pages read in place are counted now and then only, unless `all` asks for them: they outnumber the others.
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
        reads.iter().for_each(|page| world.note(What::Read, *page..*page + 1));
        if known != world.frames().held() {
            forget_the_departed(world, pieces, stamp, *turn);
        }
        for (page, recorded) in arrivals.iter() {
            if !recorded {
                world.note(What::Write, *page..*page + 1);
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

/// Pages that the policy holds and this census did not see: dropped by a system call that did not come through us, or
/// swapped out by the kernel.
fn forget_the_departed(world: &mut World, pieces: &[(crate::spans::PageRange, Span)], stamp: &Sparse<u8>, turn: u8) {
    for (piece, _) in pieces {
        let written: Vec<_> = world.state.written(piece.clone()).collect();
        for page in written.into_iter().flatten() {
            if world.state[page] & KNOWN != 0 && stamp[page] != turn {
                world.forget(page..page + 1);
            }
        }
    }
}
