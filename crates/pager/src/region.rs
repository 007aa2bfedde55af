//! One range of paged memory for a program that uses the library directly.

use crate::kernel::memory::READ_WRITE;
use crate::kernel::{Missing, PAGE};
use crate::medium::Medium;
use crate::stats::Stats;
use crate::{parse_scheme, Config, Pager, Place, FLASH_DIRECTORY};
use swaplab_policy::PolicySpec;

/// Zeroed memory with at most `budget` bytes in DRAM at a time; the rest is in the store.
///
/// ```no_run
/// use swaplab_pager::Region;
/// let mut region = Region::new(1 << 30, 64 << 20, "nvm-direct", "refault").unwrap();
/// region.as_mut_slice()[12_345] = 7;
/// assert_eq!(region.as_slice()[12_345], 7);
/// ```
pub struct Region {
    pager: Pager,
    start: usize,
    len: usize,
    stats: &'static Stats,
}

impl Region {
    /// Map `len` bytes with a DRAM budget of `budget` bytes. `scheme` and `policy` are keys of the
    /// registries, with parameters.
    pub fn new(len: usize, budget: usize, scheme: &str, policy: &str) -> Result<Region, Missing> {
        let policy = PolicySpec::parse(policy).map_err(|e| Missing::new("policy", e.to_string()))?;
        let scheme = parse_scheme(scheme).map_err(|e| Missing::new("scheme", e.to_string()))?;
        let config = Config {
            budget_bytes: budget,
            scheme,
            policy,
            place: Place::Memory,
            flash: FLASH_DIRECTORY.into(),
            medium: Medium::default(),
            range_bytes: len,
            store_bytes: None,
            record: None,
            protect: true,
            started: |_| (),
            child_stats: None,
        };
        Region::with(len, config)
    }

    /// Map `len` bytes with a pager of this configuration.
    pub fn with(len: usize, config: Config) -> Result<Region, Missing> {
        let len = len.next_multiple_of(PAGE);
        let stats: &'static Stats = Box::leak(Box::new(Stats::new()));
        let pager = Pager::new(config, stats)?;
        let start = pager.lock_managed().take(len, READ_WRITE).map_err(|e| Missing::new("address space", e.to_string()))?;
        pager.run()?;
        Ok(Region { pager, start, len, stats })
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes that are readable until the region is dropped; the pager preserves
        // their content.
        unsafe { std::slice::from_raw_parts(self.start as *const u8, self.len) }
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start as *mut u8, self.len) }
    }

    /// The counters, up to date.
    pub fn stats(&self) -> &Stats {
        self.pager.update_counters();
        self.stats
    }

    pub fn pager(&self) -> &Pager {
        &self.pager
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let pages = self.pager.pages(&(self.start..self.start + self.len));
        if let Some(pages) = pages {
            let _ = self.pager.lock_managed().give_back(pages);
        }
        self.pager.stop();
    }
}
