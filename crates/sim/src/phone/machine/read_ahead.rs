//! Which pages of a mapped file are read together, and which before they are used.
//!
//! Source: Linux 6.12. A fault on a page that is not in memory reads the window around it and marks
//! a page near the window's end (mm/filemap.c, `do_sync_mmap_readahead`). The first use of a marked
//! page reads the next window, which no task waits for (`do_async_mmap_readahead`;
//! mm/readahead.c, `page_cache_async_ra`, `page_cache_ra_unbounded`). Where faults miss many more
//! pages than they find, each reads its own page alone (`MMAP_LOTSAMISS`).
//! Deviations: of the pages that a fault maps around its own (`filemap_map_pages`), those count as
//! found that its window read. An app has one file.

use std::collections::HashMap;
use std::ops::Range;
use swaplab_policy::PageView;
use swaplab_vocab::{AppId, PageId};

/// Faults that miss minus pages found, above which a fault reads its own page alone
/// (`MMAP_LOTSAMISS`), and the largest such difference that is counted.
const MANY_MISSES: u32 = 100;
const MOST_MISSES: u32 = 10 * MANY_MISSES;

/// The last read of a file (`struct file_ra_state`).
#[derive(Clone, Copy, Default)]
struct Last {
    start: PageId,
    size: u32,
    /// Number of pages at its end that were read before they are wanted.
    ahead: u32,
    misses: u32,
}

/// What the use of a page that was read ahead waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The end of the page's read.
    pub at_ns: u64,
    /// Whether the wait for it is a memory stall.
    pub is_memory_stall: bool,
}

pub struct ReadAhead {
    /// Pages of the largest window.
    most: u32,
    last: HashMap<AppId, Last>,
    /// By page: whether it is marked or arriving, so that its first use is more than a reference.
    special: Vec<bool>,
    marked: Vec<bool>,
    arriving: HashMap<PageId, Arrival>,
}

impl ReadAhead {
    pub fn new(pages: usize, most: u32) -> ReadAhead {
        let (special, marked) = (vec![false; pages], vec![false; pages]);
        ReadAhead { most, last: HashMap::new(), special, marked, arriving: HashMap::new() }
    }

    /// A process opens its file anew.
    pub fn open(&mut self, owner: AppId) {
        self.last.remove(&owner);
    }

    /// The window that a fault on `page`, which is not in memory, reads, and the page of it that is
    /// marked.
    pub fn around(&mut self, owner: AppId, page: PageId, file: &Range<PageId>) -> (Range<PageId>, Option<PageId>) {
        let (last, most) = (self.last.entry(owner).or_default(), self.most);
        last.misses = (last.misses + 1).min(MOST_MISSES);
        if last.misses > MANY_MISSES {
            return (page..page + 1, None);
        }
        (last.start, last.size, last.ahead) = (page.saturating_sub(most / 2).max(file.start), most, most / 4);
        let (window, mark) = within(last, file);
        // The fault maps its own page, which then has no first use to come.
        (window, mark.filter(|mark| *mark != page))
    }

    /// The window that the use of `page` reads, and the page of it that is marked; `None` if the
    /// page is not marked or nothing follows.
    pub fn after(&mut self, owner: AppId, page: PageId, file: &Range<PageId>, pages: &PageView) -> Option<(Range<PageId>, Option<PageId>)> {
        if !std::mem::take(&mut self.marked[page as usize]) {
            return None;
        }
        let (last, most) = (self.last.entry(owner).or_default(), self.most);
        last.misses = last.misses.saturating_sub(1);
        last.start = match last.start + last.size - last.ahead == page {
            true => last.start + last.size,
            // Another read came in between: this one begins at the next page that is not in memory.
            false => (page + 1..page + 1 + most).find(|next| *next >= file.end || !pages.is_resident(*next))?,
        };
        (last.size, last.ahead) = (most, most);
        Some(within(last, file)).filter(|(window, _)| !window.is_empty())
    }

    /// Note that `pages` are read, of which `mark` is marked, and that a fault has found `found` of
    /// them that are not of the working set.
    pub fn note_read(&mut self, owner: AppId, pages: &[PageId], mark: Option<PageId>, found: u32) {
        for page in pages {
            let is_marked = Some(*page) == mark;
            (self.marked[*page as usize], self.special[*page as usize]) = (is_marked, is_marked);
            self.arriving.remove(page);
        }
        if let Some(last) = self.last.get_mut(&owner) {
            last.misses = last.misses.saturating_sub(found);
        }
    }

    /// Note that the read of `page` ends later.
    pub fn arrives(&mut self, page: PageId, arrival: Arrival) {
        self.special[page as usize] = true;
        self.arriving.insert(page, arrival);
    }

    /// Whether the next use of `page` reads others or waits for the page.
    pub fn is_special(&self, page: PageId) -> bool {
        self.special[page as usize]
    }

    /// The number of pages from `first` on, at most `most`, of which none is special.
    pub fn plain_run(&self, first: PageId, most: usize) -> usize {
        let run = &self.special[first as usize..first as usize + most];
        run.iter().position(|special| *special).unwrap_or(most)
    }

    /// `page` is used. Returns what its user waits for.
    pub fn used(&mut self, page: PageId) -> Option<Arrival> {
        self.special[page as usize] = false;
        self.arriving.remove(&page)
    }
}

/// The last read's window within the file, and the page of it that is marked.
fn within(last: &Last, file: &Range<PageId>) -> (Range<PageId>, Option<PageId>) {
    let window = last.start..(last.start + last.size).min(file.end);
    let mark = window.end.checked_sub(last.ahead).filter(|mark| window.contains(mark));
    (window, mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_policy::Residency;
    use swaplab_vocab::Class;

    /// A file of 200 pages, of which those of `resident` are in memory.
    fn pages(resident: &[PageId]) -> Residency {
        let mut pages = Residency::new((0..200).map(|_| Class::File));
        resident.iter().for_each(|page| pages.set(*page, swaplab_policy::bits::RESIDENT));
        pages
    }

    /// A window of 32 pages begins 16 before the fault, and a quarter of it is ahead. Page 24 of
    /// the first window and page 32, the first of the second, are marked.
    #[test]
    fn a_file_that_is_used_in_order_is_read_window_by_window() {
        let (mut ahead, file, none) = (ReadAhead::new(200, 32), 0..200, pages(&[]));
        assert_eq!(ahead.around(1, 0, &file), (0..32, Some(24)));
        ahead.note_read(1, &(0..32).collect::<Vec<_>>(), Some(24), 32);
        assert_eq!(ahead.plain_run(0, 32), 24);
        assert_eq!(ahead.after(1, 3, &file, &none), None);
        assert_eq!(ahead.after(1, 24, &file, &none), Some((32..64, Some(32))));
        assert_eq!(ahead.after(1, 24, &file, &none), None, "its mark is gone");
        ahead.note_read(1, &(32..64).collect::<Vec<_>>(), Some(32), 0);
        assert_eq!(ahead.after(1, 32, &file, &none), Some((64..96, Some(64))));
        // In the middle, and at the end: the window is cut there.
        assert_eq!(ahead.around(1, 100, &file), (84..116, Some(108)));
        assert_eq!(ahead.around(1, 190, &file), (174..200, Some(192)));
        assert_eq!(ahead.around(1, 192, &file), (176..200, None));
    }

    /// After a fault elsewhere the marked page 24 is not where the last read expects one. Pages 25
    /// to 31 are in memory, so the next read begins at 32.
    #[test]
    fn a_mark_of_an_earlier_read_begins_at_the_next_page_that_is_missing() {
        let (mut ahead, file, cached) = (ReadAhead::new(200, 32), 0..200, pages(&(0..32).collect::<Vec<_>>()));
        ahead.around(1, 0, &file);
        ahead.note_read(1, &[24], Some(24), 0);
        ahead.around(1, 150, &file);
        assert_eq!(ahead.after(1, 24, &file, &cached), Some((32..64, Some(32))));
        // Page 199 ends the file.
        ahead.note_read(1, &[199], Some(199), 0);
        assert_eq!(ahead.after(1, 199, &file, &cached), None);
        // All of the 32 pages that follow page 40 are in memory.
        let cached = pages(&(40..100).collect::<Vec<_>>());
        ahead.note_read(1, &[40], Some(40), 0);
        assert_eq!(ahead.after(1, 40, &file, &cached), None);
    }

    #[test]
    fn many_misses_end_the_reading_ahead_until_pages_are_found_or_the_file_is_opened_anew() {
        let (mut ahead, file) = (ReadAhead::new(200, 32), 0..200);
        (0..100).for_each(|_| assert_eq!(ahead.around(1, 50, &file).0, 34..66));
        assert_eq!(ahead.around(1, 50, &file), (50..51, None));
        ahead.note_read(1, &[50], None, 1);
        assert_eq!(ahead.around(1, 50, &file), (50..51, None));
        ahead.note_read(1, &[50], None, 2);
        assert_eq!(ahead.around(1, 50, &file).0, 34..66);
        for _ in 0..2000 {
            ahead.around(1, 50, &file);
        }
        ahead.note_read(1, &[50], None, 900);
        assert_eq!(ahead.around(1, 50, &file).0, 50..51, "1000 are counted at most");
        assert_eq!(ahead.around(2, 50, &file).0, 34..66);
        ahead.open(1);
        assert_eq!(ahead.around(1, 50, &file).0, 34..66);
    }

    #[test]
    fn a_page_that_arrives_is_waited_for_once() {
        let mut ahead = ReadAhead::new(8, 4);
        let arrival = Arrival { at_ns: 5, is_memory_stall: true };
        ahead.arrives(3, arrival);
        assert!(ahead.is_special(3) && !ahead.is_special(2));
        assert_eq!((ahead.used(3), ahead.used(3), ahead.is_special(3)), (Some(arrival), None, false));
        // It is evicted and read anew.
        ahead.arrives(4, arrival);
        ahead.note_read(0, &[4], None, 0);
        assert_eq!((ahead.used(4), ahead.plain_run(0, 8)), (None, 8));
    }
}
