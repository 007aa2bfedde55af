//! Eviction to memory that can be read in place, a chunk at a time, without losing a write:
//!
//! 1. the victims' range is write-protected (a writer now waits in the kernel, readers go on);
//! 2. their content is written to the NVM file, at the place that their mapping shows;
//! 3. the private copies are dropped: the mapping shows the file, whose content is the same;
//! 4. protection is lifted and the waiting writers are woken; each of them gets a new copy by the kernel's copy-on-write.
//!
//! Memory that was never evicted is plain anonymous. Its first eviction moves its whole chunk: between 2 and 3 the file
//! is mapped over it. docs/models/direct-read.md goes through every interleaving.

use crate::kernel::memory::{self, Bytes};
use crate::kernel::pagemap::{PageMap, Where};
use crate::kernel::uffd::{Uffd, Watch};
use crate::kernel::PAGE;
use crate::record::What;
use crate::spans::{addresses, Attributes, PageRange};
use crate::stats::add;
use crate::world::bit::*;
use crate::world::{Backing, Gate, Homes, World};
use crate::CHUNK;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, Result};

/// What eviction to a mapped file needs; lives in the pager thread, whose descriptors nobody else sees.
pub struct DirectEvictor {
    pub uffd: Uffd,
    pub file: OwnedFd,
    pub map: PageMap,
    /// This process, for `process_madvise`; none where the kernel cannot.
    pub me: Option<OwnedFd>,
    /// Off only for the control experiment, which must lose writes.
    pub protect: bool,
    /// Writers go on waiting after a round, each until it writes to a chunk: see [`let_write`](DirectEvictor::let_write).
    pub keep_holding: bool,
    runs: Vec<PageRange>,
    drops: Vec<Bytes>,
    /// Held in this round, where nothing is held for longer.
    pub stopped: Vec<PageRange>,
    /// What was let write since the last stop, the latest at the end.
    pub lifted: Vec<PageRange>,
    /// Of that, what happened while somebody else had the world locked: its gates still say held.
    pub untold: Vec<PageRange>,
}

impl DirectEvictor {
    pub fn new(uffd: Uffd, file: OwnedFd, map: PageMap, protect: bool) -> DirectEvictor {
        let me = rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty()).ok();
        DirectEvictor {
            uffd,
            file,
            map,
            me,
            protect,
            keep_holding: false,
            runs: Vec::new(),
            drops: Vec::new(),
            stopped: Vec::new(),
            lifted: Vec::new(),
            untold: Vec::new(),
        }
    }

    /// Evict `victims`, ascending pages of one chunk. Gives how many pages left DRAM; NOSPC: the store is full, and what
    /// could not leave is untouched.
    pub fn evict(&mut self, world: &mut World, victims: &[usize]) -> Result<usize> {
        self.tell(world);
        let chunk = victims[0] / CHUNK;
        if victims.iter().any(|p| world.state[*p] & FROZEN != 0) {
            return self.rehome(world, chunk);
        }
        let mut gone = 0;
        if victims.iter().any(|p| world.state[*p] & PAGED == 0) {
            gone += self.convert(world, chunk)?;
        }
        // Runs of victims inside one kind of span; a window never covers what the program mapped itself.
        let mut i = 0;
        while i < victims.len() {
            let (piece, span) = world.spans.pieces(victims[i]..(chunk + 1) * CHUNK).next().expect("a page has a span");
            let group = victims[i..].iter().take_while(|p| **p < piece.end).count();
            if span.evictable() {
                gone += self.evict_paged(world, &victims[i..i + group])?;
            }
            i += group;
        }
        Ok(gone)
    }

    /// Pages that have the file behind them already.
    fn evict_paged(&mut self, world: &mut World, victims: &[usize]) -> Result<usize> {
        self.runs.clear();
        // What a conversion has just evicted is out; what a child reads must stay.
        for page in victims.iter().filter(|p| world.state[**p] & (PAGED | OUT | FROZEN | KNOWN) == PAGED) {
            match self.runs.last_mut() {
                Some(run) if run.end == *page => run.end += 1,
                _ => self.runs.push(*page..page + 1),
            }
        }
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else { return Ok(0) };
        let pages = first.start..last.end;
        let held = world.gates.pieces(pages.clone()).all(|(_, gate)| gate == Gate::Held);
        let window = addresses(&pages);
        let runs = std::mem::take(&mut self.runs);
        if !held {
            self.open(&window)?;
        }
        let saved = runs.iter().try_for_each(|run| self.save(world, run));
        if saved.is_ok() {
            self.drops.clear();
            self.drops.extend(runs.iter().map(addresses));
            // SAFETY: saved above, and unchanged since: writers are waiting.
            let _ = unsafe { memory::drop_many(self.me.as_ref(), &self.drops) };
        }
        if !held {
            self.close(&window);
            world.gates.set(pages, Gate::Open);
        }
        saved?;
        let mut gone = 0;
        for page in runs.iter().flat_map(|r| r.clone()) {
            world.state[page] = world.state[page] & !SEEN | OUT;
            world.note(What::Evict, page..page + 1);
            gone += 1;
        }
        self.runs = runs;
        add(&world.stats.swap_outs, gone);
        Ok(gone)
    }

    /// Put the file behind every evictable page of `chunk` that has plain anonymous memory behind it. All of them leave DRAM.
    fn convert(&mut self, world: &mut World, chunk: usize) -> Result<usize> {
        let range = chunk * CHUNK..(chunk + 1) * CHUNK;
        let Backing::Direct { home, homes, .. } = &mut world.backing else { unreachable!("a direct evictor for a direct store") };
        if home[chunk] == 0 {
            home[chunk] = self.take_home(homes)?;
        }
        let pieces: Vec<_> = world.spans.pieces(range).filter_map(|(p, s)| s.evictable().then_some((p, s.attributes()))).collect();
        let mut gone = 0;
        for (piece, attributes) in pieces {
            let mut page = piece.start;
            while page < piece.end {
                let len = world.state.leading(page..piece.end, |s| s & (PAGED | FROZEN) == 0);
                if len > 0 {
                    gone += self.convert_run(world, page..page + len, attributes)?;
                }
                page += len.max(1);
            }
        }
        Ok(gone)
    }

    fn convert_run(&mut self, world: &mut World, run: PageRange, attributes: Attributes) -> Result<usize> {
        let window = addresses(&run);
        self.open(&window)?;
        let mut there: Vec<(PageRange, Where)> = Vec::new();
        let scanned = self.map.scan(window.clone(), |r| there.push((r.pages(), r.place())));
        let saved = scanned.and_then(|()| {
            there.iter().try_for_each(|(pages, place)| match place {
                Where::Dram => self.save(world, pages),
                // In kernel swap, or never touched and holding only our protection's marker: an empty slot reads as zeros.
                Where::Swapped => pages.clone().try_for_each(|p| if is_zero(p) { Ok(()) } else { self.save(world, &(p..p + 1)) }),
                Where::File | Where::Zero => Ok(()),
            })
        });
        let Backing::Direct { home, .. } = &world.backing else { unreachable!("a direct evictor for a direct store") };
        let offset = (World::slot(home, run.start) * PAGE) as u64;
        // SAFETY: the range is ours and its content is in the file now, unchanged since: writers are waiting.
        let mapped = saved.and_then(|()| unsafe { self.map_store(window.clone(), attributes, offset) });
        if mapped.is_err() {
            self.close(&window);
            return mapped.map(|()| 0);
        }
        let held = self.keep_holding && self.open(&window).is_ok();
        world.gates.set(run.clone(), if held { Gate::Held } else { Gate::Open });
        let _ = self.uffd.wake(window); // they waited on a mapping that is gone, and find the file's
        world.state.change(run, |s| *s = *s & !SEEN | PAGED);
        let mut gone = 0;
        for page in there.iter().filter(|(_, place)| *place == Where::Dram).flat_map(|(pages, _)| pages.clone()) {
            world.state[page] |= OUT;
            world.note(What::Evict, page..page + 1);
            if world.state[page] & KNOWN != 0 {
                world.forget(page..page + 1);
            }
            gone += 1;
        }
        add(&world.stats.swap_outs, gone);
        Ok(gone)
    }

    /// The file, from `offset` on, stands behind `range`.
    ///
    /// # Safety
    /// What `range` held is in the file already.
    pub unsafe fn map_store(&self, range: Bytes, attributes: Attributes, offset: u64) -> Result<()> {
        // SAFETY: by the caller's promise.
        unsafe { memory::map_private_file(range.clone(), attributes.prot, &self.file, offset) }?;
        if attributes.unshared {
            // Failing here, a child would only get memory that it must not have by the program's wish.
            let _ = memory::unshare(range, true);
        }
        Ok(())
    }

    /// A home for a chunk, with room in the file system for all of it.
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

    pub fn open(&self, window: &Bytes) -> Result<()> {
        if self.protect && self.uffd.protect(window.clone(), true).is_err() {
            self.uffd.register(window.clone(), Watch::Writes)?;
            self.uffd.protect(window.clone(), true)?;
        }
        Ok(())
    }

    /// Unregistering lifts the protection. (Registered for longer, the kernel would not map the neighbours of a page that
    /// is read.)
    pub fn close(&self, window: &Bytes) {
        if self.protect {
            let _ = self.uffd.unregister(window.clone());
            let _ = self.uffd.wake(window.clone());
        }
    }

    /// Write the pages of `run`, all of one chunk, to their slots.
    pub fn save(&self, world: &mut World, run: &PageRange) -> Result<()> {
        let Backing::Direct { home, .. } = &world.backing else { unreachable!("a direct evictor for a direct store") };
        let offset = (World::slot(home, run.start) * PAGE) as u64;
        // SAFETY: mapped, readable, and not written to inside the window.
        let content = unsafe { memory::bytes(addresses(run)) };
        world.state.change(run.clone(), |s| *s |= SLOT);
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

pub fn is_zero(page: usize) -> bool {
    // SAFETY: a readable page inside the window.
    unsafe { memory::bytes(addresses(&(page..page + 1))) }.iter().all(|b| *b == 0)
}
