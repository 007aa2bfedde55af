//! The queue of one storage device or of the memory bus: its pending writes, and when it serves a
//! read (docs/models/queue.md).

use super::senders::{add, divide, Sender, Shares};
use std::collections::VecDeque;
use swaplab_device::Collection;
use swaplab_experiment::IoOrder;
use swaplab_vocab::PageId;

/// How an I/O order treats a read that arrives while the device writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The read waits for all pending writes.
    behind_all: bool,
    /// The read interrupts the current write request after its current page.
    interrupts: bool,
    /// Time for which the device idles after a read, in case another one follows, before it
    /// continues to write.
    idle_ns: u64,
    /// The longest time for which consecutive reads keep the device from writing.
    slice_ns: u64,
}

pub const MS: u64 = 1_000_000;

/// The rule of an I/O order. CFQ: `cfq_slice_idle` is HZ / 125, `cfq_slice_sync` is HZ / 10, and a
/// synchronous request preempts an asynchronous queue (Linux 3.4, block/cfq-iosched.c,
/// `cfq_should_preempt`). ROW: 5 ms of idling for reads (MSM 3.4, block/row-iosched.c); this model
/// has no limit on how long reads go first. mq-deadline does not idle (block/mq-deadline.c).
pub fn rule(order: IoOrder) -> Rule {
    let request = Rule { behind_all: false, interrupts: false, idle_ns: 0, slice_ns: 0 };
    match order {
        IoOrder::Noop => Rule { behind_all: true, ..request },
        IoOrder::CfqLike => Rule { idle_ns: 8 * MS, slice_ns: 100 * MS, ..request },
        IoOrder::RowLike => Rule { idle_ns: 5 * MS, slice_ns: u64::MAX, ..request },
        IoOrder::MqDeadlineLike => request,
        IoOrder::ReadsFirst => Rule { interrupts: true, ..request },
    }
}

/// The rule for a write that its sender waits for. CFQ serves it in a synchronous queue, like a
/// read (Linux 3.4, block/cfq-iosched.c, `rw_is_sync`), and ROW before all other writes (MSM 3.4,
/// block/row-iosched.c, `ROWQ_PRIO_REG_SWRITE`). mq-deadline distinguishes only reads and writes,
/// and a device that interrupts a write does so for reads only. With these the write waits behind
/// all other writes.
pub fn synchronous(order: IoOrder) -> Rule {
    match order {
        IoOrder::CfqLike | IoOrder::RowLike => rule(order),
        IoOrder::Noop | IoOrder::MqDeadlineLike | IoOrder::ReadsFirst => rule(IoOrder::Noop),
    }
}

/// Write requests that were submitted together, and later ones that merged into them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Begin and end of its work, in nanoseconds of total write time (`work_ns`).
    begins: u64,
    pub ends: u64,
    requests: u64,
    pages: u64,
    /// Number of frames that become free when it is done.
    pub frames: usize,
    /// Pages that the page policy took back: a later scan frees their frames.
    pub taken_back: Vec<PageId>,
    /// The senders of its pages. A pause of the device is a batch of its own, during which nothing
    /// is served.
    senders: Shares,
    is_pause: bool,
}

impl Batch {
    /// Mean time of one of its requests, or of one of its pages if a read `interrupts` a request.
    fn unit_ns(&self, interrupts: bool) -> u64 {
        ((self.ends - self.begins) / if interrupts { self.pages } else { self.requests }.max(1)).max(1)
    }
}

/// The write queue of one storage device or of the memory bus.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    pub batches: VecDeque<Batch>,
    /// Empty lists of batches that are done, for reuse.
    lists: Vec<Shares>,
    /// The number of the first batch.
    pub first: u32,
    /// Total write time submitted so far, and the offset of the clock to it: a write that ends at
    /// `w` of total write time is done at `w + shift_ns`.
    work_ns: u64,
    pub shift_ns: u64,
    /// The time until which reads occupy the device.
    busy_until_ns: u64,
    /// The time until which the device idles for another read, and the start of the current series
    /// of reads.
    idle_until_ns: u64,
    slice_from_ns: u64,
    pub depth: u64,
    /// Garbage collection, and the bytes that were written since the last one.
    pub collection: Option<Collection>,
    uncollected: u64,
}

impl Channel {
    /// Remove the writes that are done at `now_ns` from the queue. Returns the number of frames
    /// that they free. Pages that were taken back are added to `done` with their batch's number.
    pub fn advance(&mut self, now_ns: u64, done_pages: &mut Vec<(PageId, u32)>) -> usize {
        let mut frames = 0;
        while let Some(batch) = self.batches.front().filter(|batch| batch.ends + self.shift_ns <= now_ns) {
            frames += batch.frames;
            self.first += 1;
            if let Some(mut done) = self.batches.pop_front() {
                done_pages.extend(done.taken_back.iter().map(|page| (*page, self.first)));
                done.senders.clear();
                self.lists.push(done.senders);
            }
        }
        frames
    }

    /// An empty list for the senders of a batch.
    pub fn empty_list(&mut self) -> Shares {
        self.lists.pop().unwrap_or_default()
    }

    /// Submit writes of `pages` pages in `requests` requests that take `ns`. Without a request the
    /// pages merge into the last batch.
    pub fn write(&mut self, ns: u64, requests: u64, pages: u64, senders: Shares, now_ns: u64) {
        let joins = requests == 0 && self.batches.back().is_some_and(|last| !last.is_pause);
        if let Some(last) = self.batches.back_mut().filter(|_| joins) {
            (last.ends, last.pages) = (last.ends + ns, last.pages + pages);
            senders.into_iter().for_each(|(sender, pages)| add(&mut last.senders, sender, pages));
            self.work_ns += ns;
        } else {
            self.push(ns, requests.max(1), pages, senders, false, now_ns);
        }
    }

    fn push(&mut self, ns: u64, requests: u64, pages: u64, senders: Shares, is_pause: bool, now_ns: u64) {
        if self.batches.is_empty() {
            self.shift_ns = self.shift_ns.max(now_ns.max(self.busy_until_ns).saturating_sub(self.work_ns));
        }
        let (begins, ends) = (self.work_ns, self.work_ns + ns);
        self.batches.push_back(Batch { begins, ends, requests, pages, frames: 0, taken_back: Vec::new(), senders, is_pause });
        self.work_ns += ns;
    }

    /// Count written bytes. After each erase block of them the device pauses to collect garbage,
    /// behind the writes that it has.
    pub fn note_written(&mut self, bytes: u64, now_ns: u64) {
        let Some(Collection { every_bytes, pause_ns }) = self.collection else { return };
        self.uncollected += bytes;
        let collections = self.uncollected / every_bytes;
        self.uncollected %= every_bytes;
        if collections > 0 {
            self.push(collections * pause_ns, 1, 1, vec![(Sender::Collection, 1)], true, now_ns);
        }
    }

    /// The batch of the last write, and its number.
    pub fn last_write(&mut self) -> Option<(u32, &mut Batch)> {
        let at = self.batches.iter().rposition(|batch| !batch.is_pause)?;
        Some((self.first + at as u32 + 1, &mut self.batches[at]))
    }

    /// The queueing time of a read, or of a synchronous write, that arrives at `now_ns` and is
    /// served in `service_ns`; added to `waits` by sender.
    pub fn serve(&mut self, rule: Rule, now_ns: u64, service_ns: u64, waits: &mut Shares) -> u64 {
        let kept_idle = now_ns < self.idle_until_ns;
        if kept_idle {
            self.shift_ns -= self.idle_until_ns - now_ns;
        } else {
            self.slice_from_ns = now_ns;
        }
        self.idle_until_ns = 0;
        let left = (self.work_ns + self.shift_ns).saturating_sub(now_ns);
        let head = self.batches.iter().find(|batch| batch.ends + self.shift_ns > now_ns);
        let wait = match head {
            Some(head) if !kept_idle => {
                let each = head.unit_ns(rule.interrupts);
                let places = if head.is_pause { 0 } else { each * self.depth.saturating_sub(1) };
                match left.saturating_sub(places) {
                    0 => 0,
                    behind if rule.behind_all => behind,
                    _ => (head.ends + self.shift_ns - now_ns - 1) % each + 1,
                }
            }
            _ => 0,
        };
        self.note_wait(now_ns, wait, waits);
        let done_ns = now_ns + wait + service_ns;
        self.busy_until_ns = self.busy_until_ns.max(done_ns);
        if left > wait && !rule.behind_all {
            self.shift_ns += service_ns;
            if rule.idle_ns > 0 && done_ns - self.slice_from_ns < rule.slice_ns {
                self.shift_ns += rule.idle_ns;
                self.idle_until_ns = done_ns + rule.idle_ns;
            }
        }
        wait
    }

    /// Divide a wait from `now_ns` on among the batches that are done in this time, one after the
    /// other.
    fn note_wait(&self, now_ns: u64, wait_ns: u64, waits: &mut Shares) {
        let (mut from_ns, until_ns) = (now_ns, now_ns + wait_ns);
        for batch in self.batches.iter().take_while(|_| wait_ns > 0) {
            let to_ns = (batch.ends + self.shift_ns).min(until_ns);
            if to_ns > from_ns {
                divide(to_ns - from_ns, &batch.senders, waits);
                from_ns = to_ns;
            }
            if from_ns == until_ns {
                break;
            }
        }
    }
}
