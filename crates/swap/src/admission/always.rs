//! What: all content is admitted.
//! Why: the baseline of Kim and Bahn, a cache without admission control.
//! Source: Kim and Bahn (2019), Section IV-A.
//! Deviations: none.
//! Weakness: data used once replaces data used often.

use super::{Admission, Entry, Info};
use swaplab_vocab::{Op, PageId};

pub static ENTRY: Entry = Entry {
    key: "always",
    what: "every miss enters",
    source: "Kim & Bahn, Section IV-A",
    parameters: &[],
    info: Info { build: |_, _| Ok(Box::new(Always)) },
};

struct Always;

impl Admission for Always {
    fn admit(&mut self, _: PageId, _: Op) -> bool {
        true
    }
}
