//! Eviction of victims: the app policy accepts or rejects each page that the page policy released. An accepted page is swapped out or
//! dropped, a rejected one is put back.

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

/// Most calls of the policy for each page of a batch, as some victims are put back: in background reclaim, and in direct reclaim.
pub const ATTEMPTS: usize = 32;
pub const DIRECT_ATTEMPTS: usize = 256;
/// Most frames that the pool may take for one more page.
const POOL_GROWTH: usize = zsmalloc::CHAIN as usize;

/// What decides whether a victim may be evicted.
pub struct Keeper<'a> {
    pub gate: &'a Gate,
    pub apps: &'a Apps,
    pub hotness: &'a Hotness,
    pub now_ns: u64,
}

/// The result of an attempt to evict the released pages.
#[derive(Default)]
pub struct Settled {
    /// Number of evicted pages.
    pub frames: usize,
    /// Whether the policy had released any page.
    pub any: bool,
}

/// Evict the pages that the policy released in call number `attempt` of a batch, or put them back. The costs of their transfers are added
/// to `busy`; pages whose frames wait for a write to storage are added to `writing`.
pub fn settle(
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    attempt: usize,
    busy: &mut Charge,
    mut writing: Option<&mut Vec<(PageId, Medium)>>,
) -> Settled {
    let mut settled = Settled::default();
    while let Some(page) = frames.pages.take_released() {
        settled.any = true;
        frames.count(page, false);
        if try_evict(page, frames, swap, record, keeper, attempt, busy) {
            // A page that is written to storage keeps its frame until the write is done.
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

/// Try to swap out or drop `page`. Returns whether it may leave memory.
fn try_evict(
    page: PageId,
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    attempt: usize,
    busy: &mut Charge,
) -> bool {
    let launcher = &keeper.apps.launcher;
    let owners = if keeper.gate.wants_owners() { keeper.apps.owners(page) } else { Vec::new() };
    if keeper.gate.spares(&owners, launcher.foreground(), keeper.hotness.is_hot(page), attempt, frames.batch) {
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
    // The pool grows before the page's own frame is free, on frames below the min watermark, which only reclaim may use (`PF_MEMALLOC`).
    // If none are left, the allocation fails and the page stays.
    if swap.pool_takes_frames && free(frames, swap) <= POOL_GROWTH {
        return false;
    }
    let stored = swap.swap_out(page, owner, frames.pages.is_dirty(page), keeper.now_ns);
    // A page that was compressed in vain, or that entered a cache clean, has costs, too.
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

/// Number of free frames.
pub fn free(frames: &Frames, swap: &SwapEntries) -> usize {
    frames.total.saturating_sub(frames_in_use(frames, swap))
}

/// Number of frames in use: of resident pages, pages under write-back, kswapd's batch, pinned memory and the pool.
pub fn frames_in_use(frames: &Frames, swap: &SwapEntries) -> usize {
    frames.in_use.pages + frames.in_use.writing + frames.in_use.in_batch + frames.in_use.pinned + swap.pool_frames()
}
