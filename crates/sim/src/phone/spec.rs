//! The `[sim]` table of the experiment file: the phone, its apps, the schemes to compare. Values without a published source say so.

pub use super::app_models::{AppModels, AppSize};
use super::background::Background;
use super::machine::{limit_of, OPT};
use super::prepage::Prepage;
use super::proactive::Proactive;
use super::published::Published;
pub use super::queue::IoQueue;
use crate::ledger::{DeviceNames, Prices};
use crate::replay::SwapSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use swaplab_apps::a2s::{AppPolicy, Ess, Gate, Lvsp};
use swaplab_apps::{Killer, Limits, Victim};
use swaplab_policy::PolicySpec;
use swaplab_swap::{Medium, SchemeSpec};
use swaplab_vocab::{BadInput, Memory, Result, PAGE_SIZE};

/// A sequence of app launches on a simulated phone, once with each scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sim {
    /// A preset or generator of `swaplab trace gen` (`large`, `zipf:apps=50,alpha=1.45`), or a trace of launches.
    pub launches: String,
    /// Runs with different seeds, from the experiment's seed on; figures are means over them.
    #[serde(default = "default_seeds")]
    pub seeds: u64,
    #[serde(default)]
    pub phone: Phone,
    #[serde(default)]
    pub apps: AppModels,
    pub schemes: Vec<SimScheme>,
}

fn default_seeds() -> u64 {
    8
}

/// One line of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimScheme {
    pub name: String,
    /// A swap scheme, such as `none` or `flash:size=1024MiB`.
    pub swap: String,
    /// Whose pages may be swapped out.
    #[serde(default)]
    pub app_policy: AppPolicy,
    /// ESS: no swap-out while so many apps live (A2S: 18).
    #[serde(default = "default_t_live")]
    pub t_live: f64,
    /// LVSP: average reuse distance from which an app's pages stay (A2S: 64); `inf`, in JSON null: there is none.
    #[serde(default = "default_t_reuse", deserialize_with = "with_an_end")]
    pub t_reuse: Option<f64>,
    /// LVSP: launches below which an app's pages stay (A2S: 3).
    #[serde(default = "default_t_launched")]
    pub t_launched: u64,
    /// LVSP: weigh the average by gaps in place of launches.
    #[serde(default)]
    pub strict: bool,
    /// In place of the phone's page policy; `opt` knows the launches to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// In place of the killer's choice of a victim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<Victim>,
    /// In place of the phone's proactive reclaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proactive: Option<Proactive>,
    /// Pages that are read when an app is started, before it asks for them.
    #[serde(default)]
    pub prepage: Prepage,
    /// A paper's figures for this scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

fn default_t_live() -> f64 {
    18.0
}

fn default_t_reuse() -> Option<f64> {
    Some(64.0)
}

fn with_an_end<'a, D: serde::Deserializer<'a>>(number: D) -> std::result::Result<Option<f64>, D::Error> {
    Ok(Option::<f64>::deserialize(number)?.filter(|n| n.is_finite()))
}

fn default_t_launched() -> u64 {
    3
}

/// The device. Memory is in MiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phone {
    /// A2S: 1.5 GB by boot parameter.
    pub dram_mib: f64,
    /// Size of a page: 4 or 16.
    pub page_kib: u64,
    /// Kept from Linux for firmware and modem (Nexus 5: MemTotal is 1,899,508 kB of 2 GB).
    pub reserved_mib: f64,
    /// Kernel, and lost: never reclaimed (Nexus 5: about 163 MB).
    pub kernel_mib: f64,
    /// Compressed pages take frames, as zsmalloc takes them from the same memory. False: from memory beside it, as a control group is not
    /// charged for the pool of zram.
    pub pool_in_dram: bool,
    /// `extra_free_kbytes`: three frames of 1080 x 1920 x 4 B (AOSP ProcessList).
    pub extra_free_kb: u64,
    /// Page policy, with its own parameters; Linux's swappiness is 60, and a Nexus 5 runs Linux 3.4.
    pub policy: String,
    /// Pages of 4 KiB that a file fault reads, aligned (Linux: 128 KiB).
    pub file_readahead: u32,
    pub limits: Limits,
    pub killer: Killer,
    pub background: Background,
    pub proactive: Proactive,
    pub io_queue: IoQueue,
    /// Devices, by key of `swaplab list devices` or path.
    pub flash: String,
    pub nvm: String,
    pub dram: String,
    /// Costs of faults and copies on the processor (assumed for a phone: those of the build machine).
    pub processor: String,
    /// Background reclaim's processor time for each page it looks at, in ns (assumed).
    pub scan_ns: u64,
    /// What a day's energy is compared with (Nexus 5: 2300 mAh at 3.8 V).
    pub battery_wh: f64,
}

impl Default for Phone {
    fn default() -> Phone {
        let devices = DeviceNames::default();
        Phone {
            dram_mib: 1536.0,
            page_kib: 4,
            reserved_mib: 193.0,
            kernel_mib: 163.0,
            pool_in_dram: true,
            extra_free_kb: 24_300,
            policy: "active-inactive:kernel=3.4".into(),
            file_readahead: 32,
            limits: Limits::default(),
            killer: Killer::default(),
            background: Background::default(),
            proactive: Proactive::default(),
            io_queue: IoQueue::default(),
            flash: "emmc-4.41".into(),
            nvm: devices.nvm,
            dram: devices.dram,
            processor: devices.processor,
            scan_ns: 200,
            battery_wh: 8.74,
        }
    }
}

impl Sim {
    /// The table, if its values can be meant.
    pub fn check(&self, place: &str) -> Result<()> {
        let bad = |key: &str, found: String, expected: &str| Err(BadInput::new(format!("{place}: sim.{key}"), found, expected));
        if self.schemes.is_empty() {
            return bad("schemes", "an empty list".into(), "at least one [[sim.schemes]]");
        }
        if !(1..=10_000).contains(&self.seeds) {
            return bad("seeds", self.seeds.to_string(), "1 to 10000");
        }
        let prices = self.phone.prices().map_err(|e| e.within(place))?;
        for (at, scheme) in self.schemes.iter().enumerate() {
            let swap = SchemeSpec::parse(&scheme.swap).map_err(|e| e.within(place))?;
            // The NVM cache stands before an area on flash, which is what its size says.
            let medium = if swap.info.key == "nvm-cache" { Some(Medium::Flash) } else { swap.info.medium };
            let device = medium.map(|medium| prices.device(medium));
            let capacity = device.and_then(|device| device.spec.get("wear.capacity_bytes"));
            let size = limit_of(&scheme.swap).map(|pages| pages * PAGE_SIZE);
            if let (Some(size), Some(capacity)) = (size, capacity.filter(|c| size.is_some_and(|s| s as f64 > *c))) {
                let found = format!("'{}' of {size} bytes on a device of {capacity:.0}", scheme.swap);
                return bad("schemes", found, "a swap area that its device can hold");
            }
            if self.schemes[..at].iter().any(|s| s.name == scheme.name) {
                return bad("schemes", format!("'{}' twice", scheme.name), "names that differ");
            }
        }
        for policy in self.schemes.iter().map(|scheme| scheme.policy(&self.phone)).filter(|policy| *policy != OPT) {
            if PolicySpec::parse(policy).map_err(|e| e.within(place))?.info.offline {
                return bad("phone.policy", policy.into(), "'opt', or a policy that does not know the future");
            }
        }
        let (killer, p) = (&self.phone.killer, &self.phone);
        if killer.adj.len() != killer.minfree_kb.len() || killer.minfree_kb.windows(2).any(|w| w[0] > w[1]) {
            return bad("phone.killer.minfree_kb", format!("{:?}", killer.minfree_kb), "as many levels as adj has, the smallest first");
        }
        if killer.adj.windows(2).any(|w| w[0] > w[1]) {
            return bad("phone.killer.adj", format!("{:?}", killer.adj), "as many levels as minfree_kb has, the lowest first");
        }
        self.apps.check(place)?;
        if ![p.reserved_mib, p.kernel_mib].iter().all(|v| (0.0..1e6).contains(v)) {
            return bad("phone", "a size that is negative or beyond 1e6".into(), "reserved_mib and kernel_mib from 0 to 1e6");
        }
        p.check_behaviour(place)?;
        if !(p.reserved_mib + p.kernel_mib + 16.0..1e6).contains(&p.dram_mib) {
            return bad("phone.dram_mib", p.dram_mib.to_string(), "more than reserved_mib and kernel_mib by 16 at least");
        }
        if !(0.001..1e6).contains(&p.battery_wh) {
            return bad("phone.battery_wh", p.battery_wh.to_string(), "more than 0 Wh");
        }
        if ![4, 16].contains(&p.page_kib) {
            return bad("phone.page_kib", p.page_kib.to_string(), "4 or 16");
        }
        if !(1..=1024).contains(&p.file_readahead) {
            return bad("phone.file_readahead", p.file_readahead.to_string(), "1 to 1024 pages");
        }
        Ok(())
    }
}

impl Phone {
    pub fn page_bytes(&self) -> u64 {
        self.page_kib * 1024
    }

    fn check_behaviour(&self, place: &str) -> Result<()> {
        let b = &self.background;
        let amounts = [
            ("background.gc_every_s", b.gc_every_s, 1e9),
            ("background.gc_share", b.gc_share, 1.0),
            ("background.activity_every_s", b.activity_every_s, 1e9),
            ("background.activity_share", b.activity_share, 1.0),
            ("background.freeze_after_s", b.freeze_after_s, 1e9),
            ("proactive.every_s", self.proactive.every_s, 1e9),
            ("proactive.ratio", self.proactive.ratio, 1.0),
            ("proactive.threshold", self.proactive.threshold, 1.0),
        ];
        // A period of no length means never; more than a thousand a second would be no phone's.
        for (key, every) in [
            ("background.gc_every_s", b.gc_every_s),
            ("background.activity_every_s", b.activity_every_s),
            ("proactive.every_s", self.proactive.every_s),
        ] {
            if every > 0.0 && every < 1e-3 {
                return Err(BadInput::new(format!("{place}: sim.phone.{key}"), every.to_string(), "0 (never), or 0.001 and more"));
            }
        }
        match amounts.into_iter().find(|(_, value, most)| !(0.0..=*most).contains(value)) {
            Some((key, value, most)) => Err(BadInput::new(format!("{place}: sim.phone.{key}"), value.to_string(), format!("0 to {most}"))),
            None => Ok(()),
        }
    }

    pub fn prices(&self) -> Result<Arc<Prices>> {
        let names = DeviceNames {
            dram: self.dram.clone(),
            nvm: self.nvm.clone(),
            flash: self.flash.clone(),
            processor: self.processor.clone(),
            ..DeviceNames::default()
        };
        Ok(Arc::new(Prices::new(&names)?.with_pages_of(self.page_bytes())))
    }
}

impl SimScheme {
    pub fn policy<'a>(&'a self, phone: &'a Phone) -> &'a str {
        self.policy.as_deref().unwrap_or(&phone.policy)
    }

    pub fn killer(&self, phone: &Phone) -> Killer {
        Killer { victim: self.victim.unwrap_or(phone.killer.victim), ..phone.killer.clone() }
    }

    pub fn gate(&self) -> Gate {
        let lvsp = Lvsp { t_reuse: self.t_reuse.unwrap_or(f64::INFINITY), t_launched: self.t_launched, strict: self.strict };
        Gate::new(self.app_policy, Ess { t_live: self.t_live }, lvsp)
    }

    pub fn swap(&self, prices: &Arc<Prices>, seconds: f64) -> Result<SwapSpec> {
        // Schemes count pages of 4 KiB: a size of so many larger ones is that of fewer.
        let scale = prices.page_bytes() / PAGE_SIZE;
        let (key, values) = self.swap.split_once(':').unwrap_or((&self.swap, ""));
        let smaller = |value: &str| match Memory::parse(value).ok().filter(|_| value.ends_with(['B', 'p'])) {
            Some(size) if scale > 1 => size.pages(PAGE_SIZE, 0).map_or(value.into(), |pages| format!("{}p", pages / scale)),
            _ => value.to_string(),
        };
        let part = |part: &str| part.split_once('=').map_or(part.into(), |(name, value)| format!("{name}={}", smaller(value)));
        let values = values.split(',').map(part).collect::<Vec<_>>().join(",");
        let scheme = SchemeSpec::parse(&if values.is_empty() { key.to_string() } else { format!("{key}:{values}") })?;
        Ok(SwapSpec { scheme, prices: prices.clone(), seconds: Some(seconds) })
    }
}
