//! What a fork needs. The child maps the same slots as its parent, so the parent must not overwrite them while the child
//! (or a child of it) lives in this memory. How does it know? Each fork has a tether: a shared page that the child
//! inherits, and that the parent unmaps. The kernel refuses to seal a file against writing while anybody maps it
//! writable; so the seal succeeds when the last descendant has exited or called exec. It needs no process ids, survives
//! programs that close every descriptor, and a fork that failed leaves a tether nobody holds. Where none can be made (no descriptor
//! left), what a fork has frozen stays so for good: its pages move to new slots when they are rewritten.

use crate::kernel::memory;
use crate::kernel::PAGE;
use crate::stats::add;
use crate::world::bit::*;
use crate::world::{Backing, World};
use crate::CHUNK;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags};

/// The pager thread's side.
pub struct Tethers {
    /// Mapped for the next fork.
    ready: Option<OwnedFd>,
    out: Vec<OwnedFd>,
}

impl Tethers {
    pub fn new() -> Tethers {
        Tethers { ready: None, out: Vec::new() }
    }

    /// Keep a tether ready, and thaw the slots when no child holds one.
    pub fn tend(&mut self, world: &mut World) {
        if !matches!(world.backing, Backing::Direct { .. }) {
            return;
        }
        if world.tether.is_none() {
            self.out.extend(self.ready.take());
            match new_tether() {
                Ok((file, address)) => (self.ready, world.tether, world.no_tether) = (Some(file), Some(address), false),
                Err(_) => world.no_tether = true, // no descriptor or address is left: whoever forks shall not wait for one
            }
        }
        let before = self.out.len();
        self.out.retain(|file| rustix::fs::fcntl_add_seals(file, SealFlags::WRITE).is_err());
        if before > 0 && self.out.is_empty() && !world.untethered {
            world.thaw();
        }
    }
}

impl World {
    /// A fork is about to happen: until `thaw` the child may read the slot of every page that is not surely in DRAM, the
    /// empty slots of untouched pages too.
    pub fn freeze(&mut self) {
        for (piece, span) in self.spans.all() {
            if span.is_managed() && !span.attributes().unshared {
                self.state.update(piece, |s| *s |= if *s & (PAGED | KNOWN) == PAGED { FROZEN } else { 0 });
            }
        }
        add(&self.stats.forks, 1);
    }

    /// No child is left that reads our slots.
    pub fn thaw(&mut self) {
        let Backing::Direct { home, .. } = &self.backing else { return };
        let homes: Vec<usize> = home.all_written().flatten().filter(|chunk| home[*chunk] != 0).collect();
        for chunk in homes {
            let range = chunk * CHUNK..(chunk + 1) * CHUNK;
            for page in range.clone() {
                let frozen = self.state[page] & FROZEN != 0;
                self.state[page] &= !FROZEN;
                if frozen && self.state[page] & PAGED == 0 {
                    self.clear_slots(page..page + 1);
                }
            }
            self.release_chunk(chunk);
        }
        if let Backing::Direct { homes, mirror, .. } = &mut self.backing {
            for home in std::mem::take(&mut homes.frozen) {
                let at = *mirror + (home as usize - 1) * CHUNK * PAGE;
                // SAFETY: nobody maps this home any more.
                let _ = unsafe { memory::punch(at..at + CHUNK * PAGE) };
                homes.free.push(home);
            }
        }
    }
}

fn new_tether() -> rustix::io::Result<(OwnedFd, usize)> {
    let file = rustix::fs::memfd_create(c"swaplab-tether", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, PAGE as u64)?;
    let address = memory::map_shared_file(&file, PAGE)?;
    Ok((file, address))
}
