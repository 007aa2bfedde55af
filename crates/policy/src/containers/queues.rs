//! Queues of pages. A page is in at most one of them. Any page can leave, or move to the end of any
//! queue, in constant time: its old entry becomes stale and is skipped when it reaches the front.
//! Entries lie in ring buffers that are written in order, so a move writes one word of the page and
//! the end of a ring; a linked list would write to distant neighbors as well. [`Queues`] has four
//! queues and takes four bytes per page; `Queues<u64>` has any number of queues and takes eight.

use std::ops::IndexMut;
use swaplab_vocab::{prefetch, PageId};

/// One of the queues of a [`Queues`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub u32);

/// Initial capacity of a ring. It grows to at most four times the number of its pages.
const FEWEST: usize = 16;

/// Distance, in entries, between the front of a queue and the entry that [`Queues::coming`]
/// returns.
const AHEAD: usize = 12;

pub struct QueueBuffer {
    /// The ring buffer; its length is a power of two.
    entries: Vec<PageId>,
    /// Positions of the first entry and of the end. Both only grow; the index in `entries` is the
    /// position modulo its length.
    head: usize,
    tail: usize,
    /// Number of queued pages. Stale entries are not counted.
    len: usize,
}

impl QueueBuffer {
    fn new() -> QueueBuffer {
        QueueBuffer { entries: vec![0; FEWEST], head: 0, tail: 0, len: 0 }
    }

    #[inline]
    fn coming(&self) -> PageId {
        self.entries[(self.head + AHEAD) & (self.entries.len() - 1)]
    }
}

/// The location of a page's live entry: a queue and an index in its ring.
pub trait At: Copy + Eq {
    type Rings: IndexMut<usize, Output = QueueBuffer> + AsRef<[QueueBuffer]>;
    /// The location of a page that is in no queue.
    const NONE: Self;
    fn rings() -> Self::Rings;
    fn new(place: usize, queue: Queue) -> Self;
    fn is_queued(self) -> bool;
    /// The queue. Must not be called for a page that is in no queue.
    fn queue(self) -> Queue;
}

impl At for u32 {
    type Rings = [QueueBuffer; 4];
    const NONE: u32 = u32::MAX;

    fn rings() -> [QueueBuffer; 4] {
        std::array::from_fn(|_| QueueBuffer::new())
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

/// This bit is set in the word of a page that is in no queue. The other bits are the number that
/// the policy noted, or all ones.
const NOTE: u64 = 1 << 63;

impl At for u64 {
    type Rings = Vec<QueueBuffer>;
    const NONE: u64 = u64::MAX;

    fn rings() -> Vec<QueueBuffer> {
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
    /// The location of each page's live entry. Entries of the page at other locations are stale.
    at: Vec<A>,
}

impl Queues<u64> {
    /// Add a queue.
    pub fn add(&mut self) -> Queue {
        self.rings.push(QueueBuffer::new());
        Queue(self.rings.len() as u32 - 1)
    }

    /// Store a number below 2^63 - 1 for a page that is in no queue. It is lost when the page
    /// enters a queue or is removed.
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

    /// Free the memory of an empty queue.
    pub fn shrink(&mut self, queue: Queue) {
        debug_assert!(self.is_empty(queue));
        let ring = &mut self.rings[queue.0 as usize];
        if ring.entries.len() > FEWEST {
            *ring = QueueBuffer::new();
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

    /// Append a page that is in no queue to the end of `queue`.
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

    /// Prefetch the location word of a page into the processor's cache.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        prefetch(&self.at, page as usize);
    }

    /// A page close to the front, as a hint for prefetching. The entry may be stale, so nothing may
    /// be decided by it.
    #[inline]
    pub fn coming(&self, queue: Queue) -> PageId {
        self.rings[queue.0 as usize].coming()
    }

    /// Remove and return the page at the front.
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

    /// Remove a page from its queue, if it is in one, and drop the number noted for it.
    pub fn remove(&mut self, page: PageId) {
        let at = std::mem::replace(&mut self.at[page as usize], A::NONE);
        if at.is_queued() {
            self.rings[at.queue().0 as usize].len -= 1;
        }
    }

    /// Remove pages from the front until the queue has at most `most` pages.
    #[inline]
    pub fn trim(&mut self, queue: Queue, most: usize) {
        while self.len(queue) > most {
            self.pop(queue);
        }
    }

    /// Drop stale entries. The ring doubles if live entries still take more than half of it.
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
            // New places lie behind the read position, so no stale entry that is still to be read
            // can match one.
            if *at == A::new(place, queue) {
                ring.entries[end & mask] = page;
                *at = A::new(end & mask, queue);
                end += 1;
            }
        }
        ring.tail = end;
    }

    /// The pages of a queue, from front to end.
    pub fn iter(&self, queue: Queue) -> impl Iterator<Item = PageId> + '_ {
        let ring = &self.rings[queue.0 as usize];
        let places = (ring.head..ring.tail).map(|i| i & (ring.entries.len() - 1));
        places.filter(move |place| self.at[ring.entries[*place] as usize] == A::new(*place, queue)).map(|place| ring.entries[place])
    }

    /// Check that every queue lists exactly the pages whose location names it, and that their
    /// number is `len`.
    pub fn check(&self) -> Result<(), String> {
        for queue in (0..self.rings.as_ref().len() as u32).map(Queue) {
            let (listed, located) = (self.iter(queue).count(), (0..self.at.len() as PageId).filter(|p| self.is_in(queue, *p)).count());
            if (listed, located) != (self.len(queue), self.len(queue)) {
                return Err(format!(
                    "queue {}: {listed} pages are listed, {located} have it as their queue, its length is {}",
                    queue.0,
                    self.len(queue)
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
