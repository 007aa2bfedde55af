//! References of the running task: faults on anonymous pages, alone or with their large folio, and
//! on file pages, cache lines of pages mapped in NVM, and writes to files.

use super::fault::{self, Origin};
use super::read_ahead::Arrival;
use super::record::Stalls;
use super::senders::{Outgoing, Sender};
use super::stays::Freed;
use super::{writes, Machine};
use std::ops::Range;
use swaplab_policy::{bits, Backing};
use swaplab_swap::{Medium, Served};
use swaplab_vocab::{AppId, Op, PageId};

/// The other pages of a large folio, which a fault on one page brings in with it.
pub struct FolioRest {
    folio: Range<PageId>,
    in_swap: bool,
}

impl Machine {
    /// Refer to `page` as the running task.
    #[inline]
    pub fn touch(&mut self, page: PageId, op: Op) {
        if !self.frames.pages.is_resident(page) {
            return self.fault(page, op);
        }
        if self.files.ahead.as_ref().is_some_and(|ahead| ahead.is_special(page)) {
            self.use_read_ahead(page);
        }
        self.set_accessed_bits(page..page + 1);
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        self.frames.policy.touch(page, op, &self.frames.pages);
        if self.frames.folios.are_on() {
            self.frames.use_folios(page, page);
        }
    }

    /// The number of consecutive pages from `first` on, at most `most`, whose references cause no
    /// other event.
    pub fn plain_run(&self, first: PageId, most: usize) -> usize {
        let resident = self.frames.pages.resident_run(first, most);
        self.files.ahead.as_ref().map_or(resident, |ahead| ahead.plain_run(first, resident))
    }

    /// Refer to consecutive pages, as many as `plain_run` has found, beginning with `first`, once
    /// for each of `ops`.
    pub fn touch_run(&mut self, first: PageId, ops: &[Op]) {
        self.set_accessed_bits(first..first + ops.len() as PageId);
        self.frames.pages.set_dirty(first, ops);
        self.frames.policy.touch_run(first, ops, &self.frames.pages);
        if self.frames.folios.are_on() && !ops.is_empty() {
            self.frames.use_folios(first, first + ops.len() as PageId - 1);
        }
    }

    /// Charge the running task for the faults by which it uses pages in memory whose accessed bit
    /// is cleared, if the processor does not set it (arm64: `handle_pte_fault` of mm/memory.c).
    fn set_accessed_bits(&mut self, pages: Range<PageId>) {
        if self.rules.page_work.access_fault_ns > 0 {
            let faults = self.frames.policy.unaccessed(pages) as u64;
            let fault_cpu_ns = faults * self.rules.page_work.access_fault_ns;
            self.counts.faults += faults;
            self.counts.system_ns += fault_cpu_ns;
            self.clock.stall_in_fault(fault_cpu_ns);
        }
    }

    fn fault(&mut self, page: PageId, op: Op) {
        self.prefetch.trail.fetched(page);
        if self.frames.pages.backing(page) == Backing::File {
            return self.file_fault(page, op);
        }
        let state = self.frames.pages.bits(page);
        if state & (bits::SLOT | bits::MAPPED) == 0 {
            return self.zero_fill(page, op);
        }
        if state & bits::SLOT != 0 && self.clock.write_back.take_frame(page) {
            return self.swap_cache_fault(page, op);
        }
        let mapped = state & bits::MAPPED != 0;
        if mapped && !op.is_write() {
            self.swap.side.moves.mapped_references += 1;
            return self.read_in_place();
        }
        let others = self.folio_rest_of(page);
        let stalls = self.is_of_working_set(page);
        self.frames.pages.clear(page, bits::MAPPED | bits::SLOT);
        let served = self.swap.fault(page, op, mapped);
        self.wait(Origin::Swap, stalls, 1);
        match served {
            Served::MappedInPlace => {
                self.swap.note_read(page);
                self.record.traffic_of(self.apps.layout.owners[page as usize]).direct_reads += 1;
                self.swap.side.moves.mapped_references += 1;
                self.frames.pages.set(page, bits::MAPPED | bits::SLOT);
                return self.read_in_place();
            }
            Served::Copied { kept } => {
                self.count_swap_in(page);
                if !kept {
                    self.swap.free(page, Freed::Copy, self.clock.now());
                    self.frames.policy.set_swappable(true);
                }
                self.frames.pages.set(page, if kept { bits::SLOT } else { bits::DIRTY });
            }
            Served::ZeroFilled => {}
        }
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        let ahead = std::mem::take(&mut self.swap.side.ahead);
        self.admit(page, op);
        if let Some(others) = others {
            self.bring_in(page, others);
        }
        for neighbor in ahead {
            self.leaves_swap_cache(neighbor);
            self.count_swap_in(neighbor);
            self.frames.pages.set(neighbor, bits::SLOT);
            self.admit(neighbor, Op::Read);
        }
    }

    /// Handle a fault on an anonymous page without content, which needs no transfer (mm/memory.c,
    /// `do_anonymous_page`).
    fn zero_fill(&mut self, page: PageId, op: Op) {
        let (others, fault_cpu_ns) = (self.folio_rest_of(page), self.prices.processor().fault.0);
        self.swap.side.moves.zero_fills += 1;
        self.counts.faults += 1;
        self.counts.system_ns += fault_cpu_ns;
        self.clock.stall_in_fault(fault_cpu_ns);
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        self.admit(page, op);
        if let Some(others) = others {
            self.bring_in(page, others);
        }
    }

    /// Handle a fault on a page under write-back. It is in the swap cache: it gets its frame back
    /// without a read, and its slot has the same content (mm/memory.c, `do_swap_page`).
    fn swap_cache_fault(&mut self, page: PageId, op: Op) {
        self.counts.swap_cache_hits += 1;
        let kept = self.swap.found_in_memory(page, op);
        self.wait(Origin::Swap, false, 1);
        let now_ns = self.clock.now();
        self.frames.follow_writes(&mut self.clock.write_back, now_ns);
        if !kept {
            self.swap.free(page, Freed::Copy, self.clock.now());
            self.frames.policy.set_swappable(true);
            self.frames.pages.clear(page, bits::SLOT);
            self.frames.pages.set(page, bits::DIRTY);
        }
        if op.is_write() {
            self.frames.pages.set(page, bits::DIRTY);
        }
        self.frames.insert(page, op);
        self.write_back_released();
    }

    /// Free the frame that `page` has in the swap cache if the policy took it back, because a
    /// transfer brings it in anew.
    fn leaves_swap_cache(&mut self, page: PageId) {
        if self.clock.write_back.is_taken_back(page) {
            self.clock.write_back.take_frame(page);
            let now_ns = self.clock.now();
            self.frames.follow_writes(&mut self.clock.write_back, now_ns);
        }
    }

    pub(super) fn count_swap_in(&mut self, page: PageId) {
        self.swap.note_read(page);
        self.record.traffic_of(self.apps.layout.owners[page as usize]).swapped_in += 1;
    }

    /// Whether the wait for `page` is a memory stall (`folio_wait_bit_common` of mm/filemap.c,
    /// `swap_read_folio` of mm/page_io.c).
    fn is_of_working_set(&self, page: PageId) -> bool {
        self.frames.policy.is_of_working_set(page, &self.frames.pages)
    }

    /// Charge the running task for the transfers that were charged last, and for `faults` faults.
    /// `is_memory_stall` is whether it waits for a page of the working set.
    pub(super) fn wait(&mut self, from: Origin, is_memory_stall: bool, faults: u64) {
        let charge = match from {
            Origin::Swap => &self.swap.side.charged,
            Origin::File => &self.files.charged,
        };
        self.counts.faults += faults;
        self.counts.system_ns += faults * self.prices.processor().fault.0 + charge.cpu.0;
        let stalls = fault::stalls(charge, faults, from, &mut self.clock, &mut self.prefetch.reads, &self.prices);
        self.clock.stall(&stalls);
        if is_memory_stall {
            self.clock.note_memory_stall(stalls.total_ns() - stalls.fault_cpu_ns);
        }
    }

    fn file_fault(&mut self, page: PageId, op: Op) {
        let owner = self.apps.layout.owners[page as usize];
        let file = self.apps.layout.of(owner).file.clone();
        let (window, mark) = self.files.window(owner, page, &file, &self.frames.pages);
        self.files.read(&window, &mut self.swap.side, &self.prices);
        let is_memory_stall = self.file_page_stalls(page);
        self.wait(Origin::File, is_memory_stall, 1);
        if self.files.ahead.is_some() {
            let found = window.iter().filter(|read| !self.file_page_stalls(**read)).count() as u32;
            self.files.note_read(owner, &window, mark, found);
        }
        self.admit_file_pages(owner, &window, Some((page, op)));
        self.files.take_back(window);
    }

    /// The first use of a page of a file that was read ahead, or that is marked: the next window is
    /// read, and the task waits until the page's own read has ended.
    fn use_read_ahead(&mut self, page: PageId) {
        let owner = self.apps.layout.owners[page as usize];
        let file = self.apps.layout.of(owner).file.clone();
        let (window, mark) = self.files.next_window(owner, page, &file, &self.frames.pages);
        let arrival = self.files.ahead.as_mut().and_then(|ahead| ahead.used(page));
        if !window.is_empty() {
            self.read_ahead(owner, &window, mark);
        }
        self.files.take_back(window);
        if let Some(arrival) = arrival {
            let file_read_ns = arrival.at_ns.saturating_sub(self.clock.now());
            self.clock.stall(&Stalls { file_read_ns, ..Stalls::default() });
            if arrival.is_memory_stall {
                self.clock.note_memory_stall(file_read_ns);
            }
        }
    }

    /// Read pages of a file that no task waits for yet.
    fn read_ahead(&mut self, owner: AppId, window: &[PageId], mark: Option<PageId>) {
        self.files.read(window, &mut self.swap.side, &self.prices);
        let (charge, reads) = (&self.files.charged, &mut self.prefetch.reads);
        let stalls = fault::stalls(charge, 0, Origin::File, &mut self.clock, reads, &self.prices);
        let at_ns = self.clock.now() + stalls.total_ns();
        self.clock.stall_in_fault(stalls.fault_cpu_ns);
        self.counts.system_ns += stalls.fault_cpu_ns;
        self.files.note_read(owner, window, mark, 0);
        for page in window {
            let is_memory_stall = self.file_page_stalls(*page);
            self.files.note_arrival(*page, Arrival { at_ns, is_memory_stall });
        }
        self.admit_file_pages(owner, window, None);
    }

    /// Whether a wait for `page` of a file, which is not in memory, is a memory stall.
    fn file_page_stalls(&self, page: PageId) -> bool {
        self.files.was_in_memory(page) && self.is_of_working_set(page)
    }

    /// Bring pages of a file into memory, of which the task uses `used`.
    fn admit_file_pages(&mut self, owner: AppId, pages: &[PageId], used: Option<(PageId, Op)>) {
        let again = pages.iter().filter(|read| self.files.was_in_memory(**read)).count() as u64;
        let fault_cpu_ns = again * self.rules.page_work.file_in_ns;
        self.clock.stall_in_fault(fault_cpu_ns);
        self.counts.system_ns += fault_cpu_ns;
        self.counts.file_reads += pages.len() as u64;
        self.record.traffic_of(owner).file_reads += pages.len() as u64;
        for read in pages.iter().copied() {
            if self.files.refaulted(read) {
                self.counts.file_refaults += 1;
            }
            self.admit(read, used.filter(|(page, _)| *page == read).map_or(Op::Read, |(_, op)| op));
        }
    }

    /// Charge the running task for the cache lines that a use of a page mapped in NVM reads there.
    fn read_in_place(&mut self) {
        let direct_read_ns = self.swap.side.read_lines(self.rules.lines_per_direct_read);
        self.clock.stall(&Stalls { direct_read_ns, ..Stalls::default() });
    }

    /// Run a transaction of the foreground app, which waits for its fsync.
    pub fn write_files(&mut self) {
        let of = self.rules.file_writes;
        let now_ns = self.clock.now();
        let done = writes::transaction(&of, &mut self.files, &mut self.clock.write_back, now_ns, &self.prices);
        self.clock.stall(&done.stalls);
        (self.counts.fsyncs, self.counts.system_ns) = (self.counts.fsyncs + 1, self.counts.system_ns + done.cpu_ns);
        let journal = Outgoing::of(Medium::Flash, Sender::Journal, done.later_pages);
        self.clock.write_back.submit(&done.later, &journal, self.clock.now(), &self.prices);
    }

    /// The pages that a fault on `page`, which is in no frame, brings in with it: the rest of a
    /// large folio that was swapped out as one, or that is allocated now.
    #[inline]
    fn folio_rest_of(&mut self, page: PageId) -> Option<FolioRest> {
        let folio = self.frames.folios.group(page, &self.apps.layout)?;
        let in_swap = self.frames.pages.bits(page) & bits::SLOT != 0;
        let wanted = if in_swap { bits::SLOT } else { 0 };
        let as_wanted = |page: PageId| self.frames.pages.bits(page) & (bits::RESIDENT | bits::SLOT | bits::MAPPED) == wanted;
        let fits = folio.clone().all(as_wanted) && (!in_swap || self.swap.side.is_run(&folio));
        self.frames.folios.set(page, false);
        if !fits {
            return None;
        }
        let has_room = self.free() > self.frames.marks.low + folio.len();
        let counts = &mut self.frames.folios.counts;
        *match (in_swap, has_room) {
            (true, true) => &mut counts.swapped_in,
            (true, false) => &mut counts.swap_in_fallbacks,
            (false, true) => &mut counts.allocated,
            (false, false) => &mut counts.allocation_fallbacks,
        } += 1;
        has_room.then_some(FolioRest { folio, in_swap })
    }

    /// Bring in the pages that a fault on `page` brings in with it, after its own was served.
    fn bring_in(&mut self, page: PageId, others: FolioRest) {
        let folio = others.folio;
        for other in folio.clone().filter(|other| *other != page) {
            // An app may have been killed to get a frame, even the app that faults in the
            // background.
            if self.apps.is_gone(page) {
                return;
            }
            if others.in_swap {
                self.leaves_swap_cache(other);
                let stalls = self.is_of_working_set(other);
                self.frames.pages.clear(other, bits::SLOT);
                self.swap.fault_of_folio(other);
                self.wait(Origin::Swap, stalls, 0);
                self.count_swap_in(other);
                self.swap.free(other, Freed::Copy, self.clock.now());
                self.frames.policy.set_swappable(true);
                self.frames.folios.unused[other as usize] = true;
            }
            self.frames.pages.set(other, bits::DIRTY);
            self.admit(other, Op::Read);
        }
        let is_whole = folio.clone().all(|page| self.frames.pages.is_resident(page));
        self.frames.folios.set(page, is_whole);
    }
}
