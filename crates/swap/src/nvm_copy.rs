//! What: a swap area in byte-addressable NVM; pages are copied out and back in by loads and stores.
//! Why: swap in NVM without Direct Read, the baseline for Direct Read (DR.Swap, Table IV,
//! "disabled").
//! Source: DR.Swap (Zhong et al. 2016), Section III-A.
//! Deviations: after a swap-in a page keeps its slot until it is written, as in the kernel's swap
//! cache.
//! Weakness: pages that are only read are copied too.

use crate::area::{Area, SIZE};
use crate::entry::{Entry, Info, Reservation, Setup};
use crate::plain::Plain;
use crate::{Medium, Scheme};
use swaplab_vocab::{Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "nvm-copy",
    what: "swap area in NVM on the memory bus, every fault copies",
    source: "DR.Swap, Section III-A",
    parameters: &[SIZE],
    info: Info {
        medium: Some(Medium::Nvm),
        areas: &[Reservation::new("size", Medium::Nvm)],
        capacity: Some("size"),
        compresses: false,
        reads_in_place: false,
        worlds: &World::ALL,
        build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
            let backend = Plain::memory(Medium::Nvm);
            Ok(Box::new(Area::new(setup.pages, setup.pages_of(params, "size")?, backend)))
        },
    },
};
