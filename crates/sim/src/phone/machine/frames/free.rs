//! How many frames are free, of the zone and on the processor's lists.

use super::page_lists::PageLists;
use super::Frames;
use crate::phone::machine::entries::SwapEntries;

/// Number of free frames of the zone, which count at the watermarks.
pub fn count(frames: &Frames, swap: &SwapEntries) -> usize {
    let on_lists = frames.lists.as_ref().map_or(0, PageLists::count);
    with_lists(frames, swap).saturating_sub(on_lists)
}

/// Number of free frames, those on the processor's lists included.
pub fn with_lists(frames: &Frames, swap: &SwapEntries) -> usize {
    frames.total.saturating_sub(in_use(frames, swap))
}

/// Let the processor's lists follow what was allocated and freed. `reclaims`: whether kswapd is
/// awake.
pub fn follow_lists(frames: &mut Frames, swap: &SwapEntries, reclaims: bool) {
    if frames.lists.is_some() {
        let free = with_lists(frames, swap);
        frames.lists.iter_mut().for_each(|lists| lists.follow(free, reclaims));
    }
}

/// As `follow_lists`, after a direct reclaim. If the zone still has too few free frames, those that
/// were freed may be on the lists, which go back to it then (`__alloc_pages_direct_reclaim`).
pub fn follow_lists_after_direct(frames: &mut Frames, swap: &SwapEntries, reclaims: bool) {
    follow_lists(frames, swap, reclaims);
    if count(frames, swap) <= frames.marks.min {
        frames.lists.iter_mut().for_each(PageLists::drain);
    }
}

/// Number of frames in use: of resident pages, pages under write-back, kswapd's batch, pinned
/// memory and the pool.
pub fn in_use(frames: &Frames, swap: &SwapEntries) -> usize {
    let writing = frames.in_use.writing + frames.in_use.taken_back;
    frames.in_use.pages + writing + frames.in_use.in_batch + frames.in_use.pinned + swap.pool_frames()
}
