//! lmkd's rules in its order, and the state that they keep from one check of memory to the next.

use super::settings::{Settings, NOBODY};
use crate::killer::{Pressure, Scanned, Watermark};

/// The least adjustment above AOSP's `PERCEPTIBLE_APP_ADJ` (200). Most rules spare apps below it.
const IMPERCEPTIBLE: u64 = 201;

/// The state that the daemon keeps from one check of memory to the next.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The time at which the window began in which refaults are counted; none before the first
    /// window.
    window_start_ns: Option<u64>,
    /// [`Pressure::file_refaults_kb`] at that time.
    refaults_kb: u64,
    /// [`Pressure::file_kb`] at that time.
    file_kb: u64,
    /// Thrashing that is carried over from earlier windows, in percent of the file cache.
    pub(super) carried: u64,
    /// The limit in force, in percent: `thrashing_limit`, lowered by each kill for thrashing until
    /// the next window begins.
    pub(super) limit: u64,
    /// [`Pressure::scanned`] and [`Pressure::file_refaults_kb`] as the last checks saw them.
    scanned: Scanned,
    last_refaults_kb: u64,
    /// Whether an app was killed after the last check.
    killed: bool,
    /// Whether a kill because of the last check lowers `limit`.
    lowers_limit: bool,
    pub(super) checks_file_cache: bool,
}

/// Length of the window in which refaults are counted: lmkd's `THRASHING_RESET_INTERVAL_MS`.
const WINDOW_NS: u64 = 1_000_000_000;

impl Memory {
    /// Note that an app was killed because of the last check.
    pub fn killed(&mut self, settings: &Settings) {
        self.killed = true;
        if std::mem::take(&mut self.lowers_limit) {
            self.limit = self.limit * (100 - settings.thrashing_limit_decay.min(100)) / 100;
        }
    }

    /// Whether the daemon checks memory, because of `stall_ms` of stalls in the last second or a
    /// kill after the last check.
    pub fn is_awake(&self, settings: &Settings, stall_ms: u64) -> bool {
        self.killed || stall_ms >= settings.psi_partial_stall_ms
    }

    /// The least `oom_score_adj` that may be killed now; none if no app may be killed.
    pub fn look(&mut self, settings: &Settings, now_ns: u64, seen: &Pressure) -> Option<u32> {
        if !self.is_awake(settings, seen.stall_ms) {
            return None;
        }
        let after_kill = std::mem::take(&mut self.killed);
        if after_kill {
            (self.window_start_ns, self.refaults_kb, self.file_kb, self.carried) = (Some(now_ns), seen.file_refaults_kb, seen.file_kb, 0);
        }
        let is_direct = self.reclaims_directly(seen)?;
        let thrashing = self.thrashing(settings, now_ns, seen);
        let score = self.rule(settings, seen, thrashing, is_direct, after_kill)?;
        // Where all tasks stall, whatever rule applies may kill perceptible apps, too.
        let is_stalled = seen.full_avg10 > settings.stall_limit_critical as f64;
        (score < NOBODY).then_some(if is_stalled { 1 } else { score.max(1) as u32 })
    }

    /// Whether a task has reclaimed for itself since the last check; none if nobody has reclaimed
    /// and no file page has refaulted, so that nothing may be killed. `Some(false)` where scans
    /// are not counted: an app may be killed then, but not for direct reclaim.
    fn reclaims_directly(&mut self, seen: &Pressure) -> Option<bool> {
        let refaulted = std::mem::replace(&mut self.last_refaults_kb, seen.file_refaults_kb) != seen.file_refaults_kb;
        let reclaims = seen.direct_reclaim_ms > 0;
        let Some(now) = seen.scanned else { return Some(reclaims) };
        let (direct, background) = (reclaims || now.direct > self.scanned.direct, now.background > self.scanned.background);
        self.scanned = now;
        (direct || background || refaulted).then_some(direct)
    }

    /// File pages that refaulted since the window began, in percent of the file cache at that time,
    /// and the carried-over percentage.
    fn thrashing(&mut self, settings: &Settings, now_ns: u64, seen: &Pressure) -> u64 {
        // Like lmkd, add a page to the file cache: without any file page, a single refault would
        // exceed every limit.
        let growth = 100 * seen.file_refaults_kb.saturating_sub(self.refaults_kb) / (self.file_kb + 4);
        let since_ns = self.window_start_ns.map_or(u64::MAX, |began| now_ns.saturating_sub(began));
        if since_ns <= WINDOW_NS {
            return growth + self.carried;
        }
        let windows = since_ns / WINDOW_NS;
        // The thrashing of the last window is carried over whole if it reached the limit, for it
        // did not lead to a kill. It is halved for each window that has ended if it was lower, or
        // if more than one has.
        let halved = growth.checked_shr(u32::try_from(windows).unwrap_or(u32::MAX)).unwrap_or(0);
        self.carried = if windows > 1 || growth < self.limit { halved } else { growth };
        (self.window_start_ns, self.refaults_kb, self.file_kb) = (Some(now_ns), seen.file_refaults_kb, seen.file_kb);
        self.limit = settings.thrashing_limit;
        self.carried
    }

    /// The least `oom_score_adj` that the first applicable rule may kill, in lmkd's order of rules;
    /// none if no rule applies.
    fn rule(&mut self, settings: &Settings, seen: &Pressure, thrashing: u64, is_direct: bool, after_kill: bool) -> Option<u64> {
        let (low_memory, critical) = (settings.memory_is_low(seen), thrashing >= settings.critical());
        let free = settings.swap_free_kb(seen);
        let low_swap = free < seen.swap_total_kb * settings.swap_free_low_percentage / 100;
        let used = seen.swap_total_kb.saturating_sub(free);
        let utilization = 100 * used / (seen.anon_kb + used).max(1);
        let spare_perceptible = |spare: bool| if spare { IMPERCEPTIBLE } else { 0 };
        self.lowers_limit = false;
        if after_kill && seen.watermark < Watermark::Low {
            return Some(settings.pressure_after_kill_min_score); // PRESSURE_AFTER_KILL
        }
        if seen.stall_ms >= settings.psi_complete_stall_ms {
            return Some(0); // NOT_RESPONDING
        }
        if low_swap && thrashing > settings.thrashing_limit {
            self.checks_file_cache = true; // LOW_SWAP_AND_THRASHING
            return Some(spare_perceptible(seen.watermark > Watermark::Min && !critical));
        }
        if low_swap && low_memory {
            return Some(spare_perceptible(seen.watermark > Watermark::Min && !critical));
            // LOW_MEM_AND_SWAP
        }
        if low_memory && utilization > settings.swap_util_max {
            return Some(0); // LOW_MEM_AND_SWAP_UTIL
        }
        if (low_memory || is_direct) && thrashing > self.limit {
            self.checks_file_cache = true; // LOW_MEM_AND_THRASHING, DIRECT_RECL_AND_THRASHING
            self.lowers_limit = true;
            return Some(spare_perceptible(!critical));
        }
        let threshold_ms = settings.direct_reclaim_threshold_ms;
        if threshold_ms > 0 && seen.direct_reclaim_ms > threshold_ms {
            return Some(0); // DIRECT_RECL_STUCK
        }
        if self.checks_file_cache {
            if seen.file_kb < settings.filecache_min_kb {
                return Some(IMPERCEPTIBLE); // LOW_FILECACHE_AFTER_THRASHING
            }
            self.checks_file_cache = false;
        }
        low_memory.then_some(settings.lowmem_min_oom_score) // LOW_MEM
    }
}
