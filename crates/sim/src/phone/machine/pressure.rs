//! What the low-memory killer looks at.

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::Frames;
use super::reclaim::free;
use swaplab_apps::Pressure;

pub fn now(frames: &Frames, swap: &SwapEntries, clock: &StallClock, page_bytes: u64) -> Pressure {
    let kb = |pages: u64| pages * (page_bytes / 1024);
    let (free, (stalled_ns, refaulted)) = (free(frames, swap), clock.this_second());
    Pressure {
        free_kb: kb(free as u64),
        file_kb: kb(frames.in_use.file as u64),
        below_high: free < frames.marks.high,
        stall_ms: stalled_ns / 1_000_000,
        refaulted_file_kb: kb(refaulted),
        swap_free_percentage: swap.free_percentage(),
    }
}
