//! Three apps and eight pages by hand: every scheme, every gate, every later design, step by step.

use super::{check, design, small, with};
use crate::phone::machine::frames::Watermarks;
use crate::phone::machine::record::Reason;
use crate::phone::machine::{build, Machine};
use crate::phone::spec::{Design, Phone, Proactive};
use crate::phone::user::apps::Apps;
use crate::phone::user::layout::{AppPages, Layout, SharedPages, NOTHING};
use crate::phone::user::owner::shared_owner;
use crate::phone::user::plan::Plan;
use std::sync::Arc;
use swaplab_apps::{Killer, Launcher, Limits, Owner, Victim};
use swaplab_experiment::Design as Written;
use swaplab_policy::bits;
use swaplab_swap::Medium;
use swaplab_trace::launches::Launch;
use swaplab_vocab::{AppId, Class, Op, PageId};

/// Pages 0-2 are those of app 0, 3-5 of app 1, 6 and 7 of app 2; six frames, first in first out, one page reclaimed at a time, a
/// killer that acts only when nothing else is left. Compressed pages take none of the six; `pool` has those that do. Reclaim frees a page
/// at once; `writing` has pages that keep their frames until they are written.
fn by_hand(written: &Written) -> Machine {
    with_launches(written, &[], &|phone, _| phone.pool_in_dram = false)
}

/// With the launches that upper bounds look ahead to, and other settings.
pub fn with_launches(written: &Written, apps: &[AppId], change: &dyn Fn(&mut Phone, &mut Design)) -> Machine {
    let app =
        |anon: std::ops::Range<PageId>| AppPages { hot_end: anon.end, warm_end: anon.end, file: 8..8, file_hot_end: 8, anon, ..NOTHING };
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
    phone.write_back_holds_frames = false;
    let mut design = Design::of(&experiment, &experiment.design[0], &phone).unwrap();
    design.killer = Killer::parse("off").unwrap();
    change(&mut phone, &mut design);
    let launcher = Launcher::new(Limits { cached: 16, services: 0 }, vec![false; layout.apps.len()]);
    let launches: Vec<Launch> = apps.iter().map(|app| Launch { at_ns: 0, app: *app, foreground_ns: 0 }).collect();
    let plan = Arc::new(Plan::new(0, &launches, &layout));
    let mut machine = build(&phone, &design, Apps { layout, launcher, plan }, Vec::new(), 0, 1.0).unwrap();
    machine.frames.marks = Watermarks { min: 0, low: 0, high: 1 };
    machine.frames.batch = 1;
    // No time passes in these cases, so kswapd, which works in time, stays away: who needs a frame reclaims it.
    machine.backoff = u32::MAX;
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

/// Apps killed for want of memory.
pub fn kills(machine: &Machine) -> usize {
    machine.record.kills.iter().filter(|k| k.reason != Reason::CachedLimit).count()
}

/// Pages with a frame, and pages whose content is in swap alone.
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
        // Pages 6 and 7 need frames: 0 and 1 came first.
        start(&mut phone, 2, Op::Write);
        assert_eq!(places(&phone), (vec![2, 3, 4, 5, 6, 7], vec![0, 1]), "{swap}");
        // 0 comes back for 2, 1 for 3, 2 for 4.
        start(&mut phone, 0, Op::Write);
        assert_eq!(places(&phone), (vec![0, 1, 2, 5, 6, 7], vec![3, 4]), "{swap}");
        let moves = phone.swap.side.moves;
        assert_eq!((moves.swapped_out, moves.copied_pages, moves.zero_fills, kills(&phone)), (5, 3, 8, 0));
        assert_eq!((phone.swap.stays.len(), phone.swap.stays.iter().filter(|(stay, _)| stay.reads == 1).count()), (5, 3));
        assert_eq!(phone.apps.launcher.live(), 4);
    }
}

/// UFS 3.1 reads a page in 10 us of its time and 7 at once (docs/models/queue.md): s = 7 x (10,000 - 1950.5) ns, t = 1950.5 ns.
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
fn three_apps_and_eight_pages_without_swap_and_with_gates() {
    // Four apps live with home, so ESS at 1 is always shut; each app was launched fewer than three times, so LVSP is.
    let ess = design("ess", "flash", "ess:t_live=1");
    for design in [design("none", "none", "none"), ess, design("lvsp", "flash", "lvsp"), design("a2s", "flash", "a2s")] {
        let mut phone = by_hand(&design);
        (0..2).for_each(|app| start(&mut phone, app, Op::Write));
        // Nothing may leave: app 0, which is cached, is killed for page 6.
        start(&mut phone, 2, Op::Write);
        assert_eq!((places(&phone).0, kills(&phone)), (vec![3, 4, 5, 6, 7], 1), "{}", design.name);
        assert!(!phone.apps.launcher.is_live(0));
        // A cold start: page 0 takes the last frame, then app 1 goes.
        start(&mut phone, 0, Op::Write);
        assert_eq!((places(&phone), kills(&phone)), ((vec![0, 1, 2, 6, 7], vec![]), 2), "{}", design.name);
        assert_eq!((phone.swap.side.moves.swapped_out, phone.swap.stays.len()), (0, 0));
    }
}

#[test]
fn three_apps_and_eight_pages_with_direct_read() {
    let mut phone = by_hand(&design("s", "nvm-direct", "none"));
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // Reads of 0 and 1 map them where they lie and move nothing.
    start(&mut phone, 0, Op::Read);
    assert_eq!(places(&phone), (vec![2, 3, 4, 5, 6, 7], vec![0, 1]));
    let moves = phone.swap.side.moves;
    assert_eq!((moves.direct_reads, moves.copied_pages, moves.swapped_out), (2, 0, 2));
    // A write takes page 0 back, for which page 2 goes.
    phone.touch(0, Op::Write);
    assert_eq!(places(&phone), (vec![0, 3, 4, 5, 6, 7], vec![1, 2]));
    assert_eq!(phone.swap.side.moves.promotions, 1);
    check(&phone).unwrap();
}

#[test]
fn a_full_swap_area_means_a_kill() {
    let mut phone = by_hand(&design("s", "nvm-direct:size=1p", "none"));
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    // Page 0 fills the area; page 7 costs app 0 its life, which empties it.
    assert_eq!((kills(&phone), phone.apps.launcher.is_live(0)), (1, false));
    assert!(phone.swap.full > 0 && phone.swap.stays.iter().next().unwrap().1.is_some());
    assert_eq!(phone.swap.side.usage().pages, 0);
}

/// Apps 0 and 1 fill memory; then app 1 needs two frames for graphics, and app 2 is started.
fn crowd(written: &Written) -> Machine {
    let mut phone = by_hand(written);
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.set_graphics(1, 2);
    check(&phone).unwrap();
    start(&mut phone, 2, Op::Write);
    phone
}

#[test]
fn vanilla_swap_takes_who_came_first() {
    let phone = crowd(&design("s", "flash", "none"));
    // 0 and 1 go for the graphics, 2 and 3 for app 2.
    assert_eq!((places(&phone), kills(&phone)), ((vec![4, 5, 6, 7], vec![0, 1, 2, 3]), 0));
}

#[test]
fn ess_shuts_when_the_fourth_app_lives() {
    // Open for the graphics, as apps 0 and 1 live with home. Shut for page 6 of app 2: app 0 is killed and gives up its two slots with its
    // frame. That opens it again, and wakes kswapd: page 3 goes by it, page 4 for page 7. A2S, whose other condition lets app 1 go, does the
    // same.
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
fn lvsp_keeps_pages_of_who_was_away_too_long() {
    // Launches of others since the last one count half, as each app was launched once: 0.5 for app 0 while app 1 is in front, 1 once
    // app 2 is. Its page 2 then stays, and 3 and 4 of app 1 go.
    let lvsp = design("s", "flash", "lvsp:t_reuse=1,t_launched=1");
    let a2s = design("s", "flash", "a2s:t_live=5,t_reuse=1,t_launched=1");
    for design in [lvsp, a2s] {
        let phone = crowd(&design);
        assert_eq!((places(&phone), kills(&phone)), ((vec![2, 5, 6, 7], vec![0, 1, 3, 4]), 0));
        assert_eq!(phone.record.traffic[0].rejected, 1);
    }
}

#[test]
fn acclaim_spares_the_app_in_front() {
    let places_of = |policy| {
        let mut phone = by_hand(&design("s", "flash", policy));
        (0..2).for_each(|app| start(&mut phone, app, Op::Write));
        phone.apps.launcher.launch(0);
        phone.set_graphics(0, 1);
        check(&phone).unwrap();
        places(&phone).1
    };
    // App 0 is in front, and its pages came first.
    assert_eq!((places_of("none"), places_of("acclaim")), (vec![0], vec![3]));
}

#[test]
fn ariadne_spares_what_the_last_start_used() {
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
fn asap_reads_beside_the_apps_own_work() {
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
    // Pages 0 and 1 are in swap, and 2 goes for 0: three reads, nothing of which was foreseen.
    let all = resume(&mut phone, 0, 1 << 40);
    assert_eq!((phone.swap.side.moves.copied_pages, all > 0), (3, true));
    // Apps 1 and 2 push app 0 out, which now knows its three pages: half of their time is hidden, then all of it.
    let push = |phone: &mut Machine| [1, 2].into_iter().for_each(|app| start(phone, app, Op::Write));
    push(&mut phone);
    assert_eq!(places(&phone).1, [0, 1]);
    let each = all / 3;
    assert_eq!(resume(&mut phone, 0, 3 * each / 2), 3 * each - 3 * each / 2);
    push(&mut phone);
    assert_eq!(resume(&mut phone, 0, 3 * each), 0);
}

#[test]
fn killers_choose_by_age_by_cost_and_by_foresight() {
    let killed = |victim| {
        // App 1 starts anew fastest; after the three launches comes app 1 again, then app 0.
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
fn opt_takes_what_is_needed_last() {
    let opt = with(design("s", "flash", "none"), |design| design.policy = super::only("opt"));
    let mut phone = with_launches(&opt, &[0, 1, 2, 0, 1], &|_, _| ());
    for (number, app) in [0, 1, 2].into_iter().enumerate() {
        phone.apps.plan.begin(number as u32);
        start(&mut phone, app, Op::Write);
    }
    // App 1 comes back after app 0; of its equal pages the last goes for page 6. App 2 never comes back: page 6 goes for page 7.
    assert_eq!(places(&phone), (vec![0, 1, 2, 3, 4, 7], vec![5, 6]));
}

#[test]
fn proactive_reclaim_takes_a_share_each_beat() {
    let proactive = Proactive { every_ns: 6_000_000_000, ratio: 0.34, threshold: 0.1 };
    let mut phone = by_hand(&design("s", "flash", "none"));
    phone.rules.proactive = proactive;
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.clock.felt_ns = 0;
    // A third of six pages is two; then a third of four is one. No beat ends before the sixth second.
    phone.beats(0, 5_999_999_999);
    assert!(places(&phone).1.is_empty());
    phone.beats(5_999_999_999, 12_000_000_000);
    assert_eq!(places(&phone).1, [0, 1, 2]);
    check(&phone).unwrap();
}

/// Pages 0 to 2 are app 0's, 3 to 5 app 1's, 6 and 7 belong to both.
#[test]
fn shared_pages_live_as_long_as_one_owner() {
    let app =
        |anon: std::ops::Range<PageId>| AppPages { hot_end: anon.end, warm_end: anon.end, file: 8..8, file_hot_end: 8, anon, ..NOTHING };
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
    phone.kill(0, Reason::LowMemory);
    assert_eq!((places(&phone).0, phone.apps.owners(6)), (vec![6, 7], vec![Owner::App(1)]));
    phone.kill(1, Reason::LowMemory);
    assert_eq!((places(&phone).0, phone.apps.owners(6)), (vec![], vec![]));
    check(&phone).unwrap();
}
