//! The page that leaves memory now, shown to a scheme that asks how well it compresses: the real compressor answers here what
//! a distribution answers in the simulator.

use super::PageBytes;
use crate::kernel::PAGE;
use std::sync::Mutex;
use swaplab_swap::{compress, Algorithm, Content};
use swaplab_vocab::PageId;

#[derive(Default)]
pub struct Current(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    page: Vec<u8>,
    /// The compressed form, once somebody has asked for its size.
    compressed: Option<(Algorithm, Vec<u8>)>,
}

impl Current {
    /// A page leaves now.
    pub fn show(&self, content: &PageBytes) {
        let mut shown = self.0.lock().unwrap_or_else(|e| e.into_inner());
        shown.page.clear();
        shown.page.extend_from_slice(&content.0);
        shown.compressed = None;
    }

    /// Its compressed form, which a scheme has asked for before it let the page into a pool.
    pub fn compressed(&self) -> Option<(Algorithm, Box<[u8]>)> {
        let shown = self.0.lock().unwrap_or_else(|e| e.into_inner());
        shown.compressed.as_ref().map(|(algorithm, bytes)| (*algorithm, bytes.as_slice().into()))
    }
}

impl Content for Current {
    fn compressed(&self, _: PageId, algorithm: Algorithm) -> u32 {
        let mut shown = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if shown.page.is_empty() {
            return PAGE as u32; // asked at the building, about no page yet
        }
        if compress::same_filled(&shown.page) {
            return 0;
        }
        if shown.compressed.as_ref().is_none_or(|(done, _)| *done != algorithm) {
            shown.compressed = Some((algorithm, compress::bytes(&shown.page, algorithm).unwrap_or_else(|| shown.page.clone())));
        }
        let size = shown.compressed.as_ref().map_or(PAGE, |(_, bytes)| bytes.len());
        size.min(PAGE) as u32
    }
}
