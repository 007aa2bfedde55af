//! The end of an app's process.

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::Frames;
use super::record::{Kill, Reason};
use crate::phone::user::apps::Apps;
use swaplab_policy::bits;
use swaplab_vocab::AppId;

/// Kill `app`: it is no longer live, and its memory is free once [`release`] is called. Returns the
/// kill without its frames.
pub fn kill(app: AppId, reason: Reason, apps: &mut Apps, now_ns: u64) -> Kill {
    let adjustment = apps.launcher.adjustment(app);
    apps.launcher.killed(app);
    apps.restarts.killed(app, now_ns);
    Kill { at_ns: now_ns, app, adjustment, reason, frames: 0, swapped: 0 }
}

/// Free the memory of a killed app. Its anonymous pages are dropped from memory and swap, and so
/// are shared pages that it was the last to map. Its file pages stay in the page cache. Returns the
/// numbers of frames, graphics included, and of slots that were freed.
pub fn release(app: AppId, frames: &mut Frames, swap: &mut SwapEntries, apps: &Apps, clock: &mut StallClock) -> (u64, u64) {
    let (mut freed, mut swapped) = drop_pages(app, frames, swap, apps, clock);
    freed += frames.graphics_of(app) as u64;
    frames.policy.set_swappable(swap.exists);
    frames.shrink_graphics(app, 0);
    for owner in apps.orphaned(app) {
        let of_shared = drop_pages(owner, frames, swap, apps, clock);
        (freed, swapped) = (freed + of_shared.0, swapped + of_shared.1);
    }
    (freed, swapped)
}

/// The time that the process of `app` takes to end, `page_ns` for each of its anonymous pages in
/// memory or in swap.
pub fn duration_ns(app: AppId, page_ns: u64, frames: &Frames, apps: &Apps) -> u64 {
    if page_ns == 0 {
        return 0;
    }
    let has_content = |state: u8| state & (bits::RESIDENT | bits::SLOT) != 0;
    page_ns * frames.pages.count(apps.layout.of(app).anon.clone(), has_content) as u64
}

/// The resident set of `app`: its anonymous and file pages in memory, shared ones included
/// (`get_mm_rss`).
pub fn resident_pages(app: AppId, frames: &Frames, apps: &Apps) -> u64 {
    let own = apps.layout.of(app);
    let shared = apps.layout.shared.iter().filter(|shared| shared.members[usize::from(app)]).map(|shared| &shared.pages);
    let ranges = [own].into_iter().chain(shared).flat_map(|pages| [pages.anon.clone(), pages.file.clone()]);
    ranges.map(|pages| frames.pages.resident_in(pages) as u64).sum()
}

/// Drop the anonymous pages of an owner that has died. Returns the numbers of frames and of slots
/// that they had.
fn drop_pages(owner: AppId, frames: &mut Frames, swap: &mut SwapEntries, apps: &Apps, clock: &mut StallClock) -> (u64, u64) {
    let now_ns = clock.now();
    let (mut freed, mut swapped) = (0, 0);
    for page in apps.layout.of(owner).anon.clone() {
        freed += u64::from(frames.drop_page(page));
        clock.write_back.forget(page);
        swapped += u64::from(swap.drop_page(page, now_ns));
    }
    frames.follow_writes(&mut clock.write_back, now_ns);
    swap.stays.owner_died(owner, now_ns);
    (freed, swapped)
}
