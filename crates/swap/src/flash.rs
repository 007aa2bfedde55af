//! What: a swap area on the phone's flash, through the storage stack.
//! Why: the default of Linux, and the baseline of DR.Swap, Kim and Bahn, and A2S.
//! Source: Linux `mm/swapfile.c`, `mm/swap_state.c`, `mm/page_io.c`; DR.Swap (Zhong et al. 2016),
//! Section IV-B.
//! Deviations: readahead is the kernel's cluster variant (aligned window of slots); its window does
//! not adapt. Both readahead and write merging are off by default, as on Android and in the counts
//! of the papers.
//! Weakness: a swap-in takes milliseconds at worst, and every swap-out wears the flash.

use crate::area::{Area, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::{Plain, MERGE, READAHEAD};
use crate::{Medium, Scheme};
use swaplab_vocab::{Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "flash",
    what: "swap area on the internal flash, through the block layer",
    source: "Linux mm/swapfile.c; DR.Swap, Section IV-B",
    parameters: &[SIZE, READAHEAD, MERGE],
    info: Info {
        medium: Some(Medium::Flash),
        areas: &[Reservation::new("size", Medium::Flash)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::block_device(Medium::Flash, params)?;
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};
