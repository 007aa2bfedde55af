//! The memory state that the low-memory killer checks.

use super::entries::SwapEntries;
use super::frames::Frames;
use super::record::Counts;
use swaplab_apps::{Pressure, Scanned, Watermark};

/// Memory stalls: those of the last second, the kernel's average in percent, and the present direct
/// reclaim.
pub struct Stalls {
    pub last_second_ms: u64,
    pub full_avg10: f64,
    pub direct_reclaim_ms: u64,
}

/// The present state, with `free` frames free.
pub fn now(free: usize, frames: &Frames, swap: &SwapEntries, stalls: Stalls, counts: &Counts, page_bytes: u64) -> Pressure {
    let kb = |pages: usize| pages as u64 * (page_bytes / 1024);
    let marks = [frames.marks.min, frames.marks.low, frames.marks.high];
    let slots = swap.capacity.unwrap_or(0);
    Pressure {
        free_kb: kb(free),
        file_kb: kb(frames.in_use.file),
        anon_kb: kb(frames.in_use.pages - frames.in_use.file),
        watermark: Watermark::breached(free as u64, marks.map(|mark| mark as u64)),
        scanned: Some(Scanned { direct: counts.scanned_direct, background: counts.scanned - counts.scanned_direct }),
        direct_reclaim_ms: stalls.direct_reclaim_ms,
        stall_ms: stalls.last_second_ms,
        full_avg10: stalls.full_avg10,
        file_refaults_kb: kb(counts.file_refaults as usize),
        swap_total_kb: kb(slots as usize),
        swap_free_kb: kb(slots.saturating_sub(swap.used()) as usize),
    }
}
