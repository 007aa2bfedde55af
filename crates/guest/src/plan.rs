//! What the driver asks of the guest. It is written by `swaplab.worlds.vm.plan`; a key that one of both does not know is an error.

use serde::Deserialize;
use swaplab_app::Feature;
use swaplab_apps::a2s::{Gate, APP_POLICIES};
use swaplab_apps::{Killer, Limits, KILLERS};
use swaplab_vocab::{Result, Spec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Kernel modules in the order in which they are loaded.
    pub modules: Vec<Module>,
    /// Directories made next: objects of configfs.
    pub directories: Vec<String>,
    /// Files of the kernel that are written before swap is turned on.
    pub settings: Vec<Setting>,
    pub partitions: Vec<Partition>,
    pub file_system: Option<FileSystem>,
    pub swap: Option<Swap>,
    pub apps: Vec<App>,
    /// The process that stands for the system's, which is never killed.
    pub system: Option<System>,
    pub visits: Vec<Visit>,
    /// Killer and app policy as the experiment has them.
    pub killer: Spec,
    pub app_policy: Spec,
    /// Billions of instructions a second that the core stands for: the killer's times are multiplied by it, as every time of the plan is.
    pub gips: f64,
    pub limits: Limits,
    /// Bytes that all apps together may have, by a control group; nothing where the guest's memory is their limit.
    pub group_bytes: Option<u64>,
    /// The guest gives up when its clock says so.
    pub virtual_limit_ns: u64,
    /// Every living app checks all its pages at the end.
    pub verify: bool,
    /// Tracepoints that are switched on, `vmscan/mm_vmscan_direct_reclaim_begin`; empty for no trace.
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
    /// Whether a kernel without the file, or one that refuses the value, ends the run.
    pub required: bool,
}

/// The file system with the apps' files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    pub device: String,
    pub kind: String,
    /// Its blocks, where it is not on its device already: pairs of a block's number (8 bytes, little endian) and the block (4096 bytes).
    pub image: Option<String>,
}

/// A part of a block device: the second becomes `/dev/flash2`.
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
    /// Files of the kernel that are written once the device is there (zram's algorithm and size).
    pub settings: Vec<Setting>,
    /// Size of the area where it is not the whole device.
    pub bytes: Option<u64>,
    /// Write every page first, so that the device has taken its memory before the first app starts.
    pub fill: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: String,
    pub feature: Feature,
    /// What the app is asked when it comes back, and for use in front after each launch (crates/app-sim's protocol); empty: nothing.
    pub request: String,
    pub work: String,
    /// It runs a service in the background, which makes it dearer to the killer.
    pub service: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    pub feature: Feature,
    /// It uses so many of its pages so often.
    pub period_ns: u64,
    pub pages: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    pub app: u16,
    pub round: u32,
    pub warm_up: bool,
    /// The app stays in front so long after its use.
    pub foreground_ns: u64,
    /// Then nobody touches the phone for so long.
    pub think_ns: u64,
}

impl Plan {
    /// Paths of the kernel's settings, the swap area's included.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let area = self.swap.iter().flat_map(|swap| &swap.settings);
        self.settings.iter().chain(area).map(|setting| setting.path.as_str())
    }

    /// Every process with memory of its own: name and access feature.
    pub fn processes(&self) -> impl Iterator<Item = (&str, &Feature)> {
        let apps = self.apps.iter().map(|app| (app.name.as_str(), &app.feature));
        apps.chain(self.system.iter().map(|system| (system.name.as_str(), &system.feature)))
    }

    pub fn gate(&self) -> Result<Gate> {
        Ok(Gate::of(&APP_POLICIES.resolve(&self.app_policy)?))
    }

    /// The killer of a guest with so much memory, its times in the guest's; nothing where it is off. A control group has no watermarks.
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
            "group_bytes": null, "virtual_limit_ns": 1, "verify": false, "events": []}"#;
        let plan: Plan = serde_json::from_str(text).unwrap();
        Plan { killer: killer.parse().unwrap(), gips, ..plan }
    }

    #[test]
    fn a_core_of_two_gips_stalls_and_looks_in_twice_as_many_instructions() {
        let mut killer = plan("lmkd", 2.0).killer(1 << 20).unwrap().unwrap();
        let low = Pressure { watermark: Watermark::Low, swap_total_kb: 100, swap_free_kb: 9, ..Pressure::default() };
        let stalls = [139, 140, 1399, 1400].map(|stall_ms| killer.look(0, &Pressure { stall_ms, ..low }));
        assert_eq!((stalls, killer.poll_ms), ([None, Some(201), Some(201), Some(1)], 20.0));
        assert_eq!(killer.low_memory_kb(), 0, "by the watermark, which a guest has");
        assert!(plan("off", 1.0).killer(1).unwrap().is_none());
        plan("off", 1.0).gate().unwrap();
    }

    #[test]
    fn low_memory_by_a_share_of_the_guests() {
        let level = |text: &str| plan(text, 1.0).killer(100_000).unwrap().unwrap().low_memory_kb();
        assert_eq!((level("lmkd:min_free_percentage=5"), level("lmkd:min_free_percentage=5,low_memory_kb=7")), (5000, 7));
    }

    #[test]
    fn a_group_has_no_watermark_but_a_share_of_its_limit() {
        let limited = Plan { group_bytes: Some(100_000 << 10), ..plan("lmkd", 1.0) };
        assert_eq!(limited.killer(1 << 20).unwrap().unwrap().low_memory_kb(), 6000, "6 % of the group's, whatever the guest has");
    }
}
