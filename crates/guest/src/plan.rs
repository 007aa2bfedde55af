//! The plan of a run: everything that the guest sets up and does. `swaplab.worlds.vm.plan` writes
//! it on the host. An unknown or missing key is an error.

use serde::Deserialize;
use swaplab_app::Feature;
use swaplab_apps::app_policy::{Gate, APP_POLICIES};
use swaplab_apps::compaction::{Compact, Throttles};
use swaplab_apps::{Killer, Limits, KILLERS};
use swaplab_vocab::{Result, Spec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Kernel modules to load, in this order.
    pub modules: Vec<Module>,
    /// Directories to make after the modules are loaded. They are objects of configfs.
    pub directories: Vec<String>,
    /// Files of the kernel to write before swap is turned on.
    pub settings: Vec<Setting>,
    pub partitions: Vec<Partition>,
    pub file_system: Option<FileSystem>,
    pub swap: Option<Swap>,
    pub apps: Vec<App>,
    /// A process that models the processes of the system. It is never killed.
    pub system: Option<System>,
    pub visits: Vec<Visit>,
    /// The experiment's killer.
    pub killer: Spec,
    /// The experiment's app policy.
    pub app_policy: Spec,
    /// Speed of the modeled core in 10^9 instructions per second. The times in the plan are already
    /// multiplied by it; the guest multiplies the killer's times.
    pub gips: f64,
    pub limits: Limits,
    /// App compaction; `None` if apps are not compacted.
    pub compaction: Option<Compaction>,
    /// Whether each app's control group has the memory controller.
    pub app_groups: bool,
    /// Limit in bytes of the control group of all apps; `None` if only the guest's memory limits
    /// them.
    pub group_bytes: Option<u64>,
    /// Virtual time in ns after which the guest gives up.
    pub virtual_limit_ns: u64,
    /// Whether every live app checks all its pages at the end.
    pub verify: bool,
    /// Whether memory is sampled before each visit and while its app is in the foreground.
    pub samples: bool,
    /// Tracepoints to record, such as `vmscan/mm_vmscan_direct_reclaim_begin`; empty for no trace.
    pub events: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    pub path: String,
    pub options: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub path: String,
    pub value: String,
    /// Whether the run fails if the kernel does not have the file or refuses the value.
    pub required: bool,
}

/// The file system with the apps' files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    pub device: String,
    pub kind: String,
    /// The file with its blocks, as pairs of a block's number (8 bytes, little endian) and the
    /// block (4096 bytes). `None` if the device already has them.
    pub image: Option<String>,
}

/// A partition to add to a block device. The second one of `/dev/flash` becomes `/dev/flash2`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    pub device: String,
    pub number: i32,
    pub start_bytes: i64,
    pub length_bytes: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swap {
    pub device: String,
    /// Files of the kernel to write as soon as the device exists, such as zram's algorithm and
    /// size.
    pub settings: Vec<Setting>,
    /// Size of the swap area in bytes; `None` for the whole device.
    pub bytes: Option<u64>,
    /// Whether to write every page first, so that the device has allocated all of its memory before
    /// the first app starts.
    pub fill: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: String,
    pub feature: Feature,
    /// The request that resumes the app, in crates/app-sim's protocol.
    pub request: String,
    /// The request that uses the app after each launch; not sent if it is empty.
    pub work: String,
    /// Whether the app runs a service in the background, which makes it more important to the
    /// killer.
    pub service: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    pub feature: Feature,
    /// Interval in ns at which the process uses some of its pages.
    pub period_ns: u64,
    /// Number of pages that it uses each time.
    pub pages: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    pub app: u16,
    pub round: u32,
    pub warm_up: bool,
    /// Time for which the app stays in the foreground after its use.
    pub foreground_ns: u64,
    /// Time after that in which the phone is not used.
    pub think_ns: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compaction {
    pub kinds: Compact,
    /// Time in ns for which an app is cached before it is compacted.
    pub after_ns: u64,
    pub throttles: Throttles,
}

impl Plan {
    /// The paths of all settings, including the swap area's.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let area = self.swap.iter().flat_map(|swap| &swap.settings);
        self.settings.iter().chain(area).map(|setting| setting.path.as_str())
    }

    /// The name and the access feature of every process: the apps and the system process.
    pub fn processes(&self) -> impl Iterator<Item = (&str, &Feature)> {
        let apps = self.apps.iter().map(|app| (app.name.as_str(), &app.feature));
        apps.chain(self.system.iter().map(|system| (system.name.as_str(), &system.feature)))
    }

    /// The gate of the plan's app policy.
    pub fn gate(&self) -> Result<Gate> {
        Ok(Gate::of(&APP_POLICIES.resolve(&self.app_policy)?))
    }

    /// The killer for a guest with `memory_kb` of memory, with its times in virtual time; `None` if
    /// it is off.
    pub fn killer(&self, memory_kb: u64) -> Result<Option<Killer>> {
        let killer = Killer::of(&KILLERS.resolve(&self.killer)?)?;
        let killer = match self.group_bytes {
            Some(bytes) => killer.in_group(bytes / 1024),
            None => killer.on_machine(memory_kb),
        };
        Ok((!killer.is_off()).then(|| killer.slowed(self.gips)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_apps::{Pressure, Watermark};

    fn plan(killer: &str, gips: f64) -> Plan {
        let text = r#"{"modules": [], "directories": [], "settings": [], "partitions": [], "file_system": null, "swap": null, "apps": [],
            "system": null, "visits": [], "killer": "off", "app_policy": "a2s", "gips": 1.0, "limits": {"cached": 16, "services": 0},
            "compaction": null, "app_groups": false, "group_bytes": null, "virtual_limit_ns": 1, "verify": false, "samples": false, "events": []}"#;
        let plan: Plan = serde_json::from_str(text).unwrap();
        Plan { killer: killer.parse().unwrap(), gips, ..plan }
    }

    #[test]
    fn gips_scales_the_killers_stall_thresholds_and_poll_interval() {
        let mut killer = plan("lmkd", 2.0).killer(1 << 20).unwrap().unwrap();
        let low = Pressure { watermark: Watermark::Low, swap_total_kb: 100, swap_free_kb: 9, ..Pressure::default() };
        let stalls = [139, 140, 1399, 1400].map(|stall_ms| killer.look(0, &Pressure { stall_ms, ..low }));
        assert_eq!((stalls, killer.poll_ms), ([None, Some(201), Some(201), Some(1)], 20.0));
        assert_eq!(killer.low_memory_kb(), 0, "on a machine the watermarks decide");
        assert!(plan("off", 1.0).killer(1).unwrap().is_none());
        plan("off", 1.0).gate().unwrap();
    }

    #[test]
    fn low_memory_is_a_share_of_the_guests_memory_unless_given() {
        let level = |text: &str| plan(text, 1.0).killer(100_000).unwrap().unwrap().low_memory_kb();
        assert_eq!((level("lmkd:min_free_percentage=5"), level("lmkd:min_free_percentage=5,low_memory_kb=7")), (5000, 7));
    }

    #[test]
    fn a_group_without_watermarks_uses_a_share_of_its_limit() {
        let limited = Plan { group_bytes: Some(100_000 << 10), ..plan("lmkd", 1.0) };
        assert_eq!(limited.killer(1 << 20).unwrap().unwrap().low_memory_kb(), 6000, "6 % of the group's limit, not of the guest's memory");
    }
}
