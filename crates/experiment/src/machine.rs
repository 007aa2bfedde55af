//! `[machine]`: the DRAM, kernel and devices that designs run on. A preset (`base`) gives a whole machine; keys beside it override.

use crate::design::{Design, SYSTEM};
use crate::quantity::{Mib, Size};
use crate::settings::{Background, IoOrder, Limits, Proactive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_policy::POLICIES;
use swaplab_swap::SCHEMES;
use swaplab_vocab::{unknown_key, Parameter, Result, Spec};

/// The machine that designs run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Machine {
    /// A preset of `swaplab list machines`; the keys below override it.
    pub base: String,
    /// Memory: of the machine (`phone`, `vm`), of the control group (`kernel`), of each process (`memory`), or in percent of the trace's
    /// footprint (`replay`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<Size>,
    /// Bytes of a page: 4KiB or 16KiB.
    pub page_size: Size,
    /// Processors of the simulated phone. With one, background reclaim and the app that is started share it; with more, they run side by
    /// side.
    pub cores: u64,
    /// Part of `dram` that firmware and modem keep from the kernel.
    pub firmware: Mib,
    /// Part of `dram` that the kernel itself uses and never reclaims.
    pub kernel_reserved: Mib,
    /// Compressed pages take frames of `dram`, as zsmalloc takes them. False: they take memory beside it, as a control group is not charged
    /// for the pool of zram.
    pub pool_in_dram: bool,
    pub kernel: KernelSettings,
    pub limits: Limits,
    /// The low-memory killer of designs that name none; `off` for none.
    pub killer: Spec,
    pub background: Background,
    pub proactive: Proactive,
    /// Devices by medium: keys of `swaplab list devices`, or paths of device files.
    pub devices: Devices,
    /// Energy of the battery in Wh, with which a day's energy is compared; 0: none.
    pub battery_wh: f64,
}

/// The kernel's memory settings, by its own names where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelSettings {
    /// The page policy that models this kernel's reclaim where no kernel runs.
    pub policy: Spec,
    /// `vm.swappiness`, 0 to 200; without a value, what the machine or the policy has.
    pub swappiness: Option<u64>,
    /// `vm.page-cluster`: a swap-in reads 2^n pages; without a value, what the machine or the scheme has.
    pub page_cluster: Option<u64>,
    /// The most that a read of a file reads ahead.
    pub read_ahead: Size,
    /// `vm.extra_free_kbytes` of Android kernels.
    pub extra_free: Mib,
    /// How storage orders reads and writes.
    pub io_order: IoOrder,
    /// The largest request of storage: adjacent pages are written together up to it. Without a value, what the scheme has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request: Option<Size>,
    /// A page that is being written keeps its frame until it is (mm/vmscan.c, `shrink_folio_list`). False: reclaim frees it at once, and
    /// who reclaims for himself waits for his own writes.
    pub write_back_holds_frames: bool,
    /// Processor time of kswapd for each page that it scans, in ns (assumed).
    pub scan_ns: u64,
}

/// Devices by medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Devices {
    pub dram: String,
    pub nvm: String,
    pub flash: String,
    pub sd_card: String,
    /// Costs of faults and copies on the processor.
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
    Size::parse(text).expect("a size of ours")
}

fn spec(text: &str) -> Spec {
    text.parse().expect("a spec of ours")
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
            scan_ns: 200,
        }
    }
}

impl Default for Machine {
    /// The machine `plain`: memory for apps and nothing else, as a control group is.
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
    /// The policy that runs for `design` where no kernel does: `system` is the model of this kernel. `kernel.swappiness` sets the
    /// policy's own where the design gives it none.
    pub fn policy_of(&self, design: &Design) -> Spec {
        let written = design.policy();
        let policy = if written.key == SYSTEM { &self.kernel.policy } else { written };
        let parameters = POLICIES.entry(&policy.key).map_or(&[][..], |entry| entry.parameters);
        with_setting(policy, parameters, "swappiness", self.kernel.swappiness)
    }

    /// The scheme of `design`. `kernel.page_cluster` and `kernel.max_request` set its readahead and its merging where the design gives none.
    pub fn scheme_of(&self, design: &Design) -> Option<Spec> {
        let scheme = design.swap()?;
        let parameters = SCHEMES.entry(&scheme.key).map_or(&[][..], |entry| entry.parameters);
        let scheme = with_setting(scheme, parameters, "readahead", self.kernel.page_cluster.map(|power| 1 << power));
        Some(with_setting(&scheme, parameters, "merge", self.request_pages()))
    }
}

impl Machine {
    /// Pages of the largest request; nothing where the machine gives none.
    fn request_pages(&self) -> Option<u64> {
        let bytes = |size: &Size| size.absolute_bytes("").ok();
        let request = self.kernel.max_request.as_ref().and_then(bytes)?;
        Some((request / bytes(&self.page_size)?.max(1)).clamp(1, 256))
    }
}

/// `spec` with the kernel's `value` for a parameter that it has and does not give.
fn with_setting(spec: &Spec, parameters: &[Parameter], name: &str, value: Option<u64>) -> Spec {
    let known = parameters.iter().any(|parameter| parameter.name == name);
    match value {
        Some(value) if known && !spec.values.contains_key(name) => spec.clone().with(name, value as i64),
        _ => spec.clone(),
    }
}

const PLAIN: &str = "plain";

/// A whole machine by name.
#[derive(Debug, Serialize)]
pub struct Preset {
    pub key: &'static str,
    pub what: &'static str,
    /// The `[machine]` table, as TOML; each number has its source beside it.
    pub text: &'static str,
}

macro_rules! machines {
    ($($key:literal: $what:literal,)*) => {
        /// Every preset, a line and a file of `machines/` each.
        pub const MACHINES: &[Preset] = &[$(Preset { key: $key, what: $what, text: include_str!(concat!("machines/", $key, ".toml")) },)*];
    };
}

machines! {
    "plain": "memory for apps and nothing else, as a control group is",
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
    fn every_preset_is_a_whole_machine() {
        for known in MACHINES {
            let table = preset("test", known.key).unwrap();
            let machine: Machine = table.try_into().unwrap_or_else(|e| panic!("{}: {e}", known.key));
            assert_eq!(machine.base, known.key);
        }
        let plain: Machine = preset("test", PLAIN).unwrap().try_into().unwrap();
        assert_eq!(plain, Machine::default(), "the preset and the defaults are one");
    }

    #[test]
    fn the_kernel_sets_what_a_design_leaves_open() {
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
