//! The stalls of a fault: processor time, queueing behind writes, and its own transfers.

use super::clock::StallClock;
use super::prefetch::Overlap;
use super::record::Stalls;
use crate::ledger::{Charge, Prices};
use swaplab_swap::Medium;

/// Where a fault reads its pages from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Swap,
    File,
}

/// Compute the stalls of `faults` faults whose transfers are `charge`.
pub fn stalls(charge: &Charge, faults: u64, from: Origin, clock: &mut StallClock, reads: &mut Overlap, prices: &Prices) -> Stalls {
    let cpu = faults * prices.processor().fault.0 + charge.cpu.0;
    let mut stalls = Stalls { fault_cpu_ns: cpu - charge.decompress.0, decompress_ns: charge.decompress.0, ..Stalls::default() };
    for (medium, _) in charge.media().filter(|(_, of)| of.reads > 0) {
        let (read, now_ns) = (reads.wait_ns(charge, medium, prices), clock.now() + stalls.total_ns());
        stalls.queue_ns += clock.write_back.read(medium, now_ns, read, prices);
        *match (from, medium) {
            (Origin::File, Medium::Flash) => &mut stalls.file_read_ns,
            (Origin::File, _) => &mut stalls.file_cache_ns,
            (Origin::Swap, medium) => &mut stalls.swap_read_ns[medium as usize],
        } += read;
    }
    // If the scheme makes room while it serves a fault, the faulting task waits for those writes.
    stalls.direct_reclaim_ns = charge.write_wait(prices);
    stalls
}
