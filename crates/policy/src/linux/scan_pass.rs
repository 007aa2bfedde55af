//! One pass of Linux's reclaim over its four lists: how many pages of each are scanned, in which
//! order, and when the pass ends.
//!
//! Source: Linux 6.12, mm/vmscan.c. `get_scan_count`: a list is scanned for its length shifted
//! right by the priority, times the share of its kind, rounded down. `shrink_lruvec`: batches of
//! `SWAP_CLUSTER_MAX` pages, in turn; once enough was reclaimed the kind with fewer pages left to
//! scan is left alone, and the other one is scanned in proportion. `balance_pgdat` and
//! `do_try_to_free_pages`: the priority falls by one from pass to pass, of `balance_pgdat` to 1.
//! After a round that reclaimed nothing in cache trim mode, `balance_pgdat` starts over without
//! that mode (`no_cache_trim_mode`).
//! Deviations: with `kernel=6.1` the priority of background reclaim may fall to 0, there is no
//! `no_cache_trim_mode`, active pages that need no aging count as no page to scan, and a direct
//! reclaimer stops in the middle of a pass. Pages that shrinkers free do not count as reclaimed.

use super::suspended::{self, Pass as _};

/// `SWAP_CLUSTER_MAX`.
pub const BATCH: usize = 32;
/// A reclaimer gives up after this many rounds of passes that scanned no page, or reclaimed none
/// (mm/internal.h). Lists may be so short that the share of each rounds down to no page.
pub const MAX_RECLAIM_RETRIES: u32 = 16;
/// `DEF_PRIORITY`.
const DEFAULT_PRIORITY: u32 = 12;
/// Inactive and active anonymous pages, inactive and active file pages: the kernel's order.
const LISTS: usize = 4;

/// Who reclaims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimer {
    /// Background reclaim, kswapd.
    Kswapd(FreePages),
    /// Direct reclaim, by an allocation that found no free page.
    Direct(FreePages),
    /// Background reclaim that has the processor again, and a direct reclaimer that resumes after
    /// background reclaim.
    KswapdAgain(FreePages),
    DirectAgain,
    /// A control group at its limit.
    Group,
}

/// The machine's free pages and its high watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreePages {
    pub free: usize,
    pub high: usize,
}

/// How a pass weighs the two kinds of pages against each other (`enum scan_balance`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Balance {
    /// `SCAN_EQUAL`: each list by its length alone.
    Equal,
    /// `SCAN_FRACT`: by the weights of both kinds.
    Fractions([f64; 2]),
    /// `SCAN_ANON` and `SCAN_FILE`: only lists of this kind.
    Only(usize),
}

#[derive(Clone)]
pub struct ScanPass {
    by: Reclaimer,
    /// Whether the rules of Linux 6.12 apply.
    newest: bool,
    priority: u32,
    /// By list: pages to scan as of the beginning of the pass, and those that are still to be
    /// scanned.
    targets: [usize; LISTS],
    left: [usize; LISTS],
    /// By kind: whether active pages are aged. If not, they count as pages to scan, but none is
    /// scanned (`may_deactivate` in `shrink_list`).
    aged: [bool; 2],
    /// The list of the current batch, and the pages of the batch that are still to be scanned.
    list: usize,
    batch: usize,
    /// Inactive pages scanned and pages reclaimed in this pass, and pages reclaimed since the
    /// reclaimer began.
    scanned: usize,
    reclaimed: usize,
    reclaimed_in_all: usize,
    /// Rounds since a page was spared or reclaimed.
    pub idle_rounds: u32,
    trim: Trim,
}

/// Cache trim mode, in which only file pages are scanned (`prepare_scan_control`).
#[derive(Clone, Copy, Default)]
struct Trim {
    /// Whether this pass is in that mode, and whether any pass of the round reclaimed nothing in
    /// it (`cache_trim_mode_failed`).
    on: bool,
    failed: bool,
    /// `no_cache_trim_mode`
    off: bool,
}

impl suspended::Pass for ScanPass {
    fn is_background(&self) -> bool {
        matches!(self.by, Reclaimer::Kswapd(_))
    }
}

impl ScanPass {
    pub fn new(newest: bool) -> ScanPass {
        let (targets, left) = ([0; LISTS], [0; LISTS]);
        let priority = DEFAULT_PRIORITY + 1;
        ScanPass {
            by: Reclaimer::Group,
            newest,
            priority,
            targets,
            left,
            aged: [true; 2],
            list: LISTS,
            batch: 0,
            scanned: 0,
            reclaimed: 0,
            reclaimed_in_all: 0,
            idle_rounds: 0,
            trim: Trim::default(),
        }
    }

    /// A reclaimer begins.
    pub fn begin(&mut self, by: Reclaimer) {
        *self = ScanPass { by, ..ScanPass::new(self.newest) };
    }

    /// Begin again for the same reclaimer. Returns whether its reclaim ended before that, and not
    /// just a round of it.
    pub fn begin_again(&mut self) -> bool {
        self.note_failed_trim();
        let in_vain = self.newest && self.is_background() && self.reclaimed_in_all == 0;
        let off = in_vain && self.trim.failed && !self.trim.off;
        let idle_rounds = self.idle_rounds;
        self.begin(self.by);
        (self.trim.off, self.idle_rounds) = (off, idle_rounds);
        !off
    }

    fn note_failed_trim(&mut self) {
        self.trim.failed |= self.trim.on && self.reclaimed == 0;
    }

    /// Put the next pass into cache trim mode, if it may be. Returns whether it is.
    pub fn trim(&mut self, wanted: bool) -> bool {
        self.trim.on = wanted && !self.trim.off;
        self.trim.on
    }

    /// Whether no pass of the reclaimer has been set yet.
    pub fn is_at_begin(&self) -> bool {
        self.priority > DEFAULT_PRIORITY
    }

    /// Number of pages that a pass tries to reclaim: `kswapd_shrink_node`, `try_to_free_pages`,
    /// `try_to_free_mem_cgroup_pages`.
    fn goal(&self) -> usize {
        match self.by {
            Reclaimer::Kswapd(pages) => pages.high.max(BATCH),
            Reclaimer::Direct(_) | Reclaimer::Group | Reclaimer::KswapdAgain(_) | Reclaimer::DirectAgain => BATCH,
        }
    }

    /// Whether free pages and file pages together are at most the high watermark (`file_is_tiny` of
    /// `prepare_scan_control`). Never true for reclaim of a control group.
    pub fn is_tiny(&self, files: usize) -> bool {
        match self.by {
            Reclaimer::Kswapd(pages) | Reclaimer::Direct(pages) => files + pages.free + self.reclaimed_in_all <= pages.high,
            Reclaimer::Group | Reclaimer::KswapdAgain(_) | Reclaimer::DirectAgain => false,
        }
    }

    /// Whether the reclaimer is done after this pass, because it has reached its goal or has failed
    /// at the last priority.
    #[inline]
    pub fn is_done(&self) -> bool {
        let lowest = u32::from(self.newest && self.is_background());
        self.priority == lowest || !self.is_background() && self.reclaimed_in_all >= self.goal()
    }

    /// Whether the reclaimer is a task that needs a frame and has finished a pass with enough
    /// reclaimed pages, or the last one with any.
    pub fn ends_direct(&self) -> bool {
        self.newest && matches!(self.by, Reclaimer::Direct(_)) && self.reclaimed_in_all > 0 && self.is_done()
    }

    /// The priority of the next pass.
    pub fn next_priority(&mut self) -> u32 {
        self.note_failed_trim();
        // A background pass that scanned enough pages is repeated at the same priority.
        let repeats = self.is_background() && self.scanned >= self.goal() && self.reclaimed > 0;
        self.priority -= u32::from(!repeats);
        (self.scanned, self.reclaimed) = (0, 0);
        self.priority
    }

    /// Begin the pass over lists of these lengths. `aged`: by kind, whether active pages are aged.
    pub fn set(&mut self, lengths: [usize; LISTS], aged: [bool; 2], balance: Balance) {
        self.aged = aged;
        self.targets = [0, 1, 2, 3].map(|list| {
            let scan = lengths[list] >> self.priority;
            match balance {
                Balance::Equal => scan,
                Balance::Fractions(of) => (scan as f64 * of[list / 2] / (of[0] + of[1])) as usize,
                Balance::Only(kind) => scan * usize::from(kind == list / 2),
            }
        });
        (self.left, self.list, self.batch) = (self.targets, LISTS - 1, 0);
    }

    /// The list of the next page to scan: its kind, and whether it is the active one. `None` when
    /// the pass is over.
    #[inline]
    pub fn next(&mut self) -> Option<(usize, bool)> {
        while self.batch == 0 {
            self.list += 1;
            if self.list >= LISTS {
                self.stop_in_proportion();
                // The pass ends when only active anonymous pages are left to scan.
                if self.left[0] + self.left[2] + self.left[3] == 0 {
                    self.list = LISTS;
                    return None;
                }
                self.list = 0;
            }
            self.batch = self.left[self.list].min(BATCH);
            self.left[self.list] -= self.batch;
            if self.list % 2 == 1 && !self.aged[self.list / 2] {
                self.batch = 0;
            }
        }
        self.batch -= 1;
        Some((self.list / 2, self.list % 2 == 1))
    }

    /// Whether the current batch of a list has been scanned.
    pub fn ends_batch(&self) -> bool {
        self.batch == 0
    }

    /// Note that an inactive page was scanned.
    pub fn note_scanned(&mut self) {
        self.scanned += 1;
    }

    /// Note that the scanned page was reclaimed.
    #[inline]
    pub fn note_reclaimed(&mut self) {
        self.reclaimed += 1;
        self.reclaimed_in_all += 1;
    }

    /// Note that the page that counts as reclaimed is not: it is written first.
    pub fn note_kept(&mut self) {
        self.reclaimed = self.reclaimed.saturating_sub(1);
        self.reclaimed_in_all = self.reclaimed_in_all.saturating_sub(1);
    }

    /// Adjust the targets once enough was reclaimed, as the second half of the loop in
    /// `shrink_lruvec` does.
    fn stop_in_proportion(&mut self) {
        let scans_all = matches!(self.by, Reclaimer::Direct(_)) && self.priority == DEFAULT_PRIORITY;
        if self.reclaimed < self.goal() || scans_all {
            return;
        }
        let of_kind = |pages: &[usize; LISTS], kind: usize| pages[2 * kind] + pages[2 * kind + 1];
        let left = [0, 1].map(|kind| of_kind(&self.left, kind));
        if left.contains(&0) {
            self.left = [0; LISTS];
            return;
        }
        let fewer = usize::from(left[1] <= left[0]);
        let percentage = left[fewer] * 100 / (of_kind(&self.targets, fewer) + 1);
        for list in 0..LISTS {
            let scanned = self.targets[list] - self.left[list];
            let wanted = if list / 2 == fewer { 0 } else { self.targets[list] * (100 - percentage) / 100 };
            self.left[list] = wanted.saturating_sub(scanned);
        }
    }
}

#[cfg(test)]
mod tests;
