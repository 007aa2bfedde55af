//! Writes of the app in front to its files: a transaction with an fsync, whose data and journal
//! commit it waits for.
//!
//! Source: Linux fs/jbd2/commit.c, `jbd2_journal_commit_transaction` (ordered mode): data are
//! written first, then the descriptor and the blocks of metadata into the journal, then the commit
//! block. Documentation/filesystems/ext4/journal.rst: at some later point the blocks are written to
//! their final places.
//! Deviations: a request is a page, and one follows another; the cache of the device needs no
//! flush; the journal's blocks are handed over for their final places at once; the pages written
//! take no frames.

use super::files::FileReads;
use super::queue::WriteBack;
use super::record::Stalls;
use crate::ledger::{Charge, Prices};
use swaplab_experiment::Size;
use swaplab_swap::Medium;

/// Pages of the journal that stay there: the descriptor and the commit block.
const OF_JOURNAL_ALONE: u64 = 2;

/// Writes of an app to its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileWrites {
    /// Time between two transactions; 0 if there are none.
    pub every_ns: u64,
    /// Pages that a transaction writes to files and to the journal.
    pub data_pages: u64,
    pub journal_pages: u64,
}

impl FileWrites {
    /// Convert the experiment's values for a phone with pages of this size.
    pub fn of(writes: &swaplab_experiment::apps::FileWrites, page_bytes: u64) -> FileWrites {
        let pages = |size: &Size| size.bytes(0).div_ceil(page_bytes);
        let every_ns = (writes.every.seconds() * 1e9).round() as u64;
        FileWrites { every_ns, data_pages: pages(&writes.data), journal_pages: pages(&writes.journal) }
    }
}

/// The stalls of the running task in a transaction, and the writes that follow later.
pub struct Transaction {
    pub stalls: Stalls,
    pub cpu_ns: u64,
    /// The journal's blocks on their way to their final places.
    pub later: Charge,
    pub later_pages: u64,
}

/// Charge one transaction that begins at `now_ns`.
pub fn transaction(of: &FileWrites, files: &mut FileReads, queue: &mut WriteBack, now_ns: u64, prices: &Prices) -> Transaction {
    let (device, bytes) = (prices.device(Medium::Flash), prices.page_bytes());
    files.write(of.data_pages + of.journal_pages, prices);
    let cpu_ns = files.charged.cpu.0;
    let mut stalls = Stalls { fault_cpu_ns: cpu_ns, ..Stalls::default() };
    let service_ns = device.write_time(bytes).0 + device.write_slack(1).0;
    for _ in 0..of.data_pages + of.journal_pages {
        stalls.queue_ns += queue.write_through(Medium::Flash, bytes, now_ns + stalls.total_ns(), service_ns, prices);
        stalls.file_write_ns += service_ns;
    }
    let later_pages = of.journal_pages.saturating_sub(OF_JOURNAL_ALONE);
    files.write(later_pages, prices);
    let later = files.charged.clone();
    Transaction { stalls, cpu_ns: cpu_ns + later.cpu.0, later, later_pages }
}

/// The time at which the app in front writes next.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextWrite {
    at_ns: Option<u64>,
}

impl NextWrite {
    /// The next transaction begins a period after `now_ns`.
    pub fn after(of: &FileWrites, now_ns: u64) -> NextWrite {
        NextWrite { at_ns: (of.every_ns > 0).then(|| now_ns + of.every_ns) }
    }

    /// The time until the next transaction, if it is due within `ns` of `now_ns`.
    pub fn within(&self, now_ns: u64, ns: u64) -> Option<u64> {
        self.at_ns.filter(|at_ns| ns > 0 && *at_ns <= now_ns + ns).map(|at_ns| at_ns.saturating_sub(now_ns))
    }
}
