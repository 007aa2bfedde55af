//! Invariants and equalities of whole runs. The other files have cases worked by hand, a recount of
//! energy, the pool's frames, write-back and conservation laws.

mod apps;
mod by_hand;
mod display;
mod energy;
mod folios;
mod laws;
mod pauses;
mod pool;
mod small;
mod stopping;
mod storage;
mod writing;

use super::machine::stays::Freed;
use super::rows;
use small::{booted, check, design, frames_in_use, models, only, rows_of, small, with};
use swaplab_apps::compaction::Compact;
use swaplab_apps::Start;
use swaplab_experiment::apps::Shared;
use swaplab_experiment::document::{AppRow, Row};
use swaplab_experiment::{Apps, Background, Experiment, Launches, Mib, Prepage, Proactive, Size, Span};

#[test]
fn every_invariant_holds_after_every_launch() {
    for swap in ["none", "flash:size=8MiB", "flash:size=8MiB,readahead=8", "zram", "zswap", "tiered", "nvm-cache", "nvm-direct:size=16MiB"]
    {
        for policy in ["none", "a2s"] {
            let booted = booted(&small(vec![design("s", swap, policy)]));
            let mut phone = booted.phone();
            for launch in &booted.sequence().launches[..60] {
                phone.launch(launch).unwrap();
                check(&phone.machine).unwrap_or_else(|why| panic!("{swap}: {why}"));
                assert!(phone.machine.apps.launcher.live() <= 22);
            }
        }
    }
}

/// A stay in swap is an allocated slot. Each slot was freed by a copy, by a discard or by its
/// owner's death, or is in use at the end.
#[test]
fn allocated_slots_are_freed_slots_and_slots_in_use() {
    for swap in ["flash:size=64MiB", "zram:size=64MiB", "nvm-direct:size=64MiB", "nvm-cache:size=64MiB,nvm=4MiB"] {
        let booted = booted(&small(vec![design("s", swap, "none")]));
        let mut phone = booted.phone();
        booted.sequence().launches.iter().for_each(|launch| phone.launch(launch).unwrap());
        let (stays, swap_side) = (&phone.machine.swap.stays, &phone.machine.swap.side);
        let freed = |wanted: Freed| stays.iter().filter(|(s, _)| s.freed().is_some_and(|(_, how)| how == wanted)).count() as u64;
        let [copy, discard, owner] = [Freed::Copy, Freed::Discard, Freed::Owner].map(freed);
        let allocated = swap_side.moves.swapped_out;
        assert_eq!(allocated, copy + discard + owner + swap_side.usage().pages, "{swap}");
        // If a copy keeps its slot, the slot is discarded later.
        assert!(copy + discard > 0 && owner > 0 && swap_side.usage().pages > 0, "{swap}: {copy} {discard} {owner}");
        // An owner's death ends the lifetimes of all of its stays, whatever freed their slots.
        assert!(stays.iter().all(|(s, died_ns)| died_ns.is_some() || s.freed().is_none_or(|(_, how)| how != Freed::Owner)), "{swap}");
    }
}

/// Options that move pages, each alone.
#[test]
fn every_invariant_holds_with_every_option() {
    let plain = || small(vec![design("s", "flash:size=16MiB", "none")]);
    let seconds = |s: u64| Span::parse(&format!("{s}s")).unwrap();
    let killer = |e: &mut Experiment, spec: &str| e.machine.killer = format!("{},victim={spec}", e.machine.killer).parse().unwrap();
    type Change<'a> = (&'a str, Box<dyn Fn(&mut Experiment) + 'a>);
    let options: [Change; 14] = [
        ("16 KiB pages", Box::new(|e| e.machine.page_size = Size::parse("16KiB").unwrap())),
        (
            "mthp",
            Box::new(|e| (e.machine.kernel.mthp, e.design[0].swap) = (Some(Size::parse("64KiB").unwrap()), Some(only("zram:size=16MiB")))),
        ),
        ("opt", Box::new(|e| e.design[0].policy = only("opt"))),
        ("oracle", Box::new(|e| killer(e, "oracle"))),
        ("swam", Box::new(|e| killer(e, "swam"))),
        ("acclaim", Box::new(|e| e.design[0].app_policy = only("acclaim"))),
        ("ariadne", Box::new(|e| (e.design[0].app_policy, e.design[0].swap) = (only("ariadne"), Some(only("tiered:size=16MiB"))))),
        ("asap", Box::new(|e| e.design[0].prepage = Prepage::Asap)),
        (
            "asap over direct read",
            Box::new(|e| (e.design[0].prepage, e.design[0].swap) = (Prepage::Asap, Some(only("nvm-direct:size=16MiB")))),
        ),
        ("proactive", Box::new(|e| e.design[0].proactive = Some(Proactive { every: seconds(6), ratio: 0.01, threshold: 0.1 }))),
        (
            "background",
            Box::new(|e| {
                e.machine.background = Background {
                    gc_every: seconds(60),
                    gc_share: 1.0,
                    activity_every: seconds(30),
                    activity_share: 0.1,
                    freeze_after: seconds(600),
                    compact: Compact::Full,
                    ..Background::default()
                }
            }),
        ),
        (
            "beside launches",
            Box::new(|e| {
                let text = "[machine]\nbase = 'nexus-5'\n[[design]]\nswap = 'none'\n[workload]\nlaunches = 'large'\n";
                let machine = Experiment::parse("nexus-5.toml", text, &[]).unwrap().machine;
                (e.machine.background, e.machine.kernel.exit_ns) = (machine.background, 20_000);
                let heap = &mut e.machine.background.heap;
                [&mut heap.rate, &mut heap.min_free, &mut heap.max_free].into_iter().for_each(|size| size.0 /= 16.0);
                heap.background_rate = Mib(0.01);
                (e.machine.limits.services, e.machine.background.compact) = (9, Compact::Aosp);
            }),
        ),
        ("largest", Box::new(|e| (killer(e, "largest"), e.machine.kernel.exit_ns = 20_000).1)),
        (
            "shared",
            Box::new(|e| {
                let range = |name: &str, apps, system| Shared { name: name.into(), anon: Mib(2.0), file: Mib(1.0), apps, system };
                models(e).shared = vec![range("zygote", 1.0, true), range("buffer", 0.2, false)];
            }),
        ),
    ];
    for (name, change) in options {
        let mut experiment = plain();
        change(&mut experiment);
        let booted = booted(&experiment);
        let mut phone = booted.phone();
        for launch in &booted.sequence().launches[..50] {
            phone.launch(launch).unwrap();
            check(&phone.machine).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        assert!(phone.machine.swap.side.moves.swapped_out > 0, "{name}");
    }
}

fn resumes(row: &Row) -> f64 {
    row.launches.as_ref().unwrap().resumes
}

#[test]
fn upper_bounds_are_better_than_vanilla_swap() {
    let killer = "minfree:victim=oracle,minfree_kb=[4608;5760;6912;8064;9216;11520]";
    let oracle = with(design("oracle", "flash", "none"), |design| design.killer = Some(only(killer)));
    let opt = with(design("opt", "flash", "none"), |design| design.policy = only("opt"));
    let mut experiment = small(vec![design("van", "flash", "none"), oracle, opt]);
    // Belady's rule is a lower bound of faults only without readahead, which reads pages before
    // they are referenced.
    experiment.machine.kernel.page_cluster = Some(0);
    let rows = rows_of(&experiment, 1);
    assert!(resumes(&rows[1]) > resumes(&rows[0]));
    assert!(rows[2].paging.refaults < rows[0].paging.refaults && rows[2].paging.swap_in_bytes < rows[0].paging.swap_in_bytes);
}

#[test]
fn without_a_killer_only_the_limit_and_lack_of_memory_end_apps() {
    let off = with(design("off", "none", "none"), |design| design.killer = Some(only("off")));
    let mut experiment = small(vec![design("minfree", "none", "none"), off]);
    // Without the killer the last file-backed pages refault again and again, which takes long, so
    // the test makes few launches.
    experiment.workload.launches = Some(Launches::Named("zipf:apps=50,alpha=0.5,launches=30".into()));
    experiment.run.seeds = Some(1);
    let rows = rows_of(&experiment, 1);
    let reasons = |at: usize| rows[at].launches.as_ref().unwrap().kill_reasons.clone();
    assert!(reasons(0)["low-memory"] > 0.0);
    assert_eq!((reasons(1)["low-memory"], reasons(1)["out-of-memory"] > 0.0), (0.0, true));
}

#[test]
fn larger_pages_hold_the_same_bytes() {
    let of = |page: &str| {
        let mut experiment = small(vec![design("van", "nvm-direct:size=8MiB", "none")]);
        experiment.machine.page_size = Size::parse(page).unwrap();
        rows_of(&experiment, 1).remove(0)
    };
    let (small, large) = (of("4KiB"), of("16KiB"));
    assert!((small.memory.dram_bytes.unwrap() - large.memory.dram_bytes.unwrap()).abs() < 16384.0);
    // The area was full in both.
    let full = Some(f64::from(8 << 20));
    assert_eq!((small.memory.nvm_bytes, large.memory.nvm_bytes), (full, full));
    assert_eq!(large.paging.swap_out_bytes.unwrap() % 8192.0, 0.0);
    assert!(large.paging.copied_pages < small.paging.copied_pages);
}

/// Resumes with prepaging wait less for reads than resumes without it.
#[test]
fn prepaging_overlaps_reads_with_the_apps_own_work() {
    let stall = |prepage| {
        let booted = booted(&small(vec![with(design("s", "flash", "none"), |design| design.prepage = prepage)]));
        let mut phone = booted.phone();
        booted.sequence().launches.iter().for_each(|launch| phone.launch(launch).unwrap());
        let resumes = phone.machine.record.launches.iter().filter(|l| l.start == Start::Resume);
        resumes.map(|l| l.stalls.swap_read_ns.iter().sum::<u64>() + l.stalls.file_read_ns).sum::<u64>()
    };
    assert!(stall(Prepage::Asap) < stall(Prepage::None));
}

#[test]
fn app_policies_that_accept_every_page_equal_vanilla_swap() {
    let ess = design("ess", "flash", "ess:t_live=23");
    let lvsp = design("lvsp", "flash", "lvsp:t_reuse=inf,t_launched=0");
    let mut rows = rows_of(&small(vec![design("vanilla", "flash", "none"), ess, lvsp]), 1);
    for row in &mut rows {
        row.design.clear();
        row.app_policy.clear();
    }
    assert!(rows[0].paging.swap_out_bytes > Some(0.0));
    assert_eq!(rows[0], rows[1]);
    assert_eq!(rows[0], rows[2]);
}

#[test]
fn swap_gives_more_resumes_and_app_policies_write_less() {
    let designs = [("none", "none", "none"), ("van", "flash", "none"), ("ess", "flash", "ess"), ("a2s", "flash", "a2s")];
    let rows = rows_of(&small(designs.map(|(name, swap, policy)| design(name, swap, policy)).to_vec()), 1);
    let out = |at: usize| rows[at].paging.swap_out_bytes.unwrap();
    assert!(resumes(&rows[1]) > resumes(&rows[0]));
    assert_eq!(out(0), 0.0);
    assert!(out(3) < out(1) && out(2) <= out(1) && out(3) <= out(2));
    for row in &rows {
        let launches = row.launches.as_ref().unwrap();
        assert_eq!(launches.count, launches.cold + launches.resumes);
        assert_eq!(launches.kills, launches.kill_reasons.values().sum::<f64>());
        let ux = &launches.ux;
        let classes = ux.crisp + ux.noticeable + ux.annoying + ux.unacceptable + ux.unusable;
        assert!((classes - 120.0).abs() < 1e-9);
    }
}

#[test]
fn memory_for_all_pages_needs_no_swap_and_no_kill() {
    let mut experiment = small(vec![design("van", "flash", "none"), design("none", "none", "none")]);
    experiment.machine.dram = Some(Size::parse("4GiB").unwrap());
    experiment.machine.limits.cached = None;
    let result = rows(&experiment, 1, &mut |_, _| true, None).unwrap();
    assert!(result.warnings[0].contains("never tight"));
    for row in result.rows {
        let (paging, launches) = (&row.paging, row.launches.as_ref().unwrap());
        assert_eq!((paging.swap_out_bytes, paging.swap_in_bytes, paging.file_refaults), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((launches.kills, row.time.direct_reclaim_ns), (0.0, Some(0.0)));
        assert!(!row.phone.unwrap().memory_was_tight);
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_rows() {
    let experiment = small(vec![design("van", "zram", "none"), design("a2s", "nvm-direct", "a2s")]);
    let text = |jobs| serde_json::to_string(&rows_of(&experiment, jobs)).unwrap();
    assert_eq!(text(1), text(2));
}

/// Every figure that a verdict uses has a value for each seed and, if seeds are users, an interval
/// around the mean.
#[test]
fn a_row_has_intervals_and_values_of_each_seed() {
    let row = rows_of(&small(vec![design("van", "flash", "none")]), 1).remove(0);
    let launches = row.launches.as_ref().unwrap();
    let paging = &row.paging;
    for (key, mean) in [
        ("launches.resumes", launches.resumes),
        ("launches.cold", launches.cold),
        ("launches.kills", launches.kills),
        ("paging.swap_in_bytes", paging.swap_in_bytes.unwrap()),
        ("paging.swap_out_bytes", paging.swap_out_bytes.unwrap()),
        ("paging.direct_reads", paging.direct_reads.unwrap()),
        ("paging.flash_write_bytes", paging.flash_write_bytes.unwrap()),
    ] {
        let values: Vec<f64> = row.by_seed.iter().map(|seed| seed.figures[key]).collect();
        assert_eq!((values.len(), values.iter().sum::<f64>() / 2.0), (2, mean), "{key}");
        let [low, high] = row.interval[key];
        assert!(low <= mean && mean <= high, "{key}");
    }
    for key in ["launches.delay_ms.mean", "launches.delay_ms.p50", "launches.delay_ms.p95"] {
        assert!(row.interval.contains_key(key) && row.by_seed[0].figures.contains_key(key), "{key}");
    }
    assert_eq!((row.world.as_str(), row.policy.as_str(), row.machine.as_str()), ("phone", "system", "nexus-5"));
    let detail = row.phone.unwrap();
    assert!(detail.premise_built && detail.memory_was_tight && detail.apps.len() > 10);
    assert!(detail.timeline.at_s.windows(2).all(|pair| pair[0] < pair[1]), "no two samples at the same time");
    let sum = |of: fn(&AppRow) -> f64| Some(detail.apps.iter().map(of).sum::<f64>());
    assert_eq!([sum(|app| app.swap_out_bytes), sum(|app| app.swap_in_bytes)], [row.paging.swap_out_bytes, row.paging.swap_in_bytes]);
    let (waits_ms, delay_ms) = (detail.queue_waits_ms.values().sum::<f64>(), row.launches.unwrap().delay_ms.unwrap().mean);
    assert!(0.0 < waits_ms && waits_ms < delay_ms * 120.0, "{waits_ms} of {delay_ms} in each of 120 launches");
    let longest_s = detail.timeline.at_s.last().copied();
    assert!(detail.entry_lifetime_s.p90 > Some(0.0) && detail.entry_lifetime_s.p90 < longest_s, "{:?}", detail.entry_lifetime_s);
    let (end_s, kills) = (*detail.timeline.at_s.last().unwrap(), &detail.timeline.kills);
    assert!(!kills.is_empty() && kills.iter().all(|kill| 0.0 < kill.at_s && kill.at_s <= end_s), "{kills:?}");
    assert!(row.media["flash"].write_bytes > 0.0);
    // One trace for all seeds is one user, and so is a table.
    let mut in_turn = small(vec![design("van", "flash", "none")]);
    in_turn.workload.launches = Some(Launches::Table(Default::default()));
    models(&mut in_turn).models = [("a".to_string(), models(&mut in_turn.clone()).heavy.clone())].into();
    assert!(rows_of(&in_turn, 1)[0].interval.is_empty());
}

/// Warm-up rounds move pages and start apps, but are not counted.
#[test]
fn warm_up_rounds_are_not_counted() {
    let of = |warm_up: u64| {
        let text = format!(
            "[machine]\ndram = '40MiB'\n[[design]]\nswap = 'zram'\n[workload]\nlaunches = {{ order = 'round-robin', rounds = 3, warm_up = {warm_up} }}\n\
             apps = [{{ use = 'phone-app', count = 5 }}]\n[run]\non = ['phone']\nseeds = 1\n"
        );
        rows_of(&Experiment::parse("e.toml", &text, &[]).unwrap(), 1).remove(0)
    };
    let (cold, warm) = (of(0), of(2));
    let [first, later] = [&cold, &warm].map(|row| row.launches.clone().unwrap());
    assert_eq!((first.count, later.count, first.cold), (15.0, 15.0, 5.0));
    assert!(later.cold < first.cold && warm.paging.swap_out_bytes > Some(0.0), "{later:?}");
    assert!(warm.time.wall_ns.unwrap() < 15.0 * 3.1e9);
}

#[test]
fn the_kernels_swappiness_and_page_cluster_are_those_of_the_machine() {
    let with_setting = |change: &dyn Fn(&mut Experiment)| {
        let mut experiment = small(vec![design("van", "flash", "none")]);
        change(&mut experiment);
        rows_of(&experiment, 1).remove(0)
    };
    let out = |row: &Row| row.paging.swap_out_bytes.unwrap();
    let [calm, eager] = [10, 200].map(|value| with_setting(&|e| e.machine.kernel.swappiness = Some(value)));
    assert!(out(&calm) < out(&eager));
    let ahead = |cluster| with_setting(&|e| e.machine.kernel.page_cluster = cluster).paging.read_ahead_pages;
    assert_eq!((ahead(None), ahead(Some(0))), (Some(0.0), Some(0.0)));
    assert!(ahead(Some(3)) > Some(0.0));
}

#[test]
fn bad_experiments_are_refused() {
    let error = |change: &dyn Fn(&mut Experiment)| {
        let mut experiment = small(vec![design("van", "flash", "none")]);
        change(&mut experiment);
        rows(&experiment, 1, &mut |_, _| true, None).unwrap_err().to_string()
    };
    let unswappable = |e: &mut Experiment| {
        e.design[0].swap = Some(only("none"));
        models(e).medium.anon = Mib(200.0);
    };
    assert!(error(&unswappable).contains("memory for one app's launch set"));
    assert!(error(&|e| e.machine.dram = Some(Size::parse("10MiB").unwrap())).contains("machine.dram: 10MiB"));
    assert!(error(&|e| e.machine.dram = None).contains("machine.dram"));
    assert!(error(&|e| e.workload.launches = Some(Launches::Named("larg".into()))).contains("did you mean"));
    assert!(error(&|e| e.design[0].policy = only("opt-greedy")).contains("an online policy"));
    assert!(error(&|e| e.design[0].policy = only("./mine.py:Mine")).contains("./mine.py:Mine"));
    assert!(error(&|e| models(e).kinds = "lx".into()).contains("unknown kind of app 'lx'"));
    assert!(error(&|e| e.workload.apps = Some(Apps::Named("assumed-2041".into()))).contains("assumed-2014, or the path"));
    assert!(error(&|e| e.design[0].killer = Some(only("minfree:adj=[0;900]"))).contains("as many levels"));
    let by_name = |e: &mut Experiment| models(e).by_name = [("app1".to_string(), "heavy".to_string())].into();
    assert!(error(&by_name).contains("which is launched; expected a kind for each app"));
    assert!(error(&|e| e.design[0].swap = Some(only("flash:size=100TiB"))).contains("a swap area that its device can hold"));
    assert!(error(&|e| e.design[0].swap = Some(only("nvm-cache:size=100TiB"))).contains("a swap area that its device can hold"));
    assert!(error(&|e| e.machine.devices.dram = "ufs-3.1".into()).contains("a device that is memory"));
}
