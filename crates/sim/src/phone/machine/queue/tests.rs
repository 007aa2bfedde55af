//! Reads and writes in a queue by hand.

use super::super::channel::MS;
use super::super::senders::Sender;
use super::*;
use crate::ledger::MediumCharge;
use swaplab_experiment::Devices;
use swaplab_vocab::Nanos;

/// The charge for writes of `pages` pages to `medium` that take `ns` in `requests` requests.
fn write_charge(medium: Medium, pages: u64, requests: u64, ns: u64) -> Charge {
    let mut charge = Charge::default();
    *charge.of_mut(medium) = MediumCharge { writing: Nanos(ns), writes: requests, written: pages * 4096, ..MediumCharge::default() };
    charge
}

/// Pages that keep their frames until flash has written them.
fn outgoing(pages: std::ops::Range<PageId>) -> Outgoing {
    Outgoing::holding(pages, Medium::Flash, false)
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
        queue.submit(&write_charge(Medium::Flash, 8, 2, 16 * MS), &Outgoing::default(), MS, &prices);
        assert_eq!(queue.read(Medium::Flash, 3 * MS, MS, &prices), wait * MS, "{order:?}");
        assert_eq!(queue.read(Medium::Nvm, 3 * MS, MS, &prices), 0);
    }
}

/// The first read is done at 10 ms. The next one arrives at 12 ms: CFQ and ROW have kept the device
/// idle, mq-deadline already writes. No further read arrives: the second request is written after 8
/// ms (CFQ) or 5 ms (ROW) of idling.
#[test]
fn idling_keeps_the_device_for_the_next_read() {
    for (order, second, written) in [(IoOrder::CfqLike, 0, 13 + 8 + 8), (IoOrder::RowLike, 0, 13 + 5 + 8), (IoOrder::MqDeadlineLike, 6, 18)]
    {
        let (prices, mut queue) = (emmc(), WriteBack::new(order, 8));
        queue.submit(&write_charge(Medium::Flash, 8, 2, 16 * MS), &outgoing(0..8), MS, &prices);
        assert_eq!(queue.read(Medium::Flash, 3 * MS, MS, &prices), 6 * MS);
        assert_eq!(queue.read(Medium::Flash, 12 * MS, MS, &prices), second * MS, "{order:?}");
        assert_eq!((queue.frames_at(written * MS - 1), queue.frames_at(written * MS)), (8, 0), "{order:?}");
    }
}

/// CFQ serves reads for 100 ms; then a request is written between two of them.
#[test]
fn a_slice_of_reads_ends() {
    let (prices, mut queue) = (emmc(), WriteBack::new(IoOrder::CfqLike, 0));
    queue.submit(&write_charge(Medium::Flash, 100, 10, 100 * MS), &Outgoing::default(), 0, &prices);
    let mut now = MS;
    let waits: Vec<u64> = (0..30)
        .map(|_| {
            let wait = queue.read(Medium::Flash, now, 4 * MS, &prices);
            now += wait + 5 * MS;
            wait / MS
        })
        .collect();
    // The first read waits 9 ms for the current request. Reads at 10 + 5n ms are each done 4 ms
    // later. The one done at 104 ms ends the slice that began at 1 ms, and the next one, at 105 ms,
    // waits for a request that began at 104 ms.
    assert_eq!((waits[0], waits.iter().position(|wait| *wait == 9).unwrap()), (9, 0));
    assert_eq!(waits.iter().skip(1).position(|wait| *wait > 0), Some(18), "{waits:?}");
    assert_eq!(waits[19], 9);
}

#[test]
fn a_page_under_write_back_can_take_its_frame_back_until_it_is_written() {
    let (prices, mut queue) = (emmc(), WriteBack::new(IoOrder::Noop, 9));
    queue.submit(&write_charge(Medium::Flash, 4, 1, 8 * MS), &outgoing(0..4), 0, &prices);
    // The next four pages are adjacent and merge into the request.
    queue.submit(&write_charge(Medium::Flash, 4, 0, 4 * MS), &outgoing(4..5), MS, &prices);
    queue.check().unwrap();
    assert_eq!((queue.frames_at(11 * MS), queue.freed_at(1)), (5, 12 * MS));
    assert_eq!((queue.take_frame(0), queue.take_frame(0), queue.take_frame(8)), (true, false, false));
    queue.forget(1);
    assert_eq!((queue.take_frame(1), queue.frames_at(11 * MS)), (false, 4));
    assert_eq!(queue.frames_at(12 * MS), 0);
    assert!(!queue.take_frame(2));
    queue.check().unwrap();
}

/// A page that the policy has taken back leaves while it is being written: nothing waits for the
/// write any more.
#[test]
fn a_page_that_was_taken_back_and_used_is_no_longer_written_for_its_frame() {
    let (prices, mut queue) = (emmc(), WriteBack::new(IoOrder::Noop, 2));
    queue.submit(&write_charge(Medium::Flash, 2, 1, 8 * MS), &Outgoing::holding(0..2, Medium::Flash, true), 0, &prices);
    assert_eq!((queue.taken_back(), queue.is_writing()), (2, true));
    assert_eq!((queue.take_frame(0), queue.taken_back(), queue.is_writing()), (true, 1, true));
    assert_eq!((queue.take_frame(1), queue.taken_back(), queue.is_writing()), (true, 0, false));
    assert_eq!((queue.frames_at(9 * MS), queue.take_written()), (0, None));
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
            queue.submit(&write_charge(Medium::Flash, pages, pages, pages * 14_286), &Outgoing::default(), 0, &prices);
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
        queue.submit(&write_charge(Medium::Nvm, 2, 2, 2 * ns), &Outgoing::default(), 0, prices);
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

/// App 0 and app 1 have two requests of 8 ms each, and the journal has one of 8 ms. A read that
/// `noop` puts behind all of them waits for each. With CFQ it waits for the rest of the first
/// batch's current request, of which each app has written a half.
#[test]
fn a_wait_is_divided_among_the_senders_ahead() {
    for (order, waited) in [
        (IoOrder::Noop, vec![(Sender::SwapOut(0), 7 * MS), (Sender::SwapOut(1), 7 * MS), (Sender::Journal, 8 * MS)]),
        (IoOrder::CfqLike, vec![(Sender::SwapOut(0), 3 * MS), (Sender::SwapOut(1), 3 * MS)]),
    ] {
        let (prices, mut queue) = (emmc(), WriteBack::new(order, 0));
        let mut outgoing = Outgoing::default();
        (0..8).for_each(|page| outgoing.note(Medium::Flash, Sender::SwapOut(page % 2)));
        queue.submit(&write_charge(Medium::Flash, 8, 2, 16 * MS), &outgoing, 0, &prices);
        queue.submit(&write_charge(Medium::Flash, 6, 1, 8 * MS), &Outgoing::of(Medium::Flash, Sender::Journal, 6), 0, &prices);
        let wait = queue.read(Medium::Flash, 2 * MS, MS, &prices);
        let waits = queue.take_waits();
        assert_eq!((waits.iter().map(|(_, ns)| ns).sum::<u64>(), &waits), (wait, &waited), "{order:?}");
        assert!(queue.take_waits().is_empty());
    }
}

/// A synchronous write arrives at 2 ms, behind two requests of 8 ms each. CFQ and ROW serve it
/// after the first one, like a read, the other orders after both.
#[test]
fn a_synchronous_write_takes_its_turn() {
    for (order, wait) in
        [(IoOrder::Noop, 14), (IoOrder::CfqLike, 6), (IoOrder::RowLike, 6), (IoOrder::MqDeadlineLike, 14), (IoOrder::ReadsFirst, 14)]
    {
        let (prices, mut queue) = (emmc(), WriteBack::new(order, 0));
        queue.submit(&write_charge(Medium::Flash, 8, 2, 16 * MS), &Outgoing::default(), 0, &prices);
        assert_eq!(queue.write_through(Medium::Flash, 4096, 2 * MS, MS, &prices), wait * MS, "{order:?}");
        assert_eq!(queue.bytes(Medium::Flash), 9 * 4096);
    }
}

/// TLC erases a block in 4.5 ms after each 2 MiB, which are 512 pages. 500 pages are written in 500
/// ms and 12 more in 12 ms, so the device pauses until 516.5 ms, and no order serves a request
/// before that. Frames whose pages are written before the pause are free before it.
#[test]
fn a_device_pauses_after_an_erase_block() {
    for order in [IoOrder::Noop, IoOrder::CfqLike, IoOrder::MqDeadlineLike, IoOrder::ReadsFirst] {
        let prices = Prices::new(&Devices { flash: "emmc-5.1:gc=fast".into(), ..Devices::default() }).unwrap();
        let mut queue = WriteBack::new(order, 1);
        queue.submit(&write_charge(Medium::Flash, 500, 500, 500 * MS), &Outgoing::default(), 0, &prices);
        queue.submit(&write_charge(Medium::Flash, 12, 12, 12 * MS), &outgoing(0..1), 0, &prices);
        assert_eq!((queue.frames_at(512 * MS - 1), queue.frames_at(512 * MS)), (1, 0));
        assert_eq!(queue.read(Medium::Flash, 513 * MS, MS, &prices), 3_500_000, "{order:?}");
        assert_eq!(queue.take_waits(), [(Sender::Collection, 3_500_000)]);
        // One page more begins the next block.
        queue.submit(&write_charge(Medium::Flash, 1, 1, MS), &Outgoing::default(), 600 * MS, &prices);
        assert_eq!(queue.read(Medium::Flash, 601 * MS, MS, &prices), 0);
        queue.check().unwrap();
    }
}
