//! What reclaim knows of the lists when it asks which of them is too short and what is refaulted.
//!
//! Source: Linux 6.12, mm/memcontrol.c. Counts of control groups are summed up every two seconds (`FLUSH_TIME`), and reclaim takes the last
//! sums (`mem_cgroup_flush_stats_ratelimited` in `prepare_scan_control`, mm/vmscan.c): within a launch it does not see what it has moved.
//! 6.1 sums them up each time. How many pages are scanned, and whether files are tiny, comes from the lists themselves in both.

use super::{ActiveInactivePolicy, Sums, ACTIVE, INACTIVE};
use swaplab_vocab::PAGE_SIZE;

impl ActiveInactivePolicy {
    /// The counts are summed up now.
    pub(super) fn sum_up(&mut self) {
        if self.newest {
            let before = self.sums.unwrap_or_default();
            (0..2).for_each(|kind| self.refaulted[kind] |= before.refaulted[kind]);
            let [inactive, active] = [INACTIVE, ACTIVE].map(|lists| lists.map(|list| self.lists.len(list)));
            self.sums = Some(Sums { inactive, active, refaulted: [false; 2] });
        }
    }

    /// A page of this kind was activated by its refault distance.
    pub(super) fn note_refault(&mut self, kind: usize) {
        match &mut self.sums {
            Some(sums) => sums.refaulted[kind] = true,
            None => self.refaulted[kind] = true,
        }
    }

    /// Inactive pages of this kind, as far as reclaim knows.
    pub(super) fn known_inactive(&self, kind: usize) -> usize {
        self.sums.map_or_else(|| self.lists.len(INACTIVE[kind]), |sums| sums.inactive[kind])
    }

    /// The inactive list should hold as much as the active one, on large memories a share that falls with the root.
    pub(super) fn inactive_is_low(&self, kind: usize) -> bool {
        let inactive = self.known_inactive(kind);
        let active = self.sums.map_or_else(|| self.lists.len(ACTIVE[kind]), |sums| sums.active[kind]);
        let gibibytes = ((inactive + active) as u64 * PAGE_SIZE) >> 30;
        let ratio = ((10 * gibibytes) as f64).sqrt().floor().max(1.0);
        (inactive as f64) * ratio < active as f64
    }
}
