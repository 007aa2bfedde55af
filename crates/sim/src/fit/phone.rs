//! Makes an experiment from a recording: its apps, its memory, its swap. Values that the recording
//! lacks (times, graphics memory, shares of pages) keep their defaults, which are assumed.

use super::models::{assumed, named};
use super::recording::{AppMemory, Recording};
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::{Apps, Design, Experiment, Launches, Machine, Mib, OneOrMany, Size, Workload};
use swaplab_vocab::{BadInput, Result, Spec, World};

/// Number of seeds of the experiment, as the apps that keep a service are drawn.
const SEEDS: u64 = 4;

/// Make the experiment of `recording` on `machine`, with the recorded size of DRAM as Linux counts
/// it (`MemTotal`). `launches` is the path of the recorded launches, `swap` the scheme that gets
/// the size of the recorded swap area.
pub fn recorded_phone(recording: &Recording, launches: &str, swap: &str, machine: Machine) -> Result<Experiment> {
    if recording.apps.is_empty() {
        return Err(BadInput::new("", "no launch in it", "a recording in which apps come to the foreground"));
    }
    let Some(total) = recording.mem_total_mib else {
        return Err(BadInput::new("", "no MemTotal in it", "a recording with the machine's memory counters"));
    };
    let dram = Some(Size::from(Mib(total)));
    let area = recording.swap_total_mib.filter(|size| *size > 0.0);
    let swap = match area {
        Some(size) => swap.parse::<Spec>()?.with("size", Size::from(Mib(size)).text()),
        None => Spec::of("none"),
    };
    let design = Design { name: "recorded".into(), swap: Some(OneOrMany::One(swap)), ..Design::default() };
    let kernel_reserved = recording.kernel.map_or(machine.kernel_reserved, |kernel| Mib(kernel.mib.round()));
    let mut experiment = Experiment {
        machine: Machine { dram, firmware: Mib::ZERO, kernel_reserved, ..machine },
        design: vec![design],
        workload: Workload {
            launches: Some(Launches::Named(launches.into())),
            apps: Some(Apps::Models(Box::new(models(recording)))),
            ..Workload::default()
        },
        ..Experiment::default()
    };
    (experiment.run.on, experiment.run.seeds) = (vec![World::Phone.name().into()], Some(SEEDS));
    Ok(experiment)
}

/// Models of the recorded apps by name, with their recorded sizes, and of the recorded system.
fn models(recording: &Recording) -> AppModels {
    let (models, names) = named(recording.apps.iter().map(|app| (app.name.as_str(), size(app, recording))));
    let by_name = recording.apps.iter().map(|app| app.name.clone()).zip(names.iter().cloned()).collect();
    let mut fitted = AppModels { models, by_name, kinds: names.join(" "), spread: 0.0, ..AppModels::default() };
    fitted.system.anon = measured(recording.system.anon_mib, fitted.system.anon, recording);
    fitted.system.file = measured(recording.system.file_mib, fitted.system.file, recording);
    if let Some(share) = recording.resume_share {
        // Pages that were swapped in were used. They may be hot or warm, as the recording does not
        // distinguish them.
        (fitted.resume_share, fitted.warm_share) = (share.min(1.0), 0.0);
    }
    fitted
}

fn size(app: &AppMemory, recording: &Recording) -> AppSize {
    let assumed = assumed(Mib(app.anon_mib), Mib(app.file_mib));
    AppSize {
        anon: measured(app.anon_mib, assumed.anon, recording),
        file: measured(app.file_mib, assumed.file, recording),
        graphics: measured(app.graphics_mib, assumed.graphics, recording),
        ..assumed
    }
}

/// The recorded size. Without one it is the assumed size, but 0 if the machine's counters account
/// for all of its memory.
fn measured(mib: f64, assumed: Mib, recording: &Recording) -> Mib {
    if mib > 0.0 || recording.kernel.is_some() {
        Mib(mib)
    } else {
        assumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str, anon_mib: f64, file_mib: f64) -> AppMemory {
        AppMemory { name: name.into(), anon_mib, file_mib, ..AppMemory::default() }
    }

    #[test]
    fn a_recording_becomes_an_experiment() {
        let apps = (1..=6).map(|n| app(&format!("com.app {n}"), f64::from(10 * n), 5.0)).collect();
        let recording = Recording {
            mem_total_mib: Some(1024.0),
            swap_total_mib: Some(512.0),
            apps,
            system: app("system", 200.0, 0.0),
            resume_share: Some(0.4),
            ..Recording::default()
        };
        let experiment = recorded_phone(&recording, "launches.slt", "zram", Machine::default()).unwrap();
        assert_eq!(experiment.machine.dram.as_ref().unwrap().bytes(0), 1 << 30);
        assert_eq!(experiment.design[0].swap().unwrap().to_string(), "zram:size=512MiB");
        let Some(Apps::Models(models)) = &experiment.workload.apps else { panic!("models") };
        models.check("test").unwrap();
        // Six apps have six sizes.
        let anon: Vec<f64> = (1..=6).map(|n| models.by_name(&format!("com.app {n}")).unwrap().anon.0).collect();
        assert_eq!(anon, [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!((models.system.anon.0, models.system.file), (200.0, AppModels::default().system.file));
        assert_eq!((models.resume_share, models.warm_share), (0.4, 0.0));
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(Experiment::from_json("fit", &text).unwrap().workload, experiment.workload);
    }

    #[test]
    fn no_size_is_assumed_if_counters_account_for_all_memory() {
        use super::super::kernel::KernelMemory;
        let kernel = Some(KernelMemory { mib: 60.4, pool_share: 0.3 });
        let recording = Recording { mem_total_mib: Some(512.0), apps: vec![app("a", 20.0, 0.0)], kernel, ..Recording::default() };
        let experiment = recorded_phone(&recording, "launches.slt", "zram", Machine::default()).unwrap();
        assert_eq!(experiment.machine.kernel_reserved, Mib(60.0));
        let Some(Apps::Models(models)) = &experiment.workload.apps else { panic!("models") };
        assert_eq!((models.system.anon, models.system.file), (Mib::ZERO, Mib::ZERO));
        let app = models.by_name("a").unwrap();
        assert_eq!((app.anon, app.file, app.graphics), (Mib(20.0), Mib::ZERO, Mib::ZERO));
    }

    #[test]
    fn a_recording_may_lack_swap_but_not_apps() {
        let recording = Recording { mem_total_mib: Some(1024.0), apps: vec![app("a", 1.0, 1.0)], ..Recording::default() };
        let experiment = recorded_phone(&recording, "launches.slt", "zram", Machine::default()).unwrap();
        assert_eq!(experiment.design[0].swap().unwrap().to_string(), "none");
        let refused = |recording| recorded_phone(&recording, "l", "zram", Machine::default()).unwrap_err().to_string();
        assert!(refused(Recording::default()).contains("no launch in it"));
        assert!(refused(Recording { mem_total_mib: None, ..recording }).contains("no MemTotal"));
    }
}
