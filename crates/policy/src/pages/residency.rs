//! Who is in memory: the state of every page and the free frames, as their runner owns them.

use super::bits::{COPIED, DIRTY, RESIDENT, TOUCHED};
use super::{PageView, CLASS_MASK, CLASS_SHIFT};
use crate::Policy;
use std::ops::{Deref, DerefMut};
use swaplab_vocab::{Class, Op, PageId};

/// The residency of every page and the runner's side of the protocol that [`Policy`] describes: [`fault`](Residency::fault),
/// [`admit`](Residency::admit), what a reference does to a page, and which pages have left. It dereferences to the [`PageView`] that a
/// policy is shown, from which there is no way back.
pub struct Residency {
    view: PageView,
    frames: usize,
    /// Faults by the state of their page.
    faulted: [u64; 256],
}

/// The state of a page after a reference, by its operation and the state before.
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
    /// For a runner that takes each page from [`take_released`](Residency::take_released) and deals with what its state asks for. It
    /// counts its frames itself unless [`with_frames`](Residency::with_frames) is called.
    pub fn new(classes: impl Iterator<Item = Class>) -> Residency {
        let state = classes.map(|c| (c as u8) << CLASS_SHIFT).collect();
        let after = std::array::from_fn(|state| state as u8 & !RESIDENT);
        let view = PageView { state, after, gone: [0; 256], free: 0, released: Vec::new(), listing: true };
        Residency { view, frames: 0, faulted: [0; 256] }
    }

    /// Memory has so many frames.
    pub fn with_frames(mut self, frames: usize) -> Residency {
        self.view.free += frames as isize - self.frames as isize;
        self.frames = frames;
        self
    }

    /// For a runner to which the number of pages released in each state says everything; `after` is their state from then on.
    pub fn counting(mut self, after: [u8; 256]) -> Residency {
        (self.view.after, self.view.listing) = (after, false);
        self
    }

    /// A reference to a page that is not in memory: count it, note what a write does, and admit the page. False if the policy gave no
    /// frame.
    #[inline(always)]
    pub fn fault<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op) -> bool {
        self.count_fault(page);
        // The write comes first: a private file page that is faulted in by a write is an anonymous page to the policy.
        self.note_use(page, op);
        self.admit(policy, page, op, 0)
    }

    /// Bring `page` in because of a reference `op`, so that `reserve` frames stay free. False if the policy gave no frame for it: then it
    /// is still outside.
    #[inline(always)]
    pub fn admit<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op, reserve: usize) -> bool {
        policy.miss(page, op, &self.view);
        if !self.make_room(policy, Some((page, op)), reserve + 1) {
            return false;
        }
        self.enter(policy, page, op);
        true
    }

    /// Have `policy` release pages until `wanted` frames are free. False if it releases none.
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

    /// One release was not enough.
    #[cold]
    fn make_more_room<P: Policy + ?Sized>(&mut self, policy: &mut P, incoming: Option<(PageId, Op)>, wanted: usize) -> bool {
        while self.view.free < wanted as isize {
            let before = self.view.free;
            policy.reclaim(incoming, &mut self.view);
            if self.view.free == before {
                return false;
            }
        }
        true
    }

    /// `page` is in a frame from now on. `policy` has heard of its miss.
    #[inline(always)]
    pub fn enter<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op) {
        self.view.state[page as usize] |= RESIDENT | TOUCHED;
        self.view.free -= 1;
        policy.insert(page, op, &mut self.view);
    }

    /// `page` was released and may not leave: it keeps its frame.
    pub fn put_back<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId) {
        self.view.state[page as usize] |= RESIDENT;
        self.view.free -= 1;
        policy.keep(page, &mut self.view);
    }

    /// Pages in frames, where this counts them.
    pub fn held(&self) -> usize {
        (self.frames as isize - self.view.free) as usize
    }

    /// What a reference does to the state of `page`: a write makes it dirty, and anonymous from now on if it is a private file page. By
    /// a table: which references write is no pattern that a processor could foresee.
    #[inline]
    pub fn note_use(&mut self, page: PageId, op: Op) {
        let state = &mut self.view.state[page as usize];
        *state = USED[op as usize][*state as usize];
    }

    /// The pages from `first` on were referenced, one for each of `ops`: those that were written are dirty.
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

    /// The page ceases to exist, in memory or not; its state keeps only `bits`.
    pub fn vanish(&mut self, page: PageId, bits: u8) {
        self.view.free += isize::from(self.view.is_resident(page));
        self.view.state[page as usize] &= bits;
    }

    /// Take the page that the policy released last, if one is left.
    #[inline]
    pub fn take_released(&mut self) -> Option<PageId> {
        self.view.released.pop()
    }

    /// Whether the policy released pages that have not been taken.
    #[inline]
    pub fn any_released(&self) -> bool {
        !self.view.released.is_empty()
    }

    /// Take all pages that the policy released, in their order.
    pub fn drain_released(&mut self) -> impl Iterator<Item = PageId> + '_ {
        self.view.released.drain(..)
    }

    /// Faults counted so far, by the state of their page.
    pub fn faulted(&self) -> &[u64; 256] {
        &self.faulted
    }

    /// Pages released so far, by the state they were in.
    pub fn gone(&self) -> &[u64; 256] {
        &self.view.gone
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
        assert_eq!((pages.held(), pages.free()), (2, 0));
        assert!(pages.make_room(policy.as_dyn_mut(), None, 1));
        assert_eq!((pages.take_released(), pages.held(), pages.free()), (Some(0), 1, 1));
        pages.put_back(policy.as_dyn_mut(), 0);
        assert_eq!((pages.held(), pages.free(), pages.is_resident(0)), (2, 0, true));
        // It was given a turn of its own: 1 goes before it.
        assert!(pages.make_room(policy.as_dyn_mut(), None, 1));
        assert_eq!(pages.take_released(), Some(1));
    }
}
