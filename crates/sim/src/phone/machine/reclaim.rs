//! A victim's way out: what the policy released is asked of the gates, goes to swap or is dropped, or is put back.

use super::entries::SwapEntries;
use super::frames::Frames;
use super::hotness::Hotness;
use super::record::Record;
use crate::ledger::Charge;
use crate::phone::user::apps::Apps;
use swaplab_apps::a2s::Gate;
use swaplab_policy::{bits, Backing};
use swaplab_swap::{zsmalloc, Medium, Stored};
use swaplab_vocab::PageId;

/// Releases that a batch may ask of the policy for each page it wants, as some may not leave: in the background, and by whoever can't
/// go on without a frame.
pub const ATTEMPTS: usize = 32;
pub const DIRECT_ATTEMPTS: usize = 256;
/// Frames that a pool may take for one page more.
const POOL_GROWTH: usize = zsmalloc::CHAIN as usize;

/// Who says whether a victim may leave.
pub struct Keeper<'a> {
    pub gate: &'a Gate,
    pub apps: &'a Apps,
    pub hotness: &'a Hotness,
    pub now_ns: u64,
}

/// What became of the pages that the policy had released.
#[derive(Default)]
pub struct Settled {
    /// Frames won.
    pub frames: usize,
    /// Whether there were any.
    pub any: bool,
}

/// Deal with the pages that the policy released after so many were `asked` of it. What their transfers take is added to `busy`, and those
/// that storage has to write to `writing`, if their frames wait for that.
pub fn settle(
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    asked: usize,
    busy: &mut Charge,
    mut writing: Option<&mut Vec<(PageId, Medium)>>,
) -> Settled {
    let mut settled = Settled::default();
    while let Some(page) = frames.pages.take_released() {
        settled.any = true;
        frames.count(page, false);
        if leaves(page, frames, swap, record, keeper, asked, busy) {
            // A page that storage writes keeps its frame until then.
            if let (Some(writing), Some(medium)) = (writing.as_deref_mut(), swap.storage_of(page)) {
                writing.push((page, medium));
            }
            frames.pages.clear(page, bits::DIRTY);
            settled.frames += 1;
        } else {
            frames.put_back(page);
        }
    }
    settled
}

/// Whether `page` leaves memory.
fn leaves(
    page: PageId,
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    asked: usize,
    busy: &mut Charge,
) -> bool {
    let launcher = &keeper.apps.launcher;
    let owners = if keeper.gate.wants_owners() { keeper.apps.owners(page) } else { Vec::new() };
    if keeper.gate.spares(&owners, launcher.foreground(), keeper.hotness.is_hot(page), asked, frames.batch) {
        return false;
    }
    if frames.pages.backing(page) == Backing::File {
        return true;
    }
    let owner = keeper.apps.layout.owners[page as usize];
    if !keeper.gate.may_swap_out(launcher.live(), &owners, &launcher.history) {
        record.traffic_of(owner).rejected += 1;
        return false;
    }
    // The pool grows before the page's own frame is free: on frames below the minimum, which are the kernel's reclaim's to use
    // (`PF_MEMALLOC`). Without any left the allocator refuses, and the page stays.
    if swap.pool_takes_frames && free(frames, swap) <= POOL_GROWTH {
        return false;
    }
    let stored = swap.swap_out(page, owner, frames.pages.is_dirty(page), keeper.now_ns);
    // A page that was compressed in vain, or went to the cache clean, took its time, too.
    *busy += &swap.side.charged;
    match stored {
        Stored::Written | Stored::Unchanged => {
            frames.pages.set(page, bits::SLOT);
            record.traffic_of(owner).swapped_out += u64::from(stored == Stored::Written);
            true
        }
        Stored::Dropped => true,
        Stored::Full => {
            frames.policy.swappable(false);
            false
        }
    }
}

/// Frames without content.
pub fn free(frames: &Frames, swap: &SwapEntries) -> usize {
    frames.total.saturating_sub(held(frames, swap))
}

/// Frames in use: by pages, by pages that are being written or taken from their apps in the background, by what is never reclaimed, by the pool.
pub fn held(frames: &Frames, swap: &SwapEntries) -> usize {
    frames.in_use.pages + frames.in_use.writing + frames.in_use.in_batch + frames.in_use.pinned + swap.pool_frames()
}
