//! Fresh memory is faster to fill than to evict. Once half of the budget is in DRAM, untouched memory is gated: its first touch
//! waits for the pager, which makes room first and then opens the part that is in the same chunk, so that the wait is paid once
//! in 128 pages. Without gates a program could overrun its budget between two looks of the pager.

use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::spans::{addresses, PageRange};
use crate::world::bit::*;
use crate::world::{Gate, World};
use crate::CHUNK;

/// Gate all untouched memory that may leave DRAM.
pub fn close(uffd: &Uffd, world: &mut World) {
    let evictable = world.spans.all().filter(|(_, s)| s.evictable());
    let unseen = |piece| world.gates.pieces(piece).filter(|(_, gate)| *gate == Gate::Unseen);
    let runs: Vec<PageRange> = evictable.flat_map(|(piece, _)| unseen(piece)).map(|(run, _)| run).collect();
    for run in runs {
        let mut start = run.start;
        while start < run.end {
            // Whole chunks, and what the run has of the first and the last.
            let untouched = world.state.leading(start..run.end, |s| s & (KNOWN | PAGED) == 0);
            let end = if start + untouched == run.end { run.end } else { ((start + untouched) / CHUNK * CHUNK).max(start) };
            if end > start {
                if uffd.register(addresses(&(start..end)), Watch::Missing).is_ok() {
                    world.gates.set(start..end, Gate::Gated);
                }
                start = end;
            }
            if start < run.end {
                // A chunk that is in use already.
                let end = ((start / CHUNK + 1) * CHUNK).min(run.end);
                world.gates.set(start..end, Gate::Open);
                start = end;
            }
        }
    }
}

/// Whether the first touch of `page` waits.
pub fn is_closed(world: &World, page: usize) -> bool {
    world.gates.at(page) == Gate::Gated
}

/// Let the program have what is gated of the chunk of `page`. Gives how many pages that is.
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

/// One page for a thread that waits for it, whatever is known of the page.
pub fn open_page(uffd: &Uffd, address: usize) {
    let _ = uffd.fill_zero(address / PAGE * PAGE);
}
