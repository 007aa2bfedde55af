//! Eviction of victims: the app policy accepts or rejects each page that the page policy released.
//! An accepted page is swapped out or dropped, a rejected one is put back.

use super::entries::SwapEntries;
use super::frames::{free, Frames};
use super::hotness::Hotness;
use super::record::Record;
use crate::ledger::Charge;
use crate::phone::user::apps::Apps;
use std::ops::AddAssign;
use swaplab_apps::app_policy::Gate;
use swaplab_policy::{bits, Backing};
use swaplab_swap::{zsmalloc, Stored};
use swaplab_vocab::PageId;

/// Most calls of the policy for each page of a batch, as some victims are put back: in background
/// reclaim, and in direct reclaim.
pub const ATTEMPTS: usize = 32;
pub const DIRECT_ATTEMPTS: usize = 256;
/// Most frames that the pool may take for one more page.
const POOL_GROWTH: usize = zsmalloc::CHAIN as usize;

/// The rules that decide whether a victim may be evicted.
pub struct Keeper<'a> {
    pub gate: &'a Gate,
    pub apps: &'a Apps,
    pub hotness: &'a Hotness,
    pub now_ns: u64,
}

/// What came of the attempts to evict the released pages.
#[derive(Clone, Copy, Default)]
pub struct Evictions {
    /// Number of evicted pages, and those of files among them.
    pub frames: usize,
    pub files: usize,
    /// Of the evicted pages, those that had been written before.
    pub written: usize,
    /// Number of pages whose writes begin, and which the policy took back.
    pub taken_back: usize,
    /// Whether the policy had released any page.
    pub any: bool,
}

impl AddAssign for Evictions {
    fn add_assign(&mut self, of: Evictions) {
        self.frames += of.frames;
        self.files += of.files;
        self.written += of.written;
        self.taken_back += of.taken_back;
        self.any |= of.any;
    }
}

/// Whether a page may leave memory, and whether the scheme moves its content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Evicted {
    No,
    Dropped,
    WithTransfers,
}

/// Try to swap out or drop `page`.
pub fn try_evict(
    page: PageId,
    frames: &mut Frames,
    swap: &mut SwapEntries,
    record: &mut Record,
    keeper: &Keeper,
    attempt: usize,
    busy: &mut Charge,
) -> Evicted {
    let launcher = &keeper.apps.launcher;
    let owners = if keeper.gate.wants_owners() { keeper.apps.owners(page) } else { Vec::new() };
    if keeper.gate.spares(&owners, launcher.foreground(), keeper.hotness.is_hot(page), attempt, frames.batch) {
        return Evicted::No;
    }
    if frames.pages.backing(page) == Backing::File {
        // A clean page of a file needs no write. A cache below both files and swap may take it.
        if !swap.side.caches_files() {
            return Evicted::Dropped;
        }
        swap.side.file_left(page);
        *busy += &swap.side.charged;
        return Evicted::WithTransfers;
    }
    let owner = keeper.apps.layout.owners[page as usize];
    if !keeper.gate.may_swap_out(launcher.live(), &owners, &launcher.history) {
        record.traffic_of(owner).rejected += 1;
        return Evicted::No;
    }
    // The pool grows before the page's own frame is free, on frames below the min watermark, which
    // only reclaim may use (`PF_MEMALLOC`). If none are left, the allocation fails and the page
    // stays.
    if swap.pool_takes_frames && free::with_lists(frames, swap) <= POOL_GROWTH {
        return Evicted::No;
    }
    let stored = swap.swap_out(page, owner, frames.pages.is_dirty(page), keeper.now_ns);
    // The costs of a page that was compressed in vain, or that entered a cache clean, count, too.
    *busy += &swap.side.charged;
    match stored {
        Stored::Written | Stored::Unchanged => {
            frames.pages.set(page, bits::SLOT);
            record.traffic_of(owner).swapped_out += u64::from(stored == Stored::Written);
            Evicted::WithTransfers
        }
        Stored::Dropped => Evicted::Dropped,
        Stored::Full => {
            frames.policy.set_swappable(false);
            Evicted::No
        }
    }
}
