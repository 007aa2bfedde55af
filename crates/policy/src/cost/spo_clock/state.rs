//! The state byte of a page: its access bits, and which lists of the read and of the write side it
//! is in.

use super::balance::Region;

// Each constant is the bit of the read side; the next higher bit is the one of the write side.
/// Referenced by this operation since a hand last examined the page.
pub const ACCESSED: u8 = 1;
/// In a ring of this side.
pub const LINKED: u8 = 4;
/// In a shadow of this side.
pub const SHADOWED: u8 = 16;
/// The ring or shadow is a file region's.
pub const FILE: u8 = 64;

/// The side of a region: 0 for read, 1 for write. A page may be in one region of each side.
#[inline]
pub fn side(region: Region) -> usize {
    region & 1
}

/// The state bits of a page in the ring of each region.
pub static IN_RING: [u8; 4] = [LINKED, LINKED << 1, LINKED | FILE, (LINKED | FILE) << 1];
/// The state bits of a page in the shadow of each region.
pub static IN_SHADOW: [u8; 4] = [SHADOWED, SHADOWED << 1, SHADOWED | FILE, (SHADOWED | FILE) << 1];
