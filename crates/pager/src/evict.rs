//! Eviction to a file that can be read in place, one chunk at a time, without losing a write:
//!
//! 1. Write-protect the victims' range. Writers now wait in the kernel; readers do not.
//! 2. Write the victims' content to their slots in the NVM file.
//! 3. Drop the private copies. The mapping then reads from the file, which has the same content.
//! 4. Lift the protection and wake the waiting writers. Each gets a new private copy by the
//!    kernel's copy-on-write.
//!
//! Memory that was never evicted is plain anonymous memory. Its first eviction evicts the whole
//! chunk: in place of step 3, the file is mapped over it. docs/models/direct-read.md discusses
//! every interleaving.

use crate::kernel::full_size::FullSize;
use crate::kernel::memory::{self, Bytes};
use crate::kernel::pagemap::{PageMap, Where};
use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::managed::bit::*;
use crate::managed::{Backing, Gate, Homes, ManagedMemory};
use crate::record::EventKind;
use crate::spans::{addresses, Attributes, PageRange};
use crate::stats::add;
use crate::CHUNK;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, Result};

/// The state of evictions to the NVM file. It belongs to the pager thread, in whose descriptor
/// table its files are.
pub struct DirectEvictor {
    pub uffd: Uffd,
    pub file: OwnedFd,
    size: FullSize,
    pub map: PageMap,
    /// A pidfd of this process for `process_madvise`; `None` if the kernel has no pidfds.
    pub me: Option<OwnedFd>,
    /// Whether to write-protect during evictions. False only in the control experiment, which must
    /// lose writes.
    pub protect: bool,
    /// Whether writers stay held after a round, until [`allow_write`](DirectEvictor::allow_write)
    /// opens their chunk.
    pub keep_holding: bool,
    /// Whether memory has been held since it was evicted first, also in a program with one thread.
    pub holds_evicted: bool,
    runs: Vec<PageRange>,
    drops: Vec<Bytes>,
    /// Ranges that are held for this round only. Empty with `keep_holding`.
    pub stopped: Vec<PageRange>,
    /// Ranges whose protection was lifted since the last stop, the latest last.
    pub lifted: Vec<PageRange>,
    /// Ranges that were released while another thread had the lock: their gates are still
    /// `Held`.
    pub unsynced: Vec<PageRange>,
    /// Number of times that a writer waited for held memory since the last stop.
    pub waits: u32,
}

impl DirectEvictor {
    pub fn new(uffd: Uffd, file: OwnedFd, map: PageMap, protect: bool) -> DirectEvictor {
        DirectEvictor {
            uffd,
            size: FullSize::of(&file),
            file,
            map,
            me: memory::own_pidfd(),
            protect,
            keep_holding: false,
            holds_evicted: false,
            runs: Vec::new(),
            drops: Vec::new(),
            stopped: Vec::new(),
            lifted: Vec::new(),
            unsynced: Vec::new(),
            waits: 0,
        }
    }

    /// Evict `victims`, which are ascending pages of one chunk. Returns the number of evicted
    /// pages, which can include other pages of the chunk. NOSPC: the store is full; the remaining
    /// victims are unchanged.
    pub fn evict(&mut self, managed: &mut ManagedMemory, victims: &[usize]) -> Result<usize> {
        self.sync_gates(managed);
        let chunk = victims[0] / CHUNK;
        if managed.inherited.contains(&chunk) || victims.iter().any(|p| managed.state[*p] & FROZEN != 0) {
            return self.rehome(managed, chunk);
        }
        let mut gone = 0;
        if victims.iter().any(|p| managed.state[*p] & PAGED == 0) {
            gone += self.convert(managed, chunk)?;
        }
        // A window must not cover foreign memory: split the victims where the span changes.
        let mut i = 0;
        while i < victims.len() {
            let (piece, span) = managed.spans.pieces(victims[i]..(chunk + 1) * CHUNK).next().expect("a page has a span");
            let group = victims[i..].iter().take_while(|p| **p < piece.end).count();
            if span.evictable() {
                gone += self.evict_paged(managed, &victims[i..i + group])?;
            }
            i += group;
        }
        Ok(gone)
    }

    /// Evict pages that are already mapped from the file.
    fn evict_paged(&mut self, managed: &mut ManagedMemory, victims: &[usize]) -> Result<usize> {
        // Skip pages that `convert` has just evicted (`OUT`) and pages whose slots a child reads
        // (`FROZEN`).
        collect_runs(victims.iter().copied().filter(|p| managed.state[*p] & (PAGED | OUT | FROZEN | KNOWN) == PAGED), &mut self.runs);
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else { return Ok(0) };
        let pages = first.start..last.end;
        let held = managed.gates.pieces(pages.clone()).all(|(_, gate)| gate == Gate::Held);
        let window = addresses(&pages);
        let runs = std::mem::take(&mut self.runs);
        if !held {
            self.open(&window)?;
        }
        let saved = runs.iter().try_for_each(|run| self.save(managed, run));
        if saved.is_ok() {
            self.drops.clear();
            self.drops.extend(runs.iter().map(addresses));
            // SAFETY: saved above, and unchanged since, as writers wait.
            let _ = unsafe { memory::drop_many(self.me.as_ref(), &self.drops) };
        }
        if !held {
            self.close(&window);
            managed.gates.set(pages, Gate::Open);
        }
        saved?;
        let mut gone = 0;
        for page in runs.iter().flat_map(|r| r.clone()) {
            managed.state[page] = managed.state[page] & !SEEN | OUT;
            managed.note(EventKind::Evict, page..page + 1);
            gone += 1;
        }
        self.runs = runs;
        add(&managed.stats.swap_outs, gone);
        Ok(gone)
    }

    /// Evict all plain anonymous pages of `chunk` that are evictable, and map the file in their
    /// place. Returns the number of evicted pages.
    fn convert(&mut self, managed: &mut ManagedMemory, chunk: usize) -> Result<usize> {
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        let Backing::Direct { home, homes, .. } = &mut managed.backing else { unreachable!("a direct evictor for a direct store") };
        if home[chunk] == 0 {
            home[chunk] = self.take_home(homes)?;
        }
        let pieces: Vec<_> = managed.spans.pieces(range).filter_map(|(p, s)| s.evictable().then_some((p, s.attributes()))).collect();
        let mut gone = 0;
        for (piece, attributes) in pieces {
            let mut page = piece.start;
            while page < piece.end {
                let len = managed.state.leading(page..piece.end, |s| s & (PAGED | FROZEN) == 0);
                if len > 0 {
                    gone += self.convert_run(managed, page..page + len, attributes)?;
                }
                page += len.max(1);
            }
        }
        Ok(gone)
    }

    fn convert_run(&mut self, managed: &mut ManagedMemory, run: PageRange, attributes: Attributes) -> Result<usize> {
        let window = addresses(&run);
        self.open(&window)?;
        let mut present: Vec<(PageRange, Where)> = Vec::new();
        let scanned = self.map.scan_plain(window.clone(), |r| present.push((r.pages(), r.place())));
        let saved = scanned.and_then(|()| {
            present.iter().try_for_each(|(pages, place)| match place {
                Where::Dram => self.save(managed, pages),
                // In kernel swap, or never accessed and only marked by the write-protection. An
                // empty slot reads as zeros, too.
                Where::Swapped => pages.clone().try_for_each(|p| if is_zero(p) { Ok(()) } else { self.save(managed, &(p..p + 1)) }),
                Where::File | Where::Zero => Ok(()),
            })
        });
        let Backing::Direct { home, .. } = &managed.backing else { unreachable!("a direct evictor for a direct store") };
        let offset = (ManagedMemory::slot(home, run.start) * PAGE) as u64;
        // SAFETY: managed memory whose content is in the file, and unchanged since, as writers
        // wait.
        let mapped = saved.and_then(|()| unsafe { self.map_store(window.clone(), attributes, offset) });
        if mapped.is_err() {
            self.close(&window);
            return mapped.map(|()| 0);
        }
        // A program that has only filled memory may begin to write to all of it during one round.
        let held = self.protect && self.open(&window).is_ok();
        self.holds_evicted |= held;
        managed.gates.set(run.clone(), if held { Gate::Held } else { Gate::Open });
        // The writers waited on the old mapping; they repeat their writes on the new one.
        let _ = self.uffd.wake(window);
        managed.state.change(run, |s| *s = *s & !SEEN | PAGED);
        let mut gone = 0;
        for page in present.iter().filter(|(_, place)| *place == Where::Dram).flat_map(|(pages, _)| pages.clone()) {
            managed.state[page] |= OUT;
            managed.note(EventKind::Evict, page..page + 1);
            if managed.state[page] & KNOWN != 0 {
                managed.forget(page..page + 1);
            }
            gone += 1;
        }
        add(&managed.stats.swap_outs, gone);
        Ok(gone)
    }

    /// Map the file, from `offset`, over `range`.
    ///
    /// # Safety
    /// The content of `range` is already in the file.
    pub unsafe fn map_store(&self, range: Bytes, attributes: Attributes, offset: u64) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { memory::map_private_file(range.clone(), attributes.prot, &self.file, offset) }?;
        if attributes.unshared {
            // After a failure a child only inherits memory that the program wanted to exclude.
            let _ = memory::unshare(range, true);
        }
        Ok(())
    }

    /// Take a home for a chunk; if homes are reserved, allocate its file blocks. NOSPC: there is no
    /// room.
    pub fn take_home(&self, homes: &mut Homes) -> Result<u32> {
        let home = homes.take().ok_or(Errno::NOSPC)?;
        if homes.reserved {
            let (at, len) = ((home as usize - 1) * CHUNK * PAGE, CHUNK * PAGE);
            if let Err(e) = rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::KEEP_SIZE, at as u64, len as u64) {
                homes.free.push(home);
                return Err(e);
            }
        }
        Ok(home)
    }

    /// Open an eviction window: write-protect `window`, which is registered first if necessary.
    pub fn open(&self, window: &Bytes) -> Result<()> {
        if self.protect && self.uffd.protect(window.clone(), true).is_err() {
            self.uffd.register(window.clone(), Watch::Writes)?;
            self.uffd.protect(window.clone(), true)?;
        }
        Ok(())
    }

    /// Close an eviction window: unregister it, which lifts the protection, and wake the waiting
    /// writers. While a range is registered, the kernel does not map the neighbors of a page that
    /// is read (fault-around).
    pub fn close(&self, window: &Bytes) {
        if self.protect {
            let _ = self.uffd.unregister(window.clone());
            let _ = self.uffd.wake(window.clone());
        }
    }

    /// Write the pages of `run`, which is within one chunk, to their slots.
    pub fn save(&self, managed: &mut ManagedMemory, run: &PageRange) -> Result<()> {
        let Backing::Direct { home, .. } = &managed.backing else { unreachable!("a direct evictor for a direct store") };
        let offset = (ManagedMemory::slot(home, run.start) * PAGE) as u64;
        // SAFETY: mapped and readable, and nobody writes to it inside the window.
        let content = unsafe { memory::bytes(addresses(run)) };
        managed.state.change(run.clone(), |s| *s |= SLOT);
        self.size.require(&self.file);
        let mut done = 0;
        while done < content.len() {
            match rustix::io::pwrite(&self.file, &content[done..], offset + done as u64) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(n) => done += n,
                Err(Errno::INTR) => (),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Whether `page`, which must be in an open window, is all zeros.
pub fn is_zero(page: usize) -> bool {
    // SAFETY: a readable page inside the window, so nobody writes to it.
    unsafe { memory::bytes(addresses(&(page..page + 1))) }.iter().all(|b| *b == 0)
}

/// Replace `runs` by the runs of `pages`, which ascend.
fn collect_runs(pages: impl Iterator<Item = usize>, runs: &mut Vec<PageRange>) {
    runs.clear();
    for page in pages {
        match runs.last_mut() {
            Some(run) if run.end == page => run.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_a_row_are_one_run() {
        let mut runs = vec![PageRange { start: 1, end: 2 }];
        collect_runs([3, 4, 5, 7, 9, 10].into_iter(), &mut runs);
        assert_eq!(runs, [3..6, 7..8, 9..11]);
        collect_runs(std::iter::empty(), &mut runs);
        assert_eq!(runs, []);
    }

    /// Blocks are allocated where the home's pages are: what is behind the first home is freed
    /// without it, and nothing else.
    #[test]
    fn a_reserved_home_has_the_blocks_of_its_own_pages() {
        const BLOCKS: u64 = (CHUNK * PAGE / 512) as u64;
        let (uffd, map) = match (Uffd::open(), PageMap::open()) {
            (Ok(uffd), Ok(map)) => (uffd, map),
            (Err(missing), _) | (_, Err(missing)) => return eprintln!("skipped: {missing}"),
        };
        let file = rustix::fs::memfd_create(c"test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, (4 * CHUNK * PAGE) as u64).unwrap();
        let evictor = DirectEvictor::new(uffd, file, map, true);
        let blocks = || rustix::fs::fstat(&evictor.file).unwrap().st_blocks as u64;
        let mut homes = Homes { next: 0, free: Vec::new(), frozen: Vec::new(), reserved: true, limit: 2 };
        assert_eq!((evictor.take_home(&mut homes), evictor.take_home(&mut homes)), (Ok(1), Ok(2)));
        assert_eq!((evictor.take_home(&mut homes), blocks()), (Err(Errno::NOSPC), 2 * BLOCKS));
        let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&evictor.file, hole, 0, (CHUNK * PAGE) as u64).unwrap();
        assert_eq!(blocks(), BLOCKS);
        rustix::fs::fallocate(&evictor.file, hole, (CHUNK * PAGE) as u64, (CHUNK * PAGE) as u64).unwrap();
        assert_eq!(blocks(), 0);
    }
}
