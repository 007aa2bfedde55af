//! Cases worked by hand with three apps and eight pages: schemes, app policies, later designs.

use super::{check, design, small, with};
use crate::phone::machine::frames::Watermarks;
use crate::phone::machine::record::Reason;
use crate::phone::machine::{build, Machine};
use crate::phone::spec::{Design, Phone, Proactive};
use crate::phone::user::apps::Apps;
use crate::phone::user::layout::{AppPages, Layout, SharedPages, NO_PAGES};
use crate::phone::user::owner::shared_owner;
use crate::phone::user::plan::Plan;
use std::sync::Arc;
use swaplab_apps::{Killer, Launcher, Limits, Owner, Restarts, Victim};
use swaplab_experiment::Design as Written;
use swaplab_policy::bits;
use swaplab_swap::Medium;
use swaplab_trace::launches::Launch;
use swaplab_vocab::{AppId, Class, Op, PageId};

/// Build a machine with six frames. Pages 0-2 belong to app 0, 3-5 to app 1, 6 and 7 to app 2. The
/// policy is FIFO, reclaim evicts one page at a time, and apps are killed only if nothing can be
/// reclaimed. Compressed pages take none of the six frames (but in `pool`), and reclaim frees a
/// page's frame at once (but in `writing`, where it is free when the page is written).
fn by_hand(written: &Written) -> Machine {
    with_launches(written, &[], &|phone, _| phone.pool_in_dram = false)
}

/// Build the machine of `by_hand` with the launches known to upper bounds, and changed settings.
pub fn with_launches(written: &Written, apps: &[AppId], change: &dyn Fn(&mut Phone, &mut Design)) -> Machine {
    let app =
        |anon: std::ops::Range<PageId>| AppPages { hot_end: anon.end, warm_end: anon.end, file: 8..8, file_hot_end: 8, anon, ..NO_PAGES };
    let layout = Layout {
        apps: vec![app(0..3), app(3..6), app(6..8)],
        page_bytes: 4096,
        system: app(8..8),
        shared: Vec::new(),
        owners: vec![0, 0, 0, 1, 1, 1, 2, 2],
        classes: vec![Class::Anonymous; 8],
    };
    with_layout(written, apps, layout, change)
}

pub fn with_layout(written: &Written, apps: &[AppId], layout: Layout, change: &dyn Fn(&mut Phone, &mut Design)) -> Machine {
    let fifo = if written.policy().key == "opt" { written.clone() } else { with(written.clone(), |d| d.policy = super::only("fifo")) };
    let mut experiment = small(vec![fifo]);
    (experiment.machine.kernel.page_cluster, experiment.machine.kernel.max_request) = (None, None);
    let mut phone = Phone::of(&experiment.machine).unwrap();
    (phone.frames, phone.kernel_frames, phone.dram_bytes) = (6, 0, 6 * 4096);
    (phone.write_back_holds_frames, phone.exit_ns) = (false, 0);
    let mut design = Design::of(&experiment, &experiment.design[0], &phone).unwrap();
    design.killer = Killer::parse("off").unwrap();
    change(&mut phone, &mut design);
    let launcher = Launcher::new(Limits { cached: 16, services: 0 }, vec![false; layout.apps.len()]);
    let launches: Vec<Launch> = apps.iter().map(|app| Launch { at_ns: 0, app: *app, foreground_ns: 0 }).collect();
    let plan = Arc::new(Plan::new(0, &launches, &layout));
    let restarts = Restarts::new(&vec![false; layout.apps.len()]);
    let mut machine = build(&phone, &design, Apps { layout, launcher, restarts, plan }, Vec::new(), 0, 1.0).unwrap();
    machine.frames.marks = Watermarks { min: 0, low: 0, high: 1 };
    (machine.frames.batch, machine.frames.lists) = (1, None);
    // No time passes here, so kswapd, which needs time, never wakes: all reclaim is direct.
    machine.kswapd.backoff = u32::MAX;
    machine
}

pub fn start(machine: &mut Machine, app: u16, op: Op) {
    machine.apps.launcher.launch(app);
    let pages = machine.apps.layout.of(app).anon.clone();
    pages.for_each(|page| machine.touch(page, op));
    machine.failed().unwrap();
    check(machine).unwrap();
    machine.clock.take_stalls();
    machine.apps.launcher.home();
}

/// Number of apps killed for lack of memory.
pub fn kills(machine: &Machine) -> usize {
    machine.record.kills.iter().filter(|k| k.reason != Reason::CachedLimit).count()
}

/// Resident pages, and pages whose content is only in swap.
pub fn places(machine: &Machine) -> (Vec<PageId>, Vec<PageId>) {
    let with = |wanted: fn(u8) -> bool| (0..8).filter(|p| wanted(machine.frames.pages.bits(*p))).collect();
    (with(|b| b & bits::RESIDENT != 0), with(|b| b & bits::SLOT != 0 && b & bits::RESIDENT == 0))
}

#[test]
fn three_apps_and_eight_pages_with_swap() {
    for swap in ["flash", "sd-card", "zram", "zswap", "nvm-copy", "nvm-cache", "tiered", "ramdisk"] {
        let mut phone = by_hand(&design("s", swap, "none"));
        start(&mut phone, 0, Op::Write);
        start(&mut phone, 1, Op::Write);
        assert_eq!((places(&phone), phone.free()), ((vec![0, 1, 2, 3, 4, 5], vec![]), 0));
        // Pages 6 and 7 need frames; 0 and 1 came first.
        start(&mut phone, 2, Op::Write);
        assert_eq!(places(&phone), (vec![2, 3, 4, 5, 6, 7], vec![0, 1]), "{swap}");
        // The swap-in of 0 evicts 2, that of 1 evicts 3, that of 2 evicts 4.
        start(&mut phone, 0, Op::Write);
        assert_eq!(places(&phone), (vec![0, 1, 2, 5, 6, 7], vec![3, 4]), "{swap}");
        let moves = phone.swap.side.moves;
        assert_eq!((moves.swapped_out, moves.copied_pages, moves.zero_fills, kills(&phone)), (5, 3, 8, 0));
        assert_eq!((phone.swap.stays.len(), phone.swap.stays.iter().filter(|(stay, _)| stay.reads == 1).count()), (5, 3));
        assert_eq!(phone.apps.launcher.live(), 4);
    }
}

/// UFS 3.1 reads a page every 10 us, with 7 reads at once (docs/models/queue.md): s = 7 x (10,000 -
/// 1950.5) ns, t = 1950.5 ns.
#[test]
fn pages_read_ahead_of_a_start_share_the_queue() {
    let own_and_transfers = |pages: f64| (7.0 * (10_000.0 - 4096.0 / 2.1) + pages * 4096.0 / 2.1).round() as u64;
    for prepage in [false, true] {
        let ufs = swaplab_experiment::Devices { flash: "ufs-3.1".into(), ..Default::default() };
        let prices = Arc::new(crate::ledger::Prices::new(&ufs).unwrap());
        let mut phone = with_launches(&design("s", "flash", "none"), &[], &|phone, _| phone.prices = prices.clone());
        (0..3).for_each(|app| start(&mut phone, app, Op::Write));
        assert_eq!(places(&phone).1, [0, 1]);
        if prepage {
            phone.prefetch.trail.begin(0);
            (0..2).for_each(|page| (phone.prefetch.trail.fetched(page), phone.prefetch.trail.used(page..page + 1)).1);
            phone.prefetch.trail.finish(0);
            phone.prepage(0, 0);
        } else {
            (0..2).for_each(|page| phone.touch(page, Op::Read));
        }
        let expected = if prepage { own_and_transfers(2.0) } else { 2 * own_and_transfers(1.0) };
        assert_eq!(phone.clock.take_stalls().swap_read_ns[Medium::Flash as usize], expected);
    }
}

#[test]
fn three_apps_and_eight_pages_without_swap_and_with_app_policies() {
    // Four apps live, with home, so ESS with t_live=1 accepts no page. Each app was launched fewer
    // than three times, so LVSP accepts none.
    let ess = design("ess", "flash", "ess:t_live=1");
    for design in [design("none", "none", "none"), ess, design("lvsp", "flash", "lvsp"), design("a2s", "flash", "a2s")] {
        let mut phone = by_hand(&design);
        (0..2).for_each(|app| start(&mut phone, app, Op::Write));
        // No page may be evicted, so the cached app 0 is killed for page 6.
        start(&mut phone, 2, Op::Write);
        assert_eq!((places(&phone).0, kills(&phone)), (vec![3, 4, 5, 6, 7], 1), "{}", design.name);
        assert!(!phone.apps.launcher.is_live(0));
        // A cold start: page 0 takes the last frame, then app 1 is killed.
        start(&mut phone, 0, Op::Write);
        assert_eq!((places(&phone), kills(&phone)), ((vec![0, 1, 2, 6, 7], vec![]), 2), "{}", design.name);
        assert_eq!((phone.swap.side.moves.swapped_out, phone.swap.stays.len()), (0, 0));
    }
}

#[test]
fn three_apps_and_eight_pages_with_direct_read() {
    let mut phone = by_hand(&design("s", "nvm-direct", "none"));
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // Reads of 0 and 1 map them in NVM and copy nothing.
    start(&mut phone, 0, Op::Read);
    assert_eq!(places(&phone), (vec![2, 3, 4, 5, 6, 7], vec![0, 1]));
    let moves = phone.swap.side.moves;
    assert_eq!((moves.direct_reads, moves.copied_pages, moves.swapped_out), (2, 0, 2));
    // A write promotes page 0, for which page 2 is evicted.
    phone.touch(0, Op::Write);
    assert_eq!(places(&phone), (vec![0, 3, 4, 5, 6, 7], vec![1, 2]));
    assert_eq!(phone.swap.side.moves.promotions, 1);
    check(&phone).unwrap();
}

#[test]
fn a_full_swap_area_leads_to_a_kill() {
    let mut phone = by_hand(&design("s", "nvm-direct:size=1p", "none"));
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // Page 0 fills the area. App 0 is killed for page 7, which empties the area.
    assert_eq!((kills(&phone), phone.apps.launcher.is_live(0)), (1, false));
    assert!(phone.swap.full > 0 && phone.swap.stays.iter().next().unwrap().1.is_some());
    assert_eq!(phone.swap.side.usage().pages, 0);
}

/// Let apps 0 and 1 fill memory; then app 1 needs two frames for graphics, and app 2 is started.
fn crowd(written: &Written) -> Machine {
    let mut phone = by_hand(written);
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.set_graphics(1, 2);
    check(&phone).unwrap();
    start(&mut phone, 2, Op::Write);
    phone
}

#[test]
fn vanilla_swap_evicts_the_oldest_pages() {
    let phone = crowd(&design("s", "flash", "none"));
    // 0 and 1 are evicted for the graphics, 2 and 3 for app 2.
    assert_eq!((places(&phone), kills(&phone)), ((vec![4, 5, 6, 7], vec![0, 1, 2, 3]), 0));
}

#[test]
fn ess_accepts_no_page_while_four_apps_live() {
    // ESS accepts pages for the graphics, as only apps 0, 1 and home live. It accepts none for page
    // 6 of app 2: app 0 is killed, which frees its frame and its two slots. Now ESS accepts pages
    // again, and kswapd wakes: it evicts page 3, and page 4 is evicted for page 7. A2S does the
    // same, as its other condition accepts app 1.
    let ess = design("s", "flash", "ess:t_live=4");
    let a2s = design("s", "flash", "a2s:t_live=4,t_reuse=1,t_launched=1");
    for design in [ess, a2s] {
        let phone = crowd(&design);
        assert_eq!((places(&phone), kills(&phone)), ((vec![5, 6, 7], vec![3, 4]), 1));
        assert_eq!((phone.swap.side.moves.swapped_out, phone.swap.side.usage().pages, phone.apps.launcher.live()), (4, 2, 3));
        let died: Vec<_> = phone.swap.stays.iter().map(|(stay, died_ns)| (stay.page, stay.reads, died_ns.is_some())).collect();
        assert_eq!(died, [(0, 0, true), (1, 0, true), (3, 0, false), (4, 0, false)]);
    }
}

#[test]
fn lvsp_keeps_pages_of_an_app_with_a_long_reuse_distance() {
    // Launches of others since an app's last one count half, as each was launched once: 0.5 for app
    // 0 while app 1 is in front, 1 once app 2 is. Then page 2 stays; 3 and 4 of app 1 are evicted.
    let lvsp = design("s", "flash", "lvsp:t_reuse=1,t_launched=1");
    let a2s = design("s", "flash", "a2s:t_live=5,t_reuse=1,t_launched=1");
    for design in [lvsp, a2s] {
        let phone = crowd(&design);
        assert_eq!((places(&phone), kills(&phone)), ((vec![2, 5, 6, 7], vec![0, 1, 3, 4]), 0));
        assert_eq!(phone.record.traffic[0].rejected, 1);
    }
}

#[test]
fn acclaim_spares_the_app_in_the_foreground() {
    let places_of = |policy| {
        let mut phone = by_hand(&design("s", "flash", policy));
        (0..2).for_each(|app| start(&mut phone, app, Op::Write));
        phone.apps.launcher.launch(0);
        phone.set_graphics(0, 1);
        check(&phone).unwrap();
        places(&phone).1
    };
    // App 0 is in the foreground, and its pages are the oldest.
    assert_eq!((places_of("none"), places_of("acclaim")), (vec![0], vec![3]));
}

#[test]
fn ariadne_spares_pages_that_the_last_start_used() {
    let mut phone = by_hand(&design("s", "tiered", "ariadne"));
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    // The last starts of app 0 and of app 1 used pages 0, 1 and 3.
    phone.prefetch.hotness.begin(0..3);
    [0, 1].into_iter().for_each(|page| phone.prefetch.used(page..page + 1));
    phone.prefetch.hotness.begin(3..6);
    phone.prefetch.used(3..4);
    phone.prefetch.hotness.finish();
    start(&mut phone, 2, Op::Write);
    assert_eq!(places(&phone), (vec![0, 1, 3, 5, 6, 7], vec![2, 4]));
}

#[test]
fn asap_overlaps_reads_with_the_apps_own_work() {
    let mut phone = by_hand(&design("s", "flash", "none"));
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    let resume = |phone: &mut Machine, app: AppId, cpu_ns| {
        phone.apps.launcher.launch(app);
        phone.prepage(app, cpu_ns);
        for page in phone.apps.layout.of(app).anon.clone() {
            phone.prefetch.used(page..page + 1);
            phone.touch(page, Op::Read);
        }
        phone.prefetch.trail.finish(app);
        phone.apps.launcher.home();
        check(phone).unwrap();
        phone.clock.take_stalls().swap_read_ns.iter().sum::<u64>()
    };
    // Pages 0 and 1 are in swap, and 2 is evicted for 0: three reads, none of which was predicted.
    let all = resume(&mut phone, 0, 1 << 40);
    assert_eq!((phone.swap.side.moves.copied_pages, all > 0), (3, true));
    // Apps 1 and 2 evict app 0. Its list has three pages: half of the read time overlaps, then all.
    let push = |phone: &mut Machine| [1, 2].into_iter().for_each(|app| start(phone, app, Op::Write));
    push(&mut phone);
    assert_eq!(places(&phone).1, [0, 1]);
    let each = all / 3;
    assert_eq!(resume(&mut phone, 0, 3 * each / 2), 3 * each - 3 * each / 2);
    push(&mut phone);
    assert_eq!(resume(&mut phone, 0, 3 * each), 0);
}

#[test]
fn killers_choose_by_age_by_cost_and_by_next_launch() {
    let killed = |victim| {
        // App 1 has the fastest cold start. After the three launches come app 1 and then app 0.
        let choose = |_: &mut Phone, design: &mut Design| design.killer.victim = victim;
        let mut phone = with_launches(&design("s", "none", "none"), &[0, 1, 2, 1, 0], &choose);
        for (app, cold_ns) in [(0, 9), (1, 5), (2, 7)] {
            phone.apps.layout.apps[app].cold_ns = cold_ns;
        }
        for (number, app) in [0, 1, 2].into_iter().enumerate() {
            phone.apps.plan.begin(number as u32);
            start(&mut phone, app, Op::Write);
        }
        phone.record.kills.iter().map(|kill| kill.app).collect::<Vec<_>>()
    };
    assert_eq!([Victim::Lru, Victim::Swam, Victim::Oracle].map(killed), [[0], [1], [0]]);
}

#[test]
fn opt_evicts_the_page_with_the_furthest_next_use() {
    let opt = with(design("s", "flash", "none"), |design| design.policy = super::only("opt"));
    let mut phone = with_launches(&opt, &[0, 1, 2, 0, 1], &|_, _| ());
    for (number, app) in [0, 1, 2].into_iter().enumerate() {
        phone.apps.plan.begin(number as u32);
        start(&mut phone, app, Op::Write);
    }
    // App 1 is launched again after app 0; the last of its equal pages is evicted for page 6. App 2
    // never is: 6 is evicted for 7.
    assert_eq!(places(&phone), (vec![0, 1, 2, 3, 4, 7], vec![5, 6]));
}

#[test]
fn proactive_reclaim_evicts_a_share_at_each_interval() {
    let proactive = Proactive { every_ns: 6_000_000_000, ratio: 0.34, threshold: 0.1 };
    let mut phone = by_hand(&design("s", "flash", "none"));
    phone.rules.proactive = proactive;
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.clock.interval_ns = 0;
    // A third of six pages is two; then a third of four is one. No interval ends before 6 s.
    phone.reclaim_proactively(0, 5_999_999_999);
    assert!(places(&phone).1.is_empty());
    phone.reclaim_proactively(5_999_999_999, 12_000_000_000);
    assert_eq!(places(&phone).1, [0, 1, 2]);
    check(&phone).unwrap();
}

/// Pages 0 to 2 belong to app 0, 3 to 5 to app 1, 6 and 7 to both.
#[test]
fn shared_pages_live_as_long_as_one_owner() {
    let app =
        |anon: std::ops::Range<PageId>| AppPages { hot_end: anon.end, warm_end: anon.end, file: 8..8, file_hot_end: 8, anon, ..NO_PAGES };
    let layout = Layout {
        apps: vec![app(0..3), app(3..6)],
        page_bytes: 4096,
        system: app(8..8),
        shared: vec![SharedPages { pages: app(6..8), members: vec![true, true], system: false }],
        owners: vec![0, 0, 0, 1, 1, 1, shared_owner(0), shared_owner(0)],
        classes: vec![Class::Anonymous; 8],
    };
    let mut phone = with_layout(&design("s", "flash", "lvsp"), &[], layout, &|_, _| ());
    for app in [0, 1] {
        phone.apps.launcher.launch(app);
        phone.apps.launcher.home();
    }
    assert_eq!((phone.apps.owners(0), phone.apps.owners(6)), (vec![Owner::App(0)], vec![Owner::App(0), Owner::App(1)]));
    [6, 7].into_iter().for_each(|page| phone.touch(page, Op::Write));
    phone.deaths().kill(0, Reason::LowMemory);
    assert_eq!((places(&phone).0, phone.apps.owners(6)), (vec![6, 7], vec![Owner::App(1)]));
    phone.deaths().kill(1, Reason::LowMemory);
    assert_eq!((places(&phone).0, phone.apps.owners(6)), (vec![], vec![]));
    check(&phone).unwrap();
}
