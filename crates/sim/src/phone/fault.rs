//! What a reference leads to: the fault, the read, who waits for it and for how long.

use super::machine::{Machine, NONE};
use super::record::{Freed, Stalls};
use crate::ledger::Charge;
use swaplab_policy::{bits, Backing};
use swaplab_swap::{Medium, Served, Step, Transfer, Transfers};
use swaplab_vocab::{Op, PageId, PAGE_SIZE};

impl Machine {
    #[inline]
    pub fn touch(&mut self, page: PageId, op: Op) {
        if !self.pages.is_resident(page) {
            return self.fault(page, op);
        }
        if op.is_write() {
            self.pages.set(page, bits::DIRTY);
        }
        self.policy.as_dyn_mut().touch(page, op, &self.pages);
    }

    fn fault(&mut self, page: PageId, op: Op) {
        self.trail.fetched(page);
        if self.pages.backing(page) == Backing::File {
            return self.file_fault(page, op);
        }
        let mapped = self.pages.bits(page) & bits::MAPPED != 0;
        if mapped && !op.is_write() {
            self.swap.moves.mapped_references += 1;
            return;
        }
        self.pages.clear(page, bits::MAPPED | bits::SLOT);
        let served = self.swap.fault(page, op, mapped);
        self.wait(self.swap.charged, false);
        match served {
            Served::MappedInPlace => {
                self.note_read(page, true);
                self.swap.moves.mapped_references += 1;
                return self.pages.set(page, bits::MAPPED | bits::SLOT);
            }
            Served::Copied { kept } => {
                self.note_read(page, false);
                if !kept {
                    self.free_entry(page, Freed::Copy);
                    self.policy.as_dyn_mut().swappable(true);
                }
                self.pages.set(page, if kept { bits::SLOT } else { bits::DIRTY });
            }
            Served::ZeroFilled => {}
        }
        if op.is_write() {
            self.pages.set(page, bits::DIRTY);
        }
        let ahead = std::mem::take(&mut self.swap.ahead);
        self.admit(page, op);
        for neighbour in ahead {
            self.note_read(neighbour, false);
            self.pages.set(neighbour, bits::SLOT);
            self.admit(neighbour, Op::Read);
        }
    }

    fn note_read(&mut self, page: PageId, direct: bool) {
        if let Some(entry) = self.record.entries.get_mut(self.entry_of[page as usize] as usize) {
            entry.reads += 1;
        }
        let traffic = self.record.traffic_of(self.layout.owners[page as usize]);
        *(if direct { &mut traffic.direct_reads } else { &mut traffic.swapped_in }) += 1;
    }

    /// The slot of `page` is given up.
    pub(super) fn free_entry(&mut self, page: PageId, why: Freed) {
        let now = self.clock();
        let number = std::mem::replace(&mut self.entry_of[page as usize], NONE);
        if let Some(entry) = self.record.entries.get_mut(number as usize) {
            entry.freed = Some((now, why));
        }
    }

    /// Read the pages of the aligned window around `page` that belong to the same file and are not there, in one request.
    fn file_fault(&mut self, page: PageId, op: Op) {
        let file = self.layout.of(self.layout.owners[page as usize]).file.clone();
        let start = page - (page - file.start) % self.readahead;
        let window: Vec<PageId> =
            (start..(start + self.readahead).min(file.end)).filter(|p| *p == page || !self.pages.is_resident(*p)).collect();
        let read = Step::Read { medium: Medium::Flash, slot: 0, bytes: window.len() as u32 * PAGE_SIZE as u32, continues: false };
        let request = Step::Cpu(swaplab_swap::Work::BlockRequest);
        let out = Transfers { steps: [request, read].map(|step| Transfer { page, step }).into(), ..Transfers::default() };
        let charge = self.files.charge(&out, &self.prices);
        self.wait(charge, true);
        self.counts.file_reads += window.len() as u64;
        self.record.traffic_of(self.layout.owners[page as usize]).file_reads += window.len() as u64;
        for p in window {
            if std::mem::replace(&mut self.seen[p as usize], true) {
                self.counts.file_refaults += 1;
                self.second.2 += 1;
            }
            self.admit(p, if p == page { op } else { Op::Read });
        }
    }

    /// Whoever faults waits for the processor, for writes that are ahead in the queue, and for its own transfers.
    fn wait(&mut self, charge: Charge, of_file: bool) {
        self.counts.faults += 1;
        let cpu = self.prices.processor().fault.0 + charge.cpu.0;
        self.counts.system_ns += cpu;
        let mut stalls = Stalls { fault_cpu_ns: cpu - charge.decompress.0, decompress_ns: charge.decompress.0, ..Stalls::default() };
        for medium in Medium::ALL.into_iter().filter(|m| charge.reads[*m as usize] > 0) {
            stalls.queue_ns += self.write_back.ahead(medium, self.clock(), &self.prices);
            let before = self.together.map_or(0, |reads| reads[medium as usize]);
            let read = charge.read_wait(medium, before, &self.prices);
            let hidden = read.min(self.beside_ns);
            self.beside_ns -= hidden;
            let read = read - hidden;
            *(if of_file { &mut stalls.file_read_ns } else { &mut stalls.swap_read_ns[medium as usize] }) += read;
            if let Some(reads) = &mut self.together {
                reads[medium as usize] += charge.reads[medium as usize];
            }
        }
        // A scheme that makes room while it serves a fault writes on the faulting app's time.
        stalls.direct_reclaim_ns = charge.write_wait(&self.prices);
        self.stall(stalls);
    }

    /// The time as of the last wait.
    pub(super) fn clock(&self) -> u64 {
        self.now_ns + self.waited_ns
    }

    pub(super) fn stall(&mut self, stalls: Stalls) {
        let ns = stalls.total_ns();
        self.waited += stalls;
        self.waited_ns += ns;
        self.felt_ns += ns;
        let second = self.clock() / 1_000_000_000;
        if self.second.0 != second {
            self.second = (second, 0, 0);
        }
        self.second.1 += ns;
    }

    /// Give `page` a frame.
    fn admit(&mut self, page: PageId, op: Op) {
        self.need_frame();
        let policy = self.policy.as_dyn_mut();
        policy.miss(page, op, &self.pages);
        self.pages.set(page, bits::RESIDENT);
        self.count(page, true);
        let policy = self.policy.as_dyn_mut();
        policy.insert(page, op, &mut self.pages);
        // A policy may release on insert, too.
        let mut busy = Charge::default();
        self.settle(&mut busy, usize::MAX);
        self.hand_over(&busy);
    }
}
