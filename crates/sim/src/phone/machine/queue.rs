//! Writes that nobody waits for, and what a read waits for behind them: at a storage device by its queue and the order of the I/O
//! scheduler, at memory by the bus that DRAM, a compressed pool and NVM share (docs/models/queue.md). A page that is being written keeps
//! its frame until its request is done.

use super::channel::{rule, synchronous, Channel, Rule};
use super::senders::{Outgoing, Shares};
use crate::ledger::{Charge, Prices};
use swaplab_device::Attachment;
use swaplab_experiment::IoOrder;
use swaplab_swap::Medium;
use swaplab_vocab::PageId;

/// A page that is not being written.
const NONE: u32 = 0;

#[derive(Clone, Debug)]
pub struct WriteBack {
    channels: [Channel; 5],
    order: Rule,
    synchronous: Rule,
    /// The batch that each page is written in, counted from one; stale once that is done.
    batch_of: Vec<(u8, u32)>,
    /// Frames whose content is being written.
    frames: usize,
    /// Bytes handed over so far, by medium.
    bytes: [u64; 5],
    /// What whoever runs has waited for, by sender, since it was last taken.
    waits: Shares,
}

impl WriteBack {
    /// For so many pages.
    pub fn new(order: IoOrder, pages: usize) -> WriteBack {
        let (channels, batch_of) = (Default::default(), vec![(0, NONE); pages]);
        let (order, synchronous) = (rule(order), synchronous(order));
        WriteBack { channels, order, synchronous, batch_of, frames: 0, bytes: [0; 5], waits: Shares::new() }
    }

    /// The writes of `charge` are handed over at `now_ns`; the frames of pages that are held, which one medium writes, are free when they are
    /// done.
    pub fn hand_over(&mut self, charge: &Charge, outgoing: &Outgoing, now_ns: u64, prices: &Prices) {
        for (medium, of) in charge.media().filter(|(_, of)| of.writing.0 > 0) {
            let channel = self.at(medium, now_ns, prices);
            channel.write(of.writing.0, of.writes, of.written.div_ceil(prices.page_bytes()), outgoing.shares(medium), now_ns);
            channel.wrote(of.written, now_ns);
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

    /// What a read of `medium` that comes at `now_ns` and takes `service_ns` waits for: while places of the queue are free, for nothing.
    pub fn read(&mut self, medium: Medium, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let rule = match prices.device(medium).attachment {
            Attachment::Storage => self.order,
            // A bus has no scheduler: a read waits for the page under way.
            Attachment::Memory => rule(IoOrder::ReadsFirst),
        };
        self.serve(rule, medium, now_ns, service_ns, prices)
    }

    /// What a write of `bytes` that its sender waits for, as in an fsync, waits for until it is served.
    pub fn write_through(&mut self, medium: Medium, bytes: u64, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let wait = self.serve(self.synchronous, medium, now_ns, service_ns, prices);
        self.bytes[medium as usize] += bytes;
        self.channels[channel(medium, prices)].wrote(bytes, now_ns + wait + service_ns);
        wait
    }

    fn serve(&mut self, rule: Rule, medium: Medium, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let mut waits = std::mem::take(&mut self.waits);
        let wait = self.at(medium, now_ns, prices).serve(rule, now_ns, service_ns, &mut waits);
        self.waits = waits;
        wait
    }

    /// Waits by sender since the last call.
    pub fn take_waits(&mut self) -> Shares {
        std::mem::take(&mut self.waits)
    }

    /// Frames whose content is being written at `now_ns`.
    pub fn frames_at(&mut self, now_ns: u64) -> usize {
        if self.frames > 0 {
            self.frames -= self.channels.iter_mut().map(|channel| channel.advance(now_ns)).sum::<usize>();
        }
        self.frames
    }

    /// Whether the content of `page` is being written. Then its frame is the page's again, and no longer waits for the write.
    pub fn takes_back(&mut self, page: PageId) -> bool {
        let (number, batch) = std::mem::replace(&mut self.batch_of[page as usize], (0, NONE));
        let channel = &mut self.channels[usize::from(number)];
        let pending = batch.checked_sub(channel.first + 1).and_then(|at| channel.batches.get_mut(at as usize));
        let Some(batch) = pending.filter(|batch| batch.frames > 0) else { return false };
        batch.frames -= 1;
        self.frames -= 1;
        true
    }

    /// The content of `page` is gone: its frame still waits for the write, and nobody finds it there.
    pub fn forget(&mut self, page: PageId) {
        self.batch_of[page as usize] = (0, NONE);
    }

    /// The time when at least so many of the frames are free, or all of them.
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

    /// Bytes of `medium` handed over so far.
    #[cfg(test)]
    pub fn bytes(&self, medium: Medium) -> u64 {
        self.bytes[medium as usize]
    }

    /// Every invariant of the queue alone.
    #[cfg(test)]
    pub fn check(&self) -> Result<(), String> {
        let waiting: usize = self.channels.iter().flat_map(|channel| &channel.batches).map(|batch| batch.frames).sum();
        if waiting != self.frames {
            return Err(format!("{waiting} frames wait for writes, {} are counted", self.frames));
        }
        Ok(())
    }
}

/// What hangs on the memory bus shares it; each storage device has its own queue.
fn channel(medium: Medium, prices: &Prices) -> usize {
    match prices.device(medium).attachment {
        Attachment::Memory => Medium::Dram as usize,
        Attachment::Storage => medium as usize,
    }
}

#[cfg(test)]
mod tests;
