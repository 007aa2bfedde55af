//! What a pager is started with.

use crate::kernel::{Missing, PAGE};
use crate::medium::Medium;
use std::path::PathBuf;
use swaplab_policy::PolicySpec;
use swaplab_swap::{Algorithm, SchemeSpec, SCHEMES};
use swaplab_vocab::{BadInput, World};

pub(crate) const DIRECT: &str = "nvm-direct";

/// A scheme that the pager can perform, as written by a user.
pub fn parse_scheme(text: &str) -> swaplab_vocab::Result<SchemeSpec> {
    performed(SchemeSpec::parse(text)?)
}

fn performed(scheme: SchemeSpec) -> swaplab_vocab::Result<SchemeSpec> {
    let key = scheme.entry.key;
    if !scheme.entry.info.worlds.contains(&World::Memory) {
        let known: Vec<_> = SCHEMES.iter().filter(|entry| entry.info.worlds.contains(&World::Memory)).map(|entry| entry.key).collect();
        return Err(BadInput::new("scheme", format!("'{key}', which the pager cannot perform"), format!("one of: {}", known.join(" "))));
    }
    if scheme.algorithm() == Some(Algorithm::LzoRle) {
        return Err(BadInput::new(key, "algorithm=lzo-rle: no compressor for it here", "algorithm=lz4 or algorithm=zstd"));
    }
    Ok(scheme)
}

/// Whether pages of a scheme come and go through NVM, whose latency can be emulated.
pub fn uses_nvm(scheme: &SchemeSpec) -> bool {
    scheme.entry.info.medium == Some(swaplab_swap::Medium::Nvm)
}

/// Whether a scheme needs a flash file.
pub(crate) fn uses_flash(scheme: &SchemeSpec) -> bool {
    scheme.area_medium() == Some(swaplab_swap::Medium::Flash)
}

/// What plays the NVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Anonymous memory of this machine.
    #[default]
    Memory,
    /// The memory of one NUMA node: a CXL expander, or persistent memory used as one.
    Node(u32),
    /// A nameless file (so that nothing is left behind) in this directory of a tmpfs.
    Directory(PathBuf),
}

impl Place {
    /// A directory, `node:N`, or nothing.
    pub fn parse(text: &str) -> Result<Place, Missing> {
        match (text, text.strip_prefix("node:")) {
            ("", _) => Ok(Place::Memory),
            (_, None) => Ok(Place::Directory(PathBuf::from(text))),
            (_, Some(node)) => node.parse().map(Place::Node).map_err(|_| Missing::new("NVM", format!("'{text}': no such NUMA node"))),
        }
    }
}

#[derive(Clone)]
pub struct Config {
    /// Managed memory that may be in DRAM.
    pub budget_bytes: usize,
    pub scheme: SchemeSpec,
    pub policy: PolicySpec,
    pub place: Place,
    /// Where a flash file is made.
    pub flash: PathBuf,
    pub medium: Medium,
    /// Size of the managed address range; it costs nothing until used.
    pub range_bytes: usize,
    /// Most that the store may hold; none: a direct one as much as its file system lets it, another [`LEAST_STORE`] or sixteen
    /// times the budget.
    pub store_bytes: Option<usize>,
    /// Write the sequence of faults and evictions to this new file.
    pub record: Option<PathBuf>,
    /// Write-protection during evictions. Off loses writes: it is the control that shows the protection works.
    pub protect: bool,
    /// Told the `pthread_t` of the pager thread when it starts: what that allocates must not be managed memory.
    pub started: fn(usize),
}

impl Config {
    /// Pages that the policy may hold.
    pub fn frames(&self) -> usize {
        let budget = self.budget_bytes / PAGE;
        budget - (budget / RESERVE).max(64)
    }

    /// The scheme with the store's size as a parameter of its own, unless it has one.
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

/// Share of the budget, as a divisor, that the policy may not hold: room for what arrives before and during a round. A round
/// that evicts more at a time costs less a page, as each looks through all of memory once.
const RESERVE: usize = 8;

/// Smaller budgets have no room for what arrives between two looks.
pub const LEAST_BUDGET: usize = 1 << 20;

/// A copying scheme's tables are built for so much (about 20 bytes a page), unless the budget or the user asks for more.
pub const LEAST_STORE: usize = 1 << 30;

/// Where a flash file is made unless told otherwise: temporary files that are too large for memory belong there.
pub const FLASH_DIRECTORY: &str = "/var/tmp";
