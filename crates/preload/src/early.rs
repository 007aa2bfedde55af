//! Memory that the program took before this library started: an allocator in the program's own file
//! reserves address space when the program is loaded (Chromium's PartitionAlloc). It is managed
//! from the start.

use crate::own;
use swaplab_pager::kernel::PAGE;
use swaplab_pager::reservations::{parse, Mapping};
use swaplab_pager::Pager;

/// The reservations of this process. Called before the pager's own memory is mapped.
pub fn reservations() -> Vec<Mapping> {
    // Without /proc nothing is paged, and `Pager::new` says so.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    parse(&maps, &own::range())
}

/// Manage these reservations. Returns whether there are any.
pub fn manage(pager: &Pager, reservations: &[Mapping]) -> bool {
    let mut managed = pager.lock_managed();
    for mapping in reservations {
        managed.adopt(mapping.bytes.start / PAGE..mapping.bytes.end / PAGE, mapping.prot);
    }
    !reservations.is_empty()
}
