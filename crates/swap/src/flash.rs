//! What: a swap area on the phone's flash, through the storage stack.
//! Why: what Linux does by default, and what DR.Swap, Kim & Bahn and A2S compare with.
//! Source: Linux `mm/swapfile.c`, `mm/swap_state.c`, `mm/page_io.c`; DR.Swap (Zhong et al. 2016), Section IV-B.
//! Deviations: readahead is the kernel's cluster variant (aligned window of slots); its window does not adapt. Both readahead and
//! write merging are off unless asked for, as on Android and as in the papers' counts.
//! Weakness: milliseconds at worst, and every swap-out wears the flash.

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
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::block_device(Medium::Flash, params)?;
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};
