//! What is done with pages of the oldest generation: which are isolated, evicted, or found in use;
//! and aging.

use super::generations::{FEWEST, MOST};
use super::pass::{DEFAULT_PRIORITY, MIN_LRU_BATCH};
use super::refaults::{ANON, FILE};
use super::{MglruPolicy, ACCESSED, SHADOW, WRITING, WRITTEN};
use crate::PageView;
use swaplab_vocab::PageId;

/// `MAX_LRU_BATCH`: the most pages that are examined for one batch.
const MAX_LRU_BATCH: usize = 4096;

impl MglruPolicy {
    /// Open a generation. With walks, first move used pages to the one that is the youngest so far.
    /// Returns the number of pages examined.
    pub(super) fn age(&mut self) -> usize {
        let mut examined = 0;
        if self.walks {
            let flags = &mut self.flags;
            examined = self.generations.promote_used(|page| {
                let used = flags[page as usize] & ACCESSED != 0;
                flags[page as usize] &= !ACCESSED;
                used
            });
        }
        self.counts.examined(examined, examined);
        self.counts.agings += 1;
        let closed = self.generations.open();
        self.note_closed(closed);
        self.born[(self.generations.youngest % MOST) as usize] = self.now;
        examined
    }

    fn note_closed(&mut self, closed: [bool; 2]) {
        [ANON, FILE].into_iter().filter(|kind| closed[*kind]).for_each(|kind| self.refaults.next_generation(kind));
    }

    /// The kind whose oldest generation is scanned first (`isolate_folios`).
    pub(super) fn kind_to_scan(&self) -> usize {
        let oldest = self.generations.oldest;
        match self.swappiness {
            _ if !self.can_swap() => FILE,
            _ if oldest[ANON] < oldest[FILE] => ANON,
            0 | 1 => FILE,
            200 => ANON,
            swappiness => self.refaults.kind_to_scan([swappiness, 200 - swappiness]),
        }
    }

    /// Isolate up to 64 pages of the oldest generation of a kind. A private file page that was
    /// written joins the anonymous generation of the same age. Returns the number of pages examined
    /// and of those isolated.
    fn isolate_of(&mut self, kind: usize, pages: &PageView) -> (usize, usize) {
        let (mut examined, mut isolated) = (0, 0);
        if self.generations.count(kind) == FEWEST {
            return (0, 0);
        }
        while isolated < MIN_LRU_BATCH && examined < MAX_LRU_BATCH {
            let Some(page) = self.generations.last(kind) else { break };
            let now = pages.backing(page) as usize;
            examined += 1;
            if now == kind {
                self.generations.isolate(page);
                isolated += 1;
            } else {
                self.generations.put_front(page, now, self.generations.oldest[now].max(self.generations.oldest[kind]));
            }
        }
        self.counts.examined(examined, examined - isolated);
        (if isolated > 0 || examined == MAX_LRU_BATCH { examined } else { 0 }, isolated)
    }

    /// Begin the next batch of the pass: isolate pages, or age. Returns whether the pass goes on,
    /// and how many pages a walk examined.
    pub(super) fn next_batch(&mut self, pages: &PageView) -> (bool, usize) {
        if self.pass.is_over() {
            return (false, 0);
        }
        let can_swap = self.can_swap();
        let (ages, total) = self.generations.needs_aging(can_swap);
        if ages && self.pass.priority != DEFAULT_PRIORITY {
            return (false, self.age());
        }
        let wanted = total >> self.pass.priority;
        if wanted == 0 {
            return (false, 0);
        }
        let first = self.kind_to_scan();
        let kinds = [first, ANON + FILE - first];
        let found = kinds.into_iter().take(1 + usize::from(can_swap)).map(|kind| self.isolate_of(kind, pages)).find(|found| found.0 > 0);
        let (mut examined, isolated) = found.unwrap_or_default();
        let closed = self.generations.close_empty(can_swap);
        self.note_closed(closed);
        examined += usize::from(closed[ANON] || closed[FILE]);
        let out_of_cold = self.generations.count(if can_swap { ANON } else { FILE }) == FEWEST;
        self.pass.note_batch(wanted, if out_of_cold { 0 } else { examined }, isolated);
        (true, 0)
    }

    /// Move a used page to the youngest generation.
    fn promote(&mut self, page: PageId, pages: &PageView) {
        self.flags[page as usize] &= !ACCESSED;
        self.generations.put_front(page, pages.backing(page) as usize, self.generations.youngest);
    }

    /// Look at the neighbours of a used page and move used ones to the youngest generation.
    fn look_around(&mut self, page: PageId, pages: &PageView) {
        let (class, backing) = (pages.class(page), pages.backing(page));
        let most = MIN_LRU_BATCH as PageId;
        let is_same = |other: &PageId| pages.class(*other) == class;
        let before = (page.saturating_sub(most)..page).rev().take_while(is_same).count() as PageId;
        let after = (page..(page + most).min(pages.len() as PageId)).take_while(is_same).count() as PageId;
        let (start, end) = match (before, after) {
            (before, after) if before + after <= most => (page - before, page + after),
            (before, _) if before < most / 2 => (page - before, page - before + most),
            (_, after) if after < most / 2 => (page + after - most, page + after),
            _ => (page - most / 2, page + most / 2),
        };
        for other in start..end {
            let is_used = self.flags[other as usize] & ACCESSED != 0 && self.generations.contains(other);
            if !is_used || pages.backing(other) != backing {
                continue;
            }
            self.flags[other as usize] &= !ACCESSED;
            if !self.generations.is_youngest(other) {
                self.promote(other, pages);
            }
        }
    }

    /// Handle an isolated page. Returns whether it was evicted.
    pub(super) fn shrink(&mut self, page: PageId, pages: &mut PageView) -> bool {
        let flags = self.flags[page as usize];
        let kind = pages.backing(page) as usize;
        if flags & (ACCESSED | WRITING) != 0 {
            self.promote(page, pages);
            if flags & ACCESSED != 0 && !self.walks {
                self.look_around(page, pages);
            }
            return false;
        }
        let oldest = self.generations.oldest[kind];
        if self.now - self.born[(oldest % MOST) as usize] < self.min_ttl {
            self.counts.min_ttl_broken += 1;
        }
        self.flags[page as usize] = SHADOW;
        self.evicted_in[page as usize] = oldest as u32;
        self.refaults.evicted(kind);
        self.generations.remove(page);
        self.pass.note_reclaimed();
        if flags & WRITTEN != 0 {
            pages.release_written(page);
        } else {
            pages.release(page);
        }
        true
    }
}
