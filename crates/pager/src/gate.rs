//! Fresh memory is faster to fill than to evict. Once half of the budget is in DRAM, untouched chunks are gated: their
//! first touch waits for the pager, which makes room first and then opens the whole chunk, so that the wait is paid once
//! in 128 pages. Without gates a program could overrun its budget between two looks of the pager.

use crate::kernel::memory::Bytes;
use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::spans::{PageRange, Span};
use crate::world::bit::*;
use crate::world::{evictable, World};
use crate::CHUNK;

/// What a chunk's first touch does. The kernel's registration is the truth; this only spares repeated work.
pub const UNSEEN: u8 = 0;
pub const GATED: u8 = 1;
pub const OPEN: u8 = 2;

/// Gate every untouched chunk that lies wholly in one evictable span.
pub fn close(uffd: &Uffd, world: &mut World) {
    let spans: Vec<(PageRange, Span)> = world.spans.all().filter(|(_, s)| evictable(*s)).collect();
    for (piece, _) in spans {
        let mut chunk = piece.start.div_ceil(CHUNK);
        let end = piece.end / CHUNK;
        while chunk < end {
            let first = chunk;
            while chunk < end && world.gates[chunk] == UNSEEN && untouched(world, chunk) {
                world.gates[chunk] = GATED;
                chunk += 1;
            }
            if chunk > first {
                let _ = uffd.register(world.bytes(&(first * CHUNK..chunk * CHUNK)), Watch::Missing);
            } else {
                world.gates[chunk] = world.gates[chunk].max(OPEN);
                chunk += 1;
            }
        }
    }
}

fn untouched(world: &World, chunk: usize) -> bool {
    world.state[chunk * CHUNK..(chunk + 1) * CHUNK].iter().all(|s| s & (KNOWN | PAGED) == 0)
}

/// Let the program have the chunk of `address`, of a managed range that starts at `base`.
pub fn open(uffd: &Uffd, base: usize, address: usize) {
    let start = base + (address - base) / (CHUNK * PAGE) * (CHUNK * PAGE);
    let chunk: Bytes = start..start + CHUNK * PAGE;
    if uffd.unregister(chunk.clone()).is_ok() {
        let _ = uffd.wake(chunk);
    } else {
        // The program has put something else into the chunk meanwhile: this page alone.
        let _ = uffd.fill_zero(address);
    }
}
