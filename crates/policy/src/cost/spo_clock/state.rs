//! The state of a page: one word for the regions of each operation, read and write, because a page
//! may be in one region of each.

use super::balance::Region;

/// Bit of a word: this operation referenced the page since a hand last examined it.
pub const ACCESSED: u32 = 1;
/// Bit of a word: the page is in a ring of this operation.
pub const LINKED: u32 = 2;
/// Bit of a word: that ring, or the one that the page left last, belongs to a file region.
pub const FILE: u32 = 4;
/// Position of the rest of the word: 0 while the page is in a ring, otherwise its number in the
/// shadow.
const NUMBER: u32 = 3;
/// All numbers are below this one.
pub const NUMBERS: usize = 1 << (u32::BITS - NUMBER);

/// The side of a region: 0 for read, 1 for write.
#[inline(always)]
pub fn side(region: Region) -> usize {
    region & 1
}

/// The region of the ring or shadow that the word of a side names.
#[inline(always)]
pub fn region(word: u32, side: usize) -> Region {
    2 * usize::from(word & FILE != 0) + side
}

#[inline(always)]
pub fn number(word: u32) -> u32 {
    word >> NUMBER
}

/// The word of a page in the ring of a region.
#[inline(always)]
pub fn in_ring(region: Region) -> u32 {
    LINKED | in_shadow(region, 0)
}

/// The word of a page with a number in the shadow of a region.
#[inline(always)]
pub fn in_shadow(region: Region, number: u32) -> u32 {
    (number << NUMBER) | (FILE * (region / 2) as u32)
}
