//! What: content is rejected and noted in a history; it is admitted at its next miss if it is still
//! in the history.
//! Why: half of the data of swap traces is used once and should not replace the other half.
//! Source: Kim and Bahn (2019), Section III-B: the history has as many entries as the NVM has
//! pages.
//! Deviations: the paper does not define the order of the history: here LRU, or FIFO by option.
//! Weakness: the second use is still served by slow storage; if everything fits into the cache,
//! rejecting first uses gains nothing.

use super::{Admission, Entry, Info, Setup};
use swaplab_policy::containers::links::{Links, List};
use swaplab_vocab::{Kind, Op, PageId, Parameter, Params, Result};

pub static ENTRY: Entry = Entry {
    key: "second-touch",
    what: "a miss enters if it is in the history of those turned away",
    source: "Kim & Bahn, Section III-B",
    parameters: &[
        Parameter::new("history", Kind::Choice(&["lru", "fifo"]), "lru", "order of the history: lru or fifo"),
        Parameter::new(
            "entries",
            Kind::Integer { low: 0, high: u32::MAX as u64 },
            "0",
            "length of the history; 0: as many as the cache has pages",
        ),
    ],
    info: Info { build },
};

/// The list of the history. An entry's links are two u32, which is below the paper's 20 bytes per
/// entry.
const HISTORY: List = List(0);
const ENTRY_BYTES: u64 = 12;

struct SecondTouch {
    history: Links,
    entries: usize,
    lru: bool,
}

fn build(setup: &Setup, params: &Params) -> Result<Box<dyn Admission>> {
    let entries = match params.integer("entries") as usize {
        0 => setup.capacity,
        entries => entries,
    };
    let lru = params.choice("history") == 0;
    Ok(Box::new(SecondTouch { history: Links::new(setup.pages, 1), entries, lru }))
}

impl Admission for SecondTouch {
    fn admit(&mut self, page: PageId, _: Op) -> bool {
        if self.history.contains(page) {
            self.forget(page);
            return true;
        }
        self.history.push_front(HISTORY, page);
        if self.history.len(HISTORY) > self.entries {
            if let Some(oldest) = self.history.back(HISTORY) {
                self.forget(oldest);
            }
        }
        false
    }

    fn note_miss(&mut self, page: PageId) {
        if self.lru && self.history.contains(page) {
            self.history.move_to_front(HISTORY, page);
        }
    }

    fn forget(&mut self, page: PageId) {
        if self.history.contains(page) {
            self.history.remove(HISTORY, page);
        }
    }

    fn metadata_bytes(&self) -> u64 {
        self.history.len(HISTORY) as u64 * ENTRY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::AdmissionSpec;
    use crate::Compressibility;
    use std::sync::Arc;

    fn run(text: &str, requests: &[PageId]) -> Vec<bool> {
        let setup = Setup { pages: 9, capacity: 2, content: Arc::new(Compressibility::sampled(0)) };
        let mut a = AdmissionSpec::parse(text).unwrap().build(&setup).unwrap();
        requests.iter().map(|p| a.admit(*p, Op::Write)).collect()
    }

    #[test]
    fn the_history_is_as_long_as_the_cache() {
        // 1 is rejected, then admitted and dropped from the history. After 1, 2 and 3, the history
        // of two entries has lost 1.
        assert_eq!(run("second-touch", &[1, 1, 1, 2, 3, 1]), [false, true, false, false, false, false]);
        assert_eq!(run("second-touch:entries=3", &[1, 2, 3, 1]), [false, false, false, true]);
    }
}
