//! Programs of a control group as apps of the phone, so that the same experiment can run in the
//! simulator and on a kernel. The difference between the results shows what the model lacks.
//!
//! The program is `phone-app`, which uses its pages as the phone's apps do. A control group has no
//! system and no watermarks of its own, so the phone gets the memory that its low watermark keeps
//! free in addition. Processor times are those measured with each app alone (`cold` and `resume` of
//! its `set`); without them a launch consists of its stalls. Values without a source are assumed,
//! and were fixed before the first comparison.

use super::phone::Phone;
use std::collections::BTreeMap;
use swaplab_apps::Killer;
use swaplab_experiment::apps::{AppModels, AppSize};
use swaplab_experiment::{Experiment, Mib, Milliseconds, Setting, Size, Span, Use};
use swaplab_swap::SchemeSpec;
use swaplab_vocab::{unknown_key, BadInput, Result};

const MIB: f64 = (1u64 << 20) as f64;
/// The program's text, which all apps share, in MiB. Measured in a control group with one app of 12
/// or 28 MiB; libraries are charged to the group that read them first, long before this one.
const SHARED_FILES: Mib = Mib(0.3);
/// Memory charged to an app in addition to its pages, in MiB. Measured likewise: 0.32 for its heap
/// and stack, 0.28 to 0.42 for the kernel.
const CHARGED_MIB: f64 = 0.65;
/// The limit of cached apps if none is set.
const NO_LIMIT: u64 = 1000;

/// The largest request of a guest's flash: `flash_merge_kib` of kernel/driver/flash.c.
const GUEST_REQUEST: &str = "512KiB";

/// Defaults of `phone-app`, which are those of its app file.
const DEFAULTS: [(&str, &str); 7] = [
    ("footprint", "16MiB"),
    ("file_share", "0.25"),
    ("hot_share", "0.5"),
    ("write_ratio", "0.3"),
    ("compressibility", "0.6"),
    ("run", "8"),
    ("seed", "1"),
];
/// Keys of `set` that only the phone uses: the processor times of a cold start and of a resume.
const TIMES: [&str; 2] = ["cold", "resume"];

/// The apps by name, each with its own model.
pub struct Programs {
    pub names: Vec<String>,
    pub models: AppModels,
}

impl Programs {
    pub fn of(list: &[Use]) -> Result<Programs> {
        let mut names: Vec<String> = Vec::new();
        let mut models = BTreeMap::new();
        for program in list {
            let base = if program.name.is_empty() { program.app.clone() } else { program.name.clone() };
            let size = size(program).map_err(|e| e.within(&format!("workload.apps: app {base}")))?;
            for number in 1..=program.count {
                let name = if program.count == 1 { base.clone() } else { format!("{base}-{number}") };
                if models.insert(name.clone(), size.clone()).is_some() {
                    return Err(BadInput::new("workload.apps", format!("two apps are named '{name}'"), "`name` to tell them apart"));
                }
                names.push(name);
            }
        }
        let by_name = names.iter().map(|name| (name.clone(), name.clone())).collect();
        // The only memory of a group besides the apps' own is the program text that they share.
        let system = AppSize { file: SHARED_FILES, ..AppSize::default() };
        let models = AppModels { models, by_name, system, spread: 0.0, warm_share: 0.0, lasting_share: 0.0, ..AppModels::default() };
        models.check("workload.apps")?;
        Ok(Programs { names, models })
    }
}

fn size(program: &Use) -> Result<AppSize> {
    if let Some(stranger) =
        program.set.keys().find(|key| !TIMES.contains(&key.as_str()) && !DEFAULTS.iter().any(|(known, _)| known == *key))
    {
        return Err(unknown_key("", "value", stranger, DEFAULTS.iter().map(|(known, _)| *known).chain(TIMES)));
    }
    let text = |key: &str| match program.set.get(key) {
        Some(Setting::Text(text)) => Some(text.clone()),
        Some(Setting::Integer(number)) => Some(number.to_string()),
        Some(Setting::Number(number)) => Some(number.to_string()),
        None => DEFAULTS.iter().find(|(known, _)| *known == key).map(|(_, value)| value.to_string()),
    };
    let share = |key: &str| -> Result<f64> {
        let given = text(key).unwrap_or_default();
        let number = given.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        number.ok_or_else(|| BadInput::new(key, format!("'{given}'"), "0 to 1"))
    };
    let time = |key: &str| -> Result<Milliseconds> {
        let Some(given) = text(key) else { return Ok(Milliseconds::default()) };
        Ok(Milliseconds(Span::parse(&given).map_err(|e| e.within(key))?.seconds() * 1e3))
    };
    let footprint =
        Size::parse(&text("footprint").unwrap_or_default()).and_then(|size| size.absolute_bytes("")).map_err(|e| e.within("footprint"))?;
    let (footprint, files, hot) = (footprint as f64 / MIB, share("file_share")?, share("hot_share")?);
    Ok(AppSize {
        anon: Mib(footprint * (1.0 - files)),
        file: Mib(footprint * files),
        cold: time("cold")?,
        resume: time("resume")?,
        resume_share: Some(hot),
        warm_share: Some(0.0),
        file_hot_share: Some(hot),
        write_share: Some(share("write_ratio")?),
        start_share: Some(1.0),
        ..AppSize::default()
    })
}

/// Change `phone` to a control group with `apps` apps. It gets frames for the memory that its
/// watermark keeps free; the kernel's frames include what apps are charged in addition to their
/// pages.
pub fn in_group(phone: &mut Phone, apps: usize) {
    phone.frames = (phone.dram_bytes as f64 / phone.page_bytes as f64 + low_watermark(phone)).round() as usize;
    phone.kernel_frames += (CHARGED_MIB * apps as f64 * MIB / phone.page_bytes as f64).round() as usize;
    phone.limits.cached = phone.limits.cached.min(NO_LIMIT);
}

/// Change `phone` to a guest of the world `vm`, which has watermarks, compressed pages in its
/// frames, and files that are read ahead. `machine.kernel_reserved` is the memory that the guest's
/// kernel and processes use besides the apps' pages, `machine.firmware` the memory that the kernel
/// never gets.
pub fn in_guest(phone: &mut Phone, cpus: u64) {
    (phone.cores, phone.reads_ahead) = (cpus, true);
    phone.pool_in_dram = true;
    phone.limits.cached = phone.limits.cached.min(NO_LIMIT);
}

/// The experiment with the largest request of a guest's flash, if it gives none.
pub fn on_guest_devices(experiment: &Experiment) -> Experiment {
    let mut changed = experiment.clone();
    changed.machine.kernel.max_request.get_or_insert_with(|| Size::parse(GUEST_REQUEST).expect("a size"));
    changed
}

/// The machine's low watermark in frames, not rounded.
fn low_watermark(phone: &Phone) -> f64 {
    let (pages, page_kib) = (phone.dram_bytes / phone.page_bytes, (phone.page_bytes / 1024) as f64);
    1.25 * (pages as f64 * page_kib * 16.0).sqrt() / page_kib + phone.extra_free_frames as f64
}

/// The killer of a control group. It checks the memory and swap of the group, as stalls are not
/// known for a group.
pub fn watch_group(killer: &Killer, swap: &SchemeSpec, phone: &Phone) -> Killer {
    let kept_kb = (low_watermark(phone) * phone.page_bytes as f64 / 1024.0) as u64;
    killer.clone().in_model_of_group(phone.dram_bytes / 1024, kept_kb, swap.swaps())
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaplab_apps::Pressure;
    use swaplab_experiment::{Experiment, Machine};

    fn programs(text: &str) -> Result<Programs> {
        #[derive(serde::Deserialize)]
        struct File {
            apps: Vec<Use>,
        }
        Programs::of(&toml::from_str::<File>(text).unwrap().apps)
    }

    #[test]
    fn each_program_has_a_size_of_its_own() {
        let of = programs(
            "apps = [{ use = 'phone-app', name = 'a', count = 2, footprint = '20MiB', cold = '400ms' },
              { use = 'phone-app', name = 'b', file_share = 0.5, hot_share = '0.25', write_ratio = 0.1 }]",
        )
        .unwrap();
        assert_eq!(of.names, ["a-1", "a-2", "b"]);
        let (a, b) = (of.models.by_name("a-2").unwrap(), of.models.by_name("b").unwrap());
        assert_eq!((a.anon, a.file, a.cold, a.resume_share), (Mib(15.0), Mib(5.0), Milliseconds(400.0), Some(0.5)));
        assert_eq!((b.anon, b.file, b.file_hot_share, b.write_share), (Mib(8.0), Mib(8.0), Some(0.25), Some(0.1)));
        let refused = |text| programs(text).err().unwrap().to_string();
        assert!(refused("apps = [{ use = 'phone-app' }, { use = 'phone-app' }]").contains("two apps are named 'phone-app'"));
        assert!(refused("apps = [{ use = 'phone-app', footprnt = '2MiB' }]").contains("did you mean"));
        assert!(refused("apps = [{ use = 'phone-app', hot_share = 1.5 }]").contains("hot_share: '1.5'; expected 0 to 1"));
        assert!(refused("apps = [{ use = 'phone-app', footprint = '10%' }]").contains("footprint: '10%'"));
    }

    /// The app file has the same defaults.
    #[test]
    fn defaults_are_those_of_the_app_file() {
        fn search(folder: &std::path::Path) -> Option<std::path::PathBuf> {
            let entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            entries
                .iter()
                .find(|path| path.ends_with("phone-app.toml"))
                .cloned()
                .or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|folder| search(folder)))
        }
        let path = search(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/swaplab")).expect("phone-app.toml");
        let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let set: BTreeMap<&str, &str> =
            file["set"].as_table().unwrap().iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect();
        assert_eq!(set, BTreeMap::from(DEFAULTS));
    }

    /// 64 MiB are 16,384 frames, whose low watermark is 1.25 x sqrt(16,384 x 64) / 4 = 320 frames.
    #[test]
    fn a_group_has_no_watermarks() {
        let text = "[machine]\ndram = '64MiB'\n[[design]]\nswap = ['zram', 'none']\nkiller = 'lmkd:min_free_percentage=10'\n[workload]\n\
                    launches = { order = 'round-robin' }\napps = [{ use = 'phone-app', count = 3 }]";
        let experiment = Experiment::parse("e.toml", text, &[]).unwrap();
        let spec = super::super::Spec::of(&experiment).unwrap();
        assert_eq!(Phone::of(&Machine { ..experiment.machine.clone() }).unwrap().frames, 16_384);
        // Three apps are charged 1.95 MiB, which are 499.2 frames.
        assert_eq!((spec.phone.frames, spec.phone.kernel_frames), (16_704, 499));
        // A tenth of 65,536 kB; with swap the 1280 kB that the watermark keeps free are added.
        let [zram, none] = [0, 1].map(|at: usize| spec.designs[at].killer.clone());
        let checks = |mut killer: Killer, at: [(u64, u64); 2]| {
            at.map(|(free_kb, file_kb)| killer.look(0, &Pressure { free_kb, file_kb, swap_total_kb: 100, ..Pressure::default() }))
        };
        assert_eq!(checks(zram, [(0, 6553 + 1279), (0, 6553 + 1280)]), [Some(201), None]);
        assert_eq!(checks(none, [(6552, 6552), (6552, 6553)]), [Some(900), None]);
        // One round is warm-up and three are counted.
        let sequence = &spec.sequences.each[0];
        assert_eq!((sequence.warm_up, sequence.launches.len(), sequence.apps.len()), (3, 12, 3));
        // 50 ms in front and 3 s at home for each launch.
        assert_eq!((sequence.launches[4].at_ns, sequence.pause_ns), (12_200_000_000, 3_000_000_000));
    }

    /// 256 MiB less 16 MiB for firmware are 61,440 frames, of which the kernel's 20 MiB are 5,120.
    /// The killer is that of the design.
    #[test]
    fn a_guest_has_a_machines_watermarks_and_pool() {
        let text = "[machine]\ndram = '256MiB'\nfirmware = '16MiB'\nkernel_reserved = '20MiB'\n[[design]]\nswap = 'zram'\nkiller = 'lmkd'\n\
                    [workload]\nlaunches = { order = 'round-robin' }\napps = [{ use = 'phone-app', count = 3 }]\n[run]\non = ['phone', 'vm']";
        let spec = |text: &str| super::super::Spec::of(&Experiment::parse("e.toml", text, &[]).unwrap()).unwrap();
        let guest = spec(text);
        assert_eq!((guest.phone.frames, guest.phone.kernel_frames, guest.phone.pool_in_dram), (61_440, 5_120, true));
        assert_eq!(guest.designs[0].killer.low_memory_kb(), 0, "a guest has watermarks");
        assert!(guest.phone.reads_ahead);
        let requests = |text: &str| on_guest_devices(&Experiment::parse("e.toml", text, &[]).unwrap()).machine.kernel.max_request;
        assert_eq!(requests(text), Some(Size::parse("512KiB").unwrap()));
        let given = text.replace("[[design]]", "kernel = { max_request = '8KiB' }\n[[design]]");
        assert_eq!(requests(&given), Some(Size::parse("8KiB").unwrap()));
        // With a control group in the experiment the phone models a group.
        for group in ["on = ['phone', 'vm']\nvm = { limit = 'group' }", "on = ['phone', 'kernel', 'vm']"] {
            assert!(!spec(&text.replace("on = ['phone', 'vm']", group)).phone.pool_in_dram);
        }
    }
}
