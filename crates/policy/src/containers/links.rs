//! Doubly linked lists over page indices. They take two u32 per page and allocate only in
//! [`Links::new`]. A page is in at most one list of a [`Links`]. Each list has a sentinel node,
//! stored after the nodes of the pages, so that its ends are not special cases.

use swaplab_vocab::{prefetch, PageId};

/// One of the lists of a [`Links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List(pub usize);

#[derive(Clone, Copy)]
struct Node {
    prev: u32,
    next: u32,
}

/// The value of both links of a page that is in no list.
const NONE: u32 = u32::MAX;

/// Maximum number of lists in a [`Links`].
const MOST_LISTS: usize = 40;

pub struct Links {
    nodes: Vec<Node>,
    pages: usize,
    len: [usize; MOST_LISTS],
}

impl Links {
    pub fn new(pages: usize, lists: usize) -> Links {
        assert!(lists <= MOST_LISTS);
        let mut nodes = vec![Node { prev: NONE, next: NONE }; pages + lists];
        for (i, node) in nodes.iter_mut().enumerate().skip(pages) {
            *node = Node { prev: i as u32, next: i as u32 };
        }
        Links { nodes, pages, len: [0; MOST_LISTS] }
    }

    #[inline]
    pub fn len(&self, list: List) -> usize {
        self.len[list.0]
    }

    #[inline]
    pub fn is_empty(&self, list: List) -> bool {
        self.len[list.0] == 0
    }

    /// Prefetch the links of a page into the processor's cache.
    #[inline]
    pub fn prefetch(&self, page: PageId) {
        prefetch(&self.nodes, page as usize);
    }

    /// Whether the page is in any list.
    #[inline]
    pub fn contains(&self, page: PageId) -> bool {
        self.nodes[page as usize].next != NONE
    }

    /// The node after the last page of the list. `insert_before` this node is the same as
    /// `push_back`.
    #[inline]
    pub fn sentinel(&self, list: List) -> u32 {
        (self.pages + list.0) as u32
    }

    #[inline]
    pub fn front(&self, list: List) -> Option<PageId> {
        let first = self.nodes[self.pages + list.0].next;
        (first < self.pages as u32).then_some(first)
    }

    #[inline]
    pub fn back(&self, list: List) -> Option<PageId> {
        let last = self.nodes[self.pages + list.0].prev;
        (last < self.pages as u32).then_some(last)
    }

    /// The next page toward the front.
    #[inline]
    pub fn before(&self, page: PageId) -> Option<PageId> {
        let prev = self.nodes[page as usize].prev;
        (prev < self.pages as u32).then_some(prev)
    }

    /// The next page toward the back.
    #[inline]
    pub fn after(&self, page: PageId) -> Option<PageId> {
        let next = self.nodes[page as usize].next;
        (next < self.pages as u32).then_some(next)
    }

    #[inline]
    pub fn push_front(&mut self, list: List, page: PageId) {
        let sentinel = self.sentinel(list);
        let next = self.nodes[sentinel as usize].next;
        self.link(page, sentinel, next);
        self.len[list.0] += 1;
    }

    #[inline]
    pub fn push_back(&mut self, list: List, page: PageId) {
        let sentinel = self.sentinel(list);
        let prev = self.nodes[sentinel as usize].prev;
        self.link(page, prev, sentinel);
        self.len[list.0] += 1;
    }

    /// Insert `page` in front of `place`, which is a page of `list` or its sentinel.
    #[inline]
    pub fn insert_before(&mut self, list: List, place: PageId, page: PageId) {
        let prev = self.nodes[place as usize].prev;
        self.link(page, prev, place);
        self.len[list.0] += 1;
    }

    #[inline]
    pub fn remove(&mut self, list: List, page: PageId) {
        self.unlink(page);
        self.nodes[page as usize] = Node { prev: NONE, next: NONE };
        self.len[list.0] -= 1;
    }

    #[inline]
    pub fn pop_back(&mut self, list: List) -> Option<PageId> {
        let page = self.back(list)?;
        self.remove(list, page);
        Some(page)
    }

    /// Move a page of `list` to its front.
    #[inline]
    pub fn move_to_front(&mut self, list: List, page: PageId) {
        let sentinel = self.sentinel(list);
        let first = self.nodes[sentinel as usize].next;
        if first != page {
            self.unlink(page);
            self.link(page, sentinel, first);
        }
    }

    /// Move a page of `from` to the front of `to`, which may be the same list.
    #[inline]
    pub fn transfer_to_front(&mut self, from: List, to: List, page: PageId) {
        self.len[from.0] -= 1;
        self.len[to.0] += 1;
        self.unlink(page);
        let sentinel = self.sentinel(to);
        let next = self.nodes[sentinel as usize].next;
        self.link(page, sentinel, next);
    }

    #[inline]
    fn unlink(&mut self, page: PageId) {
        let Node { prev, next } = self.nodes[page as usize];
        debug_assert_ne!(next, NONE, "page {page} is in no list");
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }

    #[inline]
    fn link(&mut self, page: PageId, prev: u32, next: u32) {
        self.nodes[page as usize] = Node { prev, next };
        self.nodes[prev as usize].next = page;
        self.nodes[next as usize].prev = page;
    }

    /// The pages of a list, from front to back.
    pub fn iter(&self, list: List) -> impl Iterator<Item = PageId> + '_ {
        std::iter::successors(self.front(list), |p| self.after(*p))
    }

    /// Check that both directions of the list visit the same pages and that their number is `len`.
    pub fn check(&self, list: List) -> Result<(), String> {
        let forward: Vec<PageId> = self.iter(list).take(self.pages + 1).collect();
        let mut backward: Vec<PageId> = std::iter::successors(self.back(list), |p| self.before(*p)).take(self.pages + 1).collect();
        backward.reverse();
        if forward != backward || forward.len() != self.len(list) {
            return Err(format!(
                "list {}: {} pages forward, {} backward, but its length is {}",
                list.0,
                forward.len(),
                backward.len(),
                self.len(list)
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn two_lists_behave_as_two_deques(steps in prop::collection::vec((0u32..12, 0usize..2, 0u8..7), 0..200)) {
            let mut links = Links::new(12, 2);
            let mut model = [VecDeque::new(), VecDeque::new()];
            for (page, l, step) in steps {
                let home = (0..2).find(|l| model[*l].contains(&page));
                match (step, home) {
                    (0, None) => { links.push_front(List(l), page); model[l].push_front(page); }
                    (1, None) => { links.push_back(List(l), page); model[l].push_back(page); }
                    (2, Some(h)) => { links.remove(List(h), page); model[h].retain(|p| *p != page); }
                    (3, Some(h)) => { links.move_to_front(List(h), page); model[h].retain(|p| *p != page); model[h].push_front(page); }
                    (5, Some(h)) => { links.transfer_to_front(List(h), List(l), page); model[h].retain(|p| *p != page); model[l].push_front(page); }
                    (6, None) if !model[l].is_empty() => {
                        let at = page as usize % model[l].len();
                        links.insert_before(List(l), model[l][at], page);
                        model[l].insert(at, page);
                    }
                    (4, _) => { prop_assert_eq!(links.pop_back(List(l)), model[l].pop_back()); }
                    _ => {}
                }
                for (l, deque) in model.iter().enumerate() {
                    links.check(List(l)).unwrap();
                    prop_assert_eq!(&links.iter(List(l)).collect::<VecDeque<_>>(), deque);
                }
                prop_assert_eq!(links.contains(page), model.iter().any(|m| m.contains(&page)));
            }
        }
    }
}
