//! What: a swap area in byte-addressable NVM; pages are copied out and back in by loads and stores.
//! Why: in-memory paging without Direct Read: the scheme against which Direct Read is judged (DR.Swap, Table IV, "disabled").
//! Source: DR.Swap (papers/000), Section III-A.
//! Deviations: a page read back keeps its slot until it is written, as a page in the kernel's swap cache does.
//! Weakness: a page that is only read is copied all the same.

use crate::area::{pages, Area, SIZE};
use crate::plain::Plain;
use crate::registry::{Info, Setup};
use crate::{Medium, Scheme};
use swaplab_policy::Params;
use swaplab_vocab::Result;

pub const INFO: Info = Info {
    key: "nvm-copy",
    what: "swap area in NVM on the memory bus, every fault copies",
    source: "DR.Swap, Section III-A",
    parameters: &[SIZE],
    medium: Some(Medium::Nvm),
    build: |setup: &Setup, params: &Params| -> Result<Box<dyn Scheme>> {
        let backend = Plain::memory(Medium::Nvm);
        Ok(Box::new(Area::new(setup.pages, pages("nvm-copy", "size", params)?, backend)))
    },
};
