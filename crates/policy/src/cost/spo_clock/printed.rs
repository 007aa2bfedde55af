//! Mode `descriptor`: a fault reclaims from its region once if that is full, as Algorithm 1 is
//! printed, whether a frame is free or not.

use super::balance::Region;
use super::SpoClockPolicy;
use crate::PageView;

impl SpoClockPolicy {
    /// Reclaim until a page leaves memory: once from `target` if it is full, and then from the
    /// region most over its size.
    #[cold]
    #[inline(never)]
    pub(super) fn free_frame_as_printed(&mut self, target: Option<Region>, pages: &mut PageView) {
        let mut freed = false;
        while !freed {
            let own = target.filter(|region| !self.reclaimed && self.balance.is_full(*region));
            let Some(from) = own.or_else(|| self.balance.most_over()) else { break };
            self.reclaimed = true;
            freed = self.reclaim_from::<false>(from, pages);
        }
        self.reclaimed &= target.is_some();
    }

    /// At the end of a fault of `region`, which reclaims once if that is full, even if a frame is
    /// free.
    #[cold]
    #[inline(never)]
    pub(super) fn reclaim_as_printed(&mut self, region: Region, pages: &mut PageView) {
        if !self.reclaimed && self.balance.is_full(region) {
            self.reclaim_from::<false>(region, pages);
        }
        self.reclaimed = false;
    }
}
