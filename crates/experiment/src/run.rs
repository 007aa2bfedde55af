//! `[run]`: in which worlds, with which seeds, and what only one world needs.

use crate::quantity::{Mib, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_vocab::{unknown_key, Result};

/// Where designs are run, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// Worlds of `swaplab list worlds`; without one, `replay` for a trace, `phone` for launches, `memory` for apps alone.
    #[serde(deserialize_with = "crate::one_or_many::list")]
    pub on: Vec<String>,
    /// First seed of everything that is drawn at random.
    pub seed: u64,
    /// Runs with different seeds from `seed` on. By default phone 8, vm 5 perturbations, kernel 3 repetitions, replay and memory 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<u64>,
    pub replay: ReplayRun,
    pub memory: MemoryRun,
    pub kernel: KernelRun,
    pub vm: VmRun,
}

/// What only the world `replay` needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayRun {
    /// What the first touch of an anonymous page costs: by default nothing where a scheme is joined, else a swap read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<FirstTouch>,
    /// Whether unmap and discard events free pages.
    pub mapping: Mapping,
    /// What policies see of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`.
    pub signal: String,
    /// Device of the swap area of a design without a scheme: unlimited, each page as the device costs.
    pub swap_device: String,
    /// Length of the run, for energy at rest and yearly wear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
}

impl Default for ReplayRun {
    fn default() -> ReplayRun {
        ReplayRun { first_touch: None, mapping: Mapping::Follow, signal: "exact".into(), swap_device: "optane-m10".into(), length: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstTouch {
    /// A swap read: swap holds the whole footprint when the trace begins.
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
    /// A plain list of references, as other simulators see it.
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

/// What only the world `memory` (the pager) needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryRun {
    /// Medium that DRAM poses as: `plain` for DRAM as it is, or a device whose latency is injected.
    pub medium: String,
    /// Where NVM lies: a directory (a DAX file system), `node:N`, or empty for memory that poses as NVM.
    pub nvm: String,
    /// Directory of the flash file; empty: where temporary files go.
    pub flash: String,
    /// What becomes of a program whose memory cannot be managed.
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
    /// It is not started.
    #[default]
    Refuse,
    /// It runs with all its memory, and a line says so.
    Warn,
}

/// What only the world `kernel` needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelRun {
    /// `local`, `ssh:HOST` or `adb`.
    pub target: String,
    /// Where the memory of a swap area (a RAM disk, zram's pool) comes from.
    pub pool: PoolMemory,
    /// Measure microbenchmarks first and say how well they predict this run.
    pub calibrate: bool,
    /// Who runs the apps; empty: `nobody` where root starts them.
    pub user: String,
    /// Record the kernel's swap and block events of each configuration.
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
    /// On top of `machine.dram`.
    #[default]
    Extra,
    /// Out of `machine.dram`: the view at equal total memory.
    Within,
}

/// What only the world `vm` needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VmRun {
    /// A kernel of `swaplab kernel list`, or the path of an arm64 image.
    pub kernel: String,
    /// Processors of the guest. Virtual time is the sum over them: more make nothing faster.
    pub cpus: u64,
    /// Billions of instructions a second of the core that is meant: prices of devices are multiplied by it, times divided.
    pub gips: f64,
    /// The most that a think time is shifted at random, another one for each seed.
    pub shift: Span,
    /// Time between home and the next launch. Linux 6.12 judges its lists by counts that are two to four seconds old, so after less it does
    /// not know what the last launch moved.
    pub think: Span,
    /// Memory of a process that stands for the system's and is used every `system_period`; `0` for none.
    pub system: Mib,
    pub system_period: Span,
    /// Multi-generational LRU, on as in Android's kernels since 6.1.
    pub mglru: bool,
    /// `vm.watermark_scale_factor` in ten thousandths of memory; without a value, what `machine.kernel.extra_free` comes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermark_scale_factor: Option<u64>,
    /// Percent of memory that may be dirty before the flusher writes back, and before the writer itself does.
    pub dirty_background_ratio: u64,
    pub dirty_ratio: u64,
    /// The guest is ended after so much virtual time, and after so much time of the host's clock.
    pub virtual_limit: Span,
    pub wall_limit: Span,
    /// Each app has a memory control group of its own, as on Android with `per_app_memcg`, and reclaim takes of each in turn. Without a value,
    /// where a design's app policy forbids swap-outs app by app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_groups: Option<bool>,
    /// Every living app checks all its pages at the end.
    pub verify: bool,
    /// Write samples of memory, as a loop of shell commands takes them on a phone, into the run folder (`DESIGN-NUMBER.samples`, which
    /// `swaplab trace fit phone` reads): before each visit and while its app is in front. They take time of the guest's processor.
    pub samples: bool,
    /// Tracepoints to record, such as `vmscan/mm_vmscan_direct_reclaim_begin`.
    pub events: Vec<String>,
    pub block_devices: BlockDevices,
    /// What `machine.dram` limits; without a value, the apps' control group below 192 MiB, which a guest with its kernel needs, else the guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<VmLimit>,
}

/// What `machine.dram` is in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VmLimit {
    /// All of the guest's memory, its kernel's included.
    Guest,
    /// A control group of all apps, as in the world kernel: its reclaim has no watermarks and no kswapd.
    Group,
}

/// QEMU puts what the guest starts with below 128 MiB and the kernel's own size.
pub const LEAST_GUEST: u64 = 192 << 20;
/// The guest's devices begin on multiples of this.
pub const GUEST_UNIT: u64 = 2 << 20;

impl VmRun {
    /// What a guest for apps with `dram` bytes limits, and the guest's bytes of memory.
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
            limit: None,
        }
    }
}

/// The guest's block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockDevices {
    /// swaplab's driver, priced by `machine.devices`.
    #[default]
    Driver,
    /// The kernel's null_blk, whose pages lie in the guest's own memory: needs no compiler.
    NullBlk,
}
