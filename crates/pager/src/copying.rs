//! Eviction to a store that cannot be mapped, and the way back: every touch of an evicted page comes to the pager thread,
//! which copies the page in by userfaultfd. The window is the one of `evict.rs`: protect, save, drop, lift.
//!
//! Memory that was never evicted is not watched, so its first touch costs what it always costs; a chunk is registered at
//! its first eviction.

use crate::kernel::memory;
use crate::kernel::pagemap::{PageMap, Where};
use crate::kernel::uffd::{Fault, Uffd, Watch};
use crate::kernel::PAGE;
use crate::medium::Medium;
use crate::spans::PageRange;
use crate::stats::add;
use crate::store::PageBytes;
use crate::world::bit::*;
use crate::world::{evictable, Backing, World};
use crate::CHUNK;
use rustix::io::{Errno, Result};

pub struct CopyEvictor {
    pub uffd: Uffd,
    map: PageMap,
    pub medium: Medium,
    buffer: Box<PageBytes>,
    present: Vec<PageRange>,
}

impl CopyEvictor {
    pub fn new(uffd: Uffd, map: PageMap, medium: Medium) -> CopyEvictor {
        CopyEvictor { uffd, map, medium, buffer: Box::new([0; PAGE]), present: Vec::new() }
    }

    /// Evict `victims`, ascending pages of one chunk. Gives how many left DRAM.
    pub fn evict(&mut self, world: &mut World, victims: &[usize]) -> Result<usize> {
        let chunk = victims[0] / CHUNK;
        let mut gone = 0;
        let pieces: Vec<PageRange> =
            world.spans.pieces(chunk * CHUNK..(chunk + 1) * CHUNK).filter(|(_, s)| evictable(*s)).map(|(p, _)| p).collect();
        for piece in pieces {
            let inside = &victims[victims.partition_point(|p| *p < piece.start)..victims.partition_point(|p| *p < piece.end)];
            if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                if world.state[piece.clone()].iter().any(|s| s & PAGED == 0) {
                    self.uffd.register(world.bytes(&piece), Watch::WritesAndMissing)?;
                    world.state[piece.clone()].iter_mut().for_each(|s| *s |= PAGED);
                }
                gone += self.evict_window(world, inside, *first..*last + 1)?;
            }
        }
        Ok(gone)
    }

    fn evict_window(&mut self, world: &mut World, victims: &[usize], window: PageRange) -> Result<usize> {
        let bytes = world.bytes(&window);
        self.uffd.protect(bytes.clone(), true)?;
        self.present.clear();
        let (base, present) = (world.base, &mut self.present);
        // Only what is there may be read: a touch of anything else would wait for ourselves.
        let scanned = self.map.scan(bytes.clone(), |run| {
            if run.place() == Where::Dram {
                present.push((run.bytes().start - base) / PAGE..(run.bytes().end - base) / PAGE);
            }
        });
        let mut gone = 0;
        let mut failed = scanned.err();
        for page in self.present.iter().flat_map(|r| r.clone()).filter(|p| victims.binary_search(p).is_ok()) {
            if failed.is_some() {
                break;
            }
            let Backing::Copying(store) = &mut world.backing else { unreachable!("a copying evictor for a copying store") };
            let address = world.base + page * PAGE;
            // SAFETY: in DRAM, and not written to inside the window.
            let content = unsafe { &*(address as *const PageBytes) };
            match store.write(page as u32, content) {
                Ok(()) => {
                    // SAFETY: saved on the line above.
                    let _ = unsafe { memory::drop_pages(address..address + PAGE) };
                    world.state[page] |= OUT | SLOT;
                    gone += 1;
                }
                Err(e) => failed = Some(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
            }
        }
        let _ = self.uffd.protect(bytes, false);
        self.medium.charge_writes(gone, world.stats);
        add(&world.stats.swap_outs, gone);
        match failed {
            Some(e) if gone == 0 => Err(e),
            _ => Ok(gone),
        }
    }

    /// A touch of a missing page in memory that is paged.
    pub fn resolve(&mut self, world: &mut World, fault: Fault) {
        let page = (fault.address - world.base) / PAGE;
        if world.state[page] & OUT == 0 {
            let _ = self.uffd.fill_zero(fault.address);
            return;
        }
        let Backing::Copying(store) = &mut world.backing else { unreachable!("a copying evictor for a copying store") };
        if let Err(e) = store.read(page as u32, &mut self.buffer) {
            // There is no content to go on with. Zeros in its place would be a silent lie.
            crate::fatal(&format!("the store cannot give a page back ({e})"));
        }
        self.medium.charge_reads(1, world.stats);
        let _ = self.uffd.fill(fault.address, &self.buffer);
        store.free(page as u32);
        world.state[page] &= !(OUT | SLOT);
        add(&world.stats.copied_pages, 1);
    }
}
