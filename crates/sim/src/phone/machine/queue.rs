//! Write-back that no task waits for, and the queueing time of reads behind it. At a storage device that follows from its queue and the
//! I/O scheduler's order, at memory from the bus that DRAM, a compressed pool and NVM share (docs/models/queue.md). A page under
//! write-back keeps its frame until its request is done.

use super::channel::{rule, Channel, Rule};
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
    /// By page, the channel and the batch (counted from one) of its write; stale once that batch is done.
    batch_of: Vec<(u8, u32)>,
    /// Number of frames under write-back.
    frames: usize,
    /// Total bytes submitted, by medium.
    bytes: [u64; 5],
}

impl WriteBack {
    /// Create the queues for a trace of `pages` pages.
    pub fn new(order: IoOrder, pages: usize) -> WriteBack {
        WriteBack { channels: Default::default(), order: rule(order), batch_of: vec![(0, NONE); pages], frames: 0, bytes: [0; 5] }
    }

    /// Submit the writes of `charge` at `now_ns`. The frames of the pages in `waiting` become free when their medium's writes are done.
    pub fn submit(&mut self, charge: &Charge, waiting: &[(PageId, Medium)], now_ns: u64, prices: &Prices) {
        for (medium, of) in charge.media().filter(|(_, of)| of.writing.0 > 0) {
            let device = prices.device(medium);
            let channel = &mut self.channels[channel(medium, prices)];
            self.frames -= channel.advance(now_ns);
            channel.depth = device.queue_depth();
            channel.write(of.writing.0, of.writes, of.written.div_ceil(prices.page_bytes()), now_ns);
            self.bytes[medium as usize] += of.written;
        }
        for (page, medium) in waiting {
            let number = channel(*medium, prices);
            let channel = &mut self.channels[number];
            if let Some(batch) = channel.batches.back_mut() {
                batch.frames += 1;
                self.frames += 1;
                self.batch_of[*page as usize] = (number as u8, channel.first + channel.batches.len() as u32);
            }
        }
    }

    /// The queueing time of a read of `medium` that arrives at `now_ns` and is served in `service_ns`: 0 while the queue has free places.
    pub fn read(&mut self, medium: Medium, now_ns: u64, service_ns: u64, prices: &Prices) -> u64 {
        let rule = match prices.device(medium).attachment {
            Attachment::Storage => self.order,
            // A bus has no scheduler: a read waits for the page that is being transferred.
            Attachment::Memory => rule(IoOrder::ReadsFirst),
        };
        let channel = &mut self.channels[channel(medium, prices)];
        self.frames -= channel.advance(now_ns);
        channel.read(rule, now_ns, service_ns)
    }

    /// Number of frames under write-back at `now_ns`.
    pub fn frames_at(&mut self, now_ns: u64) -> usize {
        if self.frames > 0 {
            self.frames -= self.channels.iter_mut().map(|channel| channel.advance(now_ns)).sum::<usize>();
        }
        self.frames
    }

    /// Give `page` its frame back if it is under write-back; the frame then no longer waits for the write. Returns whether it was.
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
        self.batch_of[page as usize] = (0, NONE);
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

/// The index of the channel of `medium`. All media on the memory bus share one; each storage device has its own.
fn channel(medium: Medium, prices: &Prices) -> usize {
    match prices.device(medium).attachment {
        Attachment::Memory => Medium::Dram as usize,
        Attachment::Storage => medium as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::MS;
    use super::*;
    use crate::ledger::MediumCharge;
    use swaplab_experiment::Devices;
    use swaplab_vocab::Nanos;

    /// The charge for writes of `pages` pages to `medium` that take `ns` in `requests` requests.
    fn wrote(medium: Medium, pages: u64, requests: u64, ns: u64) -> Charge {
        let mut charge = Charge::default();
        *charge.of_mut(medium) = MediumCharge { writing: Nanos(ns), writes: requests, written: pages * 4096, ..MediumCharge::default() };
        charge
    }

    fn emmc() -> Prices {
        Prices::new(&Devices { flash: "emmc-4.41".into(), ..Devices::default() }).unwrap()
    }

    /// Two requests of 4 pages, 8 ms each, are submitted at 1 ms; a read of 1 ms arrives at 3 ms.
    #[test]
    fn a_read_waits_behind_two_write_requests_as_the_io_order_says() {
        for (order, wait) in [
            (IoOrder::Noop, 14),
            (IoOrder::CfqLike, 6),
            (IoOrder::RowLike, 6),
            (IoOrder::MqDeadlineLike, 6),
            // A page takes 2 ms and its transfer has just begun.
            (IoOrder::ReadsFirst, 2),
        ] {
            let (prices, mut queue) = (emmc(), WriteBack::new(order, 0));
            queue.submit(&wrote(Medium::Flash, 8, 2, 16 * MS), &[], MS, &prices);
            assert_eq!(queue.read(Medium::Flash, 3 * MS, MS, &prices), wait * MS, "{order:?}");
            assert_eq!(queue.read(Medium::Nvm, 3 * MS, MS, &prices), 0);
        }
    }

    /// The first read is done at 10 ms. The next one arrives at 12 ms: CFQ and ROW have kept the device idle, mq-deadline already writes.
    /// No further read arrives: the second request is written after 8 ms (CFQ) or 5 ms (ROW) of idling.
    #[test]
    fn idling_keeps_the_device_for_the_next_read() {
        for (order, second, written) in
            [(IoOrder::CfqLike, 0, 13 + 8 + 8), (IoOrder::RowLike, 0, 13 + 5 + 8), (IoOrder::MqDeadlineLike, 6, 18)]
        {
            let (prices, mut queue) = (emmc(), WriteBack::new(order, 8));
            let waiting: Vec<_> = (0..8).map(|page| (page, Medium::Flash)).collect();
            queue.submit(&wrote(Medium::Flash, 8, 2, 16 * MS), &waiting, MS, &prices);
            assert_eq!(queue.read(Medium::Flash, 3 * MS, MS, &prices), 6 * MS);
            assert_eq!(queue.read(Medium::Flash, 12 * MS, MS, &prices), second * MS, "{order:?}");
            assert_eq!((queue.frames_at(written * MS - 1), queue.frames_at(written * MS)), (8, 0), "{order:?}");
        }
    }

    /// CFQ serves reads for 100 ms; then a request is written between two of them.
    #[test]
    fn a_slice_of_reads_ends() {
        let (prices, mut queue) = (emmc(), WriteBack::new(IoOrder::CfqLike, 0));
        queue.submit(&wrote(Medium::Flash, 100, 10, 100 * MS), &[], 0, &prices);
        let mut now = MS;
        let waits: Vec<u64> = (0..30)
            .map(|_| {
                let wait = queue.read(Medium::Flash, now, 4 * MS, &prices);
                now += wait + 5 * MS;
                wait / MS
            })
            .collect();
        // The first read waits 9 ms for the current request. Reads at 10 + 5n ms are each done 4 ms later. The one done at 104 ms ends
        // the slice that began at 1 ms, and the next one, at 105 ms, waits for a request that began at 104 ms.
        assert_eq!((waits[0], waits.iter().position(|wait| *wait == 9).unwrap()), (9, 0));
        assert_eq!(waits.iter().skip(1).position(|wait| *wait > 0), Some(18), "{waits:?}");
        assert_eq!(waits[19], 9);
    }

    #[test]
    fn a_page_under_write_back_can_take_its_frame_back_until_it_is_written() {
        let (prices, mut queue) = (emmc(), WriteBack::new(IoOrder::Noop, 9));
        let waiting: Vec<_> = (0..4).map(|page| (page, Medium::Flash)).collect();
        queue.submit(&wrote(Medium::Flash, 4, 1, 8 * MS), &waiting, 0, &prices);
        // The next four pages are adjacent and merge into the request.
        queue.submit(&wrote(Medium::Flash, 4, 0, 4 * MS), &[(4, Medium::Flash)], MS, &prices);
        queue.check().unwrap();
        assert_eq!((queue.frames_at(11 * MS), queue.freed_at(1)), (5, 12 * MS));
        assert_eq!((queue.take_back_frame(0), queue.take_back_frame(0), queue.take_back_frame(8)), (true, false, false));
        queue.forget(1);
        assert_eq!((queue.take_back_frame(1), queue.frames_at(11 * MS)), (false, 4));
        assert_eq!(queue.frames_at(12 * MS), 0);
        assert!(!queue.take_back_frame(2));
        queue.check().unwrap();
    }

    /// UFS 3.1 writes 70,000 pages a second, several at a time.
    #[test]
    fn a_read_waits_only_when_every_place_is_taken() {
        let prices = Prices::new(&Devices::default()).unwrap();
        let depth = prices.device(Medium::Flash).queue_depth();
        assert!(depth > 1);
        for (order, behind) in [(IoOrder::MqDeadlineLike, [0, 14_286, 14_286]), (IoOrder::Noop, [0, 14_286, 2 * 14_286])] {
            for (extra, expected) in [0, 1, 2].into_iter().zip(behind) {
                let (mut queue, pages) = (WriteBack::new(order, 0), depth - 1 + extra);
                queue.submit(&wrote(Medium::Flash, pages, pages, pages * 14_286), &[], 0, &prices);
                assert_eq!(queue.read(Medium::Flash, 0, 0, &prices), expected, "{order:?}");
            }
        }
    }

    #[test]
    fn dram_and_nvm_share_the_memory_bus() {
        let prices = Prices::new(&Devices::default()).unwrap();
        let waits = |prices: &Prices, medium: Medium| {
            let mut queue = WriteBack::new(IoOrder::Noop, 0);
            let ns = prices.device(Medium::Nvm).write_time(4096).0;
            queue.submit(&wrote(Medium::Nvm, 2, 2, 2 * ns), &[], 0, prices);
            queue.read(medium, 0, 0, prices)
        };
        // A read waits for the page that PCM is writing, 5140 ns, whatever the I/O order of storage.
        for medium in [Medium::Dram, Medium::Pool, Medium::Nvm] {
            assert_eq!(waits(&prices, medium), 5_140);
        }
        assert_eq!(waits(&prices, Medium::Flash), 0);
        // NVM behind a storage interface does not use the memory bus.
        let behind = Prices::new(&Devices { nvm: "optane-m10".into(), ..Devices::default() }).unwrap();
        assert_eq!((waits(&behind, Medium::Dram), waits(&behind, Medium::Nvm)), (0, 2 * 28_571));
    }
}
