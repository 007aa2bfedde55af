//! The state byte of a page: which lists of the read and of the write side it is in.

use super::balance::Region;

// Per page: one bit for the read side, and the next one for the write side.
/// Referenced by this operation since a hand last looked.
pub const ACCESSED: u8 = 1;
/// In a ring of this side.
pub const LINKED: u8 = 4;
/// In a shadow of this side.
pub const SHADOWED: u8 = 16;
/// The ring or shadow is a file region's.
pub const FILE: u8 = 64;

/// Bit 0 says which operation's region; the same page may be in one of each side.
#[inline]
pub fn side(region: Region) -> usize {
    region & 1
}

/// What the state of a page in a region's ring ([`LINKED`]) or shadow ([`SHADOWED`]) says of it.
#[inline]
pub fn state_in(region: Region, bit: u8) -> u8 {
    (bit | if region >= 2 { FILE } else { 0 }) << side(region)
}
