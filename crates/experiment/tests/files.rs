//! Tests with complete experiment files: the resolved experiments, and the errors for mistakes.

use swaplab_experiment::{worlds, Experiment, Launches, Scalar};
use swaplab_vocab::World;

const REPLAY: &str = r#"
[[design]]
policy = ["clock", "lru", "arc"]
swap = ["zram", "nvm-direct"]
[workload]
trace = "djpeg.slt"
[run]
on = ["replay"]
replay = { first_touch = "zero-fill", signal = "exact" }
[vary]
"machine.dram" = ["5%", "10%", "15%", "20%", "25%"]
"#;

const PHONE: &str = r#"
[machine]
base = "nexus-5"
[machine.devices]
flash = "emmc-5.1"
[[design]]
name = "A2S"
policy = "active-inactive:kernel=3.4"
swap = "flash:size=1GiB"
app_policy = "a2s:t_live=18,t_reuse=64"
killer = { key = "minfree", minfree_kb = [73728, 92160, 110592, 129024, 147456, 184320], adj = [0, 100, 200, 300, 900, 906] }
[workload]
launches = "large"
apps = "assumed-2014"
[run]
on = ["phone"]
seeds = 20
"#;

const WORLDS: &str = r#"
[machine]
dram = "64MiB"
[[design]]
policy = "system"
swap = ["none", "flash:size=64MiB", "zram:size=64MiB"]
[workload]
apps = [{ use = "phone-app", name = "mail", footprint = "12MiB", seed = 1 }, { use = "phone-app", name = "maps", footprint = "24MiB", seed = 2 }]
launches = { order = "round-robin", rounds = 3, warm_up = 1, foreground = "20ms" }
[run]
on = ["phone", "kernel", "vm"]
kernel = { target = "local", pool = "extra", calibrate = true }
vm = { kernel = "debian-6.12", cpus = 1 }
"#;

const MEMORY: &str = r#"
[machine]
dram = "32MiB"
[[design]]
policy = "refault"
swap = "nvm-direct"
[workload]
apps = [{ use = "redis" }]
[run]
on = ["memory"]
memory = { medium = "plain", unmanaged = "warn" }
"#;

fn parse(text: &str, set: &[&str]) -> Result<Experiment, String> {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    Experiment::parse("e.toml", text, &set).map_err(|e| e.to_string())
}

#[test]
fn presets_overrides_and_crossed_designs() {
    let phone = parse(PHONE, &["design.A2S.swap.size=512MiB", "machine.kernel.swappiness=100"]).unwrap();
    assert_eq!(phone.machine.devices.flash, "emmc-5.1");
    assert_eq!((phone.machine.dram.as_ref().unwrap().text(), phone.machine.limits.cached), ("1536MiB", Some(16)), "from the preset");
    assert_eq!(phone.design("A2S").unwrap().swap().unwrap().to_string(), "flash:size=512MiB");
    assert_eq!((phone.machine.kernel.swappiness, phone.seeds(World::Phone)), (Some(100), 20));
    let replay = parse(REPLAY, &[]).unwrap();
    assert_eq!(replay.design.len(), 6);
    assert_eq!(replay.design[5].name, "arc · nvm-direct");
    let points = replay.points("e.toml").unwrap();
    assert_eq!(points.len(), 5);
    let point = replay.at("e.toml", &points[1]).unwrap();
    assert_eq!((point.machine.dram.unwrap().text(), point.vary), ("10%", None));
    assert_eq!(points[1]["machine.dram"], Scalar::Text("10%".into()));
    assert!(matches!(parse(WORLDS, &[]).unwrap().workload.launches, Some(Launches::Table(_))));
}

#[test]
fn a_change_of_a_design_changes_its_automatic_name() {
    const TWO: &str = "[[design]]\npolicy = ['clock', 'lru']\n[workload]\ntrace = 't.slt'\n";
    let names = |text: &str, set: &[&str]| parse(text, set).map(|e| e.design.into_iter().map(|d| d.name).collect::<Vec<_>>());
    assert_eq!(names(TWO, &["design.1.policy=arc"]).unwrap(), ["arc", "lru"]);
    assert_eq!(names(TWO, &["design.lru.swap=zram"]).unwrap(), ["clock · unlimited", "lru · zram"]);
    assert_eq!(names(TWO, &["design.lru.name=old"]).unwrap(), ["clock", "old"]);
    let equal = names(TWO, &["design.clock.policy=lru"]).unwrap_err();
    assert!(equal.contains("two designs called 'lru'"), "{equal}");
    let named = TWO.replace("policy = ['clock', 'lru']", "name = 'mine'\npolicy = 'clock'\n[[design]]\nname = 'theirs'\npolicy = 'lru'");
    assert_eq!(names(&named, &["design.mine.policy=arc"]).unwrap(), ["mine", "theirs"]);
}

#[test]
fn the_json_form_is_the_same_experiment() {
    for text in [REPLAY, PHONE, WORLDS, MEMORY] {
        let read = parse(text, &[]).unwrap();
        let json = serde_json::to_string(&read).unwrap();
        assert_eq!(Experiment::from_json("e.json", &json).unwrap(), read, "{json}");
        assert_eq!(parse(text, &["run.seed=9"]).unwrap().run.seed, 9);
    }
}

#[test]
fn each_world_refuses_what_it_cannot_run() {
    let refusals = |text: &str, set: &[&str], world| {
        let experiment = parse(text, set).unwrap();
        experiment.design.iter().filter_map(|design| worlds::refusal(world, &experiment, design)).collect::<Vec<_>>()
    };
    assert_eq!(refusals(REPLAY, &["machine.dram=5%"], World::Replay), Vec::<String>::new());
    assert_eq!(refusals(PHONE, &[], World::Phone), Vec::<String>::new());
    assert_eq!(refusals(WORLDS, &[], World::Kernel), Vec::<String>::new());
    assert_eq!(refusals(WORLDS, &[], World::Phone), Vec::<String>::new());
    assert_eq!(refusals(MEMORY, &[], World::Memory), Vec::<String>::new());
    let arc = refusals(MEMORY, &["design.1.policy=arc"], World::Memory);
    assert_eq!(arc, ["memory: policy arc needs every reference; this world has only faults"]);
    let live = refusals(WORLDS, &["design.zram.policy=mglru"], World::Kernel);
    assert_eq!(live, ["kernel: policy mglru cannot be put into a kernel that runs; expected system, the kernel's own"]);
    assert_eq!(refusals(WORLDS, &["machine.dram=256MiB"], World::Vm), Vec::<String>::new());
    assert_eq!(refusals(WORLDS, &[], World::Vm), Vec::<String>::new(), "64 MiB for the apps, in a larger guest");
    let guest = |set: &str| refusals(WORLDS, &[set], World::Vm).remove(0);
    for (set, said) in [
        ("machine.devices.flash=no-such", "vm: machine.devices.flash: unknown device 'no-such'"),
        ("machine.devices.flash=ufs-3.1:gc=slow", "vm: machine.devices.flash = 'ufs-3.1:gc=slow' collects garbage"),
        ("run.vm.limit=guest", "vm: machine.dram = '64MiB'; expected at least 192MiB, in steps of 2MiB"),
        ("machine.page_size=16KiB", "vm: machine.page_size: the guest's kernels have pages of 4KiB"),
        ("workload.apps=[{ use = 'redis' }]", "vm: redis cannot run in a guest, which has our own program alone"),
        ("workload.apps=[{ command = ['ls', '-l'] }]", "vm: ls -l cannot run in a guest"),
        ("workload.launches=zipf", "vm: programs are launched in the order of a table"),
        ("design.none.swap=sd-card:size=1MiB", "vm: scheme sd-card cannot be run here; expected one of: none flash ramdisk zram"),
        ("design.none.policy=lru", "vm: policy lru cannot be put into a kernel that runs"),
        ("design.none.killer=lmkd:victim=swam", "vm: killer lmkd:victim=swam chooses by times of cold starts"),
        ("design.none.app_policy=acclaim", "vm: app policy acclaim cannot be steered by control groups"),
        ("design.none.prepage=asap", "vm: prepaging happens at the start of an app, which vm cannot steer"),
    ] {
        let refusal = guest(set);
        assert!(refusal.starts_with(said), "{set}: {refusal}");
    }
    assert!(refusals(PHONE, &[], World::Replay)[0].starts_with("replay: no trace in workload"));
    assert!(refusals(REPLAY, &["machine.dram=5%"], World::Phone)[0].starts_with("phone: no launches"));
}

#[test]
fn a_single_world_may_be_written_without_a_list() {
    let text = PHONE.replace("on = [\"phone\"]", "on = \"phone\"");
    assert_ne!(text, PHONE);
    assert_eq!(Experiment::parse("e.toml", &text, &[]).unwrap().run.on, ["phone"]);
}

#[test]
fn invalid_experiments_are_refused_in_one_line_with_the_key() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("[workload]\ntrce = 'x'\n[[design]]\n", &[], "e.toml: line 2: unknown key 'trce'; expected 'trace' (did you mean that?)"),
        ("[[design]]\n", &[], "e.toml: workload: no workload; expected a trace, launches or apps"),
        ("[[design]]\npolicy = ['lru', 'clock:bits=1,bits=2']\n", &[], "e.toml: line 2: design 1: policy 2: clock: bits twice"),
        ("[workload]\ntrace = 'x'\n", &[], "e.toml: no design; expected at least one [[design]]"),
        (PHONE, &["machine.dram=10%"], "a percentage is of a trace's footprint, and there is no trace"),
        (PHONE, &["machine.dram=99999999999GiB"], "too large"),
        (PHONE, &["machine.dram=25"], "'25' has no unit"),
        (PHONE, &["machine.dram=300MiB"], "machine.dram: 300MiB; expected 16MiB more than"),
        (PHONE, &["machine.base=nexus5"], "machine.base: unknown machine 'nexus5'; expected 'nexus-5' (did you mean that?)"),
        (PHONE, &["machine.bass=x"], "unknown key 'bass'; expected 'base' (did you mean that?)"),
        (PHONE, &["run.on=7"], "run.on: integer 7; expected one value or a list of values"),
        (PHONE, &["run.seed=x"], "run.seed: string \"x\"; expected a whole number of 0 or more"),
        (PHONE, &["run.on=['phne']"], "run.on: unknown world 'phne'; expected 'phone' (did you mean that?)"),
        (PHONE, &["run.on=['phone', 'phone']"], "run.on: 'phone' twice; expected each world once"),
        (PHONE, &["run.seeds=0"], "run.seeds: 0; expected 1 to 10000"),
        (PHONE, &["run.seeds=nan"], "run.seeds: NaN; expected a finite number"),
        (PHONE, &["machine.kernel.swappiness=201"], "machine.kernel.swappiness: 201 is too large; expected 0 to 200"),
        (PHONE, &["machine.background.gc_every=1us"], "machine.background.gc_every: 1us; expected 0 (never), or 1ms and more"),
        (PHONE, &["design.A2S.swap=flsh"], "unknown scheme 'flsh'; expected 'flash' (did you mean that?)"),
        (PHONE, &["design.A2S.swap.sise=1GiB"], "unknown parameter 'sise'; expected 'size' (did you mean that?)"),
        (PHONE, &["design.A3S.swap=none"], "no design 'A3S'; expected 'A2S' (did you mean that?)"),
        (PHONE, &["run.seed=1", "run.seed=2"], "change: 'run.seed' twice"),
        (WORLDS, &["workload.launches.order=[]"], "workload.launches.order: an empty list"),
        (WORLDS, &["workload.launches.rounds=100000"], "launches in all; expected at most 100000"),
        (WORLDS, &["workload.launches.foreground=20"], "'20' has no unit; expected a time: 20ms or 20s?"),
        (WORLDS, &["run.vm.cpus=9"], "run.vm.cpus: 9 is too large; expected 1 to 8"),
        (WORLDS, &["run.vm.gips=0"], "run.vm.gips: 0; expected 0.01 to 64"),
        (WORLDS, &["run.vm.events=['vmscan']"], "run.vm.events: 'vmscan'; expected GROUP/EVENT"),
        (WORLDS, &["run.vm.block_devices=nul-blk"], "nul-blk"),
        (MEMORY, &["workload.apps=[]"], "workload.apps: an empty list"),
        (MEMORY, &["workload.apps=[{ name = 'x' }]"], "neither or both of `use` and `command`"),
    ];
    for (text, set, said) in cases {
        let error = parse(text, set).err().unwrap_or_else(|| panic!("{set:?} is taken"));
        assert!(error.contains(said) && !error.contains('\n'), "{set:?}: {error}");
    }
}

#[test]
fn a_key_that_does_not_exist_cannot_be_varied() {
    let vary = REPLAY.replace("machine.dram", "machine.drams");
    let read = parse(&vary, &[]).unwrap();
    let point = &read.points("e.toml").unwrap()[0];
    let error = read.at("e.toml", point).unwrap_err().to_string();
    assert_eq!(error, "e.toml: vary (machine.drams = 5%): unknown key 'drams'; expected 'dram' (did you mean that?)");
}
