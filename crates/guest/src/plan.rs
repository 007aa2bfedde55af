//! What the driver asks of the guest. It is written by `swaplab.worlds.vm.plan`; a key that one of both does not know is an error.

use serde::Deserialize;
use swaplab_app::Feature;
use swaplab_apps::a2s::{AppPolicy, Ess, Gate, Lvsp};
use swaplab_apps::{Killer, Limits};

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
    /// System processes, which are never killed; empty for none.
    pub system: Vec<App>,
    /// A system process uses its pages so often.
    pub system_period_ns: u64,
    pub visits: Vec<Visit>,
    pub killer: Option<Killer>,
    /// The killer looks so often.
    pub killer_poll_ns: u64,
    pub app_policy: Steering,
    pub limits: Limits,
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
    /// Pages of foreground use after each launch.
    pub work_pages: u64,
    /// It runs a service in the background, which makes it dearer to the killer.
    pub service: bool,
    /// Processor time of a cold start by SWAM's rule, in ns.
    pub cold_ns: u64,
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

/// An app policy's parameters (A2S, Algorithm 1).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steering {
    pub key: AppPolicy,
    pub t_live: f64,
    pub t_reuse: f64,
    pub t_launched: u64,
}

impl Steering {
    pub fn gate(&self) -> Gate {
        let lvsp = Lvsp { t_reuse: self.t_reuse, t_launched: self.t_launched, strict: false };
        Gate::new(self.key, Ess { t_live: self.t_live }, lvsp)
    }
}
