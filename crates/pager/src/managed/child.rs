//! The managed memory of a forked child. At first it is as it was at the fork, and nothing is
//! evicted. If the child maps memory and can fill more than its policy may hold, it becomes a
//! process of its own, with a budget, a pager thread, a store and counters.
//!
//! With a direct store, some of its pages are mapped from its parent's file, and their slots are
//! frozen there (`tether.rs`). The first eviction from such a chunk moves the chunk to a home in
//! the child's own file (`rehome.rs`). With a copying store, all pages were brought back before the
//! fork.

use super::bit::*;
use super::{Backing, Forks, Gate, ManagedMemory, Mode};
use crate::kernel::{own, PAGE};
use crate::managed_list::ManagedList;
use crate::runs::RunMap;
use crate::spans::{Attributes, PageRange, Span};
use crate::stats::Stats;
use crate::{CHUNK, PAGES};

impl ManagedMemory {
    /// Note that this is the copy of a forked child. `stats`: counters that nobody reads.
    /// `allowance`: as for [`new`](Self::new), unless the parent could not be paged.
    pub fn become_child(&mut self, stats: &'static Stats, allowance: usize) {
        self.mode = Mode::Child;
        self.forks.evictions_paused = false;
        self.stats = stats;
        self.spans.hide();
        if self.allowance != usize::MAX {
            self.allowance = allowance;
        }
        // The kernel neither copies memory with MADV_DONTFORK nor locks the child's.
        self.lock_new = false;
        let other = |span: &Span| span.attributes().unshared || span.attributes().locked;
        let pieces: Vec<(PageRange, Span)> = self.spans.all().filter(|(_, span)| span.is_managed() && other(span)).collect();
        for (piece, span) in pieces {
            match span.attributes() {
                Attributes { unshared: true, .. } => self.make_foreign(piece),
                attributes => self.spans.set(piece, Span::Managed(Attributes { locked: false, ..attributes })),
            }
        }
    }

    /// Begin to page this child, with counters of its own.
    pub fn begin_anew(&mut self, stats: &'static Stats) {
        let copies = matches!(self.backing, Backing::Copying(_));
        if let Backing::Direct { mirror, .. } = std::mem::replace(&mut self.backing, Backing::Nowhere) {
            // SAFETY: the parent's file, of which only the backing knew.
            let _ = unsafe { own::give_back(mirror..mirror + self.spans.reserved().len() * PAGE) };
        }
        self.inherited.clear();
        let written: Vec<PageRange> = self.state.all_written().collect();
        let from_parent = |state: u8| !copies && state & PAGED != 0;
        for part in written {
            let chunks = part.start / CHUNK..part.end.div_ceil(CHUNK);
            self.inherited.extend(chunks.filter(|chunk| self.state.any(chunk * CHUNK..(chunk + 1) * CHUNK, from_parent)));
            self.state.update(part, |state| *state = if from_parent(*state) { PAGED | FROZEN | *state & SLOT } else { 0 });
        }
        self.gates = RunMap::new(PAGES, Gate::Unseen);
        self.forks = Forks::default();
        (self.frames, self.record) = (None, None);
        (self.exhausted, self.refused, self.freed_since_peak) = (false, false, 0);
        self.spans.publish(ManagedList::new(PAGES, stats.managed_list()));
        (self.mode, self.stats) = (Mode::Paging, stats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory::READ_WRITE;

    /// Of five chunks, the second is locked and the third not inherited; two pages are mapped from
    /// the parent's file.
    #[test]
    fn a_child_keeps_what_is_mapped_from_its_parent_s_file_and_nothing_else() {
        static PARENT: Stats = Stats::new();
        static CHILD: Stats = Stats::new();
        let mut managed = ManagedMemory::new(5 * CHUNK, CHUNK, &PARENT).unwrap();
        let start = managed.spans.reserved().start;
        let chunk = |at: usize| start + at * CHUNK..start + (at + 1) * CHUNK;
        let plain = Attributes { prot: READ_WRITE, ..Attributes::default() };
        managed.spans.set(start..start + 5 * CHUNK, Span::Managed(plain));
        managed.spans.set(chunk(1), Span::Managed(Attributes { locked: true, ..plain }));
        managed.spans.set(chunk(2), Span::Managed(Attributes { unshared: true, ..plain }));
        for (page, state) in
            [(0, KNOWN | REMEMBERED), (1, PAGED | SLOT | OUT | SEEN), (2 * CHUNK, PAGED | SLOT), (3 * CHUNK + 7, PAGED | KNOWN)]
        {
            managed.state[start + page] = state;
        }

        managed.become_child(&CHILD, 2 * CHUNK);
        assert_eq!([1, 2].map(|at| managed.spans.at(chunk(at).start)), [Span::Managed(plain), Span::Foreign]);
        assert!(managed.mode == Mode::Child && managed.needs_pager_thread());

        managed.begin_anew(&CHILD);
        let states = [0, 1, 2 * CHUNK, 3 * CHUNK + 7].map(|page| managed.state[start + page]);
        assert_eq!(states, [0, PAGED | FROZEN | SLOT, 0, PAGED | FROZEN]);
        assert_eq!(managed.inherited.iter().map(|chunk| chunk - start / CHUNK).collect::<Vec<_>>(), [0, 3]);
        assert!(managed.mode == Mode::Paging && managed.can_start_thread() && std::ptr::eq(managed.stats, &CHILD));
    }

    #[test]
    fn the_child_of_a_process_that_could_not_be_paged_is_not_paged() {
        static STATS: Stats = Stats::new();
        for (own, allowance, can) in [(8, 9, true), (8, usize::MAX, false), (usize::MAX, 9, false)] {
            let mut managed = ManagedMemory::new(CHUNK, own, &STATS).unwrap();
            managed.become_child(&STATS, allowance);
            assert_eq!(managed.can_start_thread(), can);
        }
    }
}
