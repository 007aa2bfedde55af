//! The process of an app, apart from its pages.

use super::user::background::Idle;
use super::user::heap::Allocation;
use swaplab_apps::compaction::Usage;

/// The state of an app's process, apart from its pages.
#[derive(Clone, Copy, Default)]
pub struct Process {
    pub idle: Idle,
    pub allocation: Allocation,
    /// Its memory after its last compaction.
    pub compacted: Option<Usage>,
}

impl Process {
    pub fn leave_foreground(&mut self, now_ns: u64) {
        self.idle = Idle { since_ns: now_ns, ..Idle::default() };
    }
}
