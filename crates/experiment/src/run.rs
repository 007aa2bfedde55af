//! `[run]`: worlds, seeds, and settings of single worlds.

use crate::quantity::{Mib, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{unknown_key, Result};

/// Worlds and seeds of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Worlds of `swaplab list worlds`; by default `replay` for a trace, `phone` for launches,
    /// `memory` for apps without launches.
    #[serde(deserialize_with = "crate::one_or_many::list")]
    pub on: Vec<String>,
    /// First seed of all random draws.
    pub seed: u64,
    /// Number of runs, with seeds from `seed` on. Default: 8 for phone, 5 perturbations for vm, 3
    /// repetitions for kernel, 1 for replay and memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<u64>,
    pub replay: ReplayRun,
    pub memory: MemoryRun,
    pub kernel: KernelRun,
    pub vm: VmRun,
}

/// Settings of the world `replay`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayRun {
    /// The cost of the first touch of an anonymous page: by default nothing in designs with a
    /// scheme, otherwise a swap read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<FirstTouch>,
    /// Whether unmap and discard events free pages.
    pub mapping: Mapping,
    /// The signal that policies get of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`.
    pub signal: String,
    /// Device of the unlimited swap area of designs without a scheme, by default `optane-m10`. The
    /// swap area of a scheme is on the device of its medium (`machine.devices`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_device: Option<String>,
    /// Length of the run, for idle energy and yearly wear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
}

impl Default for ReplayRun {
    fn default() -> ReplayRun {
        ReplayRun { first_touch: None, mapping: Mapping::Follow, signal: "exact".into(), swap_device: None, length: None }
    }
}

impl ReplayRun {
    /// The device of swap areas without a scheme.
    pub fn swap_device(&self) -> &str {
        self.swap_device.as_deref().unwrap_or("optane-m10")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstTouch {
    /// A swap read: the entire footprint is in swap when the trace begins.
    Charged,
    /// Nothing: the kernel fills the page with zeros.
    ZeroFill,
}

impl FirstTouch {
    pub fn name(self) -> &'static str {
        match self {
            FirstTouch::Charged => "charged",
            FirstTouch::ZeroFill => "zero-fill",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Unmap and discard events free their pages.
    #[default]
    Follow,
    /// The events are ignored: the trace is a plain list of references, as in other simulators.
    Ignore,
}

impl Mapping {
    pub fn parse(place: &str, text: &str) -> Result<Mapping> {
        match text {
            "follow" => Ok(Mapping::Follow),
            "ignore" => Ok(Mapping::Ignore),
            other => Err(unknown_key(place, "mapping", other, ["follow", "ignore"])),
        }
    }
}

/// Settings of the world `memory` (the pager).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryRun {
    /// Medium that DRAM emulates: `plain` for no emulation, or a device whose latency is injected.
    pub medium: String,
    /// Location of NVM: a directory of a tmpfs, `node:N`, or empty for ordinary memory that stands
    /// in for NVM.
    pub nvm: String,
    /// Directory of the flash file; empty for `/var/tmp`.
    pub flash: String,
    /// What to do with a program whose memory the pager cannot manage.
    pub unmanaged: Unmanaged,
}

impl Default for MemoryRun {
    fn default() -> MemoryRun {
        MemoryRun { medium: "plain".into(), nvm: String::new(), flash: String::new(), unmanaged: Unmanaged::Refuse }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unmanaged {
    /// Do not start it.
    #[default]
    Refuse,
    /// Run it without the pager, with as much DRAM as it takes, and print a warning.
    Warn,
}

/// Settings of the world `kernel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelRun {
    /// `local`, `ssh:HOST`, `adb` or `adb:SERIAL`.
    pub target: String,
    /// Whether the memory of a swap area (a RAM disk, zram's pool) is part of `machine.dram`.
    pub pool: PoolMemory,
    /// Whether to run microbenchmarks first and report how well they predict this run.
    pub calibrate: bool,
    /// The user that runs the apps; empty for the calling user, or `nobody` if that is root.
    pub user: String,
    /// Whether to record the kernel's swap and block events of each configuration.
    pub events: bool,
}

impl Default for KernelRun {
    fn default() -> KernelRun {
        KernelRun { target: "local".into(), pool: PoolMemory::Extra, calibrate: true, user: String::new(), events: false }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolMemory {
    /// In addition to `machine.dram`.
    #[default]
    Extra,
    /// Part of `machine.dram`, for comparisons at equal total memory.
    Within,
}

/// Settings of the world `vm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VmRun {
    /// A kernel of `swaplab kernel list`, or the path of an arm64 image.
    pub kernel: String,
    /// Processors of the guest. Virtual time is the sum over them, so more processors make nothing
    /// faster.
    pub cpus: u64,
    /// Speed of the modeled core in billions of instructions per second. Device times are
    /// multiplied by it, resulting times divided.
    pub gips: f64,
    /// Upper bound of the time by which each pause between two launches (`think`) is lengthened at
    /// random, so that seeds differ.
    pub shift: Span,
    /// Time from the return to the home screen to the next launch. Linux 6.12 decides by list
    /// lengths that are up to two seconds old, so after a shorter time it does not see the pages
    /// that the last launch moved.
    pub think: Span,
    /// Memory of a process that stands in for the system's processes and uses it every
    /// `system_period`; `0` for none.
    pub system: Mib,
    pub system_period: Span,
    /// Whether multi-generational LRU is enabled, as in Android's kernels since 6.1.
    pub mglru: bool,
    /// `vm.watermark_scale_factor` in ten thousandths of memory; by default it is derived from
    /// `machine.kernel.extra_free`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark_scale_factor: Option<u64>,
    /// Percent of memory that may be dirty before the flusher starts write-back, and before the
    /// writing task does.
    pub dirty_background_ratio: u64,
    pub dirty_ratio: u64,
    /// Limits after which the guest is ended: of virtual time, and of time of the host's clock.
    pub virtual_limit: Span,
    pub wall_limit: Span,
    /// Whether each app has its own memory control group, as on Android with `per_app_memcg`, so
    /// that reclaim visits them in turn. By default only if the app policy of any design forbids
    /// swap-outs per app; all designs have the same value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_groups: Option<bool>,
    /// Whether every live app checks the content of all its pages at the end.
    pub verify: bool,
    /// Write samples of memory, as a loop of shell commands takes them on a phone, into the run
    /// folder (`DESIGN-NUMBER.samples`, which `swaplab trace fit phone` reads): before each visit
    /// and while its app is in front. They take time of the guest's processor.
    pub samples: bool,
    /// Tracepoints to record, such as `vmscan/mm_vmscan_direct_reclaim_begin`.
    pub events: Vec<String>,
    pub block_devices: BlockDevices,
    /// Count the loads of apps from NVM that is mapped in place, outside the guest and without an
    /// effect on the run: the size of the cache of 64-byte lines that the loads go through, such as
    /// `512KiB`. By default they are not counted, which takes less of the host's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_reads: Option<Size>,
    /// What `machine.dram` limits. By default the guest, or the apps' control group below 192 MiB,
    /// the minimum for a guest with its kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<VmLimit>,
}

/// What `machine.dram` limits in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VmLimit {
    /// All of the guest's memory, including that of its kernel.
    Guest,
    /// A control group of all apps, as in the world kernel: its reclaim has no watermarks and no
    /// kswapd.
    Group,
}

/// Minimum memory of a guest: QEMU places kernel and initial RAM disk below 128 MiB plus the
/// kernel's size.
pub const LEAST_GUEST: u64 = 192 << 20;
/// The guest's devices start at multiples of this size.
pub const GUEST_UNIT: u64 = 2 << 20;

impl VmRun {
    /// What `dram` bytes limit, and the guest's memory in bytes.
    pub fn memory(&self, dram: u64) -> (VmLimit, u64) {
        let limit = self.limit.unwrap_or(if dram < LEAST_GUEST { VmLimit::Group } else { VmLimit::Guest });
        match limit {
            VmLimit::Guest => (limit, dram),
            VmLimit::Group => (limit, LEAST_GUEST + dram.next_multiple_of(GUEST_UNIT)),
        }
    }
}

impl Default for VmRun {
    fn default() -> VmRun {
        let span = |text| Span::parse(text).expect("a time");
        VmRun {
            kernel: "debian-6.12".into(),
            cpus: 1,
            gips: 1.0,
            shift: span("5us"),
            think: span("3s"),
            system: Mib(24.0),
            system_period: span("1s"),
            mglru: true,
            watermark_scale_factor: None,
            dirty_background_ratio: 10,
            dirty_ratio: 20,
            virtual_limit: span("3600s"),
            wall_limit: span("1800s"),
            app_groups: None,
            verify: true,
            samples: false,
            events: Vec::new(),
            block_devices: BlockDevices::default(),
            count_reads: None,
            limit: None,
        }
    }
}

/// The guest's block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockDevices {
    /// swaplab's driver, with the timing of `machine.devices`.
    #[default]
    Driver,
    /// The kernel's null_blk, which stores pages in the guest's own memory and needs no compiler.
    NullBlk,
}
