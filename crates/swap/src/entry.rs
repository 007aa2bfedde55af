//! What a scheme is built for, and what the registry knows of it.

use crate::{Compressibility, Content, Medium, Scheme};
use serde::Serialize;
use std::sync::Arc;
use swaplab_vocab::{BadInput, Memory, Params, Result, World, PAGE_SIZE};

/// What a scheme is built for.
#[derive(Clone)]
pub struct Setup {
    /// Pages that can ever be named: every page id is below this.
    pub pages: usize,
    /// Frames of memory beside the scheme (a pool's default size is a share of them).
    pub frames: usize,
    /// The machine's DRAM in pages: what a size in percent is of.
    pub dram_pages: u64,
    /// How well pages compress.
    pub content: Arc<dyn Content>,
}

impl Setup {
    /// On a machine whose DRAM is these frames, with the distribution of compressed sizes that comes along.
    pub fn new(pages: usize, frames: usize) -> Setup {
        Setup { pages, frames, dram_pages: frames as u64, content: Arc::new(Compressibility::sampled(0)) }
    }

    /// Pages that a size parameter gives; none is unlimited.
    pub fn pages_of(&self, params: &Params, name: &str) -> Result<Option<u64>> {
        pages_of(params, name, PAGE_SIZE, self.dram_pages)
    }
}

/// Pages of `page_bytes` that a size parameter gives, on a machine with `dram_pages`; none is unlimited.
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

/// What the registry knows of a scheme beside its key and parameters.
#[derive(Debug, Serialize)]
pub struct Info {
    /// The medium that pages go to.
    pub medium: Option<Medium>,
    /// The parameters that set a part of a medium aside; the first is the swap area's.
    pub areas: &'static [Reservation],
    /// The parameter that bounds what it holds on its medium.
    pub capacity: Option<&'static str>,
    /// Whether it keeps pages compressed, in a pool in DRAM.
    pub compresses: bool,
    pub worlds: &'static [World],
    /// `params` are checked against the entry's parameters before this is called.
    #[serde(skip)]
    pub build: fn(&Setup, &Params) -> Result<Box<dyn Scheme>>,
}

/// A part of a medium that a scheme sets aside for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The parameter that gives its size.
    pub parameter: &'static str,
    pub medium: Medium,
}

impl Reservation {
    pub const fn new(parameter: &'static str, medium: Medium) -> Reservation {
        Reservation { parameter, medium }
    }
}

pub type Entry = swaplab_vocab::Entry<Info>;
