//! Eviction to a store that cannot be mapped, and swap-in: every access to an evicted page faults
//! to the pager thread, which copies the page in by `userfaultfd`. An eviction has the same window
//! as in `evict.rs`: protect, save, drop, lift the protection.
//!
//! A page that was only read since its swap-in is *clean*: the store still has it, and it stays
//! write-protected, so that the pager notices the first write. The eviction of a clean page does
//! not write it.
//!
//! A chunk is registered at its first eviction. Until then the kernel alone handles its faults.

use crate::kernel::memory::{self, Bytes};
use crate::kernel::pagemap::{PageMap, Where};
use crate::kernel::uffd::{Fault, Uffd, Watch};
use crate::kernel::PAGE;
use crate::managed::bit::*;
use crate::managed::{Backing, Gate, ManagedMemory};
use crate::record::EventKind;
use crate::spans::{addresses, PageRange};
use crate::stats::add;
use crate::store::PageBytes;
use crate::CHUNK;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, Result};
use swaplab_vocab::Op;

pub struct CopyEvictor {
    pub uffd: Uffd,
    map: PageMap,
    /// A pidfd of this process for `process_madvise`; `None` if the kernel has no pidfds.
    me: Option<OwnedFd>,
    present: Vec<PageRange>,
    drops: Vec<Bytes>,
}

impl CopyEvictor {
    pub fn new(uffd: Uffd, map: PageMap) -> CopyEvictor {
        CopyEvictor { uffd, map, me: memory::own_pidfd(), present: Vec::new(), drops: Vec::new() }
    }

    /// Evict `victims`, which are ascending pages of one chunk. Returns the number of evicted
    /// pages. An error means that none was.
    pub fn evict(&mut self, managed: &mut ManagedMemory, victims: &[usize]) -> Result<usize> {
        let chunk = victims[0] / CHUNK;
        let mut gone = 0;
        let pieces: Vec<PageRange> =
            managed.spans.pieces(chunk * CHUNK..(chunk + 1) * CHUNK).filter(|(_, s)| s.evictable()).map(|(p, _)| p).collect();
        for piece in pieces {
            let inside = &victims[victims.partition_point(|p| *p < piece.start)..victims.partition_point(|p| *p < piece.end)];
            if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                if managed.state.leading(piece.clone(), |s| s & PAGED != 0) < piece.len() {
                    self.uffd.register(addresses(&piece), Watch::WritesAndMissing)?;
                    managed.state.change(piece.clone(), |s| *s |= PAGED);
                    managed.gates.set(piece.clone(), Gate::Open);
                }
                gone += self.evict_window(managed, inside, *first..*last + 1)?;
            }
        }
        Ok(gone)
    }

    fn evict_window(&mut self, managed: &mut ManagedMemory, victims: &[usize], window: PageRange) -> Result<usize> {
        let bytes = addresses(&window);
        self.uffd.protect(bytes.clone(), true)?;
        self.present.clear();
        self.drops.clear();
        let present = &mut self.present;
        // Read only pages that are present: an access to a missing page would wait for this thread
        // itself.
        let scanned = self.map.scan(bytes, |run| {
            if run.place() == Where::Dram {
                present.push(run.pages());
            }
        });
        let (mut gone, mut written) = (0, 0);
        let mut failed = scanned.err();
        for page in self.present.iter().flat_map(|r| r.clone()).filter(|p| victims.binary_search(p).is_ok()) {
            if failed.is_some() {
                break;
            }
            let Backing::Copying(store) = &mut managed.backing else { unreachable!("a copying evictor for a copying store") };
            let address = page * PAGE;
            // SAFETY: in DRAM and page-aligned, and nobody writes to it inside the window.
            let content = unsafe { &*(address as *const PageBytes) };
            match store.swap_out(page, managed.state[page] & CLEAN == 0, content, managed.stats) {
                Ok(moved) => {
                    match self.drops.last_mut() {
                        Some(run) if run.end == address => run.end += PAGE,
                        _ => self.drops.push(address..address + PAGE),
                    }
                    managed.state[page] = managed.state[page] & !CLEAN | OUT | SLOT;
                    managed.note(EventKind::Evict, page..page + 1);
                    gone += 1;
                    written += moved as usize;
                }
                Err(e) => {
                    // The store has discarded the page, so the only copy is the one in DRAM.
                    managed.state[page] &= !(CLEAN | SLOT);
                    failed = Some(Errno::from_io_error(&e).unwrap_or(Errno::IO));
                }
            }
        }
        // SAFETY: the store has the content, and nobody writes to it inside the window.
        let _ = unsafe { memory::drop_many(self.me.as_ref(), &self.drops) };
        // Clean pages stay protected. A writer that waits on one has sent a fault message, which is
        // served after the window is closed.
        let clean = |page: usize| managed.state[page] & CLEAN != 0;
        let mut page = window.start;
        while page < window.end {
            let len = (page..window.end).take_while(|p| clean(*p) == clean(page)).count();
            if !clean(page) {
                let _ = self.uffd.protect(addresses(&(page..page + len)), false);
            }
            page += len;
        }
        add(&managed.stats.swap_outs, written);
        add(&managed.stats.unchanged, gone - written);
        match failed {
            Some(e) if gone == 0 => Err(e),
            _ => Ok(gone),
        }
    }

    /// Resolve an access to a missing page of paged memory.
    pub fn resolve(&mut self, managed: &mut ManagedMemory, fault: Fault) {
        let page = fault.address / PAGE;
        if managed.state[page] & OUT == 0 {
            let _ = self.uffd.fill_zero(fault.address);
            return;
        }
        managed.note(if fault.write { EventKind::Write } else { EventKind::Read }, page..page + 1);
        let ManagedMemory { backing, state, stats, .. } = managed;
        let Backing::Copying(store) = backing else { unreachable!("a copying evictor for a copying store") };
        let op = if fault.write { Op::Write } else { Op::Read };
        let swapped_in = store.fault(page, op, stats, |page, content, kept| {
            let clean = kept && op == Op::Read;
            state[page] = state[page] & !(OUT | CLEAN | SLOT) | SEEN | if kept { SLOT } else { 0 } | if clean { CLEAN } else { 0 };
            let _ = self.uffd.fill(page * PAGE, content, clean);
        });
        if let Err(e) = swapped_in {
            // The content is lost. Continuing with zeros would corrupt the program's data silently.
            crate::fatal(&format!("the store cannot read a page back ({e})"));
        }
    }

    /// Resolve a write to a protected page, which was clean or whose window has been closed
    /// meanwhile.
    pub fn resolve_write(&mut self, managed: &mut ManagedMemory, fault: Fault) {
        let page = fault.address / PAGE;
        if managed.state[page] & CLEAN != 0 {
            managed.state[page] &= !CLEAN;
            managed.note(EventKind::Write, page..page + 1);
        }
        let _ = self.uffd.protect(fault.address..fault.address + PAGE, false);
    }
}
