//! `[machine]`: the DRAM, kernel and devices that designs run on. A preset (`base`) gives all
//! values; other keys override it.

use crate::design::{Design, SYSTEM};
use crate::quantity::{Mib, Size};
use crate::settings::{is_default, Background, Display, IoOrder, KswapdCore, Limits, Proactive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_policy::POLICIES;
use swaplab_swap::SCHEMES;
use swaplab_vocab::{unknown_key, Parameter, Registry, Result, Spec};

/// The machine that designs run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// A preset of `swaplab list machines`; the keys below override it.
    pub base: String,
    /// Memory of the machine (`phone`, `vm`), of the control group (`kernel`) or of each process
    /// (`memory`). In `replay` it may be in percent of the trace's footprint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<Size>,
    /// Page size: 4KiB or 16KiB.
    pub page_size: Size,
    /// Processors of the simulated phone. With one, background reclaim and the launched app share
    /// it; with more, they run in parallel.
    pub cores: u64,
    /// Part of `dram` that is reserved for firmware and modem.
    pub firmware: Mib,
    /// Part of `dram` that the kernel itself uses and never reclaims.
    pub kernel_reserved: Mib,
    /// Whether compressed pages take frames of `dram`, as zsmalloc does. False: they take
    /// additional memory, because a control group is not charged for zram's pool.
    pub pool_in_dram: bool,
    pub kernel: KernelSettings,
    #[serde(skip_serializing_if = "is_default")]
    pub display: Display,
    pub limits: Limits,
    /// The low-memory killer of designs without their own; `off` for none.
    pub killer: Spec,
    pub background: Background,
    pub proactive: Proactive,
    /// Devices by medium: keys of `swaplab list devices`, or paths of device files.
    pub devices: Devices,
    /// Energy of the battery in Wh, to which the energy per day is compared; 0 for no battery.
    pub battery_wh: f64,
}

/// The kernel's memory settings, with the kernel's names if it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelSettings {
    /// The page policy that models this kernel's reclaim in simulated worlds.
    pub policy: Spec,
    /// `vm.swappiness`, 0 to 200; by default that of the measured machine or of the policy.
    pub swappiness: Option<u64>,
    /// `vm.page-cluster`: a swap-in reads 2^n pages; by default that of the measured machine or of
    /// the scheme.
    pub page_cluster: Option<u64>,
    /// Maximum readahead of file reads.
    pub read_ahead: Size,
    /// `vm.extra_free_kbytes` of Android kernels.
    pub extra_free: Mib,
    /// How storage schedules reads and writes.
    pub io_order: IoOrder,
    /// Maximum size of a storage request, up to which writes of adjacent pages are merged; by
    /// default that of the scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request: Option<Size>,
    /// Whether a page keeps its frame until its write-back is done (mm/vmscan.c,
    /// `shrink_folio_list`). False: reclaim frees the frame at once, and a task in direct reclaim
    /// waits for its own writes.
    pub write_back_holds_frames: bool,
    pub kswapd_core: KswapdCore,
    /// Speed of a little core relative to the app's. The default is that of a Pixel 6: 250
    /// DMIPS/MHz at 1803 MHz (Cortex-A55) against 1024 at 2802 MHz (Cortex-X1), Linux,
    /// arch/arm64/boot/dts/exynos/google/gs101.dtsi.
    pub little_speed: f64,
    /// Power of a busy little core, relative to that of the app's core. The default is that of a
    /// Pixel 6 at full clock, from the same file: coefficient times frequency times the square of
    /// the voltage, 70 x 1803 MHz x 0.90625 V squared against 650 x 2802 MHz x 1.05625 V squared.
    pub little_power: f64,
    /// Size of large folios of anonymous memory (mTHP), which are allocated, swapped out and, from
    /// zram, swapped in as one. By default there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mthp: Option<Size>,
    /// Processor time of kswapd for each page that it scans, in ns (assumed).
    pub scan_ns: u64,
    /// Processor time of reclaim to unmap an anonymous page and give it a slot, besides its scan
    /// and its copy, in ns.
    #[serde(skip_serializing_if = "is_default")]
    pub anon_out_ns: u64,
    /// Processor time of reclaim to unmap and drop a page of a file, besides its scan, in ns.
    #[serde(skip_serializing_if = "is_default")]
    pub file_out_ns: u64,
    /// Processor time to allocate and map a page of a file that is read again, in ns. That of a
    /// first read is part of the app's own work.
    #[serde(skip_serializing_if = "is_default")]
    pub file_in_ns: u64,
    /// Processor time of the fault by which an app uses a page whose accessed bit reclaim has
    /// cleared, in ns; 0: the processor sets the bit itself, as those of today's phones do.
    #[serde(skip_serializing_if = "is_default")]
    pub access_fault_ns: u64,
    /// Time that a killed process takes for each of its pages, in memory or in swap, until all of
    /// its memory is free, in ns; 0: at once.
    #[serde(skip_serializing_if = "is_default")]
    pub exit_ns: u64,
}

/// Devices by medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Devices {
    pub dram: String,
    pub nvm: String,
    pub flash: String,
    pub sd_card: String,
    /// The processor, with the costs of faults and copies.
    pub processor: String,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices {
            dram: "lpddr2".into(),
            nvm: "lpddr2-pcm".into(),
            flash: "ufs-3.1".into(),
            sd_card: "sd-card".into(),
            processor: "x86-64".into(),
        }
    }
}

fn size(text: &str) -> Size {
    Size::parse(text).expect("a valid size")
}

fn spec(text: &str) -> Spec {
    text.parse().expect("a valid spec")
}

impl Default for KernelSettings {
    fn default() -> KernelSettings {
        KernelSettings {
            policy: spec("active-inactive"),
            swappiness: None,
            page_cluster: None,
            read_ahead: size("128KiB"),
            extra_free: Mib::ZERO,
            io_order: IoOrder::default(),
            max_request: None,
            write_back_holds_frames: true,
            kswapd_core: KswapdCore::default(),
            little_speed: 0.157,
            little_power: 0.051,
            mthp: None,
            scan_ns: 200,
            anon_out_ns: 0,
            file_out_ns: 0,
            file_in_ns: 0,
            access_fault_ns: 0,
            exit_ns: 0,
        }
    }
}

impl Default for Machine {
    /// The machine `plain`, which has memory for apps only, like a control group.
    fn default() -> Machine {
        Machine {
            base: PLAIN.into(),
            dram: None,
            page_size: size("4KiB"),
            cores: 4,
            firmware: Mib::ZERO,
            kernel_reserved: Mib::ZERO,
            pool_in_dram: false,
            kernel: KernelSettings::default(),
            display: Display::default(),
            limits: Limits::default(),
            killer: spec("off"),
            background: Background::default(),
            proactive: Proactive::default(),
            devices: Devices::default(),
            battery_wh: 0.0,
        }
    }
}

impl Machine {
    /// The policy of `design` in a simulated world: `system` is the model of this kernel.
    /// `kernel.swappiness` applies if the design does not give the policy's parameter.
    pub fn policy_of(&self, design: &Design) -> Spec {
        let policy = self.written_policy(design);
        with_setting(policy, parameters_of(&POLICIES, policy), SWAPPINESS, self.kernel.swappiness)
    }

    fn written_policy<'a>(&'a self, design: &'a Design) -> &'a Spec {
        let policy = design.policy();
        if policy.key == SYSTEM {
            &self.kernel.policy
        } else {
            policy
        }
    }

    /// The scheme of `design`. `kernel.page_cluster` and `kernel.max_request` set its readahead and
    /// merging if the design does not.
    pub fn scheme_of(&self, design: &Design) -> Option<Spec> {
        let scheme = design.swap()?;
        let parameters = parameters_of(&SCHEMES, scheme);
        let scheme = with_setting(scheme, parameters, READAHEAD, self.kernel.page_cluster.map(|power| 1 << power));
        Some(with_setting(&scheme, parameters, MERGE, self.request_pages()))
    }

    /// Whether the setting of the kernel with this key of an experiment sets a parameter of the
    /// policy or scheme of `design`, which does not give it.
    pub fn sets_parameter(&self, design: &Design, key: &str) -> bool {
        let is_free = |spec: &Spec, parameters: &[Parameter], name| has(parameters, name) && !spec.values.contains_key(name);
        let policy = self.written_policy(design);
        let of_scheme = |name| design.swap().is_some_and(|scheme| is_free(scheme, parameters_of(&SCHEMES, scheme), name));
        match key.strip_prefix("machine.kernel.") {
            Some("swappiness") => is_free(policy, parameters_of(&POLICIES, policy), SWAPPINESS),
            Some("page_cluster") => of_scheme(READAHEAD),
            Some("max_request") => of_scheme(MERGE),
            _ => false,
        }
    }
}

/// Parameters of policies and schemes that a setting of the kernel sets.
const SWAPPINESS: &str = "swappiness";
const READAHEAD: &str = "readahead";
const MERGE: &str = "merge";

impl Machine {
    /// The maximum request in pages, if the machine gives one.
    fn request_pages(&self) -> Option<u64> {
        let bytes = |size: &Size| size.absolute_bytes("").ok();
        let request = self.kernel.max_request.as_ref().and_then(bytes)?;
        Some((request / bytes(&self.page_size)?.max(1)).clamp(1, 256))
    }
}

/// The parameters of an entry of a registry; none for a file's policy.
fn parameters_of<I>(registry: &Registry<I>, spec: &Spec) -> &'static [Parameter] {
    registry.entry(&spec.key).map_or(&[], |entry| entry.parameters)
}

fn has(parameters: &[Parameter], name: &str) -> bool {
    parameters.iter().any(|parameter| parameter.name == name)
}

/// Set the parameter `name` of `spec` to the kernel's `value`, if `parameters` has it and `spec`
/// does not give it.
fn with_setting(spec: &Spec, parameters: &[Parameter], name: &str, value: Option<u64>) -> Spec {
    match value {
        Some(value) if has(parameters, name) && !spec.values.contains_key(name) => spec.clone().with(name, value as i64),
        _ => spec.clone(),
    }
}

const PLAIN: &str = "plain";

/// A preset of a machine.
#[derive(Debug, Serialize)]
pub struct Preset {
    pub key: &'static str,
    pub what: &'static str,
    /// The `[machine]` table as TOML, with a comment for the source of each number.
    pub text: &'static str,
}

macro_rules! machines {
    ($($key:literal: $what:literal,)*) => {
        /// Every preset, one line here and one file in `machines/` each.
        pub const MACHINES: &[Preset] = &[$(Preset { key: $key, what: $what, text: include_str!(concat!("machines/", $key, ".toml")) },)*];
    };
}

machines! {
    "plain": "memory for apps only, like a control group",
    "nexus-5": "Nexus 5 of 2013 with 1.5 GB by boot parameter, Android 4.4 (A2S, Section 5)",
    "android-15": "phone of 8 GB with Android 15 and UFS 3.1, as AOSP and Linux leave it",
    "android-15-12gb": "phone of 12 GB with Android 15 and UFS 4.0, as AOSP and Linux leave it",
}

/// The table of a preset.
pub fn preset(place: &str, key: &str) -> Result<toml::Table> {
    let matching = MACHINES.iter().find(|preset| preset.key == key);
    let known = || MACHINES.iter().map(|preset| preset.key);
    let preset = matching.ok_or_else(|| unknown_key(&format!("{place}: machine.base"), "machine", key, known()))?;
    Ok(toml::from_str(preset.text).unwrap_or_else(|e| panic!("machines/{key}.toml: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::one_or_many::OneOrMany;

    #[test]
    fn every_preset_is_a_valid_machine() {
        for known in MACHINES {
            let table = preset("test", known.key).unwrap();
            let machine: Machine = table.try_into().unwrap_or_else(|e| panic!("{}: {e}", known.key));
            assert_eq!(machine.base, known.key);
        }
        let plain: Machine = preset("test", PLAIN).unwrap().try_into().unwrap();
        assert_eq!(plain, Machine::default(), "the preset equals the defaults");
    }

    #[test]
    fn kernel_settings_apply_unless_the_design_gives_them() {
        let design = |policy: &str, swap: &str| Design {
            policy: OneOrMany::One(spec(policy)),
            swap: Some(OneOrMany::One(spec(swap))),
            ..Design::default()
        };
        let kernel = KernelSettings { swappiness: Some(30), page_cluster: Some(3), ..KernelSettings::default() };
        let machine = Machine { kernel, ..Machine::default() };
        let run = |policy: &str, swap: &str| {
            let design = design(policy, swap);
            (machine.policy_of(&design).to_string(), machine.scheme_of(&design).unwrap().to_string())
        };
        assert_eq!(run("system", "flash"), ("active-inactive:swappiness=30".into(), "flash:readahead=8".into()));
        assert_eq!(run("mglru:swappiness=60", "flash:readahead=1"), ("mglru:swappiness=60".into(), "flash:readahead=1".into()));
        assert_eq!(run("clock", "nvm-direct"), ("clock".into(), "nvm-direct".into()));
        let merged = |size: &str, page: &str| {
            let kernel = KernelSettings { max_request: Some(super::size(size)), ..KernelSettings::default() };
            let machine = Machine { kernel, page_size: super::size(page), ..Machine::default() };
            ["flash", "flash:merge=2", "zram"].map(|swap| machine.scheme_of(&design("clock", swap)).unwrap().to_string())
        };
        assert_eq!(merged("512KiB", "4KiB"), ["flash:merge=128", "flash:merge=2", "zram"]);
        assert_eq!((merged("4MiB", "4KiB")[0].as_str(), merged("4KiB", "16KiB")[0].as_str()), ("flash:merge=256", "flash:merge=1"));
        assert_eq!(Machine::default().policy_of(&design("system", "zram")).to_string(), "active-inactive");
    }
}
