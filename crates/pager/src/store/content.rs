//! The content of the page that is being evicted, for a scheme that needs its compressed size. The
//! size comes from the real compressor; in the simulator it comes from a distribution.

use super::PageBytes;
use crate::kernel::PAGE;
use std::sync::Mutex;
use swaplab_swap::{compress, Algorithm, Content};
use swaplab_vocab::PageId;

/// The page that is being evicted.
#[derive(Default)]
pub struct Current(Mutex<Victim>);

#[derive(Default)]
struct Victim {
    page: Vec<u8>,
    /// The compressed content, once its size was requested.
    compressed: Option<(Algorithm, Vec<u8>)>,
}

impl Current {
    /// Set the content of the page that is being evicted.
    pub fn set(&self, content: &PageBytes) {
        let mut victim = self.0.lock().unwrap_or_else(|e| e.into_inner());
        victim.page.clear();
        victim.page.extend_from_slice(&content.0);
        victim.compressed = None;
    }

    /// The compressed content. A scheme requests its size before it stores the page in a pool.
    pub fn compressed(&self) -> Option<(Algorithm, Box<[u8]>)> {
        let victim = self.0.lock().unwrap_or_else(|e| e.into_inner());
        victim.compressed.as_ref().map(|(algorithm, bytes)| (*algorithm, bytes.as_slice().into()))
    }
}

impl Content for Current {
    fn compressed(&self, _: PageId, algorithm: Algorithm) -> u32 {
        let mut victim = self.0.lock().unwrap_or_else(|e| e.into_inner());
        if victim.page.is_empty() {
            return PAGE as u32; // Called while the scheme is built, before any eviction.
        }
        if compress::same_filled(&victim.page) {
            return 0;
        }
        if victim.compressed.as_ref().is_none_or(|(done, _)| *done != algorithm) {
            victim.compressed = Some((algorithm, compress::bytes(&victim.page, algorithm).unwrap_or_else(|| victim.page.clone())));
        }
        let size = victim.compressed.as_ref().map_or(PAGE, |(_, bytes)| bytes.len());
        size.min(PAGE) as u32
    }
}
