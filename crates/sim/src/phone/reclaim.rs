//! Frames are won back: in the background between the watermarks, by whoever needs one below them, and by killing apps.

use super::layout::SYSTEM;
use super::machine::{Machine, NONE};
use super::record::{Entry, Freed, Kill, Reason, Stalls};
use super::shared::shared_number;
use crate::ledger::Charge;
use swaplab_apps::{Candidate, Owner, Pressure, Victim};
use swaplab_policy::{bits, Backing};
use swaplab_swap::{zsmalloc, Medium, Stored};
use swaplab_vocab::{AppId, Nanos, PageId};

/// Releases that a batch may ask of the policy for each page it wants, as some may not leave: in the background, and by whoever can't
/// go on without a frame.
const ATTEMPTS: usize = 32;
const DIRECT_ATTEMPTS: usize = 256;
/// Background passes are skipped for so many frames after one that stayed below its watermark and killed no app.
const BACKOFF: u32 = 256;
/// Frames that a pool may take for one page more.
const POOL_GROWTH: usize = zsmalloc::CHAIN as usize;

impl Machine {
    /// There is a free frame after this, or the run has failed.
    pub(super) fn need_frame(&mut self) {
        if self.free() <= self.marks.low {
            match self.idle_passes {
                0 => self.background(),
                _ => self.idle_passes -= 1,
            }
        }
        while self.free() <= self.marks.min && self.failed.is_none() {
            let before = self.waited_ns;
            let won = self.reclaim(true);
            self.counts.direct_reclaim_ns += self.waited_ns - before;
            if won == 0 && !self.ask_killer() && !self.kill_any() {
                let held = self.held();
                self.failed = Some(format!("{held} of {} frames are in use, nothing can be reclaimed and no app killed", self.frames));
            }
        }
    }

    /// One pass of background reclaim: up to the high watermark, as far as that goes; then the killer looks.
    fn background(&mut self) {
        while self.free() < self.marks.high && self.reclaim(false) > 0 {}
        if !self.ask_killer() && self.free() < self.marks.high {
            self.idle_passes = BACKOFF;
        }
    }

    /// A batch of pages leaves memory; how many did. `direct`: whoever runs waits for it.
    pub(super) fn reclaim(&mut self, direct: bool) -> usize {
        let (mut won, scanned) = (0, self.policy.as_dyn().scanned());
        let mut busy = Charge::default();
        for asked in 0..self.batch * if direct { DIRECT_ATTEMPTS } else { ATTEMPTS } {
            if won >= self.batch {
                break;
            }
            self.policy.as_dyn_mut().reclaim(None, &mut self.pages);
            let (pages, released) = self.settle(&mut busy, asked);
            won += pages;
            if !released {
                break;
            }
        }
        let cpu = (self.policy.as_dyn().scanned() - scanned) * self.scan_ns;
        self.counts.system_ns += cpu;
        if direct {
            let reads: u64 = Medium::ALL.into_iter().map(|m| busy.read_wait(m, 0, &self.prices)).sum();
            let busy = busy.cpu.0 + reads + busy.write_wait(&self.prices);
            self.stall(Stalls { direct_reclaim_ns: cpu + busy, ..Stalls::default() });
        } else {
            self.counts.background_ns += cpu + busy.cpu.0;
            self.hand_over(&busy);
        }
        won
    }

    /// Writes that nobody waits for.
    pub(super) fn hand_over(&mut self, busy: &Charge) {
        self.write_back.hand_over(busy, self.clock(), &self.prices);
    }

    /// The scheme's own work in the background, such as writing idle pages back.
    pub(super) fn tick(&mut self) {
        self.swap.tick(Nanos(self.now_ns));
        let charged = self.swap.charged;
        self.counts.system_ns += charged.cpu.0;
        self.hand_over(&charged);
    }

    /// Deal with the pages that the policy released after so many were `asked` of it: frames won, and whether there were any. What
    /// their transfers take is added to `busy`.
    pub(super) fn settle(&mut self, busy: &mut Charge, asked: usize) -> (usize, bool) {
        let (mut won, mut any) = (0, false);
        while let Some(page) = self.pages.take_released() {
            any = true;
            self.count(page, false);
            let owners = self.owners(page);
            let spared = self.gate.spares(&owners, self.launcher.foreground(), self.hotness.is_hot(page), asked, self.batch);
            if !spared && (self.pages.backing(page) == Backing::File || self.swap_out(page, &owners, busy)) {
                self.pages.clear(page, bits::DIRTY);
                won += 1;
            } else {
                self.put_back(page);
            }
        }
        (won, any)
    }

    fn swap_out(&mut self, page: PageId, owners: &[Owner], busy: &mut Charge) -> bool {
        if !self.gate.may_swap_out(self.launcher.live(), owners, &self.launcher.history) {
            self.record.traffic_of(self.layout.owners[page as usize]).rejected += 1;
            return false;
        }
        // The pool grows before the page's own frame is free: on frames below the minimum, which are the kernel's reclaim's to use
        // (`PF_MEMALLOC`). Without any left the allocator refuses, and the page stays.
        if self.pool_in_dram && self.free() <= POOL_GROWTH {
            return false;
        }
        let stored = self.swap.swap_out(page, self.pages.is_dirty(page));
        let charged = self.swap.charged;
        for other in std::mem::take(&mut self.swap.given_up) {
            self.free_entry(other, Freed::Discard);
        }
        // A page that was compressed in vain, or went to the cache clean, took its time, too.
        self.counts.system_ns += charged.cpu.0;
        *busy += charged;
        match stored {
            Stored::Written => {
                self.pages.set(page, bits::SLOT);
                self.note_entry(page);
                true
            }
            Stored::Unchanged => {
                self.pages.set(page, bits::SLOT);
                true
            }
            Stored::Dropped => true,
            Stored::Full => {
                self.free_entry(page, Freed::Discard);
                self.counts.swap_full += 1;
                self.policy.as_dyn_mut().swappable(false);
                false
            }
        }
    }

    fn note_entry(&mut self, page: PageId) {
        // What its old slot held was stale.
        self.free_entry(page, Freed::Discard);
        let owner = self.layout.owners[page as usize];
        self.record.traffic_of(owner).swapped_out += 1;
        let number = self.record.entries.len() as u32;
        self.record.entries.push(Entry { page, owner, reads: 0, born_ns: self.clock(), freed: None, died_ns: None });
        self.entry_of[page as usize] = number;
        if let Some(open) = self.open_of(owner) {
            self.open[open].push(number);
        }
    }

    /// A page that may not leave: the kernel activates it.
    fn put_back(&mut self, page: PageId) {
        self.pages.set(page, bits::RESIDENT);
        self.count(page, true);
        self.policy.as_dyn_mut().keep(page, &mut self.pages);
    }

    /// Whether the killer has killed an app.
    fn ask_killer(&mut self) -> bool {
        let page_kib = self.layout.page_bytes / 1024;
        let kb = |pages: usize| pages as u64 * page_kib;
        let second = self.clock() / 1_000_000_000;
        let (stall, refaulted) = if self.second.0 == second { (self.second.1, self.second.2) } else { (0, 0) };
        let seen = Pressure {
            free_kb: kb(self.free()),
            file_kb: kb(self.file_pages),
            below_high: self.free() < self.marks.high,
            stall_ms: stall / 1_000_000,
            refaulted_file_kb: kb(refaulted as usize),
            swap_free_percentage: self.swap_pages.map_or(100, |all| 100 - 100 * self.swap.usage().pages.min(all) / all.max(1)),
        };
        let victim = self.killer.kills_from(&seen).and_then(|least| self.victim(self.killer.victim, self.launcher.from(least.max(1))));
        self.kill_for_memory(victim, Reason::LowMemory)
    }

    /// The kernel's last resort: any app but the one in front.
    fn kill_any(&mut self) -> bool {
        let victim = self.victim(self.killer.victim, self.launcher.from(1));
        self.kill_for_memory(victim, Reason::OutOfMemory)
    }

    fn victim(&self, rule: Victim, apps: Vec<AppId>) -> Option<AppId> {
        let candidate = |app| Candidate {
            app,
            adjustment: self.launcher.adjustment(app),
            next_launch: self.plan.next_launch(app).map(u64::from),
            cold_ns: self.layout.of(app).cold_ns,
        };
        rule.choose(&apps.into_iter().map(candidate).collect::<Vec<_>>())
    }

    /// `page` is paged out on demand, if it may be.
    pub(super) fn page_out(&mut self, page: PageId) {
        if !self.pages.is_resident(page) {
            return;
        }
        self.policy.as_dyn_mut().forget(page);
        self.pages.release(page);
        let mut busy = Charge::default();
        self.settle(&mut busy, usize::MAX);
        self.hand_over(&busy);
    }

    fn kill_for_memory(&mut self, victim: Option<AppId>, reason: Reason) -> bool {
        if let Some(app) = victim {
            self.kill(app, reason);
        }
        victim.is_some()
    }

    /// Kill cached apps beyond the limit.
    pub fn enforce_limit(&mut self) {
        let rule = if self.killer.victim.rules_the_limit() { self.killer.victim } else { Victim::Lru };
        while let Some(app) = self.launcher.over_limit().and_then(|cached| self.victim(rule, cached)) {
            self.kill(app, Reason::CachedLimit);
        }
    }

    /// Where the stays of an owner's pages are listed; the system's, which never ends, are not.
    fn open_of(&self, owner: AppId) -> Option<usize> {
        (owner != SYSTEM).then(|| shared_number(owner).map_or(usize::from(owner), |number| self.layout.apps.len() + number))
    }

    /// The process of `app` ends: its anonymous pages are gone wherever they are, and those that it was the last to share; its file
    /// pages stay cached.
    pub(super) fn kill(&mut self, app: AppId, reason: Reason) {
        let (at_ns, adjustment) = (self.clock(), self.launcher.adjustment(app));
        let (mut frames, mut swapped) = self.drop_pages(app);
        frames += self.graphics[usize::from(app)] as u64;
        self.policy.as_dyn_mut().swappable(self.swappable);
        self.set_graphics(app, 0);
        self.launcher.killed(app);
        for owner in self.orphaned(app) {
            let more = self.drop_pages(owner);
            (frames, swapped) = (frames + more.0, swapped + more.1);
        }
        self.record.kills.push(Kill { at_ns, app, adjustment, reason, frames, swapped });
        self.idle_passes = 0;
    }

    /// The anonymous pages of an owner that has died: how many had frames, how many slots.
    fn drop_pages(&mut self, owner: AppId) -> (u64, u64) {
        let (at_ns, mut frames, mut swapped) = (self.clock(), 0, 0);
        for page in self.layout.of(owner).anon.clone() {
            if self.pages.is_resident(page) {
                self.count(page, false);
                frames += 1;
            }
            swapped += u64::from(self.entry_of[page as usize] != NONE);
            self.free_entry(page, Freed::Owner);
            self.pages.clear(page, bits::RESIDENT | bits::DIRTY | bits::SLOT | bits::COPIED | bits::MAPPED);
            self.swap.discard(page);
            self.policy.as_dyn_mut().forget(page);
        }
        if let Some(open) = self.open_of(owner) {
            for number in std::mem::take(&mut self.open[open]) {
                self.record.entries[number as usize].died_ns = Some(at_ns);
            }
        }
        (frames, swapped)
    }

    /// Every invariant: each page is in one place, frames are within DRAM, a dead app has nothing.
    #[cfg(test)]
    pub fn check(&self) -> Result<(), String> {
        self.policy.as_dyn().check(&self.pages)?;
        self.swap.check()?;
        let all = 0..self.layout.owners.len() as PageId;
        let resident = all.clone().filter(|p| self.pages.is_resident(*p)).count();
        let files = all.clone().filter(|p| self.pages.is_resident(*p) && self.pages.backing(*p) == Backing::File).count();
        if (resident, files) != (self.used, self.file_pages) {
            return Err(format!("{resident} pages are in frames, {files} of files; {} and {} counted", self.used, self.file_pages));
        }
        if self.held() > self.frames {
            return Err(format!("{} frames in use of {}", self.held(), self.frames));
        }
        // Each stay in swap is a slot allocated: it was freed by copy, by discard or by its owner's death, or it is held.
        let held = self.record.entries.iter().filter(|e| e.freed.is_none()).count() as u64;
        if held != self.swap.usage().pages {
            return Err(format!("{held} stays in swap have not ended, the scheme holds {} pages", self.swap.usage().pages));
        }
        let ends = |e: &Entry| e.freed.map(|(at, _)| at).into_iter().chain(e.died_ns);
        if let Some(entry) = self.record.entries.iter().find(|e| e.born_ns > self.clock() || ends(e).any(|end| end < e.born_ns)) {
            return Err(format!("a stay in swap begins after its end, or after {} ns, which it is now: {entry:?}", self.clock()));
        }
        for (app, of) in self.layout.apps.iter().enumerate().filter(|(app, _)| !self.launcher.is_live(*app as AppId)) {
            let left = of.anon.clone().find(|p| self.pages.bits(*p) & (bits::RESIDENT | bits::SLOT | bits::MAPPED | bits::DIRTY) != 0);
            if left.is_some() || self.graphics[app] > 0 || !self.open[app].is_empty() {
                return Err(format!("app {app} is dead and has page {left:?}, {} frames of graphics", self.graphics[app]));
            }
        }
        let both = |p: &PageId| self.pages.bits(*p) & bits::MAPPED != 0 && self.pages.is_resident(*p);
        match all.clone().find(both) {
            Some(page) => Err(format!("page {page} has a frame and is mapped in place")),
            None => Ok(()),
        }
    }
}
