//! A victim's way out: what the policy released is asked of the gates, goes to swap or is dropped, or is put back.

use super::entries::SwapEntries;
use super::frames::Frames;
use super::hotness::Hotness;
use super::record::Record;
use super::senders::{Outgoing, Sender};
use crate::ledger::Charge;
use crate::phone::user::apps::Apps;
use swaplab_apps::a2s::Gate;
use swaplab_policy::{bits, Backing};
use swaplab_swap::{zsmalloc, Stored};
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
    /// Whether a page that storage writes keeps its frame until then.
    pub holds_frames: bool,
}

/// What became of the pages that the policy had released.
#[derive(Default)]
pub struct Settled {
    /// Frames won.
    pub frames: usize,
    /// Whether there were any.
    pub any: bool,
}

/// Deal with the pages that the policy released after so many were `asked` of it. What their transfers take is added to `busy`, and whose they
/// are to `outgoing`, with the pages whose frames wait for storage.
pub fn settle(
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    asked: usize,
    busy: &mut Charge,
    outgoing: &mut Outgoing,
) -> Settled {
    let mut settled = Settled::default();
    while let Some(page) = frames.pages.take_released() {
        settled.any = true;
        frames.count(page, false);
        let leaves = leaves(page, frames, swap, record, keeper, asked, busy);
        if leaves != Leaves::No {
            if leaves == Leaves::WithTransfers {
                swap.side.writes().for_each(|(of, medium)| outgoing.note(medium, Sender::SwapOut(keeper.apps.layout.owners[of as usize])));
                let held = swap.storage_of(page).filter(|_| keeper.holds_frames);
                outgoing.held.extend(held.map(|medium| (page, medium)));
            }
            frames.pages.clear(page, bits::DIRTY);
            settled.frames += 1;
        } else {
            frames.put_back(page);
        }
    }
    settled
}

/// Whether a page leaves memory, and by transfers of the scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    No,
    Dropped,
    WithTransfers,
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
) -> Leaves {
    let launcher = &keeper.apps.launcher;
    let owners = if keeper.gate.wants_owners() { keeper.apps.owners(page) } else { Vec::new() };
    if keeper.gate.spares(&owners, launcher.foreground(), keeper.hotness.is_hot(page), asked, frames.batch) {
        return Leaves::No;
    }
    if frames.pages.backing(page) == Backing::File {
        // A clean page of a file needs no write. A cache below both files and swap may take it.
        if !swap.side.caches_files() {
            return Leaves::Dropped;
        }
        swap.side.file_left(page);
        *busy += &swap.side.charged;
        return Leaves::WithTransfers;
    }
    let owner = keeper.apps.layout.owners[page as usize];
    if !keeper.gate.may_swap_out(launcher.live(), &owners, &launcher.history) {
        record.traffic_of(owner).rejected += 1;
        return Leaves::No;
    }
    // The pool grows before the page's own frame is free: on frames below the minimum, which are the kernel's reclaim's to use
    // (`PF_MEMALLOC`). Without any left the allocator refuses, and the page stays.
    if swap.pool_takes_frames && free(frames, swap) <= POOL_GROWTH {
        return Leaves::No;
    }
    let stored = swap.swap_out(page, owner, frames.pages.is_dirty(page), keeper.now_ns);
    // A page that was compressed in vain, or went to the cache clean, took its time, too.
    *busy += &swap.side.charged;
    match stored {
        Stored::Written | Stored::Unchanged => {
            frames.pages.set(page, bits::SLOT);
            record.traffic_of(owner).swapped_out += u64::from(stored == Stored::Written);
            Leaves::WithTransfers
        }
        Stored::Dropped => Leaves::Dropped,
        Stored::Full => {
            frames.policy.swappable(false);
            Leaves::No
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
