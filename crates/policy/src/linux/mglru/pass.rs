//! One pass of Linux's reclaim over the generations: at which priority, how many pages are scanned,
//! and when it ends.
//!
//! Source: Linux 6.12, mm/vmscan.c. `set_initial_priority`, `should_abort_scan`,
//! `try_to_shrink_lruvec`; for the priorities of following passes `balance_pgdat` and
//! `do_try_to_free_pages`.

use crate::linux::scan_pass::{FreePages, Reclaimer, BATCH};
use crate::linux::suspended::{self, Pass as _};

/// `DEF_PRIORITY`.
pub const DEFAULT_PRIORITY: u32 = 12;
/// `MIN_LRU_BATCH`: pages that are isolated at a time, and the least by which kswapd exceeds the
/// high watermark.
pub const MIN_LRU_BATCH: usize = 64;

#[derive(Clone)]
pub struct Pass {
    by: Reclaimer,
    pub priority: u32,
    /// Whether the pass has begun.
    pub runs: bool,
    /// Pages to examine in this pass, pages examined, and of them those isolated.
    wanted: usize,
    examined: usize,
    isolated: usize,
    /// Pages reclaimed in this pass, and since the reclaimer began.
    reclaimed: usize,
    reclaimed_in_all: usize,
    /// The machine's free pages when background reclaim had the processor last, and pages reclaimed
    /// since then.
    free: Option<FreePages>,
    reclaimed_since: usize,
    /// Rounds of passes in which no page was reclaimed or spared.
    pub idle_rounds: u32,
}

impl suspended::Pass for Pass {
    fn is_background(&self) -> bool {
        matches!(self.by, Reclaimer::Kswapd(_))
    }
}

impl Pass {
    pub fn of(by: Reclaimer) -> Pass {
        let free = match by {
            Reclaimer::Kswapd(pages) => Some(pages),
            _ => None,
        };
        Pass {
            by,
            priority: DEFAULT_PRIORITY,
            runs: false,
            wanted: 0,
            examined: 0,
            isolated: 0,
            reclaimed: 0,
            reclaimed_in_all: 0,
            free,
            reclaimed_since: 0,
            idle_rounds: 0,
        }
    }

    /// Number of pages that a pass tries to reclaim: `kswapd_shrink_node`, `try_to_free_pages`,
    /// `try_to_free_mem_cgroup_pages`.
    fn goal(&self) -> usize {
        match self.by {
            Reclaimer::Kswapd(pages) => pages.high.max(BATCH),
            _ => BATCH,
        }
    }

    /// Background reclaim has the processor again.
    pub fn resume(&mut self, pages: FreePages) {
        (self.free, self.reclaimed_since) = (Some(pages), 0);
    }

    /// Begin a pass. `reclaimable`: pages that are not of the two youngest generations. A reclaimer
    /// with a large goal starts at the priority at which one pass would reach it
    /// (`set_initial_priority`).
    pub fn start(&mut self, reclaimable: usize) {
        let bits = |number: usize| (usize::BITS - number.leading_zeros()) as i64;
        if self.priority == DEFAULT_PRIORITY && self.goal() >= MIN_LRU_BATCH {
            let wanted = bits(reclaimable) - 1 - bits(self.goal() - 1);
            self.priority = wanted.clamp(i64::from(DEFAULT_PRIORITY / 2), i64::from(DEFAULT_PRIORITY)) as u32;
        }
        (self.runs, self.examined, self.isolated, self.reclaimed) = (true, 0, 0, 0);
    }

    /// Note a batch of pages that were examined, and those of them that were isolated. `wanted`:
    /// the pages that the pass should examine; it is over after a batch in which none was.
    pub fn note_batch(&mut self, wanted: usize, examined: usize, isolated: usize) {
        self.wanted = if examined == 0 { 0 } else { wanted };
        self.examined += examined.max(1);
        self.isolated += isolated;
    }

    pub fn note_reclaimed(&mut self) {
        self.reclaimed += 1;
        self.reclaimed_in_all += 1;
        self.reclaimed_since += 1;
    }

    /// Note that the page that counts as reclaimed is not: it is written first.
    pub fn note_kept(&mut self) {
        for count in [&mut self.reclaimed, &mut self.reclaimed_in_all, &mut self.reclaimed_since] {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether the pass has examined enough pages or is aborted: because it reached its goal or, of
    /// background reclaim, because enough pages are free. Reclaim of a control group is not
    /// aborted.
    pub fn is_over(&self) -> bool {
        let reached = match self.by {
            Reclaimer::Kswapd(_) => self.reclaimed >= self.goal(),
            Reclaimer::Group => false,
            _ => self.reclaimed_in_all >= self.goal(),
        };
        let safe = self.free.is_some_and(|pages| pages.free + self.reclaimed_since >= pages.high + MIN_LRU_BATCH);
        self.examined > 0 && (self.examined >= self.wanted || reached || safe)
    }

    /// Whether the reclaimer is done after this pass, because it has reached its goal or has failed
    /// at the last priority.
    pub fn is_last(&self) -> bool {
        let lowest = u32::from(self.is_background());
        self.priority == lowest || !self.is_background() && self.reclaimed_in_all >= self.goal()
    }

    /// Whether the reclaimer is a task that needs a frame and gets one after this pass.
    pub fn ends_direct(&self) -> bool {
        matches!(self.by, Reclaimer::Direct(_)) && self.reclaimed_in_all > 0 && self.is_last()
    }

    /// Go on to the next pass; after the last one, begin again for the same reclaimer.
    pub fn next(&mut self) {
        if self.is_last() {
            let rounds = if self.reclaimed_in_all == 0 { self.idle_rounds + 1 } else { 0 };
            let (free, since) = (self.free, self.reclaimed_since);
            *self = Pass { idle_rounds: rounds, free, reclaimed_since: since, ..Pass::of(self.by) };
            return;
        }
        // A background pass that scanned enough pages is repeated at the same priority.
        let repeats = self.is_background() && self.isolated >= self.goal() && self.reclaimed > 0;
        self.priority -= u32::from(!repeats);
        self.runs = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kswapd(free: usize, high: usize) -> Pass {
        Pass::of(Reclaimer::Kswapd(FreePages { free, high }))
    }

    #[test]
    fn a_large_goal_starts_at_the_priority_that_reaches_it() {
        // 20,000 pages have 15 bits, 999 has 10: 15 - 1 - 10 is 4, and 6 is the least.
        for (reclaimable, high, priority) in [(20_000, 1000, 6), (2_000_000, 1000, 10), (2_000_000, 63, 12), (0, 64, 6)] {
            let mut pass = kswapd(0, high);
            pass.start(reclaimable);
            assert_eq!(pass.priority, priority, "{reclaimable} {high}");
        }
        let mut direct = Pass::of(Reclaimer::Direct(FreePages { free: 0, high: 1000 }));
        direct.start(20_000);
        assert_eq!(direct.priority, 12);
    }

    #[test]
    fn background_reclaim_ends_a_pass_64_pages_above_the_high_watermark() {
        let mut pass = kswapd(900, 1000);
        pass.start(20_000);
        pass.note_batch(400, 64, 64);
        (0..163).for_each(|_| pass.note_reclaimed());
        assert!(!pass.is_over());
        pass.note_reclaimed();
        assert!(pass.is_over());
        pass.note_kept();
        assert!(!pass.is_over());
        pass.resume(FreePages { free: 1064, high: 1000 });
        assert!(pass.is_over());
    }

    #[test]
    fn a_pass_ends_when_it_has_examined_enough_pages_or_none() {
        let mut pass = kswapd(0, 1000);
        pass.start(20_000);
        pass.note_batch(100, 64, 64);
        assert!(!pass.is_over());
        pass.note_batch(100, 36, 0);
        assert!(pass.is_over());
        pass.start(20_000);
        assert!(!pass.is_over());
        pass.note_batch(100, 0, 12);
        assert!(pass.is_over());
    }

    #[test]
    fn a_background_pass_that_scanned_its_goal_is_repeated() {
        let mut pass = kswapd(0, 100);
        pass.start(0);
        pass.note_batch(999, 99, 99);
        pass.note_reclaimed();
        pass.next();
        assert_eq!((pass.priority, pass.runs), (5, false));
        pass.start(0);
        pass.note_batch(999, 100, 100);
        pass.note_reclaimed();
        pass.next();
        assert_eq!(pass.priority, 5);
        pass.start(0);
        pass.note_batch(999, 200, 100);
        pass.next();
        assert_eq!(pass.priority, 4);
    }

    #[test]
    fn a_direct_reclaimer_is_done_with_32_pages_or_at_priority_0() {
        let mut pass = Pass::of(Reclaimer::Direct(FreePages { free: 0, high: 100 }));
        pass.start(0);
        (0..31).for_each(|_| pass.note_reclaimed());
        assert!(!pass.ends_direct());
        pass.note_reclaimed();
        assert!(pass.ends_direct());
        let mut pass = Pass::of(Reclaimer::Direct(FreePages { free: 0, high: 100 }));
        (0..12).for_each(|_| pass.next());
        assert!(pass.priority == 0 && pass.is_last() && !pass.ends_direct());
        pass.next();
        assert_eq!((pass.priority, pass.idle_rounds), (12, 1));
    }
}
