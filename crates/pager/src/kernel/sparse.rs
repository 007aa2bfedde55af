//! A sparse table with an entry for every page, or every chunk, of the address space. Entries are
//! zero until they are written. Memory is taken in leaves of 2^18 entries, when an entry of the
//! leaf is first written.

use super::memory::{self, READ_WRITE};
use super::own;
use super::zeroed::Zeroed;
use rustix::io::Result;
use std::ops::{Index, IndexMut, Range};

/// Number of entries of a leaf, a multiple of the pages of a chunk.
const LEAF: usize = 1 << 18;

/// A two-level table of `T`. See the module.
pub struct Sparse<T: Copy> {
    /// Addresses of the leaves; 0: no entry was written.
    top: Zeroed<usize>,
    zero: T,
}

impl<T: Copy + Default> Sparse<T> {
    /// Make a table of `len` zero entries.
    ///
    /// # Safety
    /// All bits zero must be `T`'s default.
    pub unsafe fn new(len: usize) -> Result<Sparse<T>> {
        // SAFETY: zero is a usize.
        Ok(Sparse { top: unsafe { Zeroed::new(len.div_ceil(LEAF)) }?, zero: T::default() })
    }

    fn leaf(&self, number: usize) -> Option<&[T]> {
        // SAFETY: a leaf has `LEAF` entries until the table is dropped, and only this table refers
        // to them.
        (self.top[number] != 0).then(|| unsafe { std::slice::from_raw_parts(self.top[number] as *const T, LEAF) })
    }

    fn leaf_mut(&mut self, number: usize) -> Option<&mut [T]> {
        // SAFETY: as in `leaf`, and `self` is borrowed mutably.
        (self.top[number] != 0).then(|| unsafe { std::slice::from_raw_parts_mut(self.top[number] as *mut T, LEAF) })
    }

    fn make_leaf(&mut self, number: usize) -> &mut [T] {
        if self.top[number] == 0 {
            let size = LEAF * size_of::<T>();
            let made = own::take(size).and_then(|start| {
                // SAFETY: taken on the line above.
                unsafe { memory::protect(start..start + size, READ_WRITE) }.map(|()| start)
            });
            // Without its tables the pager does not know which pages are out.
            self.top[number] = made.unwrap_or_else(|e| crate::fatal(&format!("no address space for the pager's tables ({e})")));
        }
        self.leaf_mut(number).expect("made above")
    }

    /// Split `range` at the ends of leaves.
    fn parts(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut start = range.start;
        std::iter::from_fn(move || {
            let end = ((start / LEAF + 1) * LEAF).min(range.end);
            (start < end).then(|| std::mem::replace(&mut start, end)..end)
        })
    }

    /// The parts of `range` whose leaves exist. All other entries are zero.
    pub fn written(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        Self::parts(range).filter(|part| self.top[part.start / LEAF] != 0)
    }

    /// The same for the whole table.
    pub fn all_written(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        (0..self.top.len()).filter(|n| self.top[*n] != 0).map(|n| n * LEAF..(n + 1) * LEAF)
    }

    /// Apply `change`, which must map zero to zero, to the entries of `range`. No leaf is made.
    pub fn update(&mut self, range: Range<usize>, mut change: impl FnMut(&mut T)) {
        for part in Self::parts(range) {
            if let Some(leaf) = self.leaf_mut(part.start / LEAF) {
                leaf[part.start % LEAF..][..part.len()].iter_mut().for_each(&mut change);
            }
        }
    }

    /// Apply `change` to all entries of `range`.
    pub fn change(&mut self, range: Range<usize>, mut change: impl FnMut(&mut T)) {
        for part in Self::parts(range) {
            self.make_leaf(part.start / LEAF)[part.start % LEAF..][..part.len()].iter_mut().for_each(&mut change);
        }
    }

    /// Whether `is` holds for an entry of `range`. It must be false for zero.
    pub fn any(&self, range: Range<usize>, is: impl Fn(T) -> bool) -> bool {
        Self::parts(range).any(|part| {
            self.leaf(part.start / LEAF).is_some_and(|leaf| leaf[part.start % LEAF..][..part.len()].iter().any(|entry| is(*entry)))
        })
    }

    /// The runs of `range` with equal classes: `class` maps the entries of each block of `block`
    /// entries, a divisor of a leaf, to its class. Entries of a leaf that does not exist are one
    /// block.
    pub fn runs<'a, C: PartialEq + 'a>(
        &'a self,
        range: Range<usize>,
        block: usize,
        class: impl Fn(&[T]) -> C + 'a,
    ) -> impl Iterator<Item = (Range<usize>, C)> + 'a {
        let end = range.end;
        let block_at = move |at: usize| match self.leaf(at / LEAF) {
            Some(leaf) => {
                let len = (block - at % block).min(end - at);
                (at + len, class(&leaf[at % LEAF..][..len]))
            }
            None => (((at / LEAF + 1) * LEAF).min(end), class(&[self.zero])),
        };
        let mut start = range.start;
        std::iter::from_fn(move || {
            let first = start;
            let (mut to, class) = (start < end).then(|| block_at(start))?;
            while to < end {
                let (next, other) = block_at(to);
                if other != class {
                    break;
                }
                to = next;
            }
            start = to;
            Some((first..to, class))
        })
    }

    /// The number of entries at the start of `range` for which `is` holds.
    pub fn leading(&self, range: Range<usize>, is: impl Fn(T) -> bool) -> usize {
        let mut count = 0;
        for part in Self::parts(range) {
            let here = match self.leaf(part.start / LEAF) {
                Some(leaf) => leaf[part.start % LEAF..][..part.len()].iter().take_while(|entry| is(**entry)).count(),
                None if is(self.zero) => part.len(),
                None => 0,
            };
            count += here;
            if here < part.len() {
                break;
            }
        }
        count
    }
}

impl<T: Copy + Default> Index<usize> for Sparse<T> {
    type Output = T;
    #[inline]
    fn index(&self, at: usize) -> &T {
        self.leaf(at / LEAF).map_or(&self.zero, |leaf| &leaf[at % LEAF])
    }
}

impl<T: Copy + Default> IndexMut<usize> for Sparse<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.make_leaf(at / LEAF)[at % LEAF]
    }
}

impl<T: Copy> Drop for Sparse<T> {
    fn drop(&mut self) {
        let size = LEAF * size_of::<T>();
        for start in self.top.iter().copied().filter(|start| *start != 0) {
            // SAFETY: mapped by `make_leaf`, and no borrow exists any more.
            let _ = unsafe { own::give_back(start..start + size) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_zero_until_written_and_only_written_leaves_exist() {
        // SAFETY: zero is a u8.
        let mut table: Sparse<u8> = unsafe { Sparse::new(8 * LEAF) }.unwrap();
        table.update(0..8 * LEAF, |entry| *entry &= 1);
        assert_eq!(table.all_written().count(), 0);
        table[3 * LEAF - 1] = 5;
        table.change(5 * LEAF..5 * LEAF + 2, |entry| *entry += 7);
        assert_eq!((table[3 * LEAF - 1], table[5 * LEAF + 1], table[0], table[3 * LEAF]), (5, 7, 0, 0));
        assert_eq!(table.written(2 * LEAF + 9..6 * LEAF).collect::<Vec<_>>(), [2 * LEAF + 9..3 * LEAF, 5 * LEAF..6 * LEAF]);
        assert!(table.any(0..8 * LEAF, |entry| entry == 7) && !table.any(0..5 * LEAF, |entry| entry == 7));
        assert_eq!(table.leading(0..8 * LEAF, |entry| entry == 0), 3 * LEAF - 1);
        assert_eq!(table.leading(3 * LEAF..8 * LEAF, |entry| entry == 0), 2 * LEAF);
        assert_eq!(table.leading(5 * LEAF..8 * LEAF, |entry| entry == 0), 0);
    }
    #[test]
    fn runs_have_equal_classes_across_blocks_and_leaves() {
        // SAFETY: zero is a u8.
        let mut table: Sparse<u8> = unsafe { Sparse::new(4 * LEAF) }.unwrap();
        table.change(LEAF + 8..LEAF + 24, |entry| *entry = 1);
        let runs = |range| table.runs(range, 8, |block| block.iter().all(|entry| *entry == 1)).collect::<Vec<_>>();
        let whole = [(0..LEAF + 8, false), (LEAF + 8..LEAF + 24, true), (LEAF + 24..4 * LEAF, false)];
        assert_eq!(runs(0..4 * LEAF), whole);
        assert_eq!(runs(LEAF + 10..LEAF + 20), [(LEAF + 10..LEAF + 20, true)]);
        assert_eq!(runs(7..7), []);
    }
}
