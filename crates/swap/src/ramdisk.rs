//! What: a swap area on a RAM disk: DRAM that is accessed through the block layer.
//! Why: DR.Swap's "DRAM backed swapping", the fastest possible block device. Its remaining cost is
//! that of the "fake I/O path".
//! Source: DR.Swap (Zhong et al. 2016), Section IV-A; SwapBench (Zhu et al. 2016), the architecture
//! dimension.
//! Deviations: none. Under a page policy of Linux 4.15 or later (`Setup::bypasses_swap_cache`) a
//! swap-in frees the slot and reads one page, whatever `readahead` says.
//! Weakness: it frees no memory, because it moves pages from DRAM to DRAM.

use crate::area::{Area, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::{Plain, MERGE, READAHEAD};
use crate::{Medium, Scheme};
use swaplab_vocab::{Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "ramdisk",
    what: "swap area on a RAM disk, through the block layer",
    source: "DR.Swap, Section IV-A",
    parameters: &[SIZE, READAHEAD, MERGE],
    info: Info {
        medium: Some(Medium::Dram),
        areas: &[Reservation::new("size", Medium::Dram)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Kernel, World::Vm],
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::ramdisk(setup, params)?;
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};
