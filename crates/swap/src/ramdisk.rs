//! What: a swap area on a RAM disk: plain DRAM, but reached through the block layer.
//! Why: DR.Swap's "DRAM backed swapping": the speed limit of any block-device scheme; what is left over is the "fake I/O path".
//! Source: DR.Swap (papers/000), Section IV-A; SwapBench (papers/003), the architecture dimension.
//! Deviations: none.
//! Weakness: it frees no memory, it only moves pages: DRAM for DRAM.

use crate::area::{pages, Area, SIZE};
use crate::plain::{Plain, MERGE, READAHEAD};
use crate::registry::{Info, Setup};
use crate::{Medium, Scheme};
use swaplab_policy::Params;
use swaplab_vocab::Result;

pub const INFO: Info = Info {
    key: "ramdisk",
    what: "swap area on a RAM disk, through the block layer",
    source: "DR.Swap, Section IV-A",
    parameters: &[SIZE, READAHEAD, MERGE],
    medium: Some(Medium::Dram),
    build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
        let backend = Plain::block_device(Medium::Dram, "ramdisk", params)?;
        Ok(Box::new(Area::new(setup.pages, pages("ramdisk", "size", params)?, backend)))
    },
};
