//! An experiment on the phone with every value resolved.

mod design;
mod launches;
mod phone;
mod programs;

pub use design::{Design, PagePolicy};
pub use launches::{Sequence, Sequences};
pub use phone::{Background, Display, HeapRule, PageWork, Phone, Proactive};

use programs::Programs;
use swaplab_experiment::apps::AppModels;
use swaplab_experiment::{Apps, Experiment, Launches, VmLimit};
use swaplab_vocab::{BadInput, Result, World};

/// Designs on one phone, with its apps and its launches.
pub struct Spec {
    pub phone: Phone,
    pub models: AppModels,
    pub designs: Vec<Design>,
    /// One sequence per seed, beginning with `first_seed`.
    pub sequences: Sequences,
    pub first_seed: u64,
}

impl Spec {
    pub fn of(experiment: &Experiment) -> Result<Spec> {
        let launches = experiment.workload.launches.as_ref();
        let launches = launches.ok_or_else(|| BadInput::new("workload.launches", "no launches", "the launches of a phone"))?;
        let first_seed = experiment.run.seed;
        let seeds: Vec<u64> = (first_seed..first_seed + experiment.seeds(World::Phone)).collect();
        let mut phone = Phone::of(&experiment.machine)?;
        let is_guest = matches!(experiment.workload.apps, Some(Apps::Programs(_))) && models_guest(experiment, phone.dram_bytes)?;
        let guest = is_guest.then(|| programs::on_guest_devices(experiment));
        let experiment = guest.as_ref().unwrap_or(experiment);
        let mut designs = experiment.design.iter().map(|design| Design::of(experiment, design, &phone)).collect::<Result<Vec<_>>>()?;
        let (models, sequences) = match &experiment.workload.apps {
            Some(Apps::Programs(list)) => {
                let programs = Programs::of(list)?;
                let Launches::Table(table) = launches else {
                    return Err(BadInput::new("workload.launches", "no table", "launches = { order = .., rounds = .. } of the programs"));
                };
                let sequences = Sequences::from_table(table, &programs.names, seeds.len())?;
                if is_guest {
                    programs::in_guest(&mut phone, experiment.run.vm.cpus);
                } else {
                    designs.iter_mut().for_each(|design| design.killer = programs::watch_group(&design.killer, &design.swap, &phone));
                    programs::in_group(&mut phone, sequences.each[0].apps.len());
                }
                (programs.models, sequences)
            }
            apps => {
                let models = models(apps.as_ref())?;
                models.check("workload.apps")?;
                let sequences = match launches {
                    Launches::Named(text) => Sequences::named(text, &seeds)?,
                    Launches::Table(table) => {
                        let by_name: Vec<String> = models.by_name.keys().cloned().collect();
                        let names = if by_name.is_empty() { models.models.keys().cloned().collect() } else { by_name };
                        Sequences::from_table(table, &names, seeds.len())?
                    }
                };
                (models, sequences)
            }
        };
        for sequence in &sequences.each {
            models.describe(sequence.launches.iter().map(|launch| sequence.apps[usize::from(launch.app)].as_str()))?;
        }
        Ok(Spec { phone, models, designs, sequences, first_seed })
    }
}

/// Whether the phone models a guest that has all of the memory, and not a control group.
fn models_guest(experiment: &Experiment, dram_bytes: u64) -> Result<bool> {
    let worlds = experiment.worlds()?;
    let guest_has_all = experiment.run.vm.memory(dram_bytes).0 == VmLimit::Guest;
    Ok(guest_has_all && worlds.contains(&World::Vm) && !worlds.contains(&World::Kernel))
}

/// The app models of `workload.apps`: a table, the preset, or a fitted file.
fn models(apps: Option<&Apps>) -> Result<AppModels> {
    match apps {
        None => Ok(AppModels::default()),
        Some(Apps::Models(models)) => Ok((**models).clone()),
        Some(Apps::Programs(_)) => unreachable!("programs have models of their own"),
        Some(Apps::Named(name)) => Ok(AppModels::read(name)?.0),
    }
}
