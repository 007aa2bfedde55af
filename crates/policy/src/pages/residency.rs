//! The runner's side of [`PageView`]: the state of every page and the number of free frames.

use super::bits::{COPIED, DIRTY, RESIDENT, TOUCHED};
use super::{PageView, CLASS_MASK, CLASS_SHIFT};
use crate::Policy;
use std::ops::{Deref, DerefMut};
use swaplab_vocab::{Class, Op, PageId};

/// The residency of every page, and the runner's side of the protocol that [`Policy`] describes. It
/// handles faults ([`fault`](Residency::fault), [`admit`](Residency::admit)), the effect of
/// references and the list of released pages. It dereferences to [`PageView`], the part that a
/// policy sees.
pub struct Residency {
    view: PageView,
    frames: usize,
    /// Number of faults, indexed by the state of the page.
    faulted: [u64; 256],
}

/// The state of a page after a reference, indexed by the operation and the state before.
static USED: [[u8; 256]; 3] = {
    let mut used = [[0; 256]; 3];
    let mut state = 0;
    while state < 256 {
        let before = state as u8;
        let private = before & CLASS_MASK == (Class::File as u8) << CLASS_SHIFT;
        (used[Op::Read as usize][state], used[Op::Fetch as usize][state]) = (before, before);
        used[Op::Write as usize][state] = before | DIRTY | if private { COPIED } else { 0 };
        state += 1;
    }
    used
};

impl Residency {
    /// A residency for a runner that handles each page from
    /// [`take_released`](Residency::take_released). The runner counts frames itself unless it calls
    /// [`with_frames`](Residency::with_frames).
    pub fn new(classes: impl Iterator<Item = Class>) -> Residency {
        let state = classes.map(|c| (c as u8) << CLASS_SHIFT).collect();
        let after = std::array::from_fn(|state| state as u8 & !RESIDENT);
        let view = PageView { state, after, released_counts: [0; 256], free: 0, released: Vec::new(), listing: true };
        Residency { view, frames: 0, faulted: [0; 256] }
    }

    /// Count free frames, of `frames` in total.
    pub fn with_frames(mut self, frames: usize) -> Residency {
        self.view.free += frames as isize - self.frames as isize;
        self.frames = frames;
        self
    }

    /// Count released pages by state instead of listing them, for a runner that needs no more.
    /// `after` maps the state of a page before its release to the state afterwards.
    pub fn counting(mut self, after: [u8; 256]) -> Residency {
        (self.view.after, self.view.listing) = (after, false);
        self
    }

    /// Handle a reference to a page that is not resident: count the fault, apply the effect of a
    /// write, and admit the page. Returns false if the policy released no page although no frame
    /// was free.
    #[inline(always)]
    pub fn fault<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op) -> bool {
        self.count_fault(page);
        // The effect of a write is applied first: to the policy, a private file page that a write
        // faults in is anonymous.
        self.note_use(page, op);
        self.admit(policy, page, op, 0)
    }

    /// Bring `page` in for a reference `op`, and keep `reserve` frames free. Returns false, and
    /// does not bring the page in, if the policy released too few pages.
    #[inline(always)]
    pub fn admit<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op, reserve: usize) -> bool {
        policy.miss(page, op, &self.view);
        if !self.make_room(policy, Some((page, op)), reserve + 1) {
            return false;
        }
        self.enter(policy, page, op);
        true
    }

    /// Make `policy` release pages until `wanted` frames are free. Returns false if it releases
    /// none. A policy that has scanned a batch in vain goes on at once: nothing else happens
    /// meanwhile.
    #[inline(always)]
    pub fn make_room<P: Policy + ?Sized>(&mut self, policy: &mut P, incoming: Option<(PageId, Op)>, wanted: usize) -> bool {
        if self.view.free < wanted as isize {
            policy.reclaim(incoming, &mut self.view);
            if self.view.free < wanted as isize {
                return self.make_more_room(policy, incoming, wanted);
            }
        }
        true
    }

    /// The rest of `make_room`, after one call of `reclaim` did not free enough frames. It is rare,
    /// hence not inlined.
    #[cold]
    fn make_more_room<P: Policy + ?Sized>(&mut self, policy: &mut P, incoming: Option<(PageId, Op)>, wanted: usize) -> bool {
        while self.view.free < wanted as isize {
            let before = self.view.free;
            policy.reclaim(incoming, &mut self.view);
            if self.view.free == before && !policy.goes_on() {
                return false;
            }
        }
        true
    }

    /// Mark `page` as resident and insert it into the policy, which has already been told of the
    /// miss.
    #[inline(always)]
    pub fn enter<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op) {
        self.view.state[page as usize] |= RESIDENT | TOUCHED;
        self.view.free -= 1;
        policy.insert(page, op, &mut self.view);
    }

    /// Put a released page that cannot leave memory back into its frame.
    pub fn put_back<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId) {
        self.view.state[page as usize] |= RESIDENT;
        self.view.free -= 1;
        policy.keep(page, &mut self.view);
    }

    /// Number of resident pages, if frames are counted here.
    pub fn resident_count(&self) -> usize {
        (self.frames as isize - self.view.free) as usize
    }

    /// Apply a reference to the state of `page`: a write makes it dirty, and a private file page
    /// also anonymous. A table lookup avoids a branch that the processor could not predict.
    #[inline]
    pub fn note_use(&mut self, page: PageId, op: Op) {
        let state = &mut self.view.state[page as usize];
        *state = USED[op as usize][*state as usize];
    }

    /// The pages from `first` on were referenced, one for each of `ops`: those that were written
    /// are dirty.
    pub fn set_dirty(&mut self, first: PageId, ops: &[Op]) {
        for (state, op) in self.view.state[first as usize..].iter_mut().zip(ops) {
            *state |= if op.is_write() { DIRTY } else { 0 };
        }
    }

    #[inline]
    pub fn count_fault(&mut self, page: PageId) {
        self.faulted[self.view.state[page as usize] as usize] += 1;
    }

    #[inline]
    pub fn set(&mut self, page: PageId, bits: u8) {
        self.view.state[page as usize] |= bits;
    }

    #[inline]
    pub fn clear(&mut self, page: PageId, bits: u8) {
        self.view.state[page as usize] &= !bits;
    }

    /// Forget a page that no longer exists, whether resident or not. Its state keeps only `bits`.
    pub fn forget_page(&mut self, page: PageId, bits: u8) {
        self.view.free += isize::from(self.view.is_resident(page));
        self.view.state[page as usize] &= bits;
    }

    /// Take the most recently released page from the list of released pages.
    #[inline]
    pub fn take_released(&mut self) -> Option<PageId> {
        self.view.released.pop()
    }

    /// Whether the policy released pages that have not been taken.
    #[inline]
    pub fn any_released(&self) -> bool {
        !self.view.released.is_empty()
    }

    /// Take all released pages, in order of release.
    pub fn drain_released(&mut self) -> impl Iterator<Item = PageId> + '_ {
        self.view.released.drain(..)
    }

    /// Faults counted so far, by the state of their page.
    pub fn faulted(&self) -> &[u64; 256] {
        &self.faulted
    }

    /// Pages released so far, by the state they were in.
    pub fn released_counts(&self) -> &[u64; 256] {
        &self.view.released_counts
    }
}

impl Deref for Residency {
    type Target = PageView;

    #[inline]
    fn deref(&self) -> &PageView {
        &self.view
    }
}

impl DerefMut for Residency {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageView {
        &mut self.view
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Costs, PolicySpec, Setup};

    #[test]
    fn a_page_that_may_not_leave_keeps_its_frame() {
        let costs = Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 };
        let setup = Setup { pages: 4, frames: 2, costs, seed: 0, future: None };
        let mut policy = PolicySpec::parse("lru").unwrap().build(&setup).unwrap();
        let mut pages = Residency::new([Class::Anonymous; 4].into_iter()).with_frames(2);
        assert!([0, 1].iter().all(|page| pages.fault(policy.as_dyn_mut(), *page, Op::Write)));
        assert_eq!((pages.resident_count(), pages.free()), (2, 0));
        assert_eq!((pages.resident_in(0..4), pages.resident_in(1..3), pages.count(0..4, |state| state & DIRTY == 0)), (2, 1, 2));
        assert!(pages.make_room(policy.as_dyn_mut(), None, 1));
        assert_eq!((pages.take_released(), pages.resident_count(), pages.free()), (Some(0), 1, 1));
        pages.put_back(policy.as_dyn_mut(), 0);
        assert_eq!((pages.resident_count(), pages.free(), pages.is_resident(0)), (2, 0, true));
        // `put_back` counts as a reference to page 0, so 1 is evicted first.
        assert!(pages.make_room(policy.as_dyn_mut(), None, 1));
        assert_eq!(pages.take_released(), Some(1));
    }

    /// Runs on both sides of the chunks that are looked at together. Each other page is dirty, and
    /// the third page after the missing one is missing too.
    #[test]
    fn a_run_ends_before_the_first_page_that_is_not_resident() {
        const PAGES: usize = 140;
        for missing in 0..PAGES {
            let mut pages = Residency::new([Class::Anonymous; PAGES].into_iter());
            for (page, state) in pages.view.state.iter_mut().enumerate() {
                *state |= if [missing, missing + 3].contains(&page) { 0 } else { RESIDENT } | if page % 2 == 0 { DIRTY } else { 0 };
            }
            for (first, most) in [0, 1, 7].into_iter().flat_map(|first| [0, 1, 31, 32, 33, 64, 65, 128, 130].map(|most| (first, most))) {
                let run = (first..first + most).take_while(|page| ![missing, missing + 3].contains(page)).count();
                assert_eq!(pages.resident_run(first as PageId, most), run, "from {first}, {most} at most, without {missing}");
            }
        }
    }
}
