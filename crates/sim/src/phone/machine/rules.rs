//! Settings of the machine's mechanisms.

use super::writes::FileWrites;
use crate::phone::spec::{PageWork, Proactive};
use swaplab_apps::app_policy::Gate;

/// Settings that decide which pages are evicted, what scanning costs and when frames become free.
pub struct Rules {
    pub gate: Gate,
    pub proactive: Proactive,
    pub scan_ns: u64,
    pub page_work: PageWork,
    /// Time that a killed process takes for each of its pages.
    pub exit_ns: u64,
    pub write_back_holds_frames: bool,
    /// Lines that a use of a page mapped in NVM reads.
    pub lines_per_direct_read: u64,
    pub file_writes: FileWrites,
}
