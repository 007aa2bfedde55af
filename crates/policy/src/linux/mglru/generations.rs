//! The generations of each kind of page: up to four, each a list from its newest page to its
//! oldest, and the pages that a reclaimer has isolated.
//!
//! Source: Linux 6.12, mm/vmscan.c: `inc_max_seq`, `inc_min_seq`, `try_to_inc_min_seq`,
//! `should_run_aging`.

use super::refaults::{ANON, FILE};
use crate::containers::links::List;
use crate::containers::lists::Lists;
use crate::PageView;
use swaplab_vocab::PageId;

/// `MAX_NR_GENS` and `MIN_NR_GENS`: the most generations, and the fewest, from which no page is
/// evicted.
pub const MOST: u64 = 4;
pub const FEWEST: u64 = 2;

/// The isolated pages.
pub const ISOLATED: List = List(2 * MOST as usize);

fn list(kind: usize, generation: u64) -> List {
    List(kind * MOST as usize + (generation % MOST) as usize)
}

pub struct Generations {
    lists: Lists,
    pub youngest: u64,
    pub oldest: [u64; 2],
}

impl Generations {
    pub fn new(pages: usize) -> Generations {
        Generations { lists: Lists::new(pages, ISOLATED.0 + 1), youngest: FEWEST - 1, oldest: [0; 2] }
    }

    /// Number of generations of a kind.
    pub fn count(&self, kind: usize) -> u64 {
        self.youngest - self.oldest[kind] + 1
    }

    /// Number of pages of a kind in a generation.
    pub fn len(&self, kind: usize, generation: u64) -> usize {
        self.lists.len(list(kind, generation))
    }

    /// Number of pages of a kind in all generations.
    pub fn pages_of(&self, kind: usize) -> usize {
        (self.oldest[kind]..=self.youngest).map(|generation| self.len(kind, generation)).sum()
    }

    /// Number of pages of a kind that are not in one of the two youngest generations: the kernel
    /// counts them as inactive (`lru_gen_is_active`).
    pub fn inactive(&self, kind: usize) -> usize {
        (self.oldest[kind]..self.youngest.saturating_sub(1)).map(|generation| self.len(kind, generation)).sum()
    }

    pub fn is_empty(&self) -> bool {
        (0..=ISOLATED.0).all(|l| self.lists.is_empty(List(l)))
    }

    pub fn contains(&self, page: PageId) -> bool {
        self.lists.home(page).is_some()
    }

    /// Whether the page is in the youngest generation of its kind.
    pub fn is_youngest(&self, page: PageId) -> bool {
        [ANON, FILE].iter().any(|kind| self.lists.is_in(list(*kind, self.youngest), page))
    }

    /// Put a page in front of a generation, out of the list that it may be in.
    pub fn put_front(&mut self, page: PageId, kind: usize, generation: u64) {
        self.remove(page);
        self.lists.push_front(list(kind, generation), page);
    }

    /// Put a page behind the oldest generation of a kind.
    pub fn put_last(&mut self, page: PageId, kind: usize) {
        self.lists.move_to_back(list(kind, self.oldest[kind]), page);
    }

    pub fn remove(&mut self, page: PageId) {
        self.lists.remove(page);
    }

    /// The oldest page of a kind.
    pub fn last(&self, kind: usize) -> Option<PageId> {
        self.lists.back(list(kind, self.oldest[kind]))
    }

    pub fn isolate(&mut self, page: PageId) {
        self.lists.move_to_front(ISOLATED, page);
    }

    /// The page that was isolated first.
    pub fn first_isolated(&self) -> Option<PageId> {
        self.lists.back(ISOLATED)
    }

    /// Move the pages for which `is_used` to the youngest generation, as a walk of the page tables
    /// does (`walk_pte_range`). Returns the number of pages examined.
    pub fn promote_used(&mut self, mut is_used: impl FnMut(PageId) -> bool) -> usize {
        let mut examined = 0;
        for kind in [ANON, FILE] {
            let youngest = list(kind, self.youngest);
            examined += self.lists.iter(youngest).map(&mut is_used).count();
            for generation in self.oldest[kind]..self.youngest {
                let from = list(kind, generation);
                examined += self.lists.len(from);
                let mut at = self.lists.back(from);
                while let Some(page) = at {
                    at = self.lists.before(page);
                    if is_used(page) {
                        self.lists.move_to_front(youngest, page);
                    }
                }
            }
        }
        examined
    }

    /// Open a generation. A kind with the most generations first closes its oldest one, whose pages
    /// become the oldest of the next. Returns the kinds that did.
    pub fn open(&mut self) -> [bool; 2] {
        let full = [ANON, FILE].map(|kind| self.count(kind) == MOST);
        for kind in [ANON, FILE].into_iter().filter(|kind| full[*kind]) {
            let (from, to) = (list(kind, self.oldest[kind]), list(kind, self.oldest[kind] + 1));
            while let Some(page) = self.lists.back(from) {
                self.lists.move_to_back(to, page);
            }
            self.oldest[kind] += 1;
        }
        self.youngest += 1;
        full
    }

    /// Close the oldest generations that are empty (`try_to_inc_min_seq`). That of files is not
    /// younger than that of anonymous pages, if these can be swapped out. Returns the kinds whose
    /// oldest generation is another one now.
    pub fn close_empty(&mut self, can_swap: bool) -> [bool; 2] {
        let before = self.oldest;
        let mut oldest = [ANON, FILE].map(|kind| {
            let last = self.youngest + 1 - FEWEST;
            (self.oldest[kind]..last).find(|generation| self.len(kind, *generation) > 0).unwrap_or(last.max(self.oldest[kind]))
        });
        if can_swap {
            oldest[ANON] = oldest[ANON].min(oldest[FILE]);
            oldest[FILE] = oldest[ANON].max(before[FILE]);
        } else {
            oldest[ANON] = before[ANON];
        }
        self.oldest = oldest;
        [ANON, FILE].map(|kind| oldest[kind] != before[kind])
    }

    /// Whether a generation is to be opened before pages are evicted, and the number of pages in
    /// the generations of the kinds that may be evicted (`should_run_aging`).
    pub fn needs_aging(&self, can_swap: bool) -> (bool, usize) {
        let evicted = if can_swap { [ANON, FILE].as_slice() } else { &[FILE] };
        let first = evicted[0];
        if self.oldest[first] + FEWEST > self.youngest {
            return (true, 0);
        }
        let (mut young, mut old, mut total) = (0, 0, 0);
        for kind in evicted {
            total += self.pages_of(*kind);
            young += self.len(*kind, self.youngest);
            let cold = self.youngest - FEWEST;
            old += if cold >= self.oldest[*kind] { self.len(*kind, cold) } else { 0 };
        }
        let few = self.oldest[first] + FEWEST == self.youngest;
        (few && (young * FEWEST as usize > total || old * (FEWEST as usize + 2) < total), total)
    }

    /// Check the lists, and that the resident pages are those in them, but for those that
    /// `is_written` names.
    pub fn check(&self, pages: &PageView, is_written: impl Fn(PageId) -> bool) -> std::result::Result<(), String> {
        self.lists.check()?;
        let listed = (0..=ISOLATED.0).map(List).flat_map(|list| self.lists.iter(list));
        crate::check_residency(pages, listed.filter(|page| !is_written(*page)))?;
        for kind in [ANON, FILE] {
            let generations = self.count(kind);
            if !(FEWEST..=MOST).contains(&generations) {
                return Err(format!("{generations} generations of kind {kind}"));
            }
            let listed: usize = (0..MOST).map(|generation| self.len(kind, generation)).sum();
            if listed != self.pages_of(kind) {
                return Err(format!("{} pages of kind {kind} are in no generation", listed - self.pages_of(kind)));
            }
        }
        Ok(())
    }
}
