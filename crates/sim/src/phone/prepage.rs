//! What: prepaging at a switch: pages that the app's last start had to fetch are read when it is started, while it does its own work.
//! Why: a switch faults page by page and waits for each; what it needs is much the same every time.
//! Source: ASAP ("ASAP: Fast Mobile Application Switch via Adaptive Prepaging", USENIX ATC 2021).
//! Deviations: written after the paper's abstract. One list for pages of swap and of files: those that the last start fetched,
//! ahead or by fault, and used. The reads of a start are under way together, as many as the device serves at a time, and run beside
//! its processor time; it waits for what is left of them. No estimate from the page table's neighbourhood.
//! Weakness: what is read and not used took a frame and a read; the list lags by one start.

use super::machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_policy::{bits, Backing};
use swaplab_vocab::{AppId, Op, PageId};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prepage {
    #[default]
    None,
    /// Adaptive prepaging (ASAP).
    Asap,
}

/// Per app, what its last start fetched and used; and what the present one does.
#[derive(Default)]
pub struct Trail {
    lists: Vec<Vec<PageId>>,
    /// Fetched by the present start.
    fetched: Vec<PageId>,
    used: Vec<PageId>,
    pub(super) on: bool,
}

impl Trail {
    pub fn new(apps: usize) -> Trail {
        Trail { lists: vec![Vec::new(); apps], ..Trail::default() }
    }

    pub fn fetched(&mut self, page: PageId) {
        if self.on {
            self.fetched.push(page);
        }
    }

    pub fn used(&mut self, page: PageId) {
        if self.on {
            self.used.push(page);
        }
    }

    /// The start of `app` is over.
    pub fn finish(&mut self, app: AppId) {
        self.on = false;
        let (mut fetched, mut used) = (std::mem::take(&mut self.fetched), std::mem::take(&mut self.used));
        fetched.sort_unstable();
        used.sort_unstable();
        fetched.retain(|page| used.binary_search(page).is_ok());
        fetched.dedup();
        self.lists[usize::from(app)] = fetched;
    }
}

impl Machine {
    /// Bring in what `app` will need, beside `cpu_ns` of its own work.
    pub fn prepage(&mut self, app: AppId, cpu_ns: u64) {
        let list = std::mem::take(&mut self.trail.lists[usize::from(app)]);
        self.trail.on = true;
        (self.together, self.beside_ns) = (Some([0; 5]), cpu_ns);
        for page in list {
            let has_content = self.pages.backing(page) == Backing::File || self.pages.bits(page) & bits::SLOT != 0;
            if has_content && self.pages.bits(page) & (bits::RESIDENT | bits::MAPPED) == 0 {
                self.touch(page, Op::Read);
            }
        }
        (self.together, self.beside_ns) = (None, 0);
    }
}
