//! The environment that a scheme is built for, and its properties in the registry.

use crate::{Compressibility, Content, Medium, Scheme};
use serde::Serialize;
use std::sync::Arc;
use swaplab_vocab::{BadInput, Memory, Params, Result, World, PAGE_SIZE};

/// The environment that a scheme is built for.
#[derive(Clone)]
pub struct Setup {
    /// Number of pages: every [`PageId`] is below this.
    pub pages: usize,
    /// Page frames of memory, not counting memory of the scheme. The default size of a pool is a
    /// share of them.
    pub frames: usize,
    /// The machine's DRAM in pages, to which sizes in percent refer.
    pub dram_pages: u64,
    /// Compressed sizes of pages.
    pub content: Arc<dyn Content>,
    /// Whether the runner offers pages of files too (`file_left`, `read_files`).
    pub files: bool,
    /// Whether the kernel reads a page from a swap device in memory without the swap cache, and
    /// frees its slot at once (`SWP_SYNCHRONOUS_IO`, mm/memory.c of Linux 4.15 and later).
    pub bypasses_swap_cache: bool,
}

impl Setup {
    /// A machine whose DRAM has just these frames, with the included distribution of compressed
    /// sizes.
    pub fn new(pages: usize, frames: usize) -> Setup {
        let content = Arc::new(Compressibility::sampled(0));
        Setup { pages, frames, dram_pages: frames as u64, content, files: false, bypasses_swap_cache: false }
    }

    /// The size parameter `name` in pages; `None` is unlimited.
    pub fn pages_of(&self, params: &Params, name: &str) -> Result<Option<u64>> {
        pages_of(params, name, PAGE_SIZE, self.dram_pages)
    }
}

/// The size parameter `name` in pages of `page_bytes`, on a machine with `dram_pages`; `None` is
/// unlimited.
pub fn pages_of(params: &Params, name: &str, page_bytes: u64, dram_pages: u64) -> Result<Option<u64>> {
    match params.size(name) {
        None => Ok(None),
        Some(Memory::Percent(0.0)) => Err(params.bad(name, "a size above 0%")),
        Some(size) => size.pages(page_bytes, dram_pages).map(Some).map_err(|_| {
            BadInput::new(
                params.owner(),
                format!("{name}={} is less than one page", params.text(name)),
                format!("at least {page_bytes} bytes"),
            )
        }),
    }
}

/// Properties of a scheme in the registry, in addition to its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    /// The medium to which victims are written.
    pub medium: Option<Medium>,
    /// The parameters that reserve a part of a medium; the first one is for the swap area.
    pub areas: &'static [Reservation],
    /// The parameter that limits the space taken on the medium.
    pub capacity: Option<&'static str>,
    /// Whether the scheme has a compressed pool in DRAM.
    pub compresses: bool,
    /// Whether pages are read where they lie in the swap area, without a copy (Direct Read).
    pub reads_in_place: bool,
    pub worlds: &'static [World],
    /// Build the scheme. The caller has checked the parameters against the entry's.
    #[serde(skip)]
    pub build: fn(&Setup, &Params) -> Result<Box<dyn Scheme>>,
}

/// A part of a medium that a scheme reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The parameter for its size.
    pub parameter: &'static str,
    pub medium: Medium,
}

impl Reservation {
    pub const fn new(parameter: &'static str, medium: Medium) -> Reservation {
        Reservation { parameter, medium }
    }
}

pub type Entry = swaplab_vocab::Entry<Info>;
