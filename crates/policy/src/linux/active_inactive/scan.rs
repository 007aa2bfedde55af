//! The scans of `active-inactive`: what is done with a scanned page, and which pages are scanned
//! next.

use super::flags::{Scan, ACCESSED, EXECUTABLE, REFERENCED, SHADOW, WORKINGSET, WRITING, WRITTEN};
use super::{ActiveInactivePolicy, ACTIVE, ANON, FILE, INACTIVE};
use crate::linux::scan_pass::{Balance, Reclaimer, BATCH};
use crate::linux::suspended::Pass;
use crate::PageView;

impl ActiveInactivePolicy {
    /// Note that a scanned page is in use.
    pub(super) fn rotated(&mut self, kind: usize) {
        self.balance.rotated(kind, self.known_lengths());
    }

    /// Note that reclaiming a page took a write or failed.
    pub(super) fn io(&mut self, kind: usize) {
        self.balance.io(kind, self.known_lengths());
    }

    pub(super) fn activated(&mut self) {
        self.age = self.age.wrapping_add(1);
        self.counts.activations += 1;
    }

    /// Move the oldest active page to the inactive list; executable file pages in use stay.
    pub(super) fn shrink_active(&mut self, kind: usize, pages: &PageView) -> Scan {
        let Some(page) = self.lists.back(ACTIVE[kind]) else { return Scan::Nothing };
        self.counts.scanned += 1;
        self.counts.refilled += 1;
        self.balance.scanned(kind);
        let now = pages.backing(page) as usize;
        let flags = &mut self.flags[page as usize];
        let accessed = *flags & ACCESSED != 0;
        *flags &= !ACCESSED;
        let stays = accessed && *flags & EXECUTABLE != 0 && now == FILE;
        *flags |= if stays { 0 } else { WORKINGSET };
        self.lists.move_to_front(if stays { ACTIVE[kind] } else { INACTIVE[now] }, page);
        let writing = *flags & WRITING != 0;
        if stays || accessed && self.rules.old {
            self.rotated(kind);
        }
        if writing {
            Scan::Nothing
        } else {
            Scan::Spared
        }
    }

    /// Scan the oldest inactive page.
    pub(super) fn shrink_inactive(&mut self, kind: usize, pages: &mut PageView) -> Scan {
        let Some(page) = self.lists.back(INACTIVE[kind]) else { return Scan::Nothing };
        self.counts.scanned += 1;
        self.pass.note_scanned();
        self.balance.scanned(kind);
        let now = pages.backing(page) as usize;
        if now != kind {
            self.lists.move_to_front(INACTIVE[now], page);
            return Scan::Spared;
        }
        let flags = &mut self.flags[page as usize];
        if *flags & WRITING != 0 {
            // A page under write-back is activated (`shrink_folio_list`, `activate_locked`).
            self.lists.move_to_front(ACTIVE[kind], page);
            self.activated();
            self.rotated(kind);
            return Scan::Nothing;
        }
        if *flags & ACCESSED != 0 {
            // The fault that brought the page in set its accessed bit, so it must be found accessed
            // twice, unless it is executable.
            let activate = *flags & REFERENCED != 0 || if kind == FILE { *flags & EXECUTABLE != 0 } else { self.rules.old };
            *flags &= !(ACCESSED | REFERENCED);
            if activate {
                // The mark stays on an activated page (`folio_check_references`): once the page is
                // inactive again, a single use activates it.
                *flags |= if self.rules.newest { REFERENCED } else { 0 };
                self.lists.move_to_front(ACTIVE[kind], page);
                self.activated();
            } else {
                *flags |= REFERENCED;
                self.lists.move_to_front(INACTIVE[kind], page);
            }
            if activate || !self.rules.old {
                self.rotated(kind);
            }
            return Scan::Spared;
        }
        let written = *flags & WRITTEN != 0;
        *flags = *flags & WORKINGSET | SHADOW;
        self.evicted_at[page as usize] = self.age;
        self.age = self.age.wrapping_add(1);
        if pages.is_dirty(page) {
            self.io(kind);
        }
        self.lists.remove(page);
        if written {
            pages.release_written(page);
        } else {
            pages.release(page);
        }
        self.pass.note_reclaimed();
        Scan::Evicted
    }

    /// Reclaim by the rules of 3.4: scan one page at a time until one is evicted.
    pub(super) fn reclaim_singly(&mut self, pages: &mut PageView) {
        while self.len(ANON) + self.len(FILE) > 0 {
            let anon = self.scans_anonymous();
            // Anonymous pages age even while only file pages are scanned (`age_active_anon`).
            if anon && self.inactive_is_low(ANON) {
                self.shrink_active(ANON, pages);
            }
            let is_scanned = |kind: usize| kind == FILE || anon;
            let inactive = [ANON, FILE].map(|kind| if is_scanned(kind) { self.lists.len(INACTIVE[kind]) } else { 0 });
            let aged = |kind: usize| is_scanned(kind) && (self.challenged[kind] || self.inactive_is_low(kind));
            let active = [ANON, FILE].map(|kind| if aged(kind) { self.lists.len(ACTIVE[kind]) } else { 0 });
            let (kind, of_active) = self.balance.next([self.len(ANON), self.len(FILE)], inactive, active);
            if of_active {
                self.shrink_active(kind, pages);
            } else if self.shrink_inactive(kind, pages) == Scan::Evicted {
                return;
            }
        }
    }

    /// Whether anonymous pages are scanned.
    fn scans_anonymous(&self) -> bool {
        self.swappable || self.len(FILE) == 0
    }

    /// Age anonymous pages, which the kernel does even while only file pages are scanned
    /// (`shrink_lruvec`, `kswapd_age_node`).
    pub(super) fn age_anonymous(&mut self, pages: &PageView) {
        if self.scans_anonymous() && self.inactive_is_low(ANON) {
            for _ in 0..BATCH {
                self.shrink_active(ANON, pages);
            }
        }
    }

    /// Begin the next pass, and take the decisions that hold for all of it.
    pub(super) fn next_pass(&mut self, pages: &PageView) {
        if !self.pass.is_at_begin() {
            self.counts.passes += u64::from(self.pass.is_background());
            self.age_anonymous(pages);
        }
        if self.pass.is_done() && self.pass.begin_again() {
            self.take_refaults();
        }
        let priority = self.pass.next_priority();
        if self.pass.is_background() {
            self.age_anonymous(pages);
        }
        let aged = [ANON, FILE].map(|kind| self.challenged[kind] || self.inactive_is_low(kind));
        let active = [ANON, FILE].map(|kind| if aged[kind] || self.rules.newest { self.lists.len(ACTIVE[kind]) } else { 0 });
        let inactive = [ANON, FILE].map(|kind| self.lists.len(INACTIVE[kind]));
        let trims = self.pass.trim(self.known_inactive(FILE) >> priority > 0 && !aged[FILE]);
        let balance = self.balance_of_pass(priority, aged, trims);
        self.pass.set([inactive[0], active[0], inactive[1], active[1]], aged, balance);
    }

    /// Which kinds of pages this pass scans (`get_scan_count`). With `swappiness=0` anonymous pages
    /// are scanned only at the last priority. While there are inactive file pages to scan and
    /// active ones need no aging, only file pages are scanned (`trims`: cache trim mode of
    /// `prepare_scan_control`). When hardly any file page is left, only anonymous pages are (its
    /// `file_is_tiny`).
    fn balance_of_pass(&mut self, priority: u32, aged: [bool; 2], trims: bool) -> Balance {
        if !self.scans_anonymous() {
            Balance::Only(FILE)
        } else if priority == 0 && !(self.rules.never_swaps && self.len(FILE) > 0) {
            Balance::Equal
        } else if self.pass.is_tiny(self.len(FILE)) && !aged[ANON] && self.lists.len(INACTIVE[ANON]) >> priority > 0 {
            Balance::Only(ANON)
        } else if trims {
            Balance::Only(FILE)
        } else {
            Balance::Fractions(self.balance.fractions([self.len(ANON), self.len(FILE)]))
        }
    }

    /// A reclaimer begins.
    pub(super) fn begin(&mut self, by: Reclaimer) {
        self.suspended.begin(&self.pass);
        self.pass.begin(by);
        self.take_refaults();
    }

    /// Take over the refaults since the last reclaimer began: they make this one deactivate active
    /// pages (`snapshot_refaults`).
    fn take_refaults(&mut self) {
        self.challenged = std::mem::take(&mut self.refaulted);
    }
}
