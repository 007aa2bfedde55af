//! The scans of `active-inactive`: what becomes of a page that is looked at, and which pages are looked at next.

use super::{ActiveInactivePolicy, ACCESSED, ACTIVE, ANON, EXECUTABLE, FILE, INACTIVE, REFERENCED, SHADOW, WORKINGSET};
use crate::linux::scan_pass::{Balance, Reclaimer, BATCH};
use crate::PageView;

impl ActiveInactivePolicy {
    /// Move the oldest active page to the inactive list; executable file pages in use stay.
    pub(super) fn shrink_active(&mut self, kind: usize, pages: &PageView) {
        let Some(page) = self.lists.back(ACTIVE[kind]) else { return };
        self.scanned += 1;
        self.refilled += 1;
        self.balance.scanned(kind);
        let now = pages.backing(page) as usize;
        let flags = &mut self.flags[page as usize];
        let accessed = *flags & ACCESSED != 0;
        *flags &= !ACCESSED;
        let stays = accessed && *flags & EXECUTABLE != 0 && now == FILE;
        *flags |= if stays { 0 } else { WORKINGSET };
        self.lists.move_to_front(if stays { ACTIVE[kind] } else { INACTIVE[now] }, page);
        if stays || accessed && self.old {
            self.rotated(kind);
        }
    }

    /// Look at the oldest inactive page; whether it was evicted.
    pub(super) fn shrink_inactive(&mut self, kind: usize, pages: &mut PageView) -> bool {
        let Some(page) = self.lists.back(INACTIVE[kind]) else { return false };
        self.scanned += 1;
        self.pass.note_scanned();
        self.balance.scanned(kind);
        let now = pages.backing(page) as usize;
        if now != kind {
            self.lists.move_to_front(INACTIVE[now], page);
            return false;
        }
        let flags = &mut self.flags[page as usize];
        if *flags & ACCESSED != 0 {
            // The fault that brought it in accessed it, so one look is not enough, unless it is code.
            let activate = *flags & REFERENCED != 0 || if kind == FILE { *flags & EXECUTABLE != 0 } else { self.old };
            *flags &= !(ACCESSED | REFERENCED);
            if activate {
                self.lists.move_to_front(ACTIVE[kind], page);
                self.activated();
            } else {
                *flags |= REFERENCED;
                self.lists.move_to_front(INACTIVE[kind], page);
            }
            if activate || !self.old {
                self.rotated(kind);
            }
            return false;
        }
        *flags = *flags & WORKINGSET | SHADOW;
        self.evicted_at[page as usize] = self.age;
        self.age = self.age.wrapping_add(1);
        if pages.is_dirty(page) {
            self.io(kind);
        }
        self.lists.remove(page);
        pages.release(page);
        self.pass.note_reclaimed();
        true
    }

    /// By the rules of 3.4: look at one page at a time until one is evicted.
    pub(super) fn reclaim_singly(&mut self, pages: &mut PageView) {
        while self.len(ANON) + self.len(FILE) > 0 {
            let anon = self.swappable || self.len(FILE) == 0;
            // Anonymous pages age even while only file pages are looked at (`age_active_anon`).
            if anon && self.inactive_is_low(ANON) {
                self.shrink_active(ANON, pages);
            }
            let looked_at = |kind: usize| kind == FILE || anon;
            let inactive = [ANON, FILE].map(|kind| if looked_at(kind) { self.lists.len(INACTIVE[kind]) } else { 0 });
            let aged = |kind: usize| looked_at(kind) && (self.challenged[kind] || self.inactive_is_low(kind));
            let active = [ANON, FILE].map(|kind| if aged(kind) { self.lists.len(ACTIVE[kind]) } else { 0 });
            let (kind, of_active) = self.balance.next([self.len(ANON), self.len(FILE)], inactive, active);
            if of_active {
                self.shrink_active(kind, pages);
            } else if self.shrink_inactive(kind, pages) {
                return;
            }
        }
    }

    /// Whether anonymous pages are looked at.
    fn scans_anonymous(&self) -> bool {
        self.swappable || self.len(FILE) == 0
    }

    /// Anonymous pages age even while only file pages are looked at (`shrink_lruvec`, `kswapd_age_node`).
    fn age_anonymous(&mut self, pages: &PageView) {
        if self.scans_anonymous() && self.inactive_is_low(ANON) {
            (0..BATCH).for_each(|_| self.shrink_active(ANON, pages));
        }
    }

    /// A pass is over: begin the next one, and with it what holds for the whole of it.
    pub(super) fn next_pass(&mut self, pages: &PageView) {
        if !self.pass.is_at_begin() {
            self.passes += u64::from(self.pass.is_background());
            self.age_anonymous(pages);
        }
        if self.pass.is_done() {
            self.pass.begin_again();
            self.take_refaults();
        }
        let priority = self.pass.next_priority();
        if self.pass.is_background() {
            self.age_anonymous(pages);
        }
        let aged = [ANON, FILE].map(|kind| self.challenged[kind] || self.inactive_is_low(kind));
        let active = [ANON, FILE].map(|kind| if aged[kind] { self.lists.len(ACTIVE[kind]) } else { 0 });
        let inactive = [ANON, FILE].map(|kind| self.lists.len(INACTIVE[kind]));
        let balance = self.balance_of_pass(priority, aged);
        self.pass.set([inactive[0], active[0], inactive[1], active[1]], balance);
    }

    /// Which kind of pages this pass looks at (`get_scan_count`). Files are spared to the last only against `swappiness=0`. While there
    /// are inactive file pages to scan and no need to age active ones, they are all that is looked at (`prepare_scan_control`, its cache
    /// trim mode); where files hardly hold a page any more, anonymous pages are (its `file_is_tiny`).
    fn balance_of_pass(&mut self, priority: u32, aged: [bool; 2]) -> Balance {
        if !self.scans_anonymous() {
            Balance::Only(FILE)
        } else if priority == 0 && !(self.never_swaps && self.len(FILE) > 0) {
            Balance::Equal
        } else if self.pass.is_tiny(self.len(FILE)) && !aged[ANON] && self.lists.len(INACTIVE[ANON]) >> priority > 0 {
            Balance::Only(ANON)
        } else if self.known_inactive(FILE) >> priority > 0 && !aged[FILE] {
            Balance::Only(FILE)
        } else {
            Balance::Fractions(self.balance.fractions([self.len(ANON), self.len(FILE)]))
        }
    }

    /// A reclaimer begins. What background reclaim had left to scan waits for a direct reclaimer's end.
    pub(super) fn begin(&mut self, by: Reclaimer) {
        if self.pass.is_background() {
            self.kswapd_pass = Some(self.pass.clone());
        }
        self.pass.begin(by);
        self.take_refaults();
    }

    /// Background reclaim goes on with what it had left.
    pub(super) fn kswapd_goes_on(&mut self) {
        if !self.pass.is_background() {
            self.pass = self.kswapd_pass.take().unwrap_or_else(|| self.pass.clone());
        }
    }

    /// Refaults since the last reclaimer began put active pages to the test (`snapshot_refaults`).
    fn take_refaults(&mut self) {
        self.challenged = std::mem::take(&mut self.refaulted);
    }
}
