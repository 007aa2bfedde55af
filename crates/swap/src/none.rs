//! What: no swap. A dirty anonymous page cannot leave memory.
//! Why: Android without swap, where only the low-memory killer frees anonymous memory; the baseline
//! of every comparison.
//! Source: DR.Swap (Zhong et al. 2016), Section II; Kim and Bahn (2019), "original Android".
//! Deviations: none.
//! Weakness: anonymous memory is freed only by killing an app.

use crate::entry::{Entry, Info, Setup};
use crate::{Scheme, Served, Stored, Transfers, Usage};
use swaplab_vocab::{Op, PageId, Params, Result, World};

pub static ENTRY: Entry = Entry {
    key: "none",
    what: "no swap: dirty anonymous pages stay in memory",
    source: "DR.Swap, Section II",
    parameters: &[],
    info: Info {
        medium: None,
        areas: &[],
        capacity: None,
        compresses: false,
        reads_in_place: false,
        worlds: &[World::Replay, World::Phone, World::Kernel, World::Vm],
        build: |setup: &Setup, _: &Params| -> Result<Box<dyn Scheme>> { Ok(Box::new(NoSwap { written: vec![false; setup.pages] })) },
    },
};

struct NoSwap {
    /// Whether each page has content. All such pages are in memory.
    written: Vec<bool>,
}

impl Scheme for NoSwap {
    fn swap_out(&mut self, page: PageId, dirty: bool, _: &mut Transfers) -> Stored {
        self.written[page as usize] |= dirty;
        if self.written[page as usize] {
            Stored::Full
        } else {
            Stored::Dropped
        }
    }

    fn fault(&mut self, _: PageId, _: Op, _: &mut Transfers) -> Served {
        Served::ZeroFilled
    }

    fn discard(&mut self, page: PageId) {
        self.written[page as usize] = false;
    }

    fn share(&mut self, _: PageId, _: PageId) {}

    fn adopt(&mut self, _: PageId) -> bool {
        false
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn check(&self) -> std::result::Result<(), String> {
        Ok(())
    }
}
