//! The list lengths that reclaim uses to decide whether an inactive list is too short, and whether
//! pages were activated by their refault distance.
//!
//! Source: Linux 6.12, mm/memcontrol.c. The statistics of control groups are flushed every two
//! seconds (`FLUSH_TIME`), and reclaim uses the values of the last flush
//! (`mem_cgroup_flush_stats_ratelimited` in `prepare_scan_control`, mm/vmscan.c). Within a launch
//! reclaim therefore does not see the pages that it has moved. 6.1 flushes them each time. In both
//! versions the number of pages to scan, and whether file pages are tiny, come from the current
//! list lengths.

use super::{ActiveInactivePolicy, Sums, ACTIVE, ANON, FILE, INACTIVE};
use swaplab_vocab::{PageId, PAGE_SIZE};

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

    /// Number of pages of each kind, as of the last flush for `kernel=6.12`: the length by which
    /// old costs fade (`lru_note_cost`, mm/swap.c).
    pub(super) fn known_lengths(&self) -> [usize; 2] {
        match &self.sums {
            Some(sums) => [ANON, FILE].map(|kind| sums.inactive[kind] + sums.active[kind]),
            None => [self.len(ANON), self.len(FILE)],
        }
    }

    /// The refault distance up to which a page of this kind is activated: the number of pages that
    /// compete with its own inactive list (`workingset_test_recent`, mm/workingset.c). For
    /// `kernel=6.12` they are those of the last flush, and anonymous pages compete only while swap
    /// has a free slot.
    pub(super) fn working_set(&self, kind: usize) -> usize {
        match &self.sums {
            None => self.lists.len(ACTIVE[ANON]) + self.lists.len(ACTIVE[FILE]) + self.lists.len(INACTIVE[1 - kind]),
            Some(sums) => {
                let anonymous = sums.active[ANON] + if kind == FILE { sums.inactive[ANON] } else { 0 };
                let file = sums.active[FILE] + if kind == ANON { sums.inactive[FILE] } else { 0 };
                file + if self.swappable { anonymous } else { 0 }
            }
        }
    }

    /// Whether an evicted page of this kind is within the refault distance.
    pub(super) fn is_recent(&self, page: PageId, kind: usize) -> bool {
        self.age.wrapping_sub(self.evicted_at[page as usize]) as usize <= self.working_set(kind)
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
