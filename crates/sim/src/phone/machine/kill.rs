//! Kills: which mechanism kills an app, and when the memory of a killed app is free.
//!
//! A killed process ends after `exit_ns` for each of its pages (`machine.kernel.exit_ns`, assumed:
//! unmapping a page and freeing its frame or slot, mm/memory.c, `zap_pte_range`), and the killer
//! waits for that. With 0 it ends at once.
//!
//! Deviations: all memory of a process is freed at one time; a launch of the app ends the old
//! process first.

use super::clock::StallClock;
use super::entries::SwapEntries;
use super::frames::{free, Frames};
use super::killer::{DyingApp, KillerTask};
use super::kswapd::Kswapd;
use super::record::{Counts, Reason, Record, Stalls};
use super::{exit, pressure};
use crate::phone::user::apps::Apps;
use swaplab_vocab::{AppId, PageId};

/// The parts that kills work on.
pub struct Deaths<'a> {
    pub killer: &'a mut KillerTask,
    pub apps: &'a mut Apps,
    pub frames: &'a mut Frames,
    pub swap: &'a mut SwapEntries,
    pub clock: &'a mut StallClock,
    pub record: &'a mut Record,
    pub kswapd: &'a mut Kswapd,
    pub counts: &'a Counts,
    /// Time that a killed process takes for each of its pages.
    pub exit_ns: u64,
}

impl Deaths<'_> {
    /// Run the low-memory killer's check if it is awake, or if the running task found no frame
    /// (`stuck`). Returns whether it killed an app.
    pub fn run_killer_check(&mut self, stuck: bool) -> bool {
        if self.killer.waits(self.clock.now()) {
            return false;
        }
        let stall_ms = self.killer.stall_ms(self.clock.now(), self.clock.memory_ns);
        let free_when_due = self.kswapd.free_when_due.take(self.killer.due_ns());
        if !self.killer.is_awake(stall_ms, self.counts.scanned) && !stuck {
            return false;
        }
        let direct_reclaim_ms = self.killer.direct_reclaim_ns / 1_000_000;
        let stalls = pressure::Stalls { last_second_ms: stall_ms, full_avg10: self.killer.full_avg10(), direct_reclaim_ms };
        let free = free_when_due.unwrap_or_else(|| free::count(self.frames, self.swap));
        let seen = pressure::now(free, self.frames, self.swap, stalls, self.counts, self.record.page_bytes);
        let least = self.killer.killer.look(self.clock.now(), &seen);
        let killed = least.is_some_and(|least| self.kill_victim(least.max(1), Reason::LowMemory));
        if killed {
            self.killer.killed();
        }
        killed
    }

    /// Kill an app whose `oom_score_adj` is at least `least`. Returns false if there is none.
    pub fn kill_victim(&mut self, least: u32, reason: Reason) -> bool {
        let victim = self.apps.victim(self.killer.killer.victim, least, &|app| self.resident_pages(app));
        victim.into_iter().for_each(|app| self.kill(app, reason));
        victim.is_some()
    }

    /// The resident set of `app`, in pages.
    pub fn resident_pages(&self, app: AppId) -> u64 {
        exit::resident_pages(app, self.frames, self.apps)
    }

    /// Kill `app`. Its memory is free when its process has ended.
    pub fn kill(&mut self, app: AppId, reason: Reason) {
        let killed_ns = self.clock.now();
        let ends_ns = killed_ns + exit::duration_ns(app, self.exit_ns, self.frames, self.apps);
        let kill = exit::kill(app, reason, self.apps, killed_ns);
        let dying = DyingApp { app, killed_ns, ends_ns, row: self.record.kills.len() };
        self.record.kills.push(kill);
        self.kswapd.backoff = 0;
        if ends_ns == killed_ns {
            self.release(dying);
        } else {
            self.killer.begin_death(dying);
        }
    }

    fn release(&mut self, dying: DyingApp) {
        let (frames, swapped) = exit::release(dying.app, self.frames, self.swap, self.apps, self.clock);
        let kill = &mut self.record.kills[dying.row];
        (kill.frames, kill.swapped) = (frames, swapped);
    }

    /// Free the memory of processes that have ended by now.
    pub fn release_ended(&mut self) {
        while let Some(dying) = self.killer.take_ended(self.clock.now(), None) {
            self.release(dying);
        }
    }

    /// End the killed process of `app`, if it has not ended yet, because a new one starts.
    pub fn end_before_start(&mut self, app: AppId) {
        while let Some(dying) = self.killer.take_ended(self.clock.now(), Some(app)) {
            self.release(dying);
        }
    }

    /// End all killed processes.
    pub fn release_all_killed(&mut self) {
        while let Some(dying) = self.killer.take_ended(u64::MAX, None) {
            self.release(dying);
        }
    }

    /// Drop an anonymous page that got its frame after its app was killed, because the app's own
    /// fault caused the kill.
    pub fn drop_orphan(&mut self, page: PageId) {
        self.frames.drop_page(page);
        let now_ns = self.clock.now();
        self.clock.write_back.forget(page);
        self.frames.follow_writes(&mut self.clock.write_back, now_ns);
        self.swap.drop_page(page, now_ns);
    }

    /// Stall the direct reclaimer until the memory of a killed app is free, if one is dying.
    pub fn wait_for_death(&mut self) {
        let Some(ends_ns) = self.killer.next_end_ns() else { return };
        let direct_reclaim_ns = ends_ns.saturating_sub(self.clock.now());
        self.clock.stall_on_memory(&Stalls { direct_reclaim_ns, ..Stalls::default() });
        self.release_ended();
    }

    /// Kill cached apps until their number is within Android's limit.
    pub fn enforce_limit(&mut self) {
        while let Some(app) = self.apps.beyond_limit(self.killer.killer.victim) {
            self.kill(app, Reason::CachedLimit);
        }
    }
}
