//! The state of an app for app compaction.

use swaplab_apps::compaction::Usage;

/// How long an app has been cached, and its compactions.
#[derive(Clone, Copy, Default)]
pub struct Cached {
    /// When the app was first seen as cached; `None` if it is not cached.
    pub since_ns: Option<u64>,
    /// Whether it was looked at for compaction since then.
    pub done: bool,
    /// Its process and memory after its last compaction.
    pub last: Option<(u32, Usage)>,
}
