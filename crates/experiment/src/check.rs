//! Checks of values that are the same in every world. Errors name the key.

use crate::apps::AppModels;
use crate::design::{Design, SYSTEM};
use crate::experiment::Experiment;
use crate::machine::{KernelSettings, Machine};
use crate::run::VmRun;
use crate::settings::Background;
use crate::workload::{Apps, Launches, Order, Use, Workload};
use swaplab_apps::app_policy::APP_POLICIES;
use swaplab_apps::KILLERS;
use swaplab_policy::{FileKey, BOUNDS, POLICIES};
use swaplab_swap::{SchemeSpec, SCHEMES};
use swaplab_vocab::{unknown_key, BadInput, Result, Spec};

/// Maximum number of launches of a run, which keeps all of them in memory.
const MOST_LAUNCHES: f64 = 1e5;

pub fn values(experiment: &Experiment) -> Result<()> {
    machine(&experiment.machine, &experiment.workload)?;
    experiment.design.iter().try_for_each(design)?;
    workload(&experiment.workload)?;
    if let Some(length) = &experiment.run.replay.length {
        within("run.replay.length", length.seconds(), 1e-9, 1e12)?;
    }
    swap_device(experiment)?;
    vm(&experiment.run.vm)
}

/// Refuse a device for swap without a scheme if every design has a scheme: it would have no effect.
fn swap_device(experiment: &Experiment) -> Result<()> {
    let Some(device) = &experiment.run.replay.swap_device else { return Ok(()) };
    let has_medium = |design: &Design| {
        let scheme = design.swap().and_then(|swap| SCHEMES.entry(&swap.key).ok());
        scheme.is_some_and(|entry| entry.info.medium.is_some())
    };
    if experiment.run.on.iter().any(|world| world == "replay") && experiment.design.iter().all(has_medium) {
        let found = format!("'{device}' is the device of swap without a scheme, and every design has a scheme");
        let expected = "machine.devices.nvm, .flash, .sd_card or .dram, the device of a scheme's medium";
        return Err(BadInput::new("run.replay.swap_device", found, expected));
    }
    Ok(())
}

fn vm(vm: &VmRun) -> Result<()> {
    within("run.vm.cpus", vm.cpus as f64, 1.0, 8.0)?;
    within("run.vm.gips", vm.gips, 0.01, 64.0)?;
    within("run.vm.shift", vm.shift.seconds(), 0.0, 1.0)?;
    within("run.vm.think", vm.think.seconds(), 0.0, 1e6)?;
    within("run.vm.system_period", vm.system_period.seconds(), 1e-3, 1e6)?;
    within("run.vm.watermark_scale_factor", vm.watermark_scale_factor.unwrap_or(1) as f64, 1.0, 3000.0)?;
    within("run.vm.dirty_background_ratio", vm.dirty_background_ratio as f64, 0.0, 100.0)?;
    within("run.vm.dirty_ratio", vm.dirty_ratio as f64, 1.0, 100.0)?;
    within("run.vm.virtual_limit", vm.virtual_limit.seconds(), 1.0, 1e6)?;
    within("run.vm.wall_limit", vm.wall_limit.seconds(), 1.0, 1e6)?;
    if let Some(cache) = &vm.count_reads {
        within("run.vm.count_reads", cache.absolute_bytes("run.vm.count_reads")? as f64, 1024.0, (1u64 << 30) as f64)?;
    }
    match vm.events.iter().find(|event| !is_tracepoint(event)) {
        Some(event) => Err(BadInput::new("run.vm.events", format!("'{event}'"), "GROUP/EVENT, such as vmscan/mm_vmscan_kswapd_wake")),
        None => Ok(()),
    }
}

fn is_tracepoint(event: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    event.split_once('/').is_some_and(|(group, name)| is_name(group) && is_name(name))
}

fn within(key: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        Ok(())
    } else if value > high {
        Err(BadInput::new(key, format!("{value} is too large"), format!("{low} to {high}")))
    } else {
        Err(BadInput::new(key, value.to_string(), format!("{low} to {high}")))
    }
}

/// A large folio has 2^2 pages or more, and fits into a cluster of swap slots here.
fn mthp(kernel: &KernelSettings, page: u64) -> Result<()> {
    let Some(size) = &kernel.mthp else { return Ok(()) };
    let pages = size.absolute_bytes("machine.kernel.mthp")? / page;
    if size.bytes(0) % page != 0 || !pages.is_power_of_two() || !(4..=128).contains(&pages) {
        return Err(BadInput::new("machine.kernel.mthp", size.text(), "4, 8, 16 and so on up to 128 pages, such as 64KiB"));
    }
    Ok(())
}

fn machine(machine: &Machine, workload: &Workload) -> Result<()> {
    if let Some(dram) = &machine.dram {
        if dram.is_percent() && workload.trace.is_none() {
            let expected = "bytes or pages such as 64MiB: a percentage is of a trace's footprint, and there is no trace";
            return Err(BadInput::new("machine.dram", format!("'{}'", dram.text()), expected));
        }
    }
    let page = machine.page_size.absolute_bytes("machine.page_size")?;
    if ![4096, 16_384].contains(&page) {
        return Err(BadInput::new("machine.page_size", machine.page_size.text(), "4KiB or 16KiB"));
    }
    within("machine.cores", machine.cores as f64, 1.0, 1024.0)?;
    within("machine.display.refresh_hz", machine.display.refresh_hz as f64, 0.0, 1000.0)?;
    let taken = machine.firmware.bytes() + machine.kernel_reserved.bytes();
    if let Some(dram) = machine.dram.as_ref().filter(|dram| !dram.is_percent() && taken > 0) {
        if dram.bytes(0) < taken + (16 << 20) {
            let expected = format!("16MiB more than the {taken} bytes of machine.firmware and machine.kernel_reserved");
            return Err(BadInput::new("machine.dram", dram.text(), expected));
        }
    }
    let kernel = &machine.kernel;
    policy("machine.kernel.policy", &kernel.policy)?;
    KILLERS.resolve(&machine.killer).map_err(|e| e.within("machine.killer"))?;
    let read_ahead = kernel.read_ahead.absolute_bytes("machine.kernel.read_ahead")?;
    within("machine.kernel.read_ahead", read_ahead as f64, 4096.0, 4_194_304.0)?;
    mthp(kernel, page)?;
    within("machine.kernel.swappiness", kernel.swappiness.unwrap_or(0) as f64, 0.0, 200.0)?;
    within("machine.kernel.page_cluster", kernel.page_cluster.unwrap_or(0) as f64, 0.0, 10.0)?;
    within("machine.kernel.little_speed", kernel.little_speed, 0.01, 1.0)?;
    within("machine.kernel.little_power", kernel.little_power, 0.001, 1.0)?;
    within("machine.limits.cached", machine.limits.cached.unwrap_or(1) as f64, 1.0, 1e9)?;
    within("machine.battery_wh", machine.battery_wh, 0.0, 1e6)?;
    let background = &machine.background;
    for (key, every) in [
        ("background.gc_every", &background.gc_every),
        ("background.activity_every", &background.activity_every),
        ("background.services.every", &background.services.every),
        ("background.services.daemons_every", &background.services.daemons_every),
        ("proactive.every", &machine.proactive.every),
    ] {
        // No phone does this more than a thousand times per second.
        if every.seconds() > 0.0 && every.seconds() < 1e-3 {
            return Err(BadInput::new(format!("machine.{key}"), every.text(), "0 (never), or 1ms and more"));
        }
    }
    within("machine.background.gc_share", background.gc_share, 0.0, 1.0)?;
    within("machine.background.activity_share", background.activity_share, 0.0, 1.0)?;
    background_work(background)?;
    within("machine.proactive.ratio", machine.proactive.ratio, 0.0, 1.0)?;
    within("machine.proactive.threshold", machine.proactive.threshold, 1e-9, 1.0)
}

/// Check the managed heap and the services of apps.
fn background_work(background: &Background) -> Result<()> {
    let (heap, services) = (&background.heap, &background.services);
    for (key, value, low, high) in [
        ("heap.rate", heap.rate.0, 0.0, 1e5),
        ("heap.background_rate", heap.background_rate.0, 0.0, 1e5),
        ("heap.share", heap.share, 0.0, 1.0),
        // Dalvik's and ART's own limits are 0.2 and 0.8
        ("heap.target_utilization", heap.target_utilization, 0.1, 0.9),
        ("heap.min_free", heap.min_free.0, 0.0, heap.max_free.0),
        ("heap.max_free", heap.max_free.0, 0.0, 1e5),
        ("heap.foreground_growth", heap.foreground_growth, 1.0, 100.0),
        ("services.restart_share", services.restart_share, 0.0, 1.0),
        ("services.share", services.share, 0.0, 1.0),
        ("services.daemons_share", services.daemons_share, 0.0, 1.0),
    ] {
        within(&format!("machine.background.{key}"), value, low, high)?;
    }
    Ok(())
}

/// Whether a policy is in a file, that is, not in the registry.
pub fn is_file(policy: &Spec) -> bool {
    matches!(FileKey::of(&policy.to_string()), Ok(Some(_)))
}

/// Whether the key is that of a lower bound instead of a policy. Only replay can compute a bound.
pub fn is_bound(policy: &Spec) -> bool {
    BOUNDS.has(&policy.key)
}

/// Check the spec of a policy of the registry or of a bound. A policy in a file is checked when a
/// world loads it.
fn policy(key: &str, spec: &Spec) -> Result<()> {
    if spec.key == SYSTEM || is_file(spec) {
        return Ok(());
    }
    let resolved = if is_bound(spec) {
        BOUNDS.resolve(spec).map(drop)
    } else if POLICIES.has(&spec.key) || spec.key.contains(':') {
        POLICIES.resolve(spec).map(drop)
    } else {
        Err(unknown_key("", "policy", &spec.key, POLICIES.keys().chain(BOUNDS.keys())))
    };
    resolved.map_err(|e| e.within(key))
}

fn design(design: &Design) -> Result<()> {
    let place = |key: &str| format!("design '{}': {key}", design.name);
    policy(&place("policy"), design.policy())?;
    if let Some(swap) = design.swap() {
        SchemeSpec::of(swap).map_err(|e| e.within(&place("swap")))?;
    }
    APP_POLICIES.resolve(design.app_policy()).map_err(|e| e.within(&place("app_policy")))?;
    if let Some(killer) = design.killer() {
        KILLERS.resolve(killer).map_err(|e| e.within(&place("killer")))?;
    }
    if let Some(proactive) = &design.proactive {
        within(&place("proactive.ratio"), proactive.ratio, 0.0, 1.0)?;
    }
    Ok(())
}

fn workload(workload: &Workload) -> Result<()> {
    if workload.trace.is_none() && workload.launches.is_none() && workload.apps.is_none() {
        return Err(BadInput::new("workload", "no workload", "a trace, launches or apps"));
    }
    match &workload.apps {
        Some(Apps::Models(models)) => AppModels::check(models, "workload.apps")?,
        Some(Apps::Programs(programs)) => programs_of(programs)?,
        Some(Apps::Named(_)) | None => {}
    }
    let Some(Launches::Table(table)) = &workload.launches else { return Ok(()) };
    within("workload.launches.rounds", table.rounds as f64, 1.0, 1e9)?;
    within("workload.launches.foreground", table.foreground.seconds(), 0.0, 1e6)?;
    let apps: u64 = match &workload.apps {
        Some(Apps::Programs(programs)) => programs.iter().map(|program| program.count).sum(),
        _ => 1,
    };
    let in_a_round = match &table.order {
        Order::Names(names) if names.is_empty() => {
            return Err(BadInput::new("workload.launches.order", "an empty list", "at least one app's name"))
        }
        Order::Draw(draw) if draw.launches < 1 || !(0.0..1e3).contains(&draw.alpha) => {
            let found = format!("{} launches, alpha {}", draw.launches, draw.alpha);
            return Err(BadInput::new("workload.launches.order", found, "at least 1 launch, alpha from 0 to 1000"));
        }
        Order::InTurn(_) => apps,
        Order::Names(names) => names.len() as u64,
        Order::Draw(draw) => draw.launches,
    };
    let launches = in_a_round as f64 * (table.warm_up as f64 + table.rounds as f64);
    if launches > MOST_LAUNCHES {
        return Err(BadInput::new("workload.launches.rounds", format!("{launches} launches in all"), format!("at most {MOST_LAUNCHES}")));
    }
    Ok(())
}

fn programs_of(programs: &[Use]) -> Result<()> {
    if programs.is_empty() {
        return Err(BadInput::new("workload.apps", "an empty list", "at least one app"));
    }
    for (number, program) in programs.iter().enumerate() {
        let place = format!("workload.apps: app {}", number + 1);
        if program.app.is_empty() == program.command.is_empty() {
            return Err(BadInput::new(place, "neither or both of `use` and `command`", "one of them"));
        }
        if !(1..=200).contains(&program.count) {
            return Err(BadInput::new(place, format!("count {}", program.count), "1 to 200"));
        }
    }
    Ok(())
}
