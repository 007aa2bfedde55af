//! Queues of pages; a page is in at most one of them. Any page can leave, or move to the end of any queue, at
//! no cost: its old entry stays behind as a stale one and is skipped when it comes to the front. Entries lie in rings that
//! are written in order, so a move touches one word of the page's own and the end of a ring, where a linked list would
//! touch places all over memory. Four queues take four bytes a page ([`Queues`]), any number of them eight (`Queues<u64>`).

use std::ops::IndexMut;
use swaplab_vocab::{prefetch, PageId};

/// One of the queues of a [`Queues`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub u32);

/// Entries of a ring at the start; it grows to at most four times the pages that it holds.
const FEWEST: usize = 16;

/// Entries by which the front of a queue is looked ahead of.
const AHEAD: usize = 12;

pub struct Ring {
    /// A power of two of entries.
    entries: Vec<PageId>,
    /// Positions of the first entry and behind the last one; both only grow, and wrap around the ring.
    head: usize,
    tail: usize,
    /// Pages queued, stale entries not counted.
    len: usize,
}

impl Ring {
    fn new() -> Ring {
        Ring { entries: vec![0; FEWEST], head: 0, tail: 0, len: 0 }
    }

    #[inline]
    fn coming(&self) -> PageId {
        self.entries[(self.head + AHEAD) & (self.entries.len() - 1)]
    }
}

/// Where a page's entry is: a queue and a place on its ring.
pub trait At: Copy + Eq {
    type Rings: IndexMut<usize, Output = Ring> + AsRef<[Ring]>;
    /// In no queue.
    const NONE: Self;
    fn rings() -> Self::Rings;
    fn new(place: usize, queue: Queue) -> Self;
    fn is_queued(self) -> bool;
    /// The queue, of a page that is in one.
    fn queue(self) -> Queue;
}

impl At for u32 {
    type Rings = [Ring; 4];
    const NONE: u32 = u32::MAX;

    fn rings() -> [Ring; 4] {
        std::array::from_fn(|_| Ring::new())
    }

    #[inline]
    fn new(place: usize, queue: Queue) -> u32 {
        (place as u32) << 2 | queue.0
    }

    #[inline]
    fn is_queued(self) -> bool {
        self != Self::NONE
    }

    #[inline]
    fn queue(self) -> Queue {
        Queue(self % 4)
    }
}

/// Set in the word of a page that is in no queue; the rest is what its policy noted there, or all ones.
const NOTE: u64 = 1 << 63;

impl At for u64 {
    type Rings = Vec<Ring>;
    const NONE: u64 = u64::MAX;

    fn rings() -> Vec<Ring> {
        Vec::new()
    }

    #[inline]
    fn new(place: usize, queue: Queue) -> u64 {
        (place as u64) << 32 | u64::from(queue.0)
    }

    #[inline]
    fn is_queued(self) -> bool {
        self < NOTE
    }

    #[inline]
    fn queue(self) -> Queue {
        Queue(self as u32)
    }
}

pub struct Queues<A: At = u32> {
    rings: A::Rings,
    /// Of each page. Its entries elsewhere are stale.
    at: Vec<A>,
}

impl Queues<u64> {
    /// One more queue.
    pub fn add(&mut self) -> Queue {
        self.rings.push(Ring::new());
        Queue(self.rings.len() as u32 - 1)
    }

    /// Keep a number below 2^63 - 1 for a page that is in no queue, until it enters one or is removed.
    #[inline]
    pub fn note(&mut self, page: PageId, number: u64) {
        debug_assert!(!self.contains(page) && number < NOTE - 1);
        self.at[page as usize] = NOTE | number;
    }

    /// The number noted for a page.
    #[inline]
    pub fn noted(&self, page: PageId) -> Option<u64> {
        let word = self.at[page as usize];
        (word >= NOTE && word != u64::NONE).then_some(word ^ NOTE)
    }

    /// Give back what a queue without pages has grown to.
    pub fn shrink(&mut self, queue: Queue) {
        debug_assert!(self.is_empty(queue));
        let ring = &mut self.rings[queue.0 as usize];
        if ring.entries.len() > FEWEST {
            *ring = Ring::new();
        }
    }
}

impl<A: At> Queues<A> {
    pub fn new(pages: usize) -> Queues<A> {
        Queues { rings: A::rings(), at: vec![A::NONE; pages] }
    }

    #[inline]
    pub fn len(&self, queue: Queue) -> usize {
        self.rings[queue.0 as usize].len
    }

    #[inline]
    pub fn is_empty(&self, queue: Queue) -> bool {
        self.len(queue) == 0
    }

    /// Whether the page is in any queue.
    #[inline]
    pub fn contains(&self, page: PageId) -> bool {
        self.at[page as usize].is_queued()
    }

    /// The queue a page is in.
    #[inline]
    pub fn home(&self, page: PageId) -> Option<Queue> {
        let at = self.at[page as usize];
        at.is_queued().then(|| at.queue())
    }

    #[inline]
    pub fn is_in(&self, queue: Queue, page: PageId) -> bool {
        self.home(page) == Some(queue)
    }

    /// Put a page that is in no queue at the end of one.
    #[inline]
    pub fn push(&mut self, queue: Queue, page: PageId) {
        self.rings[queue.0 as usize].len += 1;
        self.enter(queue, page);
    }

    /// Move a page from whichever queue it is in to the end of `queue`, which may be the same.
    #[inline]
    pub fn move_to(&mut self, queue: Queue, page: PageId) {
        self.rings[self.at[page as usize].queue().0 as usize].len -= 1;
        self.rings[queue.0 as usize].len += 1;
        self.enter(queue, page);
    }

    #[inline]
    fn enter(&mut self, queue: Queue, page: PageId) {
        let ring = &mut self.rings[queue.0 as usize];
        if ring.tail - ring.head == ring.entries.len() {
            self.make_room(queue);
        }
        let ring = &mut self.rings[queue.0 as usize];
        let place = ring.tail & (ring.entries.len() - 1);
        ring.entries[place] = page;
        ring.tail += 1;
        self.at[page as usize] = A::new(place, queue);
    }

    /// Have what is kept of a page brought near.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        prefetch(&self.at, page as usize);
    }

    /// A page that will be at the front soon, or was there once: for looking ahead, not for decisions.
    #[inline]
    pub fn coming(&self, queue: Queue) -> PageId {
        self.rings[queue.0 as usize].coming()
    }

    /// Take the page at the front.
    #[inline]
    pub fn pop(&mut self, queue: Queue) -> Option<PageId> {
        let ring = &mut self.rings[queue.0 as usize];
        while ring.head != ring.tail {
            let place = ring.head & (ring.entries.len() - 1);
            prefetch(&self.at, ring.coming() as usize);
            let page = ring.entries[place];
            ring.head += 1;
            let at = &mut self.at[page as usize];
            if *at == A::new(place, queue) {
                *at = A::NONE;
                ring.len -= 1;
                return Some(page);
            }
        }
        None
    }

    /// Take a page out of whichever queue it is in, if it is in one; nothing is kept of it.
    pub fn remove(&mut self, page: PageId) {
        let at = std::mem::replace(&mut self.at[page as usize], A::NONE);
        if at.is_queued() {
            self.rings[at.queue().0 as usize].len -= 1;
        }
    }

    /// Drop pages off the front until the queue holds at most `most`.
    #[inline]
    pub fn trim(&mut self, queue: Queue, most: usize) {
        while self.len(queue) > most {
            self.pop(queue);
        }
    }

    /// Drop stale entries; the ring doubles if more than half of it would still be taken.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, queue: Queue) {
        if self.len(queue) > self.rings[queue.0 as usize].entries.len() / 2 {
            let pages: Vec<PageId> = self.iter(queue).collect();
            let ring = &mut self.rings[queue.0 as usize];
            ring.entries.resize(2 * ring.entries.len(), 0);
            ring.entries[..pages.len()].copy_from_slice(&pages);
            (ring.head, ring.tail) = (0, pages.len());
            for (place, page) in pages.iter().enumerate() {
                self.at[*page as usize] = A::new(place, queue);
            }
            return;
        }
        let ring = &mut self.rings[queue.0 as usize];
        let mask = ring.entries.len() - 1;
        let mut end = ring.head;
        for place in (ring.head..ring.tail).map(|i| i & mask) {
            let page = ring.entries[place];
            let at = &mut self.at[page as usize];
            // Places already written lie behind, so no stale entry ahead can match one.
            if *at == A::new(place, queue) {
                ring.entries[end & mask] = page;
                *at = A::new(end & mask, queue);
                end += 1;
            }
        }
        ring.tail = end;
    }

    /// Front to end.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = PageId> + '_ {
        let ring = &self.rings[queue.0 as usize];
        let places = (ring.head..ring.tail).map(|i| i & (ring.entries.len() - 1));
        places.filter(move |place| self.at[ring.entries[*place] as usize] == A::new(*place, queue)).map(|place| ring.entries[place])
    }

    /// As many pages are queued as say so, and each where it says.
    pub fn check(&self) -> Result<(), String> {
        for queue in (0..self.rings.as_ref().len() as u32).map(Queue) {
            let (listed, said) = (self.iter(queue).count(), (0..self.at.len() as PageId).filter(|p| self.is_in(queue, *p)).count());
            if (listed, said) != (self.len(queue), self.len(queue)) {
                return Err(format!("queue {}: {listed} pages listed, {said} say so, length {}", queue.0, self.len(queue)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
