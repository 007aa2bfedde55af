//! The state of a page in `active-inactive`, one bit each, and the results of a scan.

/// The accessed bit of the page-table entry.
pub const ACCESSED: u8 = 1;
/// A scan found the page accessed once while it was inactive.
pub const REFERENCED: u8 = 2;
/// The page was active before: a refault on it means that the working set does not fit into memory.
pub const WORKINGSET: u8 = 4;
pub const EXECUTABLE: u8 = 8;
/// The page is evicted and has a shadow entry with its time of eviction.
pub const SHADOW: u8 = 16;
/// The page faulted within the refault distance and enters the active list.
pub const RECALLED: u8 = 32;
/// The page is being written to swap, or has been written. It is in a list, but not resident.
pub const WRITING: u8 = 64;
pub const WRITTEN: u8 = 128;

/// What became of a scanned page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    Evicted,
    Spared,
    /// The list is empty, or the page is being written: scanning on is no progress.
    Nothing,
}
