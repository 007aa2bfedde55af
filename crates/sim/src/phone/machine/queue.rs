//! Write-back that no task waits for, and the queueing time of reads behind it. At a storage device
//! the queueing time follows from its queue and the I/O scheduler's order; in memory it follows
//! from the bus that DRAM, a compressed pool and NVM share (docs/models/queue.md). A page under
//! write-back keeps its frame until its request is done.

use super::channel::{rule, synchronous, Channel, Rule};
use super::senders::{Outgoing, Shares};
use crate::ledger::{Charge, Prices};
use swaplab_device::Attachment;
use swaplab_experiment::IoOrder;
use swaplab_swap::Medium;
use swaplab_vocab::PageId;

/// Batch number of a page that is not under write-back.
const NONE: u32 = 0;

#[derive(Clone, Debug)]
pub struct WriteBack {
    channels: [Channel; 5],
    order: Rule,
    synchronous: Rule,
    /// By page, the channel and the batch (counted from one) of its write; stale once that batch is
    /// done.
    batch_of: Vec<(u8, u32)>,
    /// Number of frames under write-back.
    frames: usize,
    /// Total bytes submitted, by medium.
    bytes: [u64; 5],
    /// Queueing times of the running task by sender, since the last `take_waits()`.
    waits: Shares,
}

impl WriteBack {
    /// Create the queues for a trace of `pages` pages.
    pub fn new(order: IoOrder, pages: usize) -> WriteBack {
        let (channels, batch_of) = (Default::default(), vec![(0, NONE); pages]);
        let (order, synchronous) = (rule(order), synchronous(order));
        WriteBack { channels, order, synchronous, batch_of, frames: 0, bytes: [0; 5], waits: Shares::new() }
    }

    /// Submit the writes of `charge` at `now_ns`. The frames of the pages that `outgoing` holds
    /// become free when their medium's writes are done.
    pub fn submit(&mut self, charge: &Charge, outgoing: &Outgoing, now_ns: u64, prices: &Prices) {
        for (medium, of) in charge.media().filter(|(_, of)| of.writing.0 > 0) {
            let channel = self.at(medium, now_ns, prices);
            let senders = outgoing.shares(medium, channel.empty_list());
            channel.write(of.writing.0, of.writes, of.written.div_ceil(prices.page_bytes()), senders, now_ns);
            channel.note_written(of.written, now_ns);
            self.bytes[medium as usize] += of.written;
        }
        for (page, medium) in &outgoing.held {
            let number = channel(*medium, prices);
            if let Some((batch_number, batch)) = self.channels[number].last_write() {
                batch.frames += 1;
                self.frames += 1;
                self.batch_of[*page as usize] = (number as u8, batch_number);
            }
        }
    }

    /// The channel of `medium` as of `now_ns`.
    fn at(&mut self, medium: Medium, now_ns: u64, prices: &Prices) -> &mut Channel {
        let device = prices.device(medium);
        let channel = &mut self.channels[channel(medium, prices)];
        self.frames -= channel.advance(now_ns);
        (channel.depth, channel.collection) = (device.queue_depth(), device.spec.collection);
        channel
    }

    /// The queueing time of a read of `medium` that arrives at `now_ns` and is served in
    /// `service_ns`: 0 while the queue has free places.
    pub fn read(&mut self, medium: Medium, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let rule = match prices.device(medium).attachment {
            Attachment::Storage => self.order,
            // A bus has no scheduler: a read waits for the page that is being transferred.
            Attachment::Memory => rule(IoOrder::ReadsFirst),
        };
        self.serve(rule, medium, now_ns, service_ns, prices)
    }

    /// The queueing time of a synchronous write of `bytes`, as of an fsync.
    pub fn write_through(&mut self, medium: Medium, bytes: u64, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let wait = self.serve(self.synchronous, medium, now_ns, service_ns, prices);
        self.bytes[medium as usize] += bytes;
        self.channels[channel(medium, prices)].note_written(bytes, now_ns + wait + service_ns);
        wait
    }

    fn serve(&mut self, rule: Rule, medium: Medium, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let mut waits = std::mem::take(&mut self.waits);
        let wait = self.at(medium, now_ns, prices).serve(rule, now_ns, service_ns, &mut waits);
        self.waits = waits;
        wait
    }

    /// Take the queueing times by sender since the last call.
    pub fn take_waits(&mut self) -> Shares {
        std::mem::take(&mut self.waits)
    }

    /// Number of frames under write-back at `now_ns`.
    pub fn frames_at(&mut self, now_ns: u64) -> usize {
        if self.frames > 0 {
            self.frames -= self.channels.iter_mut().map(|channel| channel.advance(now_ns)).sum::<usize>();
        }
        self.frames
    }

    /// Give `page` its frame back if it is under write-back; the frame then no longer waits for the
    /// write. Returns whether it was.
    pub fn take_back_frame(&mut self, page: PageId) -> bool {
        let (number, batch) = std::mem::replace(&mut self.batch_of[page as usize], (0, NONE));
        let channel = &mut self.channels[usize::from(number)];
        let pending = batch.checked_sub(channel.first + 1).and_then(|at| channel.batches.get_mut(at as usize));
        let Some(batch) = pending.filter(|batch| batch.frames > 0) else { return false };
        batch.frames -= 1;
        self.frames -= 1;
        true
    }

    /// Forget the content of `page`. Its frame still waits for the write, but cannot be taken back.
    pub fn forget(&mut self, page: PageId) {
        // Without a pending write no entry is valid, and most schemes never have one.
        if self.frames > 0 {
            self.batch_of[page as usize] = (0, NONE);
        }
    }

    /// The time at which `frames` of the frames are free, or all of them if there are fewer.
    pub fn freed_at(&self, frames: usize) -> u64 {
        let mut ends: Vec<(u64, usize)> = Vec::new();
        for channel in &self.channels {
            ends.extend(channel.batches.iter().filter(|batch| batch.frames > 0).map(|batch| (batch.ends + channel.shift_ns, batch.frames)));
        }
        ends.sort_unstable();
        let mut sum = 0;
        for (end, count) in &ends {
            sum += count;
            if sum >= frames {
                return *end;
            }
        }
        ends.last().map_or(0, |(end, _)| *end)
    }

    /// Total bytes submitted to `medium`.
    #[cfg(test)]
    pub fn bytes(&self, medium: Medium) -> u64 {
        self.bytes[medium as usize]
    }

    /// Check the invariants of the queues alone.
    #[cfg(test)]
    pub fn check(&self) -> Result<(), String> {
        let waiting: usize = self.channels.iter().flat_map(|channel| &channel.batches).map(|batch| batch.frames).sum();
        if waiting != self.frames {
            return Err(format!("{waiting} frames wait for writes, but {} are counted", self.frames));
        }
        Ok(())
    }
}

/// The index of the channel of `medium`. All media on the memory bus share one; each storage device
/// has its own.
fn channel(medium: Medium, prices: &Prices) -> usize {
    match prices.device(medium).attachment {
        Attachment::Memory => Medium::Dram as usize,
        Attachment::Storage => medium as usize,
    }
}

#[cfg(test)]
mod tests;
