//! The environment variables that configure the pager.
//! `python/swaplab/worlds/memory/environment.py` sets them.

use crate::state::{COMPRESSES, THREAD};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::OnceLock;
use swaplab_pager::kernel::Missing;
use swaplab_pager::medium::Medium;
use swaplab_pager::stats::Stats;
use swaplab_pager::{parse_scheme, Algorithm, Config, Pager, Place, FLASH_DIRECTORY};
use swaplab_policy::PolicySpec;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

fn number(name: &str) -> Result<Option<u64>, Missing> {
    let parse = |text: String| text.parse().map_err(|_| Missing::new("setting", format!("{name}='{text}' is not a number")));
    variable(name).map(parse).transpose()
}

/// Create the pager that the environment describes; `None` if `SWAPLAB_DRAM` is not set.
pub fn start_pager() -> Result<Option<Pager>, Missing> {
    let Some(budget) = number("SWAPLAB_DRAM")? else { return Ok(None) };
    crate::exec::WARNS.store(variable("SWAPLAB_UNMANAGED").is_some_and(|choice| choice == "warn"), Ordering::Relaxed);
    let scheme = variable("SWAPLAB_SCHEME").unwrap_or_else(|| "nvm-direct".into());
    let policy = variable("SWAPLAB_POLICY").unwrap_or_else(|| DEFAULT_POLICY.into());
    let scheme = parse_scheme(&scheme).map_err(|e| Missing::new("scheme", e.to_string()))?;
    // zstd is a C library and calls malloc in the pager thread; lz4 does not.
    COMPRESSES.store(scheme.algorithm() == Some(Algorithm::Zstd), Ordering::Relaxed);
    let config = Config {
        budget_bytes: budget as usize,
        policy: PolicySpec::parse(&policy).map_err(|e| Missing::new("policy", e.to_string()))?,
        place: Place::parse(&variable("SWAPLAB_NVM").unwrap_or_default())?,
        flash: variable("SWAPLAB_FLASH").map_or_else(|| FLASH_DIRECTORY.into(), PathBuf::from),
        medium: Medium { read_ns: number("SWAPLAB_READ_NS")?.unwrap_or(0), write_ns: number("SWAPLAB_WRITE_NS")?.unwrap_or(0) },
        range_bytes: range_bytes(),
        store_bytes: number("SWAPLAB_STORE_BYTES")?.map(|b| b as usize),
        record: variable("SWAPLAB_RECORD").map(|directory| Path::new(&directory).join(own_name())),
        protect: variable("SWAPLAB_UNPROTECTED").is_none(),
        started: |thread| THREAD.store(thread, Ordering::Relaxed),
        child_stats: Some(stats),
        scheme,
    };
    Pager::new(config, stats()?).map(Some)
}

pub const DEFAULT_POLICY: &str = "refault";

/// Address space to reserve for managed memory, in bytes: 256 GiB, or less if `ulimit -v` requires
/// it.
fn range_bytes() -> usize {
    const DEFAULT: usize = 256 << 30;
    match rustix::process::getrlimit(rustix::process::Resource::As).current {
        // The range takes a quarter of what is left, and the mirror of the NVM file another one.
        // The rest is for tables and the program's other mappings.
        Some(limit) => ((limit as usize).saturating_sub(crate::own::taken()) / 4).min(DEFAULT),
        None => DEFAULT,
    }
}

/// The variable with the run's directory.
pub const STATS: &CStr = c"SWAPLAB_STATS";

/// Create this process's counters in the run's directory. After an exec, the process has a new
/// file, and a forked child has one once it is paged.
fn stats() -> Result<&'static Stats, Missing> {
    static NOWHERE: Stats = Stats::new();
    // Read once: a forked child must not wait for the environment's lock.
    static DIRECTORY: OnceLock<Option<String>> = OnceLock::new();
    let Some(directory) = DIRECTORY.get_or_init(|| variable(&STATS.to_string_lossy())) else { return Ok(&NOWHERE) };
    // A process that has changed to another user has a subdirectory for that user (rights.rs).
    let own = format!("user-{}", rustix::process::geteuid().as_raw());
    let [path, of_user] = ["", &own].map(|below| Path::new(directory).join(below).join(own_name()));
    let failed = |e| Missing::new("statistics file", format!("{}: {e}", path.display()));
    Stats::in_file(&path).or_else(|error| Stats::in_file(&of_user).map_err(|_| error)).map_err(failed)
}

/// A file name that is unique for this process and its current program.
fn own_name() -> String {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    format!("{}-{}.{:09}", std::process::id(), now.tv_sec, now.tv_nsec)
}
