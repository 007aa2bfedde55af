//! The list lengths and refault counts that reclaim uses to decide whether an inactive list is too
//! short.
//!
//! Source: Linux 6.12, mm/memcontrol.c. The statistics of control groups are flushed every two
//! seconds (`FLUSH_TIME`), and reclaim uses the values of the last flush
//! (`mem_cgroup_flush_stats_ratelimited` in `prepare_scan_control`, mm/vmscan.c). Within a launch
//! reclaim therefore does not see the pages that it has moved. 6.1 flushes them each time. In both
//! versions the number of pages to scan, and whether file pages are tiny, come from the current
//! list lengths.

use super::{ActiveInactivePolicy, Sums, ACTIVE, INACTIVE};
use swaplab_vocab::PAGE_SIZE;

impl ActiveInactivePolicy {
    /// Flush the statistics: take over the current list lengths.
    pub(super) fn sum_up(&mut self) {
        if self.rules.newest {
            let before = self.sums.unwrap_or_default();
            (0..2).for_each(|kind| self.refaulted[kind] |= before.refaulted[kind]);
            let [inactive, active] = [INACTIVE, ACTIVE].map(|lists| lists.map(|list| self.lists.len(list)));
            self.sums = Some(Sums { inactive, active, refaulted: [false; 2] });
        }
    }

    /// Note that a page of this kind was activated by its refault distance.
    pub(super) fn note_refault(&mut self, kind: usize) {
        match &mut self.sums {
            Some(sums) => sums.refaulted[kind] = true,
            None => self.refaulted[kind] = true,
        }
    }

    /// Number of inactive pages of this kind, as of the last flush for `kernel=6.12`.
    pub(super) fn known_inactive(&self, kind: usize) -> usize {
        self.sums.map_or_else(|| self.lists.len(INACTIVE[kind]), |sums| sums.inactive[kind])
    }

    /// Whether the inactive list is too short. It should be as long as the active one; in large
    /// memories the target ratio of active to inactive pages grows with the square root of their
    /// size.
    pub(super) fn inactive_is_low(&self, kind: usize) -> bool {
        let inactive = self.known_inactive(kind);
        let active = self.sums.map_or_else(|| self.lists.len(ACTIVE[kind]), |sums| sums.active[kind]);
        let gibibytes = ((inactive + active) as u64 * PAGE_SIZE) >> 30;
        let ratio = ((10 * gibibytes) as f64).sqrt().floor().max(1.0);
        (inactive as f64) * ratio < active as f64
    }
}
