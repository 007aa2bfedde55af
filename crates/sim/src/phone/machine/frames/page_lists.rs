//! The free pages that a processor keeps for itself. An allocation takes a page from its list, and
//! an empty list is filled from the free memory of the zone, with twice as many pages each time
//! while nothing is freed. A freed page goes to the list, and a full list is emptied by more pages
//! at a time the more were freed in a row. Only the zone's free pages count at the watermarks.
//!
//! Source: Linux 6.12, mm/page_alloc.c: `nr_pcp_alloc`, `nr_pcp_free`, `nr_pcp_high`,
//! `free_unref_page_commit`, `zone_batchsize`, `zone_highsize`.
//! Deviations: one list for all kinds of memory and one processor, also where kswapd shares that of
//! the app on a machine with several, which would each have a part; the largest size of the list is
//! its least one (`high_min`), to which it returns under pressure; pages freed and allocated
//! between two calls of [`follow`](PageLists::follow) cancel out.

/// `CONFIG_PCP_BATCH_SCALE_MAX`.
const MOST_DOUBLINGS: u32 = 5;
/// No batch is larger than 1 MiB, in pages of 4 KiB.
const MOST_BATCH: usize = 256;

pub struct PageLists {
    /// Number of pages on the list.
    count: usize,
    /// Free frames at the last call of `follow`, those of the list included.
    free: usize,
    batch: usize,
    /// The size at which pages go back to the zone while nothing is reclaimed.
    high: usize,
    /// Doublings of the next batch that is taken (`alloc_factor`).
    doublings: u32,
    /// Pages freed in a row (`free_count`).
    freed: usize,
}

impl PageLists {
    /// Create the lists of a machine of `frames` frames, whose low watermark is `low`.
    pub fn new(frames: usize, low: usize) -> PageLists {
        let quarter = ((frames >> 10).min(MOST_BATCH) / 4).max(1);
        let power = 1 << (quarter + quarter / 2).ilog2();
        let batch = (power - 1).max(1);
        PageLists { count: 0, free: 0, batch, high: low.max(4 * batch), doublings: 0, freed: 0 }
    }

    /// Number of free pages that the zone does not have.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Take over that `free` frames are free now, those of the list included. `reclaims`: whether
    /// kswapd is awake, which keeps the list short (`ZONE_RECLAIM_ACTIVE`).
    pub fn follow(&mut self, free: usize, reclaims: bool) {
        let before = std::mem::replace(&mut self.free, free);
        (free..before).rev().for_each(|left| self.take(left + 1));
        (before..free).for_each(|_| self.give(reclaims));
        self.count = self.count.min(free);
    }

    /// Give all pages back to the zone (`drain_all_pages`).
    pub fn drain(&mut self) {
        self.count = 0;
    }

    /// Allocate one of `free` pages.
    fn take(&mut self, free: usize) {
        self.freed >>= 1;
        if self.count == 0 {
            let (batch, most) = (self.batch << self.doublings, self.high.saturating_sub(self.batch).max(self.batch));
            if batch <= most && self.doublings < MOST_DOUBLINGS {
                self.doublings += 1;
            }
            self.count = batch.min(most).min(free);
        }
        self.count = self.count.saturating_sub(1);
    }

    /// Free a page.
    fn give(&mut self, reclaims: bool) {
        self.doublings >>= 1;
        self.count += 1;
        self.freed = (self.freed + 1).min(self.batch << MOST_DOUBLINGS);
        let high = if reclaims { self.high.min(4 * self.batch) } else { self.high };
        if self.count >= high {
            self.count -= self.freed.clamp(self.batch, (high - self.batch).max(self.batch)).min(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 57,344 pages, of which a 1024th is 56: a quarter of it is 14, and 14 + 7 is at least 16.
    fn lists() -> PageLists {
        PageLists::new(57_344, 558)
    }

    #[test]
    fn sizes_are_those_of_the_kernel() {
        assert_eq!((lists().batch, lists().high), (15, 558));
        let of = |lists: PageLists| (lists.batch, lists.high);
        assert_eq!([of(PageLists::new(1 << 20, 4000)), of(PageLists::new(1 << 20, 0))], [(63, 4000), (63, 252)]);
        assert_eq!(of(PageLists::new(4096, 9)), (1, 9));
    }

    /// A row of allocations takes 15, 30, 60, 120, 240 and then 480 pages from the zone.
    #[test]
    fn an_empty_list_is_filled_with_twice_as_many_pages_each_time() {
        let mut lists = lists();
        lists.free = 10_000;
        let zone: Vec<usize> = [9_999, 9_985, 9_984, 9_954, 9_894, 9_774, 9_534, 9_054]
            .map(|free| {
                lists.follow(free, false);
                free - lists.count()
            })
            .into();
        assert_eq!(zone, [9_985, 9_985, 9_955, 9_895, 9_775, 9_535, 9_055, 8_575]);
    }

    /// The list has 480 pages when reclaim begins. The first page that is freed makes it too long:
    /// 15 pages leave it, as with each of the next ones, until it has fewer than 60.
    #[test]
    fn a_long_list_is_emptied_by_the_first_pages_that_are_freed() {
        let mut lists = lists();
        (lists.free, lists.count, lists.doublings) = (569, 479, 5);
        let counts: Vec<usize> = (570..600)
            .map(|free| {
                lists.follow(free, true);
                lists.count()
            })
            .collect();
        assert_eq!(counts[..3], [465, 451, 437]);
        assert!(counts.windows(2).all(|pair| pair[0] < 60 || pair[1] < pair[0]) && counts[29] < 60, "{counts:?}");
        // The batch of an allocation is the smallest again.
        assert_eq!(lists.doublings, 0);
    }

    #[test]
    fn without_reclaim_the_list_keeps_as_many_pages_as_the_low_watermark() {
        let mut lists = lists();
        lists.follow(557, false);
        assert_eq!(lists.count(), 557);
        // 480 pages in a row are counted, and 480 leave the list.
        lists.follow(558, false);
        assert_eq!(lists.count(), 78);
        lists.drain();
        assert_eq!(lists.count(), 0);
        // There are never more pages on the list than free ones.
        lists.follow(600, false);
        lists.count = 42;
        lists.follow(3, false);
        assert!(lists.count() <= 3);
    }
}
