//! What each world can run. A part of a design that a world does not support is refused with the
//! reason, never ignored.

use crate::check::{is_bound, is_file};
use crate::design::{Design, Prepage, SYSTEM};
use crate::experiment::Experiment;
use crate::machine::Devices;
use crate::run::{VmLimit, GUEST_UNIT, LEAST_GUEST};
use crate::workload::{Apps, Launches, Use, Workload};
use swaplab_apps::app_policy::APP_POLICIES;
use swaplab_apps::{Killer, KILLERS};
use swaplab_policy::{Info, Signal, POLICIES};
use swaplab_swap::{SchemeSpec, SCHEMES};
use swaplab_vocab::{BadInput, Result, Spec, World};

/// The default world of a workload.
pub fn default_for(place: &str, workload: &Workload) -> Result<World> {
    match (&workload.trace, &workload.launches, &workload.apps) {
        (Some(_), ..) => Ok(World::Replay),
        (None, Some(_), _) => Ok(World::Phone),
        (None, None, Some(_)) => Ok(World::Memory),
        (None, None, None) => Err(BadInput::new(format!("{place}: workload"), "no workload", "a trace, launches or apps")),
    }
}

/// Why `world` cannot run this design of a resolved experiment; `None` if it can.
pub fn refusal(world: World, experiment: &Experiment, design: &Design) -> Option<String> {
    let reason = recompression(world, design).and_then(|()| match world {
        World::Replay => replay(experiment, design),
        World::Phone => phone(experiment, design),
        World::Memory => memory(experiment, design),
        World::Kernel => kernel(experiment, design),
        World::Vm => vm(experiment, design),
    });
    reason.err().map(|reason| format!("{}: {reason}", world.name()))
}

/// Refuse an experiment if one of its worlds cannot run one of its designs. The error is about the
/// first such pair.
pub fn refuse(place: &str, experiment: &Experiment) -> Result<()> {
    for world in experiment.worlds()? {
        for design in &experiment.design {
            if let Some(reason) = refusal(world, experiment, design) {
                let (found, expected) =
                    reason.split_once("; expected ").unwrap_or((&reason, "a design that this world runs (`swaplab check`)"));
                return Err(BadInput::new(format!("{place}: design '{}'", design.name), found, expected));
            }
        }
    }
    Ok(())
}

/// Keys that only some worlds read, by their beginning. The first entry that matches a key holds
/// for it; every world may read other keys.
const READERS: [(&str, &[World]); 31] = [
    ("run.replay", &[World::Replay]),
    ("run.memory", &[World::Memory]),
    ("run.kernel", &[World::Kernel]),
    ("run.vm", &[World::Vm]),
    ("workload.trace", &[World::Replay]),
    ("workload.launches", &[World::Phone, World::Kernel, World::Vm]),
    ("workload.apps", &[World::Phone, World::Memory, World::Kernel, World::Vm]),
    ("machine.kernel.swappiness", &[World::Phone, World::Kernel, World::Vm]),
    ("machine.kernel.read_ahead", &[World::Phone, World::Kernel, World::Vm]),
    ("machine.kernel.page_cluster", &[World::Phone, World::Kernel, World::Vm]),
    ("machine.kernel.policy", &[World::Replay, World::Phone, World::Vm]),
    ("machine.kernel.exit_ns", &[World::Phone]),
    ("machine.kernel.kswapd_core", &[World::Phone]),
    ("machine.kernel.little_speed", &[World::Phone]),
    ("machine.kernel.little_power", &[World::Phone]),
    ("machine.kernel.mthp", &[World::Phone]),
    ("machine.kernel.anon_out_ns", &[World::Phone]),
    ("machine.kernel.file_out_ns", &[World::Phone]),
    ("machine.kernel.file_in_ns", &[World::Phone]),
    ("machine.kernel.access_fault_ns", &[World::Phone]),
    ("machine.kernel", &[World::Phone, World::Vm]),
    ("machine.killer", &[World::Phone, World::Kernel, World::Vm]),
    ("machine.limits", &[World::Phone, World::Kernel, World::Vm]),
    ("machine.background.compact", &[World::Phone, World::Vm]),
    ("machine.background.compact_after", &[World::Phone, World::Vm]),
    ("machine.background.compact_full_rss_throttle_kb", &[World::Phone, World::Vm]),
    ("machine.background.compact_full_delta_rss_throttle_kb", &[World::Phone, World::Vm]),
    ("machine.background", &[World::Phone]),
    ("machine.proactive", &[World::Phone]),
    ("machine.cores", &[World::Phone]),
    ("machine.display", &[World::Phone]),
];

/// Refuse a key that was set or is varied, but that no world of the run reads: it would have no
/// effect. A replay reads a setting of the kernel that sets a parameter of a design's policy or
/// scheme.
pub fn refuse_unread(place: &str, key: &str, experiment: &Experiment, worlds: &[World]) -> Result<()> {
    let begins = |start: &str| key.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let Some((_, readers)) = READERS.iter().find(|(start, _)| begins(start)) else { return Ok(()) };
    let is_parameter = || experiment.design.iter().any(|design| experiment.machine.sets_parameter(design, key));
    if worlds.iter().any(|world| readers.contains(world)) || (worlds.contains(&World::Replay) && is_parameter()) {
        return Ok(());
    }
    let names = |worlds: &[World]| worlds.iter().map(|world| world.name()).collect::<Vec<_>>().join(", ");
    let found = format!("'{key}' has no effect in {}", names(worlds));
    Err(BadInput::new(place, found, format!("a key that the run reads; this one is read in: {}", names(readers))))
}

type Accepted = std::result::Result<(), String>;

fn require(holds: bool, reason: impl FnOnce() -> String) -> Accepted {
    if holds {
        Ok(())
    } else {
        Err(reason())
    }
}

/// Registry properties of a design's policy; `None` for a bound, a policy in a file, or the world's
/// own reclaim.
fn policy(design: &Design) -> Option<&'static Info> {
    let key = &design.policy().key;
    if key == SYSTEM || is_file(design.policy()) {
        return None;
    }
    POLICIES.entry(key).ok().map(|entry| &entry.info)
}

/// Refuse a bound outside of replay: computing it needs all references of a trace.
fn no_bound(design: &Design) -> Accepted {
    require(!is_bound(design.policy()), || format!("policy {} is a bound, not a policy; expected one that runs", design.policy()))
}

/// Refuse settings about apps in a world without apps.
fn no_apps(world: &str, design: &Design) -> Accepted {
    require(design.app_policy().key == "none", || format!("app policy {} needs launches of apps; {world} has none", design.app_policy()))?;
    require(design.killer().is_none(), || format!("killer {} has no apps to kill in {world}", design.killer().expect("a killer")))?;
    not_prepaged(world, design)?;
    require(design.proactive.is_none(), || "proactive reclaim needs the phone's clock".into())
}

fn not_prepaged(world: &str, design: &Design) -> Accepted {
    require(design.prepage == Prepage::None, || format!("prepaging happens at the start of an app, which {world} cannot steer"))
}

fn schemes(world: World, design: &Design) -> Accepted {
    let Some(swap) = design.swap() else {
        return Err("a design without `swap`; expected a scheme such as none or zram".into());
    };
    let entry = SCHEMES.entry(&swap.key).map_err(|e| e.to_string())?;
    require(entry.info.worlds.contains(&world), || {
        let known = SCHEMES.iter().filter(|entry| entry.info.worlds.contains(&world)).map(|entry| entry.key);
        format!("scheme {} cannot be run here; expected one of: {}", swap.key, known.collect::<Vec<_>>().join(" "))
    })
}

/// Refuse recompression where it has no effect: in a replay, which has no clock, and on kernels,
/// whose zram swaplab does not set up for it.
fn recompression(world: World, design: &Design) -> Accepted {
    let recompresses = design.swap().is_some_and(|swap| SchemeSpec::of(swap).is_ok_and(|scheme| scheme.recompresses()));
    require(world == World::Phone || !recompresses, || {
        format!("{}: only the world phone models recompression; expected recompress=off", design.swap().expect("a scheme"))
    })
}

fn programs(experiment: &Experiment) -> std::result::Result<&[Use], String> {
    match &experiment.workload.apps {
        Some(Apps::Programs(programs)) => Ok(programs),
        _ => Err("no list of programs in workload.apps".into()),
    }
}

fn absolute_dram(experiment: &Experiment) -> Accepted {
    match &experiment.machine.dram {
        None => Err("no machine.dram; expected a size such as 64MiB".into()),
        Some(size) => {
            require(!size.is_percent(), || format!("machine.dram = '{}' needs a trace; expected a size such as 64MiB", size.text()))
        }
    }
}

/// Check that every device of the machine exists, for worlds that take times from devices. Only the
/// simulated phone has a queue that a device can pause in to collect garbage.
fn devices(world: World, experiment: &Experiment) -> Accepted {
    let Devices { dram, nvm, flash, sd_card, processor } = &experiment.machine.devices;
    let media = [("dram", dram), ("nvm", nvm), ("flash", flash), ("sd_card", sd_card)];
    for (medium, name) in media {
        let device = swaplab_device::load(name).map_err(|e| e.within(&format!("machine.devices.{medium}")).to_string())?;
        require(world == World::Phone || device.spec.collection.is_none(), || {
            format!("machine.devices.{medium} = '{name}' collects garbage, which only the world phone models; expected a device without gc")
        })?;
    }
    swaplab_device::load_processor(processor).map(drop).map_err(|e| e.within("machine.devices.processor").to_string())
}

fn replay(experiment: &Experiment, design: &Design) -> Accepted {
    require(experiment.workload.trace.is_some(), || "no trace in workload".into())?;
    require(experiment.machine.dram.is_some(), || {
        "no machine.dram; expected a size such as 64MiB, or 10% of the trace's footprint".into()
    })?;
    no_apps("replay", design)?;
    devices(World::Replay, experiment)?;
    if let Some(swap_device) = &experiment.run.replay.swap_device {
        let collects = swaplab_device::load(swap_device).is_ok_and(|device| device.spec.collection.is_some());
        require(!collects, || {
            format!("run.replay.swap_device = '{swap_device}' collects garbage, which only the world phone models; expected a device without gc")
        })?;
    }
    if let Some(info) = policy(design) {
        let signal = experiment.run.replay.signal.as_str();
        require(!info.offline || signal == "exact", || {
            format!("policy {} counts references, but run.replay.signal = '{signal}' hides some; expected exact", design.policy())
        })?;
    }
    if is_bound(design.policy()) {
        require(design.swap().is_none(), || {
            format!("{} is a bound that holds only if every page has the costs of the devices; expected no swap scheme", design.policy())
        })?;
        let signal = experiment.run.replay.signal.as_str();
        require(signal == "exact", || {
            format!(
                "the bound {} is computed from every reference, but run.replay.signal = '{signal}' hides some; expected exact",
                design.policy()
            )
        })?;
    }
    Ok(())
}

fn phone(experiment: &Experiment, design: &Design) -> Accepted {
    require(experiment.workload.launches.is_some(), || "no launches in workload".into())?;
    absolute_dram(experiment)?;
    devices(World::Phone, experiment)?;
    schemes(World::Phone, design)?;
    require(
        experiment.machine.kernel.mthp.is_none() || design.swap().is_none_or(|swap| ["none", "zram"].contains(&swap.key.as_str())),
        || "machine.kernel.mthp: large folios are swapped in as one from zram alone; expected swap = zram or none".into(),
    )?;
    require(!is_file(design.policy()), || format!("policy {} is in a file; expected a policy of the registry", design.policy()))?;
    no_bound(design)?;
    let text = design.policy().to_string();
    require(text == "opt" || policy(design).is_none_or(|info| !info.offline), || {
        format!("policy {text} needs all future references; expected opt, which here knows the future launches, or an online policy")
    })?;
    if let Some(Apps::Programs(programs)) = &experiment.workload.apps {
        if let Some(other) = programs.iter().find(|program| program.app != "phone-app") {
            let name = if other.app.is_empty() { other.command.join(" ") } else { other.app.clone() };
            return Err(format!("there is no model of the program {name}; expected apps by `use = \"phone-app\"`"));
        }
        require(matches!(experiment.workload.launches, Some(Launches::Table(_))), || {
            "programs are launched in the order of a table; expected launches = { order = .., rounds = .. }".into()
        })?;
    }
    Ok(())
}

fn memory(experiment: &Experiment, design: &Design) -> Accepted {
    programs(experiment)?;
    absolute_dram(experiment)?;
    schemes(World::Memory, design)?;
    no_apps("memory", design)?;
    no_bound(design)?;
    if let Some(Info { signal, .. }) = policy(design) {
        require(*signal == Signal::FaultOnly, || {
            let needs = if *signal == Signal::Exact { "every reference" } else { "reference bits" };
            format!("policy {} needs {needs}; this world has only faults", design.policy())
        })?;
    }
    Ok(())
}

/// Requirements of both `kernel` and `vm`: programs in the order of a table, and the kernel's own
/// reclaim, steered by control groups.
fn launches_on_a_kernel(world: World, experiment: &Experiment, design: &Design) -> Accepted {
    programs(experiment)?;
    require(matches!(experiment.workload.launches, Some(Launches::Table(_))), || {
        "programs are launched in the order of a table; expected launches = { order = .., rounds = .. }".into()
    })?;
    absolute_dram(experiment)?;
    schemes(world, design)?;
    require(design.policy().key == SYSTEM, || {
        format!("policy {} cannot be put into a kernel that runs; expected system, the kernel's own", design.policy())
    })?;
    let app_policy = design.app_policy();
    let by_groups = |entry: &swaplab_vocab::Entry<swaplab_apps::app_policy::Info>| entry.info.worlds.contains(&World::Kernel);
    require(APP_POLICIES.iter().any(|entry| entry.key == app_policy.key && by_groups(entry)), || {
        let known: Vec<&str> = APP_POLICIES.iter().filter(|entry| by_groups(entry)).map(|entry| entry.key).collect();
        format!("app policy {app_policy} cannot be steered by control groups; expected one of: {}", known.join(" "))
    })?;
    not_prepaged(world.name(), design)?;
    require(design.proactive.is_none(), || "proactive reclaim is not steered on a real kernel".into())
}

/// The victim rule of a design's killer, and the killer.
fn victim(experiment: &Experiment, design: &Design) -> std::result::Result<(String, Spec), String> {
    let killer = design.killer().unwrap_or(&experiment.machine.killer);
    let rule = KILLERS.resolve(killer).map_err(|e| e.to_string())?;
    Ok((rule.params.text("victim").into(), killer.clone()))
}

/// Refuse a threshold of direct reclaim in the worlds whose killer cannot see how long it lasts.
fn no_direct_reclaim_threshold(experiment: &Experiment, design: &Design) -> Accepted {
    let killer = design.killer().unwrap_or(&experiment.machine.killer);
    let reads = KILLERS.resolve(killer).and_then(|rule| Killer::of(&rule)).is_ok_and(|rule| rule.reads_direct_reclaim());
    require(!reads, || {
        format!("killer {killer}: reclaim of a control group is no direct reclaim to it; expected direct_reclaim_threshold_ms=0")
    })
}

fn kernel(experiment: &Experiment, design: &Design) -> Accepted {
    launches_on_a_kernel(World::Kernel, experiment, design)?;
    no_direct_reclaim_threshold(experiment, design)?;
    let (victim, killer) = victim(experiment, design)?;
    require(victim == "lru", || format!("killer {killer} chooses by what a running kernel cannot know; expected victim=lru"))
}

/// Programs that can run in a guest: our own included ones, or app files of these.
const GUEST_APPS: [&str; 2] = ["phone-app", "swaplab-app"];

fn vm(experiment: &Experiment, design: &Design) -> Accepted {
    launches_on_a_kernel(World::Vm, experiment, design)?;
    devices(World::Vm, experiment)?;
    for program in programs(experiment)? {
        require(GUEST_APPS.contains(&program.app.as_str()) || program.app.ends_with(".toml"), || {
            let name = if program.app.is_empty() { program.command.join(" ") } else { program.app.clone() };
            format!("{name} cannot run in a guest, which has our own program alone; expected phone-app, swaplab-app or an app file of it")
        })?;
    }
    let machine = &experiment.machine;
    let dram = machine.dram.as_ref().map_or(0, |dram| dram.bytes(0));
    let (limit, guest) = experiment.run.vm.memory(dram);
    require(guest >= LEAST_GUEST && guest % GUEST_UNIT == 0, || {
        let text = machine.dram.as_ref().map_or("", |dram| dram.text());
        format!("machine.dram = '{text}'; expected at least 192MiB, in steps of 2MiB, for a guest with its kernel (run.vm.limit = 'guest')")
    })?;
    require(limit == VmLimit::Guest || dram % 4096 == 0, || "machine.dram: expected whole pages of 4KiB".into())?;
    require(machine.page_size.bytes(0) == 4096, || "machine.page_size: the guest's kernels have pages of 4KiB; expected 4KiB".into())?;
    if limit == VmLimit::Group {
        no_direct_reclaim_threshold(experiment, design)?;
    }
    let (victim, killer) = victim(experiment, design)?;
    require(victim != "swam", || {
        format!("killer {killer} chooses by times of cold starts, which app files do not have; expected victim=lru or victim=oracle")
    })
}
