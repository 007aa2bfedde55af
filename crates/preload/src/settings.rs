//! The environment variables by which `swaplab run` says what it wants (python/swaplab/cli/run.py writes them).

use std::path::{Path, PathBuf};
use swaplab_pager::kernel::Missing;
use swaplab_pager::medium::Medium;
use swaplab_pager::stats::Stats;
use swaplab_pager::{Config, Pager, Place, Scheme};
use swaplab_policy::PolicySpec;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

fn number(name: &str) -> Result<Option<u64>, Missing> {
    let parse = |text: String| text.parse().map_err(|_| Missing::new("setting", format!("{name}='{text}' is not a number")));
    variable(name).map(parse).transpose()
}

/// A pager as the environment wants it; none if it does not.
pub fn start_pager() -> Result<Option<Pager>, Missing> {
    let Some(budget) = number("SWAPLAB_DRAM")? else { return Ok(None) };
    let key = variable("SWAPLAB_SCHEME").unwrap_or_else(|| "nvm-direct".into());
    let scheme = Scheme::KEYS.iter().find(|(k, _)| *k == key).map(|(_, s)| s.clone());
    let scheme = scheme.ok_or_else(|| Missing::new("scheme", format!("'{key}' is not known to the pager")))?;
    let policy = variable("SWAPLAB_POLICY").unwrap_or_else(|| DEFAULT_POLICY.into());
    let config = Config {
        budget_bytes: budget as usize,
        scheme,
        policy: PolicySpec::parse(&policy).map_err(|e| Missing::new("policy", e.to_string()))?,
        place: match variable("SWAPLAB_NVM") {
            None => Place::Memory,
            Some(text) => match text.strip_prefix("node:") {
                Some(node) => {
                    Place::Node(node.parse().map_err(|_| Missing::new("setting", format!("SWAPLAB_NVM='{text}': no such node")))?)
                }
                None => Place::Directory(PathBuf::from(text)),
            },
        },
        medium: Medium { read_ns: number("SWAPLAB_READ_NS")?.unwrap_or(0), write_ns: number("SWAPLAB_WRITE_NS")?.unwrap_or(0) },
        range_bytes: range_bytes(),
        store_bytes: number("SWAPLAB_STORE_BYTES")?.map(|b| b as usize),
        protect: variable("SWAPLAB_UNPROTECTED").is_none(),
    };
    Pager::start(config, stats()?).map(Some)
}

pub const DEFAULT_POLICY: &str = "refault";

/// Address space to manage: plenty, but within what `ulimit -v` leaves.
fn range_bytes() -> usize {
    const PLENTY: usize = 256 << 30;
    match rustix::process::getrlimit(rustix::process::Resource::As).current {
        // The range, its tables and the mirror of the NVM file each take as much; leave the program some.
        Some(limit) => (limit as usize / 4).min(PLENTY),
        None => PLENTY,
    }
}

/// Counters in the run's directory, in a file of this process's (a process that calls exec starts a new one).
fn stats() -> Result<&'static Stats, Missing> {
    static NOWHERE: Stats = Stats::new();
    let Some(directory) = variable("SWAPLAB_STATS") else { return Ok(&NOWHERE) };
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let name = format!("{}-{}.{:09}", std::process::id(), now.tv_sec, now.tv_nsec);
    let path = Path::new(&directory).join(name);
    Stats::in_file(&path).map_err(|e| Missing::new("statistics file", format!("{}: {e}", path.display())))
}
