//! What apps do, and what is done to them, while they are not in front: garbage collection, other activity, the freezer, compaction.
//! All of it is off by default: none of it is published with the workloads, and it moved resumes and swap-out little.

use super::machine::Machine;
use super::run::Phone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_apps::CACHED;
use swaplab_policy::bits;
use swaplab_vocab::{AppId, Op, PageId};

/// Which pages of a cached app Android's app compaction pages out (`CachedAppOptimizer`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compact {
    #[default]
    Off,
    File,
    Anon,
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    /// Seconds from one garbage collection of an app in the background to the next; 0: none.
    pub gc_every_s: f64,
    /// Share of its anonymous pages that a collection reads; the hottest first.
    pub gc_share: f64,
    /// Seconds from one burst of an app's other activity to the next; 0: none.
    pub activity_every_s: f64,
    /// Share of its anonymous pages that a burst uses, with the app's own share of writes; the hottest first.
    pub activity_share: f64,
    /// Seconds after which a cached app is frozen and does nothing (Android: 600); 0: never. Apps with a service are not frozen.
    pub freeze_after_s: f64,
    /// Pages of an app that are paged out once it is cached.
    pub compact: Compact,
}

/// What is known of an app in the background.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    /// When it left the front.
    since_ns: u64,
    compacted: bool,
}

/// Salt of its draws.
const ACTIVITY: u64 = 4;

impl Background {
    /// Whether a period of `every_s` since `since` ends between two times.
    fn due(every_s: f64, since: u64, from: u64, to: u64) -> bool {
        let every = (every_s * 1e9) as u64;
        every > 0 && to > since && (to - since) / every > from.saturating_sub(since) / every
    }
}

impl Phone<'_> {
    pub(super) fn left(&mut self, app: AppId) {
        self.idle[usize::from(app)] = Idle { since_ns: self.machine.now_ns, compacted: false };
    }

    /// Time passes until `to_ns`. Several periods of an app that end in it are one.
    pub(super) fn elapse(&mut self, to_ns: u64) {
        let (from_ns, background) = (self.machine.now_ns, self.sim.phone.background);
        self.machine.beats(from_ns, to_ns);
        for app in self.machine.launcher.from(1) {
            let idle = self.idle[usize::from(app)];
            let cached = self.machine.launcher.adjustment(app) >= CACHED;
            if cached && !idle.compacted && background.compact != Compact::Off {
                self.idle[usize::from(app)].compacted = true;
                self.machine.compact(app, background.compact);
            }
            let frozen = background.freeze_after_s > 0.0 && cached;
            let awake_ns = if frozen { to_ns.min(idle.since_ns + (background.freeze_after_s * 1e9) as u64) } else { to_ns };
            let pages = self.machine.pages_of(app);
            let upto = |share: f64| pages.anon.start..pages.anon.start + (pages.anon.len() as f64 * share) as u32;
            if Background::due(background.gc_every_s, idle.since_ns, from_ns, awake_ns) {
                for page in upto(background.gc_share) {
                    self.machine.touch_if_there(page, Op::Read);
                }
            }
            if Background::due(background.activity_every_s, idle.since_ns, from_ns, awake_ns) {
                for page in upto(background.activity_share) {
                    // Its own faults may have cost it its life.
                    if self.machine.launcher.is_live(app) {
                        self.use_page(page, &pages, ACTIVITY);
                    }
                }
            }
        }
        // Nobody waits for what happens in the background.
        self.machine.take_waited();
        self.machine.now_ns = self.machine.now_ns.max(to_ns);
        self.machine.tick();
    }
}

impl Machine {
    /// A collection reads what the app has allocated, wherever it is.
    fn touch_if_there(&mut self, page: PageId, op: Op) {
        if self.has_content(page) {
            self.touch(page, op);
        }
    }

    /// An anonymous page that was written and not given up.
    pub(super) fn has_content(&self, page: PageId) -> bool {
        self.pages.bits(page) & (bits::RESIDENT | bits::SLOT) != 0
    }

    fn compact(&mut self, app: AppId, what: Compact) {
        let pages = self.pages_of(app);
        let (file, anon) = (matches!(what, Compact::File | Compact::Full), matches!(what, Compact::Anon | Compact::Full));
        for (range, wanted) in [(pages.file, file), (pages.anon, anon)] {
            for page in range.filter(|_| wanted) {
                self.page_out(page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_since_the_app_left() {
        let s = |s: u64| s * 1_000_000_000;
        let due = |from, to| Background::due(30.0, s(100), s(from), s(to));
        assert!(!due(100, 129) && due(100, 130) && !due(130, 159) && due(131, 250));
        assert!(!due(90, 100) && !Background::due(0.0, 0, 0, s(9)));
    }
}
