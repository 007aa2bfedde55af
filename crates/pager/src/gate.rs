//! Gates of fresh memory. A program can fill fresh memory faster than the pager evicts pages. So,
//! once half of the budget is in DRAM, untouched memory is gated: its first access waits for the
//! pager, which makes room and then opens the gated part of the chunk, one wait for up to 128
//! pages. Without gates, a program could exceed its budget between two censuses.

use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::spans::{addresses, PageRange};
use crate::world::bit::*;
use crate::world::{Gate, World};
use crate::CHUNK;

/// Gate all untouched evictable memory.
pub fn close(uffd: &Uffd, world: &mut World) {
    let evictable = world.spans.all().filter(|(_, s)| s.evictable());
    let unseen = |piece| world.gates.pieces(piece).filter(|(_, gate)| *gate == Gate::Unseen);
    let runs: Vec<PageRange> = evictable.flat_map(|(piece, _)| unseen(piece)).map(|(run, _)| run).collect();
    for run in runs {
        let mut start = run.start;
        while start < run.end {
            // Gate the untouched pages up to the end of the run, or else up to the last chunk
            // boundary.
            let untouched = world.state.leading(start..run.end, is_untouched);
            let end = if start + untouched == run.end { run.end } else { ((start + untouched) / CHUNK * CHUNK).max(start) };
            if end > start {
                if uffd.register(addresses(&(start..end)), Watch::Missing).is_ok() {
                    world.gates.set(start..end, Gate::Gated);
                }
                start = end;
            }
            if start < run.end {
                // This chunk is in use already.
                let end = ((start / CHUNK + 1) * CHUNK).min(run.end);
                world.gates.set(start..end, Gate::Open);
                start = end;
            }
        }
    }
}

/// Gate also the untouched pages of chunks that are in use, where they are many in a row. Returns
/// the number of the others.
pub fn close_used(uffd: &Uffd, world: &mut World) -> usize {
    let evictable = world.spans.all().filter(|(_, s)| s.evictable());
    let open = evictable.flat_map(|(piece, _)| world.gates.pieces(piece)).filter(|(_, gate)| *gate == Gate::Open);
    let runs: Vec<PageRange> = open.map(|(run, _)| run).collect();
    let mut left = 0;
    for run in runs {
        let mut page = run.start;
        while page < run.end {
            let untouched = page..page + world.state.leading(page..run.end, is_untouched);
            page = untouched.end + world.state.leading(untouched.end..run.end, |s| !is_untouched(s));
            if untouched.len() >= LEAST_RUN && uffd.register(addresses(&untouched), Watch::Missing).is_ok() {
                world.gates.set(untouched, Gate::Gated);
            } else {
                left += untouched.len();
            }
        }
    }
    left
}

/// Whether a page is not mapped from the store, and the last census did not see it in DRAM.
fn is_untouched(state: u8) -> bool {
    state & (KNOWN | PAGED) == 0
}

/// The least number of pages that get a gate of their own in a chunk that is in use: each gate is a
/// mapping of the process, of which the kernel allows some ten thousand.
const LEAST_RUN: usize = CHUNK / 4;

/// Whether the first access to `page` waits for the pager.
pub fn is_closed(world: &World, page: usize) -> bool {
    world.gates.at(page) == Gate::Gated
}

/// Open the gated part of the chunk of `page`, and wake the waiting threads. Returns the number of
/// opened pages.
pub fn open(uffd: &Uffd, world: &mut World, page: usize) -> usize {
    let chunk = page / CHUNK * CHUNK..(page / CHUNK + 1) * CHUNK;
    let gated: Vec<PageRange> = world.gates.pieces(chunk.clone()).filter(|(_, gate)| *gate == Gate::Gated).map(|(run, _)| run).collect();
    for run in &gated {
        world.gates.set(run.clone(), Gate::Open);
        let _ = uffd.unregister(addresses(run));
    }
    let _ = uffd.wake(addresses(&chunk));
    gated.iter().map(PageRange::len).sum()
}

/// Fill the missing page at `address` with zeros and wake its waiters, whatever its gate.
pub fn open_page(uffd: &Uffd, address: usize) {
    let _ = uffd.fill_zero(address / PAGE * PAGE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::bit::{OUT, SEEN};

    #[test]
    fn a_page_is_untouched_until_a_census_or_an_eviction() {
        assert_eq!([0, SEEN, KNOWN, PAGED, PAGED | OUT].map(is_untouched), [true, true, false, false, false]);
    }
}
