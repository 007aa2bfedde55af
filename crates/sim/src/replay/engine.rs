//! The replay of one policy at one memory size: residency, dirty state, swap slots, and counts of
//! page transfers.

use super::resolve::Event;
use super::signal::{Delivery, Pending};
use super::swap::SwapSide;
use swaplab_experiment::FirstTouch;
use swaplab_policy::bits::{self, COPIED, DIRTY, MAPPED, RESIDENT, SLOT, TOUCHED};
use swaplab_policy::{AnyPolicy, Backing, Costs, Policy, Residency, Visitor};
use swaplab_swap::{Served, Stored};
use swaplab_vocab::{Access, Class, Op, PageId};

/// Page operations of one replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub references: u64,
    /// References to pages that were not in memory, including zero-fills.
    pub faults: u64,
    pub swap_reads: u64,
    pub swap_writes: u64,
    pub file_reads: u64,
    pub file_writes: u64,
}

/// Time of these operations in nanoseconds: of each kind in [`Counts`], and of all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub swap_read_ns: u64,
    pub swap_write_ns: u64,
    pub file_read_ns: u64,
    pub file_write_ns: u64,
    pub io_time_ns: u64,
}

impl Times {
    /// Set the times for which a scheme's media were busy with reads and writes.
    pub fn set_swap(&mut self, (read_ns, write_ns): (u64, u64)) {
        (self.swap_read_ns, self.swap_write_ns) = (read_ns, write_ns);
        self.io_time_ns = read_ns + write_ns + self.file_read_ns + self.file_write_ns;
    }
}

impl Counts {
    /// Times of these counts at `costs`.
    pub fn times(&self, costs: &Costs) -> Times {
        let swap_read_ns = self.swap_reads * costs.swap_read_ns;
        let swap_write_ns = self.swap_writes * costs.swap_write_ns;
        let file_read_ns = self.file_reads * costs.file_read_ns;
        let file_write_ns = self.file_writes * costs.file_write_ns;
        let io_time_ns = swap_read_ns + swap_write_ns + file_read_ns + file_write_ns;
        Times { swap_read_ns, swap_write_ns, file_read_ns, file_write_ns, io_time_ns }
    }
}

/// By state of a page, its state after an eviction without a scheme: a dirty page is written to its
/// slot or to its file.
const LEFT: [u8; 256] = {
    let mut left = [0; 256];
    let mut state = 0;
    while state < 256 {
        let before = state as u8;
        let to_slot = before & DIRTY != 0 && matches!(bits::backing(before), Backing::Swap);
        left[state] = (before & !(DIRTY | RESIDENT)) | if to_slot { SLOT } else { 0 };
        state += 1;
    }
    left
};

/// Distance in references at which the replay prefetches the state of pages.
const AHEAD: usize = 24;

pub struct Engine {
    /// Its faults and releases by page state give the numbers of reads and writes, except those of
    /// the scheme.
    pages: Residency,
    frames: usize,
    /// References, and operations of the scheme.
    counted: Counts,
    pending: Pending,
    /// The swap scheme, if any. Without one, a fault on an anonymous page reads swap and a dirty
    /// victim is written to swap.
    pub swap: Option<Box<SwapSide>>,
    /// The reason why the replay cannot continue, if it cannot.
    stuck: Option<String>,
}

impl Engine {
    pub fn new(
        classes: &[Class],
        frames: usize,
        first_touch: FirstTouch,
        delivery: Delivery,
        mut swap: Option<Box<SwapSide>>,
    ) -> Result<Engine, String> {
        let mut pages = Residency::new(classes.iter().copied()).with_frames(frames);
        if swap.is_none() {
            pages = pages.counting(LEFT);
        }
        if first_touch == FirstTouch::Charged {
            for (page, _) in classes.iter().enumerate().filter(|(_, class)| **class == Class::Anonymous) {
                pages.set(page as PageId, SLOT);
                if let Some(swap) = &mut swap {
                    if !swap.adopt(page as PageId) {
                        return Err(swap.full());
                    }
                }
            }
        }
        let pending = Pending::new(delivery, classes.len());
        Ok(Engine { pages, frames, counted: Counts::default(), pending, swap, stuck: None })
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counted;
        for (state, (faults, gone)) in (0..=u8::MAX).zip(self.pages.faulted().iter().zip(self.pages.released_counts())) {
            counts.faults += faults;
            let written = if state & DIRTY != 0 { *gone } else { 0 };
            match bits::backing(state) {
                Backing::Swap => {
                    counts.swap_reads += if state & SLOT != 0 { *faults } else { 0 };
                    counts.swap_writes += if self.swap.is_none() { written } else { 0 };
                }
                Backing::File => {
                    counts.file_reads += faults;
                    counts.file_writes += written;
                }
            }
        }
        counts
    }

    /// Replay a run of references. Fails if the policy frees no frame, or if swap is full.
    pub fn run(&mut self, policy: &mut AnyPolicy, accesses: &[Access]) -> Result<(), String> {
        struct Exact<'a>(&'a mut Engine, &'a [Access]);
        impl Visitor for Exact<'_> {
            type Output = ();
            fn visit<P: Policy + ?Sized>(self, policy: &mut P) {
                self.0.run_exact(policy, self.1);
            }
        }
        match self.pending.delivery {
            Delivery::Exact => policy.visit(Exact(self, accesses)),
            _ => self.run_degraded(policy.as_dyn_mut(), accesses),
        }
        self.counted.references += accesses.len() as u64;
        self.stuck.take().map_or(Ok(()), Err)
    }

    #[inline]
    fn run_exact<P: Policy + ?Sized>(&mut self, policy: &mut P, accesses: &[Access]) {
        let (most, last) = accesses.split_at(accesses.len().saturating_sub(AHEAD));
        for (access, soon) in most.iter().zip(&accesses[accesses.len() - most.len()..]) {
            self.pages.prefetch(soon.page());
            policy.prefetch(soon.page());
            self.step(policy, *access);
        }
        for access in last {
            self.step(policy, *access);
        }
    }

    #[inline(always)]
    fn step<P: Policy + ?Sized>(&mut self, policy: &mut P, access: Access) {
        let page = access.page();
        if self.pages.is_resident(page) {
            self.pages.note_use(page, access.op());
            policy.touch(page, access.op(), &self.pages);
        } else {
            self.fault(policy, access);
        }
    }

    /// As `run_exact`, but the policy is told of hits only through [`Pending`].
    fn run_degraded(&mut self, policy: &mut dyn Policy, accesses: &[Access]) {
        for access in accesses {
            let page = access.page();
            if self.pages.is_resident(page) {
                self.pages.note_use(page, access.op());
                self.pending.note(*access);
            } else {
                self.fault(policy, *access);
            }
            self.pending.step(policy, &self.pages);
        }
    }

    #[inline(always)]
    fn fault<P: Policy + ?Sized>(&mut self, policy: &mut P, access: Access) {
        if self.swap.is_some() {
            return self.fault_with_scheme(policy, access);
        }
        if !self.pages.fault(policy, access.page(), access.op()) {
            self.no_frame();
        }
    }

    #[cold]
    fn no_frame(&mut self) {
        let why = || format!("released no page, and all page frames are in use (frames: {})", self.frames);
        self.stuck.get_or_insert_with(why);
    }

    fn admit<P: Policy + ?Sized>(&mut self, policy: &mut P, page: PageId, op: Op) {
        if !self.pages.admit(policy, page, op, 0) {
            self.no_frame();
        }
    }

    #[cold]
    #[inline(never)]
    fn fault_with_scheme<P: Policy + ?Sized>(&mut self, policy: &mut P, access: Access) {
        let (page, op) = (access.page(), access.op());
        let swapped = self.pages.backing(page) == Backing::Swap;
        if !swapped {
            self.pages.count_fault(page);
        } else if !self.swap_in(page, op) {
            return;
        }
        self.pages.note_use(page, access.op());
        self.admit(policy, page, op);
        self.store_released();
        if swapped && self.swap.as_ref().is_some_and(|s| !s.ahead.is_empty()) {
            self.admit_ahead(policy);
        }
    }

    /// Let the scheme serve a fault. Returns whether the page needs a frame.
    #[cold]
    fn swap_in(&mut self, page: PageId, op: Op) -> bool {
        let swap = self.swap.as_mut().expect("swap_in is called only with a scheme");
        let mapped = self.pages.bits(page) & MAPPED != 0;
        if mapped && !op.is_write() {
            swap.mapped_reference();
            return false;
        }
        self.counted.faults += 1;
        self.pages.clear(page, MAPPED | SLOT);
        match swap.fault(page, op, mapped) {
            Served::MappedInPlace => {
                swap.mapped_reference();
                self.pages.set(page, MAPPED | SLOT | TOUCHED);
                return false;
            }
            Served::Copied { kept } => {
                self.counted.swap_reads += 1;
                self.pages.set(page, if kept { SLOT } else { DIRTY });
            }
            Served::ZeroFilled => {}
        }
        true
    }

    /// Give frames to the pages of readahead. They are clean, and the policy is told of a read of
    /// each.
    #[cold]
    fn admit_ahead<P: Policy + ?Sized>(&mut self, policy: &mut P) {
        let ahead = self.swap.as_mut().map(|s| std::mem::take(&mut s.ahead)).unwrap_or_default();
        for page in ahead {
            self.pages.set(page, SLOT);
            self.admit(policy, page, Op::Read);
            self.store_released();
        }
    }

    /// Hand the scheme the pages that the policy released.
    fn store_released(&mut self) {
        while let Some(page) = self.pages.take_released() {
            if self.pages.backing(page) == Backing::Swap {
                self.swap_out(page, self.pages.is_dirty(page));
            }
            self.pages.clear(page, DIRTY);
        }
    }

    #[cold]
    fn swap_out(&mut self, page: PageId, dirty: bool) {
        let swap = self.swap.as_mut().expect("swap_out is called only with a scheme");
        match swap.swap_out(page, dirty) {
            Stored::Written => {
                self.counted.swap_writes += 1;
                self.pages.set(page, SLOT);
            }
            Stored::Unchanged | Stored::Dropped => {}
            Stored::Full => {
                let why = swap.full();
                self.stuck.get_or_insert(why);
            }
        }
    }

    /// Apply a mapping event: anonymous content is dropped without a write, file-backed pages stay
    /// in the page cache. A page that was never touched has no content to drop, so its first touch
    /// still costs what [`FirstTouch`] says.
    pub fn apply(&mut self, policy: &mut AnyPolicy, event: &Event) {
        for &page in &event.freed {
            if self.pages.backing(page) == Backing::File || self.pages.bits(page) & TOUCHED == 0 {
                continue;
            }
            self.pages.forget_page(page, !(RESIDENT | DIRTY | SLOT | COPIED | MAPPED));
            if let Some(swap) = &mut self.swap {
                swap.discard(page);
            }
            self.pending.forget(page);
            policy.as_dyn_mut().forget(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_cost() {
        let counts = Counts { swap_reads: 2, swap_writes: 3, file_reads: 5, file_writes: 7, ..Counts::default() };
        let costs = Costs { swap_read_ns: 11, swap_write_ns: 13, file_read_ns: 17, file_write_ns: 19 };
        let mut times = counts.times(&costs);
        assert_eq!([times.swap_read_ns, times.swap_write_ns, times.file_read_ns, times.file_write_ns], [22, 39, 85, 133]);
        assert_eq!(times.io_time_ns, 279);
        times.set_swap((30, 7));
        assert_eq!((times.swap_read_ns, times.swap_write_ns, times.io_time_ns), (30, 7, 30 + 7 + 85 + 133));
    }
}
