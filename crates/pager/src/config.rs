//! The configuration of a pager.

use crate::kernel::{Missing, PAGE};
use crate::medium::Medium;
use std::path::PathBuf;
use swaplab_policy::PolicySpec;
use swaplab_swap::{Algorithm, SchemeSpec, SCHEMES};
use swaplab_vocab::{BadInput, World};

pub(crate) const DIRECT: &str = "nvm-direct";

/// Parse a scheme with parameters, and check that the pager can perform it.
pub fn parse_scheme(text: &str) -> swaplab_vocab::Result<SchemeSpec> {
    check_supported(SchemeSpec::parse(text)?)
}

fn check_supported(scheme: SchemeSpec) -> swaplab_vocab::Result<SchemeSpec> {
    let key = scheme.entry.key;
    if !scheme.entry.info.worlds.contains(&World::Memory) {
        let known: Vec<_> = SCHEMES.iter().filter(|entry| entry.info.worlds.contains(&World::Memory)).map(|entry| entry.key).collect();
        return Err(BadInput::new("scheme", format!("'{key}' is not supported by the pager"), format!("one of: {}", known.join(" "))));
    }
    if scheme.algorithm() == Some(Algorithm::LzoRle) {
        return Err(BadInput::new(key, "algorithm=lzo-rle has no compressor here", "algorithm=lz4 or algorithm=zstd"));
    }
    Ok(scheme)
}

/// Whether a scheme moves pages to and from NVM, whose latency can be emulated.
pub fn uses_nvm(scheme: &SchemeSpec) -> bool {
    scheme.entry.info.medium == Some(swaplab_swap::Medium::Nvm)
}

/// Whether a scheme needs a flash file.
pub(crate) fn uses_flash(scheme: &SchemeSpec) -> bool {
    scheme.area_medium() == Some(swaplab_swap::Medium::Flash)
}

/// The memory that emulates NVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Anonymous memory of this machine.
    #[default]
    Memory,
    /// The memory of one NUMA node, such as a CXL expander or persistent memory.
    Node(u32),
    /// A nameless file, which the kernel deletes at the program's end, in this directory of a
    /// tmpfs.
    Directory(PathBuf),
}

impl Place {
    /// Parse a directory, `node:N`, or an empty text (this machine's memory).
    pub fn parse(text: &str) -> Result<Place, Missing> {
        match (text, text.strip_prefix("node:")) {
            ("", _) => Ok(Place::Memory),
            (_, None) => Ok(Place::Directory(PathBuf::from(text))),
            (_, Some(node)) => node
                .parse()
                .map(Place::Node)
                .map_err(|_| Missing::new("NVM", format!("'{text}' is not a NUMA node; node:N with a decimal N is expected"))),
        }
    }
}

/// The configuration of a pager.
#[derive(Clone)]
pub struct Config {
    /// Limit of managed memory in DRAM, in bytes.
    pub budget_bytes: usize,
    pub scheme: SchemeSpec,
    pub policy: PolicySpec,
    pub place: Place,
    /// Directory of the flash file.
    pub flash: PathBuf,
    pub medium: Medium,
    /// Size of the reserved address range, which takes no memory until it is used.
    pub range_bytes: usize,
    /// Limit of the store. `None`: a direct store is limited by its file system, a copying store by
    /// the larger of [`LEAST_STORE`] and sixteen times the budget.
    pub store_bytes: Option<usize>,
    /// A new file for the record of faults and evictions.
    pub record: Option<PathBuf>,
    /// Whether to write-protect during evictions. Without it writes are lost: a control that shows
    /// that the protection works.
    pub protect: bool,
    /// Called with the `pthread_t` of the pager thread when it starts. Allocations of that thread
    /// must not be managed memory.
    pub started: fn(usize),
}

impl Config {
    /// Number of frames that the policy may fill: the budget less a reserve.
    pub fn frames(&self) -> usize {
        let budget = self.budget_bytes / PAGE;
        budget - (budget / RESERVE).max(64)
    }

    /// The scheme, with `store_bytes` as its capacity parameter unless that parameter is given.
    pub fn sized_scheme(&self) -> Result<SchemeSpec, Missing> {
        let scheme = &self.scheme;
        let not_given = |name: &&str| !scheme.params.is_given(name);
        match (self.store_bytes, scheme.entry.info.capacity.filter(not_given)) {
            (Some(bytes), Some(parameter)) => {
                scheme.with(parameter, format!("{}p", bytes / PAGE)).map_err(|e| Missing::new("scheme", e.to_string()))
            }
            _ => Ok(scheme.clone()),
        }
    }
}

/// The policy may not fill 1/`RESERVE` of the budget: room for pages that arrive before and during
/// a round. With a larger reserve a round evicts more pages and costs less per page, as each round
/// scans all memory once.
const RESERVE: usize = 8;

/// The smallest budget in bytes. A smaller one has no room for pages that arrive between two
/// censuses.
pub const LEAST_BUDGET: usize = 1 << 20;

/// Bytes of swapped pages for which a copying scheme's tables are built at least, at about 20 bytes
/// per page.
pub const LEAST_STORE: usize = 1 << 30;

/// The default directory of the flash file: the usual place of temporary files that are too large
/// for memory.
pub const FLASH_DIRECTORY: &str = "/var/tmp";
