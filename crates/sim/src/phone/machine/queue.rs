//! Writes that nobody waits for, and what a read waits for behind them: at a storage device by its queue, at memory by the bus that
//! DRAM, a compressed pool and NVM share (docs/models/queue.md).

use crate::ledger::{Charge, Prices};
use swaplab_device::Attachment;
use swaplab_experiment::IoOrder;
use swaplab_swap::Medium;

/// One storage device, or the memory bus.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    /// Its writes are done then.
    until_ns: u64,
    /// Its time for one of them, and how many are served at once.
    each_ns: u64,
    depth: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct WriteBack {
    channels: [Channel; 5],
    order: IoOrder,
}

impl WriteBack {
    pub fn new(order: IoOrder) -> WriteBack {
        WriteBack { channels: [Channel::default(); 5], order }
    }

    /// The writes of `charge` are handed over at `now_ns`.
    pub fn hand_over(&mut self, charge: &Charge, now_ns: u64, prices: &Prices) {
        for medium in Medium::ALL.into_iter().filter(|m| charge.writing[*m as usize].0 > 0) {
            let device = prices.device(medium);
            let channel = &mut self.channels[channel(medium, prices)];
            channel.until_ns = channel.until_ns.max(now_ns) + charge.writing[medium as usize].0;
            (channel.each_ns, channel.depth) = (device.write_time(prices.page_bytes()).0, device.queue_depth());
        }
    }

    /// What a read of `medium` that comes at `now_ns` waits for: while places of the queue are free, for nothing.
    pub fn ahead(&self, medium: Medium, now_ns: u64, prices: &Prices) -> u64 {
        let channel = &self.channels[channel(medium, prices)];
        let other_places = channel.each_ns * channel.depth.saturating_sub(1);
        let wait = channel.until_ns.saturating_sub(now_ns).saturating_sub(other_places);
        match self.order {
            IoOrder::ReadsFirst => wait.min(channel.each_ns),
            IoOrder::Fifo => wait,
        }
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
mod tests {
    use super::*;
    use swaplab_experiment::Devices;
    use swaplab_vocab::Nanos;

    fn wrote(medium: Medium, pages: u64, prices: &Prices) -> Charge {
        let mut charge = Charge::default();
        charge.writing[medium as usize] = Nanos(pages * prices.device(medium).write_time(4096).0);
        charge.writes[medium as usize] = pages;
        charge
    }

    /// An eMMC without a queue: 88,615 + 100,000 ns a page.
    #[test]
    fn without_a_queue_a_read_waits_for_one_write_or_for_all() {
        let prices = Prices::new(&Devices { flash: "emmc-4.41".into(), ..Devices::default() }).unwrap();
        for (order, at_once) in [(IoOrder::ReadsFirst, 188_615), (IoOrder::Fifo, 3 * 188_615)] {
            let mut queue = WriteBack::new(order);
            queue.hand_over(&wrote(Medium::Flash, 3, &prices), 1_000, &prices);
            assert_eq!(queue.ahead(Medium::Flash, 1_000, &prices), at_once);
            assert_eq!(queue.ahead(Medium::Flash, 999 + 3 * 188_615, &prices), 1);
            assert_eq!(queue.ahead(Medium::Flash, 1_000 + 3 * 188_615, &prices), 0);
            assert_eq!((queue.ahead(Medium::Nvm, 1_000, &prices), queue.ahead(Medium::SdCard, 1_000, &prices)), (0, 0));
        }
    }

    /// UFS 3.1 writes 70,000 pages a second, several at a time.
    #[test]
    fn a_read_waits_only_when_every_place_is_taken() {
        let prices = Prices::new(&Devices::default()).unwrap();
        let depth = prices.device(Medium::Flash).queue_depth();
        assert!(depth > 1);
        for (order, behind) in [(IoOrder::ReadsFirst, [0, 14_286, 14_286]), (IoOrder::Fifo, [0, 14_286, 2 * 14_286])] {
            for (more, expected) in [0, 1, 2].into_iter().zip(behind) {
                let mut queue = WriteBack::new(order);
                queue.hand_over(&wrote(Medium::Flash, depth - 1 + more, &prices), 0, &prices);
                assert_eq!(queue.ahead(Medium::Flash, 0, &prices), expected, "{order:?}");
            }
        }
    }

    #[test]
    fn dram_and_nvm_share_the_memory_bus() {
        let prices = Prices::new(&Devices::default()).unwrap();
        let mut queue = WriteBack::new(IoOrder::Fifo);
        queue.hand_over(&wrote(Medium::Nvm, 2, &prices), 0, &prices);
        queue.hand_over(&wrote(Medium::Dram, 1, &prices), 0, &prices);
        // Two pages of PCM at 5140 ns and one of LPDDR2 at 1305 ns pass the bus one after the other.
        for medium in [Medium::Dram, Medium::Pool, Medium::Nvm] {
            assert_eq!(queue.ahead(medium, 0, &prices), 2 * 5_140 + 1_305);
        }
        assert_eq!(queue.ahead(Medium::Flash, 0, &prices), 0);
        // NVM behind a storage interface leaves the bus to DRAM.
        let behind = Prices::new(&Devices { nvm: "optane-m10".into(), ..Devices::default() }).unwrap();
        let mut queue = WriteBack::new(IoOrder::Fifo);
        queue.hand_over(&wrote(Medium::Nvm, 2, &behind), 0, &behind);
        assert_eq!((queue.ahead(Medium::Dram, 0, &behind), queue.ahead(Medium::Nvm, 0, &behind)), (0, 2 * 28_571));
    }
}
