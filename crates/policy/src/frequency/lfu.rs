//! What: evicts the page with the fewest references since it was brought in; among equals, the one
//! that reached that count first.
//! Why: the reference policy for frequency, as LRU is for recency.
//! Source: the constant-time list of counts of Shah, Mitra and Matani, "An O(1) algorithm for
//! implementing the LFU cache eviction scheme", 2010.
//! Deviations: counts are forgotten at eviction (in-cache LFU) and saturate at 2^30 - 1. Only pages
//! with low counts are kept in order, in one class per count. A page with a higher count only has
//! its count and last reference time noted, so that a hit on it is cheap; such pages are ordered
//! when no class is left.
//! Weakness: past references count as long as a page stays; a new page is the first victim, however
//! soon it is needed again.

use crate::containers::queues::{Queue, Queues};
use crate::{Describe, Entry, Info, PageView, Policy, Setup, Signal};
use swaplab_vocab::{Op, PageId, Params, Result};

/// The class of count 0, which holds no page.
const GROUND: u32 = 0;

/// A reference count that some pages share. They are in the queue of the same index, in the order
/// in which they reached the count.
#[derive(Clone, Copy)]
struct Class {
    count: u64,
    /// The classes with the next higher and the next lower count.
    up: u32,
    down: u32,
}

pub struct LfuPolicy {
    queues: Queues<u64>,
    /// Classes, linked by `up` and `down` into a ring that starts at `GROUND`.
    classes: Vec<Class>,
    /// Unused classes, which are not in the ring.
    free: Vec<u32>,
    /// The highest count for which a class may exist. Pages with higher counts only have their
    /// count and the time of their last reference noted, until
    /// [`rebuild_classes`](LfuPolicy::rebuild_classes) orders them into classes.
    highest: u64,
    /// Candidates for the pages above `highest`: a page may be listed twice, or have left since.
    /// `above_len` is the exact number of such pages. `now` advances by one at each reference to
    /// one of them.
    above: Vec<PageId>,
    above_len: usize,
    now: u64,
}

/// A note is a count shifted left by this many bits, plus a time.
const TIME_BITS: u32 = 32;
/// Counts saturate here.
const MOST: u64 = (1 << 30) - 1;

impl Describe for LfuPolicy {
    const ENTRY: Entry = Entry {
        key: "lfu",
        what: "least frequently used since it came in",
        source: "Shah, Mitra and Matani 2010",
        parameters: &[],
        info: Info::online(Signal::Exact),
    };

    fn build(setup: &Setup, _: &Params) -> Result<LfuPolicy> {
        let mut queues = Queues::new(setup.pages);
        let Queue(ground) = queues.add();
        let classes = vec![Class { count: 0, up: ground, down: ground }];
        Ok(LfuPolicy { queues, classes, free: Vec::new(), highest: 1, above: Vec::new(), above_len: 0, now: 0 })
    }
}

impl LfuPolicy {
    /// The class whose count is one above that of `below`.
    #[inline]
    fn class_above(&mut self, below: u32) -> Queue {
        let Class { count, up, .. } = self.classes[below as usize];
        if self.classes[up as usize].count == count + 1 {
            Queue(up)
        } else {
            self.class_between(below, up)
        }
    }

    #[inline(never)]
    fn class_between(&mut self, below: u32, above: u32) -> Queue {
        let class = Class { count: self.classes[below as usize].count + 1, up: above, down: below };
        let new = self.free.pop().unwrap_or_else(|| {
            self.classes.push(class);
            self.queues.add().0
        });
        self.classes[new as usize] = class;
        self.classes[below as usize].up = new;
        self.classes[above as usize].down = new;
        Queue(new)
    }

    /// Remove a class that has lost its last page.
    #[inline]
    fn remove_if_empty(&mut self, home: Queue) {
        if self.queues.is_empty(home) {
            self.remove_class(home);
        }
    }

    #[inline(never)]
    fn remove_class(&mut self, empty: Queue) {
        let Class { up, down, .. } = self.classes[empty.0 as usize];
        self.classes[down as usize].up = up;
        self.classes[up as usize].down = down;
        self.queues.shrink(empty);
        self.free.push(empty.0);
    }

    /// Note the count of a page above all classes, with the current time.
    #[inline]
    fn note(&mut self, page: PageId, count: u64) {
        if self.now >> TIME_BITS != 0 {
            self.renumber_times();
        }
        self.queues.note(page, count.min(MOST) << TIME_BITS | self.now);
        self.now += 1;
    }

    /// Move a page from the highest class to the pages above it.
    #[inline]
    fn move_above_classes(&mut self, page: PageId) {
        if self.above.len() >= 2 * self.above_len + 64 {
            self.above = self.notes().into_iter().map(|(_, page)| page).collect();
        }
        self.queues.remove(page);
        self.note(page, self.highest + 1);
        self.above.push(page);
        self.above_len += 1;
    }

    /// The notes of all pages above the classes, in order of count and time.
    fn notes(&self) -> Vec<(u64, PageId)> {
        let mut counted: Vec<(u64, PageId)> = self.above.iter().filter_map(|page| Some((self.queues.noted(*page)?, *page))).collect();
        counted.sort_unstable();
        counted.dedup();
        counted
    }

    /// Rebuild classes when none is left, from the quarter of the noted pages that has the lowest
    /// counts.
    #[cold]
    #[inline(never)]
    fn rebuild_classes(&mut self) {
        let notes = self.notes();
        let Some((quarter, _)) = notes.get(notes.len() / 4) else { return };
        self.highest = quarter >> TIME_BITS;
        let mut top = Queue(GROUND);
        let woken = notes.partition_point(|(note, _)| note >> TIME_BITS <= self.highest);
        for (note, page) in &notes[..woken] {
            if self.classes[top.0 as usize].count != note >> TIME_BITS {
                top = self.class_between(top.0, GROUND);
                self.classes[top.0 as usize].count = note >> TIME_BITS;
            }
            self.queues.push(top, *page);
        }
        self.above = notes[woken..].iter().map(|(_, page)| *page).collect();
        self.above_len = self.above.len();
    }

    /// Renumber the times from zero in the same order, before the time overflows.
    #[cold]
    #[inline(never)]
    fn renumber_times(&mut self) {
        let mut notes = self.notes();
        notes.sort_unstable_by_key(|(note, _)| *note as u32);
        for (time, (note, page)) in notes.iter().enumerate() {
            self.queues.note(*page, note >> TIME_BITS << TIME_BITS | time as u64);
        }
        self.now = notes.len() as u64;
    }
}

impl Policy for LfuPolicy {
    #[inline]
    fn prefetch(&self, page: PageId) {
        self.queues.prefetch(page);
    }

    #[inline]
    fn touch(&mut self, page: PageId, _: Op, _: &PageView) {
        if let Some(note) = self.queues.noted(page) {
            return self.note(page, (note >> TIME_BITS) + 1);
        }
        let Some(home) = self.queues.home(page) else { return };
        let Class { count, up, .. } = self.classes[home.0 as usize];
        if count == self.highest {
            self.move_above_classes(page);
        } else if self.queues.len(home) == 1 && self.classes[up as usize].count != count + 1 {
            self.classes[home.0 as usize].count += 1; // alone with its count: the class moves up
            return;
        } else {
            let above = self.class_above(home.0);
            self.queues.move_to(above, page);
        }
        self.remove_if_empty(home);
    }

    #[inline(always)]
    fn reclaim(&mut self, _: Option<(PageId, Op)>, pages: &mut PageView) {
        if self.classes[GROUND as usize].up == GROUND {
            self.rebuild_classes();
        }
        let lowest = Queue(self.classes[GROUND as usize].up);
        if let Some(victim) = self.queues.pop(lowest) {
            pages.prefetch(self.queues.coming(lowest));
            self.remove_if_empty(lowest);
            pages.release(victim);
        }
    }

    #[inline(always)]
    fn insert(&mut self, page: PageId, _: Op, _: &mut PageView) {
        let lowest = self.class_above(GROUND);
        self.queues.push(lowest, page);
    }

    fn forget(&mut self, page: PageId) {
        self.above_len -= usize::from(self.queues.noted(page).is_some());
        let home = self.queues.home(page);
        self.queues.remove(page);
        if let Some(home) = home {
            self.remove_if_empty(home);
        }
    }

    fn check(&self, pages: &PageView) -> std::result::Result<(), String> {
        self.queues.check()?;
        let mut listed: Vec<PageId> = self.notes().into_iter().map(|(_, page)| page).collect();
        if listed.len() != self.above_len {
            return Err(format!("{} pages are noted, not {}", listed.len(), self.above_len));
        }
        let mut home = GROUND;
        loop {
            let (below, count) = (home, self.classes[home as usize].count);
            home = self.classes[home as usize].up;
            let class = self.classes[home as usize];
            if class.down != below {
                return Err(format!("class {home} is above class {below}, but its lower neighbor is {}", class.down));
            }
            if home == GROUND {
                return crate::check_residency(pages, listed.into_iter());
            }
            if class.count <= count || class.count > self.highest || self.queues.is_empty(Queue(home)) {
                return Err(format!("class {home} of count {} is above the class of count {count}", class.count));
            }
            listed.extend(self.queues.iter(Queue(home)));
        }
    }
}

#[cfg(test)]
mod tests;
