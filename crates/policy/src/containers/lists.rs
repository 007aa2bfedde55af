//! Several lists of pages, with the list of each page: a [`Links`] and one byte per page. Policies
//! with ghost entries, generations or several queues use them. A page is in at most one list.

use crate::containers::links::{Links, List};
use swaplab_vocab::PageId;

/// The `home` of a page that is in no list.
const NOWHERE: u8 = u8::MAX;

pub struct Lists {
    links: Links,
    home: Vec<u8>,
    lists: usize,
}

impl Lists {
    pub fn new(pages: usize, lists: usize) -> Lists {
        assert!(lists < NOWHERE as usize);
        Lists { links: Links::new(pages, lists), home: vec![NOWHERE; pages], lists }
    }

    #[inline]
    pub fn len(&self, list: List) -> usize {
        self.links.len(list)
    }

    #[inline]
    pub fn is_empty(&self, list: List) -> bool {
        self.links.is_empty(list)
    }

    /// The list a page is in.
    #[inline]
    pub fn home(&self, page: PageId) -> Option<List> {
        let home = self.home[page as usize];
        (home != NOWHERE).then_some(List(home as usize))
    }

    #[inline]
    pub fn is_in(&self, list: List, page: PageId) -> bool {
        self.home[page as usize] as usize == list.0
    }

    #[inline]
    pub fn front(&self, list: List) -> Option<PageId> {
        self.links.front(list)
    }

    #[inline]
    pub fn back(&self, list: List) -> Option<PageId> {
        self.links.back(list)
    }

    /// The next page toward the front.
    #[inline]
    pub fn before(&self, page: PageId) -> Option<PageId> {
        self.links.before(page)
    }

    /// Move a page, whichever list it is in, to the back of `list`.
    pub fn move_to_back(&mut self, list: List, page: PageId) {
        self.remove(page);
        self.home[page as usize] = list.0 as u8;
        self.links.push_back(list, page);
    }

    /// Insert a page that is in no list at the front of `list`.
    #[inline]
    pub fn push_front(&mut self, list: List, page: PageId) {
        debug_assert_eq!(self.home[page as usize], NOWHERE);
        self.home[page as usize] = list.0 as u8;
        self.links.push_front(list, page);
    }

    /// Move a page from whichever list it is in to the front of `list`.
    #[inline]
    pub fn move_to_front(&mut self, list: List, page: PageId) {
        let from = std::mem::replace(&mut self.home[page as usize], list.0 as u8);
        self.links.transfer_to_front(List(from as usize), list, page);
    }

    /// Remove a page from its list. Returns whether it was in a list.
    #[inline]
    pub fn remove(&mut self, page: PageId) -> bool {
        let home = std::mem::replace(&mut self.home[page as usize], NOWHERE);
        if home != NOWHERE {
            self.links.remove(List(home as usize), page);
        }
        home != NOWHERE
    }

    #[inline]
    pub fn pop_back(&mut self, list: List) -> Option<PageId> {
        let page = self.links.pop_back(list)?;
        self.home[page as usize] = NOWHERE;
        Some(page)
    }

    /// Remove pages from the back until the list has at most `most` pages.
    #[inline]
    pub fn trim(&mut self, list: List, most: usize) {
        while self.len(list) > most {
            self.pop_back(list);
        }
    }

    /// The pages of a list, from front to back.
    pub fn iter(&self, list: List) -> impl Iterator<Item = PageId> + '_ {
        self.links.iter(list)
    }

    /// Check the links of every list, and that `home` names the list that each page is in.
    pub fn check(&self) -> Result<(), String> {
        let mut listed = 0;
        for list in (0..self.lists).map(List) {
            self.links.check(list)?;
            listed += self.len(list);
            if let Some(page) = self.iter(list).find(|p| !self.is_in(list, *p)) {
                return Err(format!("page {page} is in list {} but its home is {}", list.0, self.home[page as usize]));
            }
        }
        match self.home.iter().filter(|h| **h != NOWHERE).count() {
            with_home if with_home == listed => Ok(()),
            with_home => Err(format!("{with_home} pages have a list as their home, but {listed} pages are listed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn three_lists_behave_as_three_deques(steps in prop::collection::vec((0u32..12, 0usize..3, 0u8..5), 0..200)) {
            let mut lists = Lists::new(12, 3);
            let mut model: [VecDeque<PageId>; 3] = Default::default();
            for (page, l, step) in steps {
                let home = (0..3).find(|l| model[*l].contains(&page));
                match (step, home) {
                    (0, None) => { lists.push_front(List(l), page); model[l].push_front(page); }
                    (1, Some(h)) => { lists.move_to_front(List(l), page); model[h].retain(|p| *p != page); model[l].push_front(page); }
                    (2, _) => {
                        prop_assert_eq!(lists.remove(page), home.is_some());
                        model.iter_mut().for_each(|m| m.retain(|p| *p != page));
                    }
                    (3, _) => { prop_assert_eq!(lists.pop_back(List(l)), model[l].pop_back()); }
                    (4, _) => { lists.trim(List(l), 3); model[l].truncate(3); }
                    _ => {}
                }
                lists.check().unwrap();
                for (l, deque) in model.iter().enumerate() {
                    prop_assert_eq!(&lists.iter(List(l)).collect::<VecDeque<_>>(), deque);
                    prop_assert_eq!((lists.front(List(l)), lists.back(List(l))), (deque.front().copied(), deque.back().copied()));
                }
                prop_assert_eq!(lists.home(page).map(|l| l.0), (0..3).find(|l| model[*l].contains(&page)));
            }
        }
    }
}
