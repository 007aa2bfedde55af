//! The phone of the tests: a Nexus 5 and its apps at a sixteenth of their size; and a check of
//! every invariant of a machine.

use crate::phone::machine::Machine;
use crate::phone::rows;
use crate::phone::run::PhoneRun;
use crate::phone::spec::{Sequence, Spec};
use crate::phone::user::layout::{AppPages, Layout, NO_PAGES};
use crate::phone::user::owner::SYSTEM;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::document::Row;
use swaplab_experiment::{Apps, Background, Design, Experiment, Mib, OneOrMany, Size};
use swaplab_policy::bits;
use swaplab_vocab::{AppId, Class, PageId};

pub fn only(spec: &str) -> OneOrMany<swaplab_vocab::Spec> {
    OneOrMany::One(spec.parse().unwrap())
}

/// A design with the system's own page policy.
pub fn design(name: &str, swap: &str, app_policy: &str) -> Design {
    Design { name: name.into(), swap: Some(only(swap)), app_policy: only(app_policy), ..Design::default() }
}

pub fn with(design: Design, change: impl FnOnce(&mut Design)) -> Design {
    let mut changed = design;
    change(&mut changed);
    changed
}

/// Give `phone`, which has `frames` frames, another page policy before its first reference.
pub fn use_policy(phone: &mut Machine, policy: &str, frames: usize) {
    let setup = swaplab_policy::Setup {
        pages: phone.frames.pages.len(),
        frames,
        costs: swaplab_policy::Costs { swap_read_ns: 1, swap_write_ns: 1, file_read_ns: 1, file_write_ns: 1 },
        seed: 0,
        future: None,
    };
    phone.frames.policy = swaplab_policy::PolicySpec::of(&policy.parse().unwrap()).unwrap().build(&setup).unwrap().boxed();
}

/// A Nexus 5 and its apps at a sixteenth of their size.
pub fn small(designs: Vec<Design>) -> Experiment {
    let text = "[machine]\nbase = 'nexus-5'\n[[design]]\nswap = 'none'\n[workload]\nlaunches = 'zipf:apps=50,alpha=1.45,launches=120'\n\
                [run]\nseed = 3\nseeds = 2\n";
    let mut experiment = Experiment::parse("small.toml", text, &[]).unwrap();
    let machine = &mut experiment.machine;
    machine.dram = Some(Size::parse("96MiB").unwrap());
    (machine.firmware, machine.kernel_reserved) = (Mib(193.0 / 16.0), Mib(163.0 / 16.0));
    machine.kernel.extra_free = Mib(1518.0 / 1024.0);
    machine.killer = "minfree:minfree_kb=[4608;5760;6912;8064;9216;11520]".parse().unwrap();
    // Apps do nothing between their launches, and die at once.
    (machine.background, machine.kernel.exit_ns) = (Background::default(), 0);
    let shrink = |size: &AppSize| AppSize {
        anon: Mib(size.anon.0 / 16.0),
        file: Mib(size.file.0 / 16.0),
        graphics: Mib(size.graphics.0 / 16.0),
        ..size.clone()
    };
    let model = AppModels::default();
    let apps = AppModels {
        light: shrink(&model.light),
        medium: shrink(&model.medium),
        heavy: shrink(&model.heavy),
        game: shrink(&model.game),
        system: shrink(&model.system),
        ..model
    };
    experiment.workload.apps = Some(Apps::Models(Box::new(apps)));
    Experiment { design: designs, ..experiment }
}

pub fn models(experiment: &mut Experiment) -> &mut AppModels {
    match &mut experiment.workload.apps {
        Some(Apps::Models(models)) => models,
        _ => panic!("an experiment of models"),
    }
}

/// The rows of an experiment, without tables and progress.
pub fn rows_of(experiment: &Experiment, jobs: usize) -> Vec<Row> {
    rows(experiment, jobs, &mut |_, _| true, None).unwrap().rows
}

/// The first design of an experiment, ready to boot with seed 1.
pub struct Booted(pub Spec);

pub fn booted(experiment: &Experiment) -> Booted {
    let mut experiment = experiment.clone();
    (experiment.run.seed, experiment.run.seeds) = (1, Some(1));
    Booted(Spec::of(&experiment).unwrap())
}

impl Booted {
    pub fn phone(&self) -> PhoneRun<'_> {
        static GOES_ON: AtomicBool = AtomicBool::new(false);
        PhoneRun::boot(&self.0, &self.0.designs[0], self.sequence(), 1, &GOES_ON).unwrap()
    }

    pub fn sequence(&self) -> &Sequence {
        &self.0.sequences.each[0]
    }
}

/// One app with eight hot pages: those below `files` are a file's, the others anonymous.
pub fn one_app(files: PageId) -> Layout {
    let pages = |file: Range<PageId>, anon| AppPages { hot_end: 8, warm_end: 8, file_hot_end: file.end, file, anon, ..NO_PAGES };
    Layout {
        apps: vec![pages(0..files, files..8)],
        page_bytes: 4096,
        system: pages(8..8, 8..8),
        shared: Vec::new(),
        owners: vec![0; 8],
        classes: (0..8).map(|page| if page < files { Class::File } else { Class::Anonymous }).collect(),
    }
}

/// Number of frames in use, without kswapd's batch.
pub fn frames_in_use(machine: &Machine) -> usize {
    machine.frames.in_use.pages + machine.frames.in_use.writing + machine.frames.in_use.pinned + machine.swap.pool_frames()
}

/// Check every invariant: each page is in one place, frames are within DRAM, a dead app has no
/// pages.
pub fn check(machine: &Machine) -> Result<(), String> {
    machine.frames.check()?;
    machine.clock.write_back.check()?;
    machine.swap.check(machine.clock.now())?;
    if frames_in_use(machine) > machine.frames.total {
        return Err(format!("{} of {} frames in use", frames_in_use(machine), machine.frames.total));
    }
    let (layout, pages) = (&machine.apps.layout, &machine.frames.pages);
    let system =
        (0..layout.owners.len() as PageId).filter(|page| layout.owners[*page as usize] == SYSTEM && layout.system.anon.contains(page));
    let resident = system.filter(|page| pages.is_resident(*page)).count();
    if resident != machine.frames.in_use.system_anon {
        return Err(format!(
            "{resident} anonymous pages of the system are resident, but {} are counted",
            machine.frames.in_use.system_anon
        ));
    }
    for (app, of) in layout
        .apps
        .iter()
        .enumerate()
        .filter(|(app, _)| !machine.apps.launcher.is_live(*app as AppId) && !machine.killer.is_dying(*app as AppId))
    {
        let app = app as AppId;
        let left = of.anon.clone().find(|p| pages.bits(*p) & (bits::RESIDENT | bits::SLOT | bits::MAPPED | bits::DIRTY) != 0);
        if left.is_some() || machine.frames.graphics_of(app) > 0 || machine.swap.is_open(app) {
            return Err(format!("app {app} is dead but has page {left:?} and {} frames of graphics", machine.frames.graphics_of(app)));
        }
    }
    Ok(())
}
