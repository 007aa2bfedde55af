//! The current mappings while a trace is read, as disjoint ranges.

use crate::event::Range;
use crate::meta::FilePage;
use std::collections::BTreeMap;
use swaplab_vocab::{AppId, Class};

/// Class and file of a page, as a mapping or a pages file gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassAndFile {
    pub class: Class,
    pub file_page: FilePage,
}

#[derive(Default)]
pub struct Mappings {
    /// By app and first page: the end (exclusive), and class and file of the first page.
    ranges: BTreeMap<(AppId, u64), (u64, ClassAndFile)>,
}

/// Class and file of the page at offset `ahead` in a mapping.
fn shifted(known: ClassAndFile, ahead: u64) -> ClassAndFile {
    let mut known = known;
    known.file_page.offset = known.file_page.offset.wrapping_add(ahead);
    known
}

impl Mappings {
    pub fn map(&mut self, range: Range, known: ClassAndFile) {
        self.unmap(range);
        if range.pages > 0 {
            self.ranges.insert((range.app, range.first), (range.first + range.pages, known));
        }
    }

    pub fn unmap(&mut self, range: Range) {
        self.take(range);
    }

    /// Move the mappings in `from` to `to`, which may be longer or shorter.
    pub fn remap(&mut self, from: Range, to: Range) {
        let moved = self.take(from);
        self.unmap(to);
        let last = moved.len().saturating_sub(1);
        for (i, (first, end, known)) in moved.into_iter().enumerate() {
            let ahead = first - from.first;
            // If the size changes, the last mapping grows or shrinks.
            let length = if i == last { to.pages.saturating_sub(ahead) } else { (end - first).min(to.pages.saturating_sub(ahead)) };
            self.map(Range { app: to.app, first: to.first.saturating_add(ahead), pages: length }, known);
        }
    }

    /// Class and file of the first page of `place`, if it is mapped.
    pub fn at(&self, place: Range) -> Option<ClassAndFile> {
        let ((app, first), (end, known)) = self.ranges.range(..=(place.app, place.first)).next_back()?;
        (*app == place.app && place.first < *end).then(|| shifted(*known, place.first - first))
    }

    /// Unmap `range`. Returns the parts that were mapped, as (first page, end, class and file of
    /// the first page).
    fn take(&mut self, range: Range) -> Vec<(u64, u64, ClassAndFile)> {
        let (app, from, to) = (range.app, range.first, range.first + range.pages);
        let mut taken = Vec::new();
        let overlapping: Vec<u64> = self
            .ranges
            .range(..(app, to))
            .rev()
            .take_while(|((a, _), (end, _))| *a == app && *end > from)
            .map(|((_, first), _)| *first)
            .collect();
        for first in overlapping.into_iter().rev() {
            let (end, known) = self.ranges.remove(&(app, first)).expect("the key was listed above");
            if first < from {
                self.ranges.insert((app, first), (from, known));
            }
            if end > to {
                self.ranges.insert((app, to), (end, shifted(known, to - first)));
            }
            let start = first.max(from);
            taken.push((start, end.min(to), shifted(known, start - first)));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(file: u32, offset: u64) -> ClassAndFile {
        ClassAndFile { class: Class::File, file_page: FilePage { file, offset } }
    }

    fn range(first: u64, pages: u64) -> Range {
        Range { app: 0, first, pages }
    }

    #[test]
    fn a_hole_in_the_middle_leaves_both_ends_with_their_offsets() {
        let mut m = Mappings::default();
        m.map(range(10, 10), file(1, 100));
        m.unmap(range(13, 2));
        let offsets: Vec<_> = (9..21).map(|p| m.at(range(p, 1)).map(|k| k.file_page.offset)).collect();
        let mapped = |v: &[u64]| v.iter().map(|o| Some(*o)).collect::<Vec<_>>();
        assert_eq!(
            offsets,
            [vec![None], mapped(&[100, 101, 102]), vec![None, None], mapped(&[105, 106, 107, 108, 109]), vec![None]].concat()
        );
    }

    proptest! {
        #[test]
        fn agrees_with_a_page_by_page_map(steps in prop::collection::vec((0u8..3, 0u64..30, 1u64..12, 0u64..30, 1u64..12), 0..40)) {
            let mut fast = Mappings::default();
            let mut plain: Vec<Option<ClassAndFile>> = vec![None; 64];
            for (i, (step, a, n, b, m)) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        fast.map(range(a, n), file(i as u32 + 1, 7));
                        (0..n).for_each(|k| plain[(a + k) as usize] = Some(file(i as u32 + 1, 7 + k)));
                    }
                    1 => {
                        fast.unmap(range(a, n));
                        (0..n).for_each(|k| plain[(a + k) as usize] = None);
                    }
                    // Moves of the same length, whose result follows page by page.
                    _ => {
                        let n = n.min(m);
                        fast.remap(range(a, n), range(b, n));
                        let moved: Vec<_> = (0..n).map(|k| plain[(a + k) as usize].take()).collect();
                        (0..n).for_each(|k| plain[(b + k) as usize] = None);
                        // A last piece that ends before the range does grows to its end, as mremap
                        // of one mapping does.
                        let mut moved = moved;
                        if let Some(last) = moved.iter().rposition(|k| k.is_some()) {
                            for k in last + 1..n as usize {
                                moved[k] = moved[last].map(|x| shifted(x, (k - last) as u64));
                            }
                        }
                        for (k, known) in moved.into_iter().enumerate() {
                            plain[b as usize + k] = known;
                        }
                    }
                }
                for (p, known) in plain.iter().enumerate() {
                    prop_assert_eq!(fast.at(range(p as u64, 1)), *known);
                }
            }
        }
    }
}
