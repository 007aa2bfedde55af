//! What: a swap area on a memory card, through the storage stack.
//! Why: SwapBench compares it with the internal flash, because cheap phones had free space only on
//! a card.
//! Source: SwapBench (Zhu et al. 2016), the scheme "flash (internal or SD card)".
//! Deviations: those of `flash`.
//! Weakness: hundreds of random writes a second at most.

use crate::area::{Area, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::{Plain, MERGE, READAHEAD};
use crate::{Medium, Scheme};
use swaplab_vocab::{Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "sd-card",
    what: "swap area on a memory card, through the block layer",
    source: "SwapBench",
    parameters: &[SIZE, READAHEAD, MERGE],
    info: Info {
        medium: Some(Medium::SdCard),
        areas: &[Reservation::new("size", Medium::SdCard)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Kernel],
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::block_device(Medium::SdCard, params)?;
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};
