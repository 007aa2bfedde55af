//! The configuration of a pager.

use crate::kernel::{Missing, PAGE};
use crate::medium::Medium;
use crate::stats::Stats;
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
    /// Makes the counters of a forked child, when it starts a pager thread of its own. `None`:
    /// children are not paged.
    pub child_stats: Option<fn() -> Result<&'static Stats, Missing>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config(scheme: &str, budget_bytes: usize, store_bytes: Option<usize>) -> Config {
        Config {
            budget_bytes,
            scheme: parse_scheme(scheme).unwrap(),
            policy: PolicySpec::parse("fifo").unwrap(),
            place: Place::default(),
            flash: FLASH_DIRECTORY.into(),
            medium: Medium::default(),
            range_bytes: 1 << 30,
            store_bytes,
            record: None,
            protect: true,
            started: |_| (),
            child_stats: None,
        }
    }

    #[test]
    fn an_eighth_of_the_budget_or_64_pages_are_kept_free() {
        // 8 MiB are 2,048 pages, of which an eighth is 256; the least budget has 256.
        assert_eq!([8 << 20, LEAST_BUDGET].map(|bytes| config("zram", bytes, None).frames()), [1792, 192]);
    }

    #[test]
    fn the_size_of_the_store_is_the_schemes_capacity_unless_that_is_given() {
        let limit = |scheme: &str, bytes| config(scheme, 8 << 20, bytes).sized_scheme().unwrap().params.text("limit").to_string();
        assert_eq!(limit("zram", Some(8 << 20)), "2048p");
        assert_eq!([limit("zram:limit=3p", Some(8 << 20)), limit("zram", None)], ["3p", "unlimited"]);
    }

    #[test]
    fn schemes_that_the_pager_cannot_perform_are_refused() {
        let refusal = |text| parse_scheme(text).err().unwrap().to_string();
        assert!(refusal("tiered").contains("'tiered' is not supported by the pager; expected one of: "), "{}", refusal("tiered"));
        assert!(!refusal("tiered").split("one of:").nth(1).unwrap().contains("tiered"));
        assert!(refusal("zram:algorithm=lzo-rle").contains("expected algorithm=lz4 or algorithm=zstd"));
    }

    #[test]
    fn schemes_use_the_media_that_they_name() {
        let media = |text| parse_scheme(text).map(|scheme| (uses_nvm(&scheme), uses_flash(&scheme))).unwrap();
        assert_eq!(
            [media("nvm-direct"), media("nvm-copy"), media("flash"), media("zram")],
            [(true, false), (true, false), (false, true), (false, false)]
        );
    }

    #[test]
    fn a_place_is_memory_a_node_or_a_directory() {
        assert_eq!(Place::parse("").unwrap(), Place::Memory);
        assert_eq!(Place::parse("node:12").unwrap(), Place::Node(12));
        assert_eq!(Place::parse("/mnt/nvm").unwrap(), Place::Directory("/mnt/nvm".into()));
        assert!(Place::parse("node:x").unwrap_err().to_string().contains("'node:x' is not a NUMA node"));
    }
}
