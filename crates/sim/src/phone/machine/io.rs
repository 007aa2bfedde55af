//! The running task's use of devices beside faults on anonymous pages: file pages, cache lines of
//! pages mapped in NVM, writes to files.

use super::fault::Origin;
use super::record::Stalls;
use super::senders::{Outgoing, Sender};
use super::{writes, Machine};
use swaplab_swap::Medium;
use swaplab_vocab::{Op, PageId};

impl Machine {
    pub(super) fn file_fault(&mut self, page: PageId, op: Op) {
        let owner = self.apps.layout.owners[page as usize];
        let window = self.files.window(page, &self.apps.layout.of(owner).file, &self.frames.pages);
        self.files.read(&window, &mut self.swap.side, &self.prices);
        self.wait(Origin::File, self.files.was_in_memory(page));
        self.counts.file_reads += window.len() as u64;
        self.record.traffic_of(owner).file_reads += window.len() as u64;
        for read in window.iter().copied() {
            if self.files.refaulted(read) {
                self.counts.file_refaults += 1;
            }
            self.admit(read, if read == page { op } else { Op::Read });
        }
        self.files.take_back(window);
    }

    /// Charge the running task for the cache lines that a use of a page mapped in NVM reads there.
    pub(super) fn read_in_place(&mut self) {
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
}
