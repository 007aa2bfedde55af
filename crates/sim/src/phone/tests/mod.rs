//! Invariants over random phones, and equalities that must hold. Beside it: scenarios by hand, energy added up anew, the pool's frames.

mod by_hand;
mod energy;
mod pool;

use super::background::{Background, Compact};
use super::prepage::Prepage;
use super::proactive::Proactive;
use super::record::Freed;
use super::run::Phone;
use super::shared::Shared;
use super::spec::{AppModels, AppSize, Phone as Device, Sim, SimScheme};
use super::{sequences, simulate};
use serde_json::Value;
use swaplab_apps::a2s::AppPolicy;
use swaplab_apps::{Start, Victim};

fn scheme(name: &str, swap: &str, app_policy: AppPolicy) -> SimScheme {
    let (name, swap) = (name.to_string(), swap.to_string());
    let (policy, victim, proactive, prepage) = (None, None, None, Prepage::None);
    let (t_live, t_reuse, t_launched, strict, published) = (18.0, Some(64.0), 3, false, None);
    SimScheme { name, swap, app_policy, t_live, t_reuse, t_launched, strict, policy, victim, proactive, prepage, published }
}

/// The default phone and its apps at a sixteenth of their size.
fn small(schemes: Vec<SimScheme>) -> Sim {
    let shrink = |size: &AppSize| AppSize {
        anon_mib: size.anon_mib / 16.0,
        file_mib: size.file_mib / 16.0,
        graphics_mib: size.graphics_mib / 16.0,
        ..size.clone()
    };
    let (mut phone, model) = (Device::default(), AppModels::default());
    for mib in [&mut phone.dram_mib, &mut phone.reserved_mib, &mut phone.kernel_mib] {
        *mib /= 16.0;
    }
    phone.extra_free_kb /= 16;
    phone.killer.minfree_kb.iter_mut().for_each(|kb| *kb /= 16);
    let apps = AppModels {
        light: shrink(&model.light),
        medium: shrink(&model.medium),
        heavy: shrink(&model.heavy),
        game: shrink(&model.game),
        system: shrink(&model.system),
        ..model
    };
    Sim { launches: "zipf:apps=50,alpha=1.45,launches=120".into(), seeds: 2, phone, apps, schemes }
}

fn rows(sim: &Sim, jobs: usize) -> Vec<Value> {
    simulate(sim, 3, jobs, &mut |_, _| true, None).unwrap()["schemes"].as_array().unwrap().clone()
}

#[test]
fn every_invariant_holds_after_every_launch() {
    for swap in ["none", "flash:size=8MiB", "flash:size=8MiB,readahead=8", "zram", "zswap", "tiered", "nvm-cache", "nvm-direct:size=16MiB"]
    {
        for policy in [AppPolicy::None, AppPolicy::A2s] {
            let sim = small(vec![scheme("s", swap, policy)]);
            let sequence = sequences(&sim.launches, &[1]).unwrap().remove(0);
            let mut phone = Phone::boot(&sim, &sim.schemes[0], &sequence, 1).unwrap();
            for launch in &sequence.launches[..60] {
                phone.launch(launch).unwrap();
                phone.machine.check().unwrap_or_else(|why| panic!("{swap}: {why}"));
                assert!(phone.machine.launcher.live() <= 22);
            }
        }
    }
}

/// A stay in swap is a slot allocated. Each is accounted for: freed by copy, by discard, by its owner's death, or held to the end.
#[test]
fn slots_allocated_are_slots_freed_and_slots_held() {
    for swap in ["flash:size=64MiB", "zram:size=64MiB", "nvm-direct:size=64MiB", "nvm-cache:size=64MiB,nvm=4MiB"] {
        let sim = small(vec![scheme("s", swap, AppPolicy::None)]);
        let sequence = sequences(&sim.launches, &[1]).unwrap().remove(0);
        let mut phone = Phone::boot(&sim, &sim.schemes[0], &sequence, 1).unwrap();
        sequence.launches.iter().for_each(|launch| phone.launch(launch).unwrap());
        let (entries, swap_side) = (&phone.machine.record.entries, phone.machine.swap());
        let freed = |wanted: Freed| entries.iter().filter(|e| e.freed.is_some_and(|(_, how)| how == wanted)).count() as u64;
        let [copy, discard, owner] = [Freed::Copy, Freed::Discard, Freed::Owner].map(freed);
        let allocated = swap_side.moves.swapped_out;
        assert_eq!(allocated, copy + discard + owner + swap_side.usage().pages, "{swap}");
        // Where a copy keeps its slot, it is discarded later.
        assert!(copy + discard > 0 && owner > 0 && swap_side.usage().pages > 0, "{swap}: {copy} {discard} {owner}");
        // An owner's death ends all of its stays, whatever freed their slots.
        assert!(entries.iter().all(|e| e.died_ns.is_some() || e.freed.is_none_or(|(_, how)| how != Freed::Owner)), "{swap}");
    }
}

/// Options that move pages in ways of their own.
#[test]
fn every_invariant_holds_with_every_option() {
    let plain = || small(vec![scheme("s", "flash:size=16MiB", AppPolicy::None)]);
    type Change = fn(&mut Sim);
    let options: [(&str, Change); 11] = [
        ("16 KiB pages", |s| s.phone.page_kib = 16),
        ("opt", |s| s.schemes[0].policy = Some("opt".into())),
        ("oracle", |s| s.schemes[0].victim = Some(Victim::Oracle)),
        ("swam", |s| s.schemes[0].victim = Some(Victim::Swam)),
        ("acclaim", |s| s.schemes[0].app_policy = AppPolicy::Acclaim),
        ("ariadne", |s| (s.schemes[0].app_policy, s.schemes[0].swap) = (AppPolicy::Ariadne, "tiered:size=16MiB".into())),
        ("asap", |s| s.schemes[0].prepage = Prepage::Asap),
        ("asap over direct read", |s| (s.schemes[0].prepage, s.schemes[0].swap) = (Prepage::Asap, "nvm-direct:size=16MiB".into())),
        ("proactive", |s| s.schemes[0].proactive = Some(Proactive { every_s: 6.0, ratio: 0.01, threshold: 0.1 })),
        ("background", |s| {
            let (gc_every_s, gc_share, activity_every_s, activity_share, freeze_after_s) = (60.0, 1.0, 30.0, 0.1, 600.0);
            s.phone.background =
                Background { gc_every_s, gc_share, activity_every_s, activity_share, freeze_after_s, compact: Compact::Full };
        }),
        ("shared", |s| {
            let range = |name: &str, apps, system| Shared { name: name.into(), anon_mib: 2.0, file_mib: 1.0, apps, system };
            s.apps.shared = vec![range("zygote", 1.0, true), range("buffer", 0.2, false)];
        }),
    ];
    for (name, change) in options {
        let mut sim = plain();
        change(&mut sim);
        sim.check("test").unwrap();
        let sequence = sequences(&sim.launches, &[1]).unwrap().remove(0);
        let mut phone = Phone::boot(&sim, &sim.schemes[0], &sequence, 1).unwrap();
        for launch in &sequence.launches[..50] {
            phone.launch(launch).unwrap();
            phone.machine.check().unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        assert!(phone.machine.swap().moves.swapped_out > 0, "{name}");
    }
}

#[test]
fn upper_bounds_gain() {
    let oracle = SimScheme { victim: Some(Victim::Oracle), ..scheme("oracle", "flash", AppPolicy::None) };
    let opt = SimScheme { policy: Some("opt".into()), ..scheme("opt", "flash", AppPolicy::None) };
    let found = rows(&small(vec![scheme("van", "flash", AppPolicy::None), oracle, opt]), 1);
    let figure = |at: usize, key: &str| found[at][key].as_f64().unwrap();
    assert!(figure(1, "resumes") > figure(0, "resumes"));
    assert!(figure(2, "refaults") < figure(0, "refaults") && figure(2, "swap_in_bytes") < figure(0, "swap_in_bytes"));
}

#[test]
fn larger_pages_hold_the_same_bytes() {
    let of = |page_kib| {
        let mut sim = small(vec![scheme("van", "nvm-direct:size=8MiB", AppPolicy::None)]);
        sim.phone.page_kib = page_kib;
        rows(&sim, 1).remove(0)
    };
    let (small, large) = (of(4), of(16));
    let bytes = |row: &Value, key: &str| row["memory"][key].as_f64().unwrap();
    assert!((bytes(&small, "frames_bytes") - bytes(&large, "frames_bytes")).abs() < 16384.0);
    // The area was full in both.
    assert_eq!((bytes(&small, "nvm_peak_bytes"), bytes(&large, "nvm_peak_bytes")), (f64::from(8 << 20), f64::from(8 << 20)));
    assert_eq!(large["swap_out_bytes"].as_f64().unwrap() % 8192.0, 0.0);
    let copied = |row: &Value| row["copied_pages"].as_f64().unwrap();
    assert!(copied(&large) < copied(&small));
}

/// The second resume of app 0 reads ahead what the first had to fetch, beside its own work.
#[test]
fn prepaging_hides_reads_behind_the_apps_own_work() {
    let stall = |prepage| {
        let scheme = SimScheme { prepage, ..scheme("s", "flash", AppPolicy::None) };
        let sim = small(vec![scheme]);
        let sequence = sequences(&sim.launches, &[1]).unwrap().remove(0);
        let outcome = super::run::run(&sim, &sim.schemes[0], &sequence, 1).unwrap();
        let resumes = outcome.record.launches.iter().filter(|l| l.start == Start::Resume);
        resumes.map(|l| l.stalls.swap_read_ns.iter().sum::<u64>() + l.stalls.file_read_ns).sum::<u64>()
    };
    assert!(stall(Prepage::Asap) < stall(Prepage::None));
}

#[test]
fn gates_that_are_wide_open_equal_vanilla_swap() {
    let ess = SimScheme { t_live: 23.0, ..scheme("ess", "flash", AppPolicy::Ess) };
    let lvsp = SimScheme { t_reuse: None, t_launched: 0, ..scheme("lvsp", "flash", AppPolicy::Lvsp) };
    let mut found = rows(&small(vec![scheme("vanilla", "flash", AppPolicy::None), ess, lvsp]), 1);
    for row in &mut found {
        row["name"] = Value::Null;
        row["app_policy"] = Value::Null;
    }
    assert!(found[0]["swap_out_bytes"].as_f64().unwrap() > 0.0);
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
}

#[test]
fn swap_gains_resumes_and_gates_write_less() {
    let ess = scheme("ess", "flash", AppPolicy::Ess);
    let schemes =
        vec![scheme("none", "none", AppPolicy::None), scheme("van", "flash", AppPolicy::None), ess, scheme("a2s", "flash", AppPolicy::A2s)];
    let found = rows(&small(schemes), 1);
    let figure = |at: usize, key: &str| found[at][key].as_f64().unwrap();
    assert!(figure(1, "resumes") > figure(0, "resumes"));
    assert_eq!(figure(0, "swap_out_bytes"), 0.0);
    assert!(figure(3, "swap_out_bytes") < figure(1, "swap_out_bytes") && figure(2, "swap_out_bytes") <= figure(1, "swap_out_bytes"));
    assert!(figure(3, "swap_out_bytes") <= figure(2, "swap_out_bytes"));
    for row in &found {
        assert_eq!(figure(0, "launches"), row["cold_starts"].as_f64().unwrap() + row["resumes"].as_f64().unwrap());
        let classes: f64 = row["ux"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
        assert!((classes - 120.0).abs() < 1e-9);
    }
}

#[test]
fn memory_for_everything_needs_no_swap_and_no_kill() {
    let mut sim = small(vec![scheme("van", "flash", AppPolicy::None), scheme("none", "none", AppPolicy::None)]);
    sim.phone.dram_mib = 4096.0;
    sim.phone.limits.cached = 100;
    for row in rows(&sim, 1) {
        let zero = |key: &str| assert_eq!(row[key].as_f64(), Some(0.0), "{key}");
        ["swap_out_bytes", "swap_in_bytes", "kills", "direct_reclaim_ms", "file_refaults"]
            .into_iter()
            .filter(|k| !row[*k].is_null())
            .for_each(zero);
    }
}

#[test]
fn threads_do_not_change_a_byte() {
    let sim = small(vec![scheme("van", "zram", AppPolicy::None), scheme("a2s", "nvm-direct", AppPolicy::A2s)]);
    assert_eq!(rows(&sim, 1), rows(&sim, 2));
}

#[test]
fn a_kind_given_in_part_keeps_its_other_defaults() {
    let models: AppModels = toml::from_str("[medium]\nanon_mib = 50\n[system]\nfile_mib = 1").unwrap();
    let mut expected = AppModels::default();
    (expected.medium.anon_mib, expected.system.file_mib) = (50.0, 1.0);
    assert_eq!(models, expected);
    let said = |text: &str| toml::from_str::<AppModels>(text).unwrap_err().to_string();
    assert!(said("[medium]\nanon_mb = 50").contains("unknown field `anon_mb`"));
    // A kind of one's own has no defaults.
    assert!(said("[models.own]\nanon_mib = 50").contains("missing field"));
}

#[test]
fn bad_experiments_are_answered() {
    let error = |change: &dyn Fn(&mut Sim)| {
        let mut sim = small(vec![scheme("van", "flash", AppPolicy::None)]);
        change(&mut sim);
        simulate(&sim, 0, 1, &mut |_, _| true, None).unwrap_err().to_string()
    };
    let unswappable = |s: &mut Sim| (s.schemes[0].swap, s.apps.medium.anon_mib) = ("none".into(), 200.0);
    assert!(error(&unswappable).contains("memory for one app's launch set"));
    assert!(error(&|s| s.phone.dram_mib = 10.0).contains("sim.phone.dram_mib"));
    assert!(error(&|s| s.launches = "larg".into()).contains("did you mean"));
    assert!(error(&|s| s.phone.policy = "opt-cost".into()).contains("does not know the future"));
    assert!(error(&|s| s.apps.kinds = "lx".into()).contains("unknown kind of app 'lx'"));
    assert!(error(&|s| s.apps.kinds = "brwser".into()).contains("did you mean"));
    assert!(error(&|s| s.apps.kinds.clear()).contains("letters l, m, h and g"));
    assert!(error(&|s| s.phone.background.gc_share = 1.5).contains("sim.phone.background.gc_share"));
    assert!(error(&|s| s.apps.warm_share = 0.9).contains("at most 1 together"));
    assert!(error(&|s| s.phone.killer.adj.truncate(2)).contains("as many levels"));
    assert!(error(&|s| s.schemes.push(s.schemes[0].clone())).contains("names that differ"));
    let by_name = |s: &mut Sim| s.apps.by_name = [("app1".to_string(), "heavy".to_string())].into();
    assert!(error(&by_name).contains("which is launched; expected a kind for each app"));
    let mut cached = small(vec![scheme("cache", "nvm-cache:size=2GiB,nvm=16MiB", AppPolicy::None)]);
    cached.check("test").unwrap();
    cached.schemes[0].swap = "nvm-cache:size=100TiB".into();
    assert!(cached.check("test").is_err());
    assert!(error(&|s| s.schemes[0].swap = "flash:size=100TiB".into()).contains("a swap area that its device can hold"));
    assert!(error(&|s| s.seeds = 0).contains("1 to 10000"));
}
