//! Write-back that no task waits for, and the queueing time of reads behind it. At a storage device
//! the queueing time follows from its queue and the I/O scheduler's order; in memory it follows
//! from the bus that DRAM, a compressed pool and NVM share (docs/models/queue.md). A page under
//! write-back keeps its frame until its request is done, and a page that the page policy took back
//! until it is scanned after that.

use super::channel::{rule, synchronous, Channel, Rule};
use super::senders::{Outgoing, Shares};
use crate::ledger::{Charge, Prices};
use swaplab_device::Attachment;
use swaplab_experiment::IoOrder;
use swaplab_swap::Medium;
use swaplab_vocab::PageId;

/// Batch number of a page that is not under write-back.
const NONE: u32 = 0;
/// Channel number of a page that was taken back and has been written.
const WRITTEN: u8 = u8::MAX;

/// The state of a page that was swapped out, with the channel of its write and the index of its
/// batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has no frame.
    Gone,
    /// It is being written, and its frame is free after that.
    Writing(usize, usize),
    /// It is being written, and the policy took it back.
    TakenBack(usize, usize),
    /// The policy took it back, and it has been written.
    Written,
}

#[derive(Clone, Debug)]
pub struct WriteBack {
    channels: [Channel; 5],
    order: Rule,
    synchronous: Rule,
    /// By page, the channel and the batch (counted from one) of its write; stale once that batch is
    /// done.
    batch_of: Vec<(u8, u32)>,
    /// Number of frames that are free when their pages are written.
    frames: usize,
    /// Number of frames of pages that were taken back, and of those that are still being written.
    taken_back: usize,
    writing_taken_back: usize,
    /// Pages that were taken back and have been written, since the last `take_written()`.
    written: Vec<PageId>,
    /// Pages of batches that are done, with the batches' numbers: empty between calls.
    done: Vec<(PageId, u32)>,
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
        WriteBack {
            channels,
            order,
            synchronous,
            batch_of,
            frames: 0,
            taken_back: 0,
            writing_taken_back: 0,
            written: Vec::new(),
            done: Vec::new(),
            bytes: [0; 5],
            waits: Shares::new(),
        }
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
        for held in &outgoing.held {
            let number = channel(held.medium, prices);
            let Some((batch_number, batch)) = self.channels[number].last_write() else { continue };
            if held.taken_back {
                batch.taken_back.push(held.page);
                (self.taken_back, self.writing_taken_back) = (self.taken_back + 1, self.writing_taken_back + 1);
            } else {
                (batch.frames, self.frames) = (batch.frames + 1, self.frames + 1);
            }
            self.batch_of[held.page as usize] = (number as u8, batch_number);
        }
    }

    /// The channel of `medium` as of `now_ns`.
    fn at(&mut self, medium: Medium, now_ns: u64, prices: &Prices) -> &mut Channel {
        let (device, number) = (prices.device(medium), channel(medium, prices));
        self.advance(number, now_ns);
        let channel = &mut self.channels[number];
        (channel.depth, channel.collection) = (device.queue_depth(), device.spec.collection);
        channel
    }

    /// Advance a channel to `now_ns`.
    fn advance(&mut self, number: usize, now_ns: u64) {
        self.frames -= self.channels[number].advance(now_ns, &mut self.done);
        for (page, batch) in self.done.drain(..) {
            let of_page = &mut self.batch_of[page as usize];
            if *of_page == (number as u8, batch) {
                *of_page = (WRITTEN, NONE);
                self.writing_taken_back -= 1;
                self.written.push(page);
            }
        }
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

    /// Number of frames at `now_ns` that are free when their pages are written.
    pub fn frames_at(&mut self, now_ns: u64) -> usize {
        if self.is_writing() {
            (0..self.channels.len()).for_each(|number| self.advance(number, now_ns));
        }
        self.frames
    }

    /// Number of frames of pages that were taken back.
    pub fn taken_back(&self) -> usize {
        self.taken_back
    }

    /// Whether any page that has a frame is being written.
    pub fn is_writing(&self) -> bool {
        self.frames + self.writing_taken_back > 0
    }

    /// A page that was taken back and has been written since the last call.
    pub fn take_written(&mut self) -> Option<PageId> {
        while let Some(page) = self.written.pop() {
            if self.is_written(page) {
                return Some(page);
            }
        }
        None
    }

    /// Whether `page` was taken back and has been written.
    pub fn is_written(&self, page: PageId) -> bool {
        self.batch_of[page as usize].0 == WRITTEN
    }

    /// The state of `page`, which was swapped out.
    fn state(&self, page: PageId) -> State {
        // Without a frame no entry is valid, and most schemes never have one.
        if self.frames + self.taken_back == 0 {
            return State::Gone;
        }
        let (number, batch) = self.batch_of[page as usize];
        if number == WRITTEN {
            return State::Written;
        }
        let Some(channel) = self.channels.get(usize::from(number)) else { return State::Gone };
        let Some(at) = batch.checked_sub(channel.first + 1) else { return State::Gone };
        match channel.batches.get(at as usize) {
            Some(batch) if batch.taken_back.contains(&page) => State::TakenBack(usize::from(number), at as usize),
            Some(batch) if batch.frames > 0 => State::Writing(usize::from(number), at as usize),
            _ => State::Gone,
        }
    }

    /// Whether `page` was taken back, and is being written or has been.
    pub fn is_taken_back(&self, page: PageId) -> bool {
        matches!(self.state(page), State::TakenBack(..) | State::Written)
    }

    /// Forget the entry of `page`. Returns the state that it had.
    fn leave(&mut self, page: PageId) -> State {
        let state = self.state(page);
        self.batch_of[page as usize] = (0, NONE);
        self.taken_back -= usize::from(matches!(state, State::TakenBack(..) | State::Written));
        self.writing_taken_back -= usize::from(matches!(state, State::TakenBack(..)));
        state
    }

    /// Take the frame of `page`, for a reference or because a scan frees it, if the page is under
    /// write-back or was taken back. Returns whether it was.
    pub fn take_frame(&mut self, page: PageId) -> bool {
        let state = self.leave(page);
        if let State::Writing(number, at) = state {
            self.channels[number].batches[at].frames -= 1;
            self.frames -= 1;
        }
        state != State::Gone
    }

    /// Forget the content of `page`. If it is being written, its frame is free after that and
    /// cannot be taken. If it was taken back and has been written, its frame is free now.
    pub fn forget(&mut self, page: PageId) {
        if let State::TakenBack(number, at) = self.leave(page) {
            self.channels[number].batches[at].frames += 1;
            self.frames += 1;
        }
    }

    /// The time at which `frames` of the pages that have frames are written, or all of them if
    /// there are fewer.
    pub fn freed_at(&self, frames: usize) -> u64 {
        let mut ends: Vec<(u64, usize)> = Vec::new();
        for channel in &self.channels {
            let held = channel.batches.iter().map(|batch| (batch.ends + channel.shift_ns, batch.frames + batch.taken_back.len()));
            ends.extend(held.filter(|(_, held)| *held > 0));
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
        let pages = 0..self.batch_of.len() as PageId;
        let taken_back = pages.filter(|page| self.is_taken_back(*page)).count();
        if taken_back != self.taken_back {
            return Err(format!("{taken_back} pages were taken back, but {} are counted", self.taken_back));
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
