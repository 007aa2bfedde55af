//! The `[sim]` table of the experiment file: the phone, its apps, the schemes to compare. Values without a published source say so.

use crate::ledger::{DeviceNames, Prices};
use crate::replay::SwapSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use swaplab_apps::a2s::{AppPolicy, Ess, Gate, Lvsp};
use swaplab_apps::{Killer, Limits};
use swaplab_policy::PolicySpec;
use swaplab_swap::SchemeSpec;
use swaplab_vocab::{BadInput, Result};

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
    /// LVSP: average reuse distance from which an app's pages stay (A2S: 64).
    #[serde(default = "default_t_reuse")]
    pub t_reuse: f64,
    /// LVSP: launches below which an app's pages stay (A2S: 3).
    #[serde(default = "default_t_launched")]
    pub t_launched: u64,
    /// LVSP: weigh the average by gaps in place of launches.
    #[serde(default)]
    pub strict: bool,
}

fn default_t_live() -> f64 {
    18.0
}

fn default_t_reuse() -> f64 {
    64.0
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
    /// Kept from Linux for firmware and modem (Nexus 5: MemTotal is 1,899,508 kB of 2 GB).
    pub reserved_mib: f64,
    /// Kernel, and lost: never reclaimed (Nexus 5: about 163 MB).
    pub kernel_mib: f64,
    /// `extra_free_kbytes`: three frames of 1080 x 1920 x 4 B (AOSP ProcessList).
    pub extra_free_kb: u64,
    /// Page policy, with its own parameters; Linux's swappiness is 60, and a Nexus 5 runs Linux 3.4.
    pub policy: String,
    /// Pages that a file fault reads, aligned (Linux: 128 KiB).
    pub file_readahead: u32,
    pub limits: Limits,
    pub killer: Killer,
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
            reserved_mib: 193.0,
            kernel_mib: 163.0,
            extra_free_kb: 24_300,
            policy: "active-inactive:kernel=3.4".into(),
            file_readahead: 32,
            limits: Limits::default(),
            killer: Killer::default(),
            flash: "emmc-4.41".into(),
            nvm: devices.nvm,
            dram: devices.dram,
            processor: devices.processor,
            scan_ns: 200,
            battery_wh: 8.74,
        }
    }
}

/// What an app of one kind takes; all assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSize {
    pub anon_mib: f64,
    pub file_mib: f64,
    /// Held by the GPU while the app is in front, never reclaimed.
    pub graphics_mib: f64,
    /// Processor time of a cold start and of a resume, without faults.
    pub cold_ms: f64,
    pub resume_ms: f64,
}

/// How apps use memory: sizes by kind, and shares of their pages. All assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AppModels {
    pub light: AppSize,
    pub medium: AppSize,
    pub heavy: AppSize,
    pub game: AppSize,
    /// Kinds of the apps by how often they are launched, the most launched first, again from the start when it is used up: l, m, h
    /// or g. Default: the 36 apps of A2S' Table 1 (large), each given a kind by what it is (assumed).
    pub kinds: String,
    /// Sizes are drawn evenly from 1 - spread to 1 + spread times the kind's.
    pub spread: f64,
    /// Share of its graphics that an app keeps in the background.
    pub graphics_kept: f64,
    /// Share of anonymous pages that each resume uses; a cold start writes them before it is ready, the others after.
    pub resume_share: f64,
    /// Share that a resume uses each page of with `warm_probability`.
    pub warm_share: f64,
    pub warm_probability: f64,
    /// Share of file pages that each start reads; the others are read once, after a cold start.
    pub file_hot_share: f64,
    /// Share of a resume's anonymous references that write.
    pub write_share: f64,
    /// System processes and shared libraries, used at each launch.
    pub system: AppSize,
    pub system_hot_share: f64,
    pub system_warm_share: f64,
    pub system_warm_probability: f64,
}

impl Default for AppModels {
    fn default() -> AppModels {
        let size = |anon_mib, file_mib, graphics_mib, cold_ms, resume_ms| AppSize { anon_mib, file_mib, graphics_mib, cold_ms, resume_ms };
        AppModels {
            light: size(20.0, 18.0, 25.0, 400.0, 80.0),
            medium: size(34.0, 28.0, 30.0, 600.0, 120.0),
            heavy: size(60.0, 45.0, 35.0, 1000.0, 200.0),
            game: size(90.0, 50.0, 50.0, 2500.0, 300.0),
            kinds: "mlllmhlghlhhmlmghlmmglmmlgmlmggmmggl".into(),
            spread: 0.2,
            graphics_kept: 0.15,
            resume_share: 0.5,
            warm_share: 0.2,
            warm_probability: 0.3,
            file_hot_share: 0.35,
            write_share: 0.3,
            system: size(320.0, 170.0, 45.0, 0.0, 0.0),
            system_hot_share: 0.25,
            system_warm_share: 0.35,
            system_warm_probability: 0.02,
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
        for (at, scheme) in self.schemes.iter().enumerate() {
            SchemeSpec::parse(&scheme.swap).map_err(|e| e.within(place))?;
            if self.schemes[..at].iter().any(|s| s.name == scheme.name) {
                return bad("schemes", format!("'{}' twice", scheme.name), "names that differ");
            }
        }
        if PolicySpec::parse(&self.phone.policy).map_err(|e| e.within(place))?.info.offline {
            return bad("phone.policy", self.phone.policy.clone(), "a policy that does not know the future");
        }
        if self.apps.kinds.is_empty() || self.apps.kinds.chars().any(|k| !"lmhg".contains(k)) {
            return bad("apps.kinds", format!("'{}'", self.apps.kinds), "letters l, m, h and g");
        }
        let (killer, a, p) = (&self.phone.killer, &self.apps, &self.phone);
        if killer.adj.len() != killer.minfree_kb.len() || killer.minfree_kb.windows(2).any(|w| w[0] > w[1]) {
            return bad("phone.killer.minfree_kb", format!("{:?}", killer.minfree_kb), "as many levels as adj has, the smallest first");
        }
        let shares = [
            ("spread", a.spread),
            ("graphics_kept", a.graphics_kept),
            ("resume_share", a.resume_share),
            ("warm_share", a.warm_share),
            ("warm_probability", a.warm_probability),
            ("file_hot_share", a.file_hot_share),
            ("write_share", a.write_share),
            ("system_hot_share", a.system_hot_share),
            ("system_warm_share", a.system_warm_share),
            ("system_warm_probability", a.system_warm_probability),
        ];
        for (key, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return bad(&format!("apps.{key}"), share.to_string(), "0 to 1");
            }
        }
        if a.resume_share + a.warm_share > 1.0 || a.system_hot_share + a.system_warm_share > 1.0 {
            return bad("apps", "shares of pages that sum to more than 1".into(), "hot and warm shares of at most 1 together");
        }
        let sizes = [&a.light, &a.medium, &a.heavy, &a.game, &a.system];
        let amounts = sizes.into_iter().flat_map(|s| [s.anon_mib, s.file_mib, s.graphics_mib, s.cold_ms, s.resume_ms]);
        if !amounts.chain([p.reserved_mib, p.kernel_mib]).all(|v| (0.0..1e6).contains(&v)) {
            return bad("apps", "a size or time that is negative or beyond 1e6".into(), "amounts from 0 to 1e6");
        }
        if !(p.reserved_mib + p.kernel_mib + 16.0..1e6).contains(&p.dram_mib) {
            return bad("phone.dram_mib", p.dram_mib.to_string(), "more than reserved_mib and kernel_mib by 16 at least");
        }
        if !(0.001..1e6).contains(&p.battery_wh) {
            return bad("phone.battery_wh", p.battery_wh.to_string(), "more than 0 Wh");
        }
        if !(1..=1024).contains(&p.file_readahead) {
            return bad("phone.file_readahead", p.file_readahead.to_string(), "1 to 1024 pages");
        }
        Ok(())
    }
}

impl Phone {
    pub fn prices(&self) -> Result<Arc<Prices>> {
        let names = DeviceNames {
            dram: self.dram.clone(),
            nvm: self.nvm.clone(),
            flash: self.flash.clone(),
            processor: self.processor.clone(),
            ..DeviceNames::default()
        };
        Ok(Arc::new(Prices::new(&names)?))
    }
}

impl SimScheme {
    pub fn gate(&self) -> Gate {
        let lvsp = Lvsp { t_reuse: self.t_reuse, t_launched: self.t_launched, strict: self.strict };
        Gate::new(self.app_policy, Ess { t_live: self.t_live }, lvsp)
    }

    pub fn swap(&self, prices: &Arc<Prices>, seconds: f64) -> Result<SwapSpec> {
        Ok(SwapSpec { scheme: SchemeSpec::parse(&self.swap)?, prices: prices.clone(), seconds: Some(seconds) })
    }
}
