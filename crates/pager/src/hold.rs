//! Holds writers to memory that is mapped from the NVM file. They wait during a round of evictions
//! and, in a program with several threads or to memory that was evicted for the first time, also
//! between rounds: the first write to a held chunk waits until the pager opens the chunk. The
//! kernel makes copies on write without involving the pager; without held writers they could exceed
//! the budget.

use crate::evict::DirectEvictor;
use crate::kernel::PAGE;
use crate::managed::bit::PAGED;
use crate::managed::{Gate, ManagedMemory};
use crate::spans::{addresses, PageRange, Span};
use crate::CHUNK;

/// Bounds the memory that one wait opens to 2^20 chunks.
const MOST_DOUBLINGS: u32 = 20;

impl DirectEvictor {
    /// Hold writers to all evictable memory that is mapped from the file, until
    /// [`release_writers`](DirectEvictor::release_writers).
    ///
    /// If victims are scattered, this one window is cheaper than one window for each group. Copies
    /// on write cannot exceed the budget while it is open. Fresh memory is not held here; it has
    /// gates.
    pub fn stop_writers(&mut self, managed: &mut ManagedMemory) {
        self.sync_gates(managed);
        self.waits = 0;
        // Protect the ranges with the latest writes first: they are the likeliest to be written
        // next.
        for range in std::mem::take(&mut self.lifted).into_iter().rev() {
            self.hold(managed, range);
        }
        let all: Vec<PageRange> = managed.spans.all().filter(|(_, span)| span.evictable()).map(|(piece, _)| piece).collect();
        all.into_iter().for_each(|piece| self.hold(managed, piece));
    }

    /// Protect the ranges whose protection was lifted since the last stop. Unlike
    /// [`stop_writers`](DirectEvictor::stop_writers), this needs no lock.
    pub fn protect_lifted(&self) {
        for range in self.lifted.iter().rev() {
            let _ = self.uffd.protect(addresses(range), true);
        }
    }

    /// Hold writers to those parts of `range` that are evictable and mapped from the file.
    fn hold(&mut self, managed: &mut ManagedMemory, range: PageRange) {
        let open = |(piece, span): (PageRange, Span)| span.evictable().then(|| managed.gates.pieces(piece)).into_iter().flatten();
        let open: Vec<PageRange> =
            managed.spans.pieces(range).flat_map(open).filter(|(_, gate)| *gate != Gate::Held).map(|(run, _)| run).collect();
        for run in open {
            let mut page = run.start;
            while page < run.end {
                let paged = managed.state[page] & PAGED != 0;
                let len = managed.state.leading(page..run.end, |s| (s & PAGED != 0) == paged);
                if paged && self.open(&addresses(&(page..page + len))).is_ok() {
                    managed.gates.set(page..page + len, Gate::Held);
                    if !self.keep_holding {
                        self.stopped.push(page..page + len);
                    }
                }
                page += len;
            }
        }
    }

    /// At the end of a round, lift the protection of the ranges in `stopped` and wake their
    /// writers. With `keep_holding`, `stopped` is empty and writers stay held.
    pub fn release_writers(&mut self, mut managed: Option<&mut ManagedMemory>) {
        for range in std::mem::take(&mut self.stopped) {
            let bytes = addresses(&range);
            if self.uffd.unregister(bytes.clone()).is_err() {
                // The program has mapped something else into the range meanwhile: unregister the
                // rest of it, page by page.
                for page in bytes.clone().step_by(PAGE) {
                    let _ = self.uffd.unregister(page..page + PAGE);
                }
            }
            let _ = self.uffd.wake(bytes);
            match &mut managed {
                Some(managed) => open_held(managed, range),
                None => self.unsynced.push(range),
            }
        }
    }

    /// Lift the protection of held memory around `page`, and wake the threads that wait to write
    /// to it: of one chunk at the first call after a stop, of twice as many chunks at each further
    /// one. So a program that writes all over its memory waits a few times in a round, not once for
    /// each chunk. A program that writes in few places leaves the rest protected.
    ///
    /// This memory stays writable until the next round, and the next stop only has to protect what
    /// was opened. Without `managed`, only `page` is opened.
    pub fn allow_write(&mut self, managed: Option<&mut ManagedMemory>, page: usize) {
        let one = page..page + 1;
        let mut opened = Vec::from([one.clone()]);
        match managed {
            Some(managed) => {
                let pages = CHUNK << self.waits.min(MOST_DOUBLINGS);
                self.waits += 1;
                let around = held_runs(managed, page / pages * pages..(page / pages + 1) * pages);
                if around.iter().any(|run| run.contains(&page)) {
                    around.iter().for_each(|run| managed.gates.set(run.clone(), Gate::Open));
                    opened = around;
                }
            }
            None => self.unsynced.push(one),
        }
        for range in opened {
            if self.uffd.protect(addresses(&range), false).is_err() {
                // The program has mapped something else into the range meanwhile.
                let _ = self.uffd.protect(page * PAGE..(page + 1) * PAGE, false);
            }
            let _ = self.uffd.wake(addresses(&range));
            self.lifted.push(range);
        }
    }

    /// Release all held ranges, once the program has a single thread again or only reads.
    pub fn release_all_writers(&mut self, managed: &mut ManagedMemory) {
        (self.keep_holding, self.holds_evicted) = (false, false);
        self.sync_gates(managed);
        self.stopped.extend(managed.gates.all().filter(|(_, gate)| *gate == Gate::Held).map(|(run, _)| run));
        self.release_writers(Some(managed));
    }

    /// Open the gates of the ranges that were released while another thread had the lock.
    pub fn sync_gates(&mut self, managed: &mut ManagedMemory) {
        std::mem::take(&mut self.unsynced).into_iter().for_each(|range| open_held(managed, range));
    }
}

/// The held runs in `range`.
fn held_runs(managed: &ManagedMemory, range: PageRange) -> Vec<PageRange> {
    managed.gates.pieces(range).filter(|(_, gate)| *gate == Gate::Held).map(|(run, _)| run).collect()
}

/// Set the held gates in `range` to open.
fn open_held(managed: &mut ManagedMemory, range: PageRange) {
    held_runs(managed, range).into_iter().for_each(|run| managed.gates.set(run, Gate::Open));
}
