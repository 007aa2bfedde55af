//! The end of an app's process.

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::Frames;
use super::record::{Kill, Reason};
use crate::phone::user::apps::Apps;
use swaplab_vocab::AppId;

/// End the process of `app`. Its anonymous pages are dropped from memory and swap, and so are shared pages that it was the last to map.
/// Its file pages stay in the page cache.
pub fn kill(app: AppId, reason: Reason, frames: &mut Frames, swap: &mut SwapEntries, apps: &mut Apps, clock: &mut StallClock) -> Kill {
    let now_ns = clock.now();
    let adjustment = apps.launcher.adjustment(app);
    let (mut freed, mut swapped) = drop_pages(app, frames, swap, apps, clock);
    freed += frames.graphics_of(app) as u64;
    frames.policy.swappable(swap.exists);
    frames.shrink_graphics(app, 0);
    apps.launcher.killed(app);
    for owner in apps.orphaned(app) {
        let of_shared = drop_pages(owner, frames, swap, apps, clock);
        (freed, swapped) = (freed + of_shared.0, swapped + of_shared.1);
    }
    Kill { at_ns: now_ns, app, adjustment, reason, frames: freed, swapped }
}

/// Drop the anonymous pages of an owner that has died. Returns the numbers of frames and of slots that they had.
fn drop_pages(owner: AppId, frames: &mut Frames, swap: &mut SwapEntries, apps: &Apps, clock: &mut StallClock) -> (u64, u64) {
    let now_ns = clock.now();
    let (mut freed, mut swapped) = (0, 0);
    for page in apps.layout.of(owner).anon.clone() {
        freed += u64::from(frames.drop_page(page));
        clock.write_back.forget(page);
        swapped += u64::from(swap.drop_page(page, now_ns));
    }
    swap.stays.owner_died(owner, now_ns);
    (freed, swapped)
}
