//! Frozen slots and tethers. A forked child maps the same slots as its parent, so the parent must
//! not overwrite them while the child, or a descendant of it, uses this memory.
//!
//! Each fork has a *tether*, by which the parent detects the end of that use: a shared page of a
//! memory file, which the child inherits and the parent unmaps. The kernel refuses to seal a file
//! against writing while a writable mapping of it exists. So the seal succeeds once the last
//! descendant has exited or called exec. This needs no process ids, works if a program closes all
//! its descriptors, and after a failed fork the seal succeeds at once. If no tether can be made,
//! because no descriptor is left, the slots that a fork froze stay frozen: their pages move to new
//! slots when they are written and evicted again.

use crate::kernel::PAGE;
use crate::kernel::{memory, own};
use crate::managed::bit::*;
use crate::managed::{Backing, ManagedMemory};
use crate::stats::add;
use crate::CHUNK;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags};

/// The tethers' files, which belong to the pager thread.
pub struct Tethers {
    /// The tether of the next fork.
    ready: Option<OwnedFd>,
    /// Tethers of earlier forks, whose descendants may still map them.
    out: Vec<OwnedFd>,
}

impl Tethers {
    pub fn new() -> Tethers {
        Tethers { ready: None, out: Vec::new() }
    }

    /// Make a tether for the next fork if there is none, and thaw the slots once no descendant maps
    /// a tether.
    pub fn renew(&mut self, managed: &mut ManagedMemory) {
        if !matches!(managed.backing, Backing::Direct { .. }) {
            return;
        }
        if managed.forks.tether.is_none() {
            self.out.extend(self.ready.take());
            match new_tether() {
                Ok((file, address)) => (self.ready, managed.forks.tether, managed.forks.no_tether) = (Some(file), Some(address), false),
                // No descriptor or address is left: a forking thread must not wait for a tether.
                Err(_) => managed.forks.no_tether = true,
            }
        }
        let before = self.out.len();
        self.out.retain(|file| rustix::fs::fcntl_add_seals(file, SealFlags::WRITE).is_err());
        if before > 0 && self.out.is_empty() && !managed.forks.untethered {
            managed.thaw();
        }
    }
}

impl ManagedMemory {
    /// Freeze, before a fork, the slot of every page that is not known to be in DRAM, also empty
    /// slots of untouched pages: the child may read them until `thaw`.
    pub fn freeze(&mut self) {
        for (piece, span) in self.spans.all() {
            if span.is_managed() && !span.attributes().unshared {
                self.state.update(piece, |s| *s |= if *s & (PAGED | KNOWN) == PAGED { FROZEN } else { 0 });
            }
        }
        add(&self.stats.forks, 1);
    }

    /// Thaw all slots, once no descendant reads them: clear or release those that were only kept
    /// for descendants.
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
                // SAFETY: no process maps this home any more.
                let _ = unsafe { memory::punch_hole(at..at + CHUNK * PAGE) };
                homes.free.push(home);
            }
        }
    }
}

/// Create a tether; returns its file and the address of its mapping.
fn new_tether() -> rustix::io::Result<(OwnedFd, usize)> {
    let file = rustix::fs::memfd_create(c"swaplab-tether", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&file, PAGE as u64)?;
    let address = own::map_file(&file, PAGE)?;
    Ok((file, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tether_can_be_sealed_once_nobody_maps_it() {
        let (file, address) = new_tether().unwrap();
        let seal = || rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE);
        assert_eq!(seal(), Err(rustix::io::Errno::BUSY));
        // SAFETY: the mapping made above, which nothing uses.
        unsafe { own::give_back(address..address + PAGE) }.unwrap();
        assert_eq!(seal(), Ok(()));
    }
}
