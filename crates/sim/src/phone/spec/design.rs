//! A design as the phone runs it, with its names resolved by the registries.

use super::phone::{Phone, Proactive};
use crate::replay::SwapSpec;
use swaplab_apps::app_policy::{Gate, APP_POLICIES};
use swaplab_apps::{Killer, KILLERS};
use swaplab_experiment::{worlds, Experiment, Machine, Prepage};
use swaplab_policy::PolicySpec;
use swaplab_swap::SchemeSpec;
use swaplab_vocab::{BadInput, Result, World};

/// The key of Belady's optimum. On the phone it knows the future launches, not every reference.
const OPT: &str = "opt";

/// The policy that chooses victims.
#[derive(Clone)]
pub enum PagePolicy {
    /// Belady's optimum by future launches.
    Foresight,
    Registry(PolicySpec),
}

impl PagePolicy {
    /// Whether a kernel with this policy reads pages from a swap device in memory without the swap
    /// cache, as Linux does from 4.15 on.
    pub fn bypasses_swap_cache(&self) -> bool {
        match self {
            PagePolicy::Foresight => false,
            PagePolicy::Registry(spec) => match spec.entry.key {
                "active-inactive" => spec.params.text("kernel") != "3.4",
                key => key == "mglru",
            },
        }
    }
}

#[derive(Clone)]
pub struct Design {
    /// The design as the experiment has it.
    pub written: swaplab_experiment::Design,
    pub policy: PagePolicy,
    pub swap: SchemeSpec,
    pub gate: Gate,
    pub killer: Killer,
    pub prepage: Prepage,
    pub proactive: Proactive,
}

impl Design {
    /// Resolve the design `written` on `phone`, which is the machine of `experiment`.
    pub fn of(experiment: &Experiment, written: &swaplab_experiment::Design, phone: &Phone) -> Result<Design> {
        let place = |key: &str| format!("design '{}': {key}", written.name);
        if let Some(reason) = worlds::refusal(World::Phone, experiment, written) {
            let (found, expected) = reason.split_once("; expected ").unwrap_or((&reason, "a design that the phone runs"));
            return Err(BadInput::new(format!("design '{}'", written.name), found, expected));
        }
        let machine = &experiment.machine;
        let swap = SchemeSpec::of(&machine.scheme_of(written).expect("the phone refuses a design without a scheme"))
            .map_err(|e| e.within(&place("swap")))?;
        check_area_fits(&swap, phone).map_err(|e| e.within(&place("swap")))?;
        let killer = KILLERS.resolve(written.killer().unwrap_or(&machine.killer)).and_then(|resolved| Killer::of(&resolved));
        Ok(Design {
            policy: policy(machine, written).map_err(|e| e.within(&place("policy")))?,
            swap,
            gate: Gate::of(&APP_POLICIES.resolve(written.app_policy()).map_err(|e| e.within(&place("app_policy")))?),
            killer: killer.map_err(|e| e.within(&place("killer")))?.sized(phone.frames as u64 * phone.page_bytes / 1024),
            prepage: written.prepage,
            proactive: Proactive::of(written.proactive.as_ref().unwrap_or(&machine.proactive)),
            written: written.clone(),
        })
    }

    /// The swap scheme with its prices, for a run of `seconds`.
    pub fn swap_of(&self, phone: &Phone, seconds: f64) -> Result<SwapSpec> {
        let scheme = self.swap.for_pages_of(phone.page_bytes)?;
        Ok(SwapSpec { scheme, prices: phone.prices.clone(), seconds: Some(seconds) })
    }
}

/// Resolve the page policy; `system` is the model of the machine's kernel.
fn policy(machine: &Machine, written: &swaplab_experiment::Design) -> Result<PagePolicy> {
    if written.policy().to_string() == OPT {
        return Ok(PagePolicy::Foresight);
    }
    PolicySpec::of(&machine.policy_of(written)).map(PagePolicy::Registry)
}

/// Refuse a swap area that is larger than its device.
fn check_area_fits(swap: &SchemeSpec, phone: &Phone) -> Result<()> {
    let device = swap.area_medium().map(|medium| phone.prices.device(medium));
    let capacity = device.and_then(|device| device.spec.get("wear.capacity_bytes"));
    match (swap.area_bytes(phone.dram_bytes)?, capacity) {
        (Some(size), Some(capacity)) if size as f64 > capacity => {
            let found = format!("'{}' of {size} bytes on a device of {capacity:.0}", swap.text);
            Err(BadInput::new("", found, "a swap area that its device can hold"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SWP_SYNCHRONOUS_IO` came with Linux 4.15, generations with 6.1.
    #[test]
    fn kernels_from_4_15_on_bypass_the_swap_cache() {
        let policies = ["active-inactive:kernel=3.4", "active-inactive", "active-inactive:kernel=6.12", "mglru", "lru"];
        let bypasses = policies.map(|spec| PagePolicy::Registry(PolicySpec::parse(spec).unwrap()).bypasses_swap_cache());
        assert_eq!(bypasses, [false, true, true, true, false]);
        assert!(!PagePolicy::Foresight.bypasses_swap_cache());
    }
}
