//! What: a swap area on a memory card, through the storage stack.
//! Why: SwapBench compares it with the internal flash: it is what cheap phones had room on.
//! Source: SwapBench (papers/003), the scheme "flash (internal or SD card)".
//! Deviations: those of `flash`.
//! Weakness: hundreds of random writes a second at most.

use crate::area::{pages, Area, SIZE};
use crate::plain::{Plain, MERGE, READAHEAD};
use crate::registry::{Info, Setup};
use crate::{Medium, Scheme};
use swaplab_policy::Params;
use swaplab_vocab::Result;

pub const INFO: Info = Info {
    key: "sd-card",
    what: "swap area on a memory card, through the block layer",
    source: "SwapBench",
    parameters: &[SIZE, READAHEAD, MERGE],
    medium: Some(Medium::SdCard),
    build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
        let backend = Plain::block_device(Medium::SdCard, "sd-card", params)?;
        Ok(Box::new(Area::new(setup.pages, pages("sd-card", "size", params)?, backend)))
    },
};
