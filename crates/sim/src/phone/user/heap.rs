//! An app's managed heap: which pages it has, and when allocation starts a collection.
//!
//! Source: dalvik/vm/alloc/HeapSource.cpp, `getUtilizationTarget` (Android 4.4), and
//! art/runtime/gc/heap.cc, `Heap::GrowForUtilization` (Android 5 and later): after a collection the
//! heap may grow to live / utilization, by `heapminfree` at least and `heapmaxfree` at most, times
//! a factor in the foreground (`HeapGrowthMultiplier`). Allocation beyond that collects. A
//! collection reads all live pages.
//! Deviations: the live set has a fixed size; a collection starts when the free memory is used up,
//! not a little before (`concurrent_start_bytes`); each collection is a full one, where ART's
//! sticky ones read only what was allocated since the last.

use super::layout::AppPages;
use crate::phone::spec::HeapRule;
use swaplab_vocab::PageId;

/// The pages of one app's heap: the live ones, then the free ones, which allocation writes.
pub struct Heap {
    first: PageId,
    /// Share of the app's anonymous pages that belong to the heap.
    share: f64,
    pub live: usize,
    /// Free pages after a collection, in the background and in the foreground.
    free: [usize; 2],
}

impl Heap {
    /// Divide the heap of `app`. With S pages, utilization u and growth g, the free pages F satisfy
    /// F = (S - g F) (1 / u - 1), within the limits of the rule.
    pub fn of(app: &AppPages, rule: &HeapRule) -> Heap {
        let pages = (app.anon.len() as f64 * rule.share).floor();
        let (garbage, growth) = (1.0 / rule.target_utilization - 1.0, rule.foreground_growth);
        let free = (pages * garbage / (1.0 + growth * garbage)).max(rule.min_free).min(rule.max_free);
        // A heap that is smaller than its free memory has no live page.
        let in_front = (free * growth).min(pages).round() as usize;
        let free = [in_front.min(free.round() as usize), in_front];
        Heap { first: app.anon.start, share: rule.share, live: pages as usize - in_front, free }
    }

    /// The most collections that the allocation of so many pages starts.
    pub fn collections(&self, allocations: usize) -> usize {
        let least = self.free[0].min(self.free[1]);
        if least == 0 {
            0
        } else {
            allocations.div_ceil(least)
        }
    }

    /// The page with this number in the heap, whose pages are evenly spaced among the app's
    /// anonymous pages.
    fn page(&self, number: usize) -> PageId {
        self.first + (number as f64 / self.share) as PageId
    }

    /// The page that a collection reads at this place.
    pub fn live_page(&self, number: usize) -> PageId {
        debug_assert!(number < self.live);
        self.page(number)
    }
}

/// The result of an allocation of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocated {
    /// It writes this page.
    Page(PageId),
    /// The heap is full and must be collected first.
    Full,
    /// The heap has no page to allocate.
    Nothing,
}

/// The progress of allocation since the last collection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocation {
    /// Free pages written since the last collection.
    used: usize,
    /// Part of a page that is still to be allocated.
    rest: f64,
}

impl Allocation {
    /// Pages to allocate in `ns` at `rate` pages per second.
    pub fn pages(&mut self, rate: f64, ns: u64) -> usize {
        let wanted = self.rest + rate * ns as f64 / 1e9;
        self.rest = wanted.fract();
        wanted as usize
    }

    /// Allocate one page of `heap`.
    pub fn next(&mut self, heap: &Heap, in_front: bool) -> Allocated {
        match heap.free[usize::from(in_front)] {
            0 => Allocated::Nothing,
            free if self.used >= free => Allocated::Full,
            _ => {
                self.used += 1;
                Allocated::Page(heap.page(heap.live + self.used - 1))
            }
        }
    }

    /// Note a collection: the free pages can be written again.
    pub fn collected(&mut self) {
        self.used = 0;
    }

    /// Whether anything was allocated since the last collection.
    pub fn has_garbage(&self) -> bool {
        self.used > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::user::layout::NO_PAGES;

    fn heap(pages: PageId, rule: &HeapRule) -> Heap {
        Heap::of(&AppPages { anon: 100..100 + pages, ..NO_PAGES }, rule)
    }

    /// A Nexus 5: utilization 0.75, 2 to 8 MiB free (512 to 2048 pages), half of the anonymous
    /// pages. Of 8,000 pages 4,000 are the heap, a quarter of which is free. With 20,000, 8 MiB are
    /// less than a quarter; with 3,000, 2 MiB are more; with 800, nothing is live.
    #[test]
    fn free_memory_follows_utilization_within_its_limits() {
        let rule = HeapRule {
            share: 0.5,
            target_utilization: 0.75,
            min_free: 512.0,
            max_free: 2048.0,
            foreground_growth: 1.0,
            ..HeapRule::default()
        };
        let sizes = |pages: PageId, rule: &HeapRule| {
            let heap = heap(pages, rule);
            (heap.live, heap.free)
        };
        assert_eq!(sizes(8_000, &rule), (3_000, [1_000, 1_000]));
        assert_eq!(sizes(20_000, &rule), (7_952, [2_048, 2_048]));
        assert_eq!(sizes(3_000, &rule), (988, [512, 512]));
        assert_eq!(sizes(800, &rule), (0, [400, 400]));
        // ART in the foreground: twice as much is free. Of 4,000 pages F = 4,000 / 3 / (1 + 2
        // / 3) = 800 in the background: 2,400 / 0.75 = 3,200.
        assert_eq!(sizes(8_000, &HeapRule { foreground_growth: 2.0, ..rule }), (2_400, [800, 1_600]));
    }

    /// Twelve anonymous pages from 100 on, half of them the heap: 100, 102, 104 are live and 106,
    /// 108, 110 free (utilization 0.5). The fourth allocation collects.
    #[test]
    fn allocation_collects_when_the_free_pages_are_written() {
        let rule = HeapRule { share: 0.5, target_utilization: 0.5, max_free: 9.0, foreground_growth: 1.0, ..HeapRule::default() };
        let heap = heap(12, &rule);
        assert_eq!((0..heap.live).map(|number| heap.live_page(number)).collect::<Vec<_>>(), [100, 102, 104]);
        let mut allocation = Allocation::default();
        let next: Vec<Allocated> = (0..4).map(|_| allocation.next(&heap, true)).collect();
        assert_eq!(next, [Allocated::Page(106), Allocated::Page(108), Allocated::Page(110), Allocated::Full]);
        assert!(allocation.has_garbage());
        allocation.collected();
        assert_eq!((allocation.has_garbage(), allocation.next(&heap, false)), (false, Allocated::Page(106)));
        // 1 MiB per second are 256 pages; in 10 ms 2.56 and then 3.12 - 2 of them are due.
        assert_eq!([10_000_000, 10_000_000].map(|ns| allocation.pages(256.0, ns)), [2, 3]);
        let none = super::tests::heap(12, &HeapRule { max_free: 0.0, ..rule });
        assert_eq!((none.live, Allocation::default().next(&none, true)), (6, Allocated::Nothing));
    }
}
