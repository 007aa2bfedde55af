//! Cases worked by hand of apps between their launches: victims that take time to die, collections
//! of a managed heap, restarted services, daemons, and compaction by Android's rules.

use super::by_hand::{kills, places, start, with_launches};
use super::small::{booted, check, design, models, small, Booted};
use crate::phone::machine::exit::duration_ns;
use crate::phone::machine::record::Reason;
use crate::phone::run::PhoneRun;
use crate::phone::user::owner::SYSTEM;
use swaplab_apps::compaction::{Compact, Throttles};
use swaplab_apps::{Start, SERVICE};
use swaplab_experiment::apps::AppSize;
use swaplab_experiment::{Background, Experiment, Heap, Launches, Mib, Milliseconds, Services, Size, Span};
use swaplab_trace::launches::Launch;
use swaplab_vocab::{AppId, Op};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Three apps and six frames without swap; each page of a killed app takes 1 ms to free. Page 6
/// needs a frame: app 0 is killed for it, which takes 3 ms, and the running task waits for exactly
/// that. Page 7 finds a free frame.
#[test]
fn a_frame_of_a_victim_is_free_when_its_process_has_ended() {
    let change = |phone: &mut crate::phone::spec::Phone, _: &mut crate::phone::spec::Design| {
        (phone.pool_in_dram, phone.exit_ns) = (false, MS);
    };
    let mut phone = with_launches(&design("none", "none", "none"), &[], &change);
    (0..2).for_each(|app| start(&mut phone, app, Op::Write));
    phone.clock.take_stalls();
    phone.apps.launcher.launch(2);
    phone.touch(6, Op::Write);
    let kill = phone.record.kills[0];
    assert_eq!((kill.app, phone.clock.now() - kill.at_ns, kill.frames), (0, 3 * MS, 3));
    assert!((2 * MS..=3 * MS).contains(&phone.clock.take_stalls().direct_reclaim_ns), "reclaim itself took part of the 3 ms");
    phone.touch(7, Op::Write);
    assert_eq!((kills(&phone), places(&phone).0), (1, vec![3, 4, 5, 6, 7]));
    check(&phone).unwrap();
    // App 1 is killed and keeps its frames; its next start ends the old process at once.
    phone.deaths().kill(1, Reason::CachedLimit);
    assert_eq!((phone.free(), phone.apps.launcher.is_live(1), phone.record.kills[1].frames), (1, false, 0));
    check(&phone).unwrap();
    phone.deaths().end_before_start(1);
    assert_eq!((phone.free(), phone.record.kills[1].frames), (4, 3));
}

/// Only pages with content take time to free: App 0 used its three pages, app 1 two of three, and
/// app 2 has not been started.
#[test]
fn a_process_ends_in_the_time_of_its_pages_with_content() {
    let change = |phone: &mut crate::phone::spec::Phone, _: &mut crate::phone::spec::Design| {
        (phone.pool_in_dram, phone.exit_ns) = (false, MS);
    };
    let mut phone = with_launches(&design("s", "flash", "none"), &[], &change);
    start(&mut phone, 0, Op::Write);
    phone.apps.launcher.launch(1);
    (3..5).for_each(|page| phone.touch(page, Op::Write));
    let ends_ns = |app| duration_ns(app, MS, &phone.frames, &phone.apps);
    assert_eq!([0, 1, 2].map(ends_ns), [3 * MS, 2 * MS, 0]);
}

/// App 0 has one page in memory and two in swap, app 1 has three in memory, app 2 two: swapped
/// pages are not part of the resident set.
#[test]
fn swapped_pages_do_not_count_as_resident() {
    let mut phone = with_launches(&design("s", "flash", "none"), &[], &|phone, _| phone.pool_in_dram = false);
    (0..3).for_each(|app| start(&mut phone, app, Op::Write));
    assert_eq!(places(&phone).1, [0, 1]);
    assert_eq!([0, 1, 2].map(|app| phone.deaths().resident_pages(app)), [1, 3, 2]);
}

/// A phone with more memory than it needs, and two apps, 0 and 1, of 2 MiB (512 anonymous pages,
/// half of them hot) and of files.
fn roomy(background: Background) -> Booted {
    let mut experiment = small(vec![design("s", "flash:size=64MiB,readahead=1", "none")]);
    experiment.machine.dram = Some(Size::parse("512MiB").unwrap());
    experiment.machine.background = background;
    two_apps(&mut experiment, 2.0);
    booted(&experiment)
}

fn two_apps(experiment: &mut Experiment, anon_mib: f64) {
    let models = models(experiment);
    let app = AppSize { anon: Mib(anon_mib), file: Mib(1.0), cold: Milliseconds(1.0), resume: Milliseconds(1.0), ..AppSize::default() };
    models.models = [("a".to_string(), app.clone()), ("b".to_string(), app)].into();
    (models.spread, models.warm_share, models.system_warm_share) = (0.0, 0.0, 0.0);
    experiment.workload.launches = Some(Launches::Table(Default::default()));
    experiment.machine.limits.services = 0;
}

fn span(text: &str) -> Span {
    Span::parse(text).unwrap()
}

fn launch(phone: &mut PhoneRun, at_s: u64, app: AppId) {
    phone.launch(&Launch { at_ns: at_s * S, app, foreground_ns: S }).unwrap();
    check(&phone.machine).unwrap();
}

fn swapped_in(phone: &PhoneRun, app: usize) -> u64 {
    phone.machine.record.traffic[app].swapped_in
}

/// The heap is half of 512 pages; utilization 0.75 leaves 64 of these free and 192 live. All pages
/// of app 0 are in swap when its heap is collected 5 s after it left the foreground: 192 come back.
/// A frozen app collects nothing.
#[test]
fn a_collection_in_the_background_swaps_the_live_pages_in() {
    for (freeze_after, expected) in [("0", 192), ("2s", 0)] {
        let heap = Heap { rate: Mib(0.1), min_free: Mib(0.125), collect_after: span("5s"), ..Heap::default() };
        let background = Background { heap, freeze_after: span(freeze_after), ..Background::default() };
        let booted = roomy(background);
        let mut phone = booted.phone();
        launch(&mut phone, 0, 0);
        launch(&mut phone, 2, 1);
        phone.machine.compact(0, Compact::Anon, &Throttles::default(), None);
        launch(&mut phone, 20, 1);
        assert_eq!(swapped_in(&phone, 0), expected, "frozen after {freeze_after}");
        // It was collected once: nothing is allocated in the background.
        launch(&mut phone, 60, 1);
        assert_eq!(swapped_in(&phone, 0), expected);
    }
}

/// A resume uses the 256 hot pages. An app that allocates 100 MiB a second collects its heap while
/// it is in front, which reads or writes all 256 pages of the heap: every second page, so 128 pages
/// more.
#[test]
fn allocation_in_front_after_a_resume_collects() {
    for (rate, expected) in [(0.0, 256), (100.0, 256 + 128)] {
        let heap = Heap { rate: Mib(rate), min_free: Mib(0.125), ..Heap::default() };
        let booted = roomy(Background { heap, ..Background::default() });
        let mut phone = booted.phone();
        launch(&mut phone, 0, 0);
        launch(&mut phone, 2, 1);
        phone.machine.compact(0, Compact::Anon, &Throttles::default(), None);
        launch(&mut phone, 20, 0);
        assert_eq!((phone.machine.record.launches[2].start, swapped_in(&phone, 0)), (Start::Resume, expected), "{rate} MiB a second");
    }
}

/// Of 512 anonymous pages 256 are hot, of 256 file pages 90, which are read in three windows of 32
/// pages. A start that uses all pages reads the other five windows and writes the other 256 pages
/// before the app is ready; otherwise it is in front that the app does so. The sum is the same.
#[test]
fn a_cold_start_uses_its_share_of_pages_until_the_app_is_ready() {
    let visit = |share: Option<f64>| {
        let mut experiment = small(vec![design("s", "zram", "none")]);
        experiment.machine.dram = Some(Size::parse("512MiB").unwrap());
        two_apps(&mut experiment, 2.0);
        models(&mut experiment).models.values_mut().for_each(|app| app.start_share = share);
        let booted = booted(&experiment);
        let mut phone = booted.phone();
        launch(&mut phone, 0, 0);
        let row = &phone.machine.record.launches[0];
        ([row.file_reads, row.faults], [phone.machine.counts.file_reads, phone.machine.counts.faults])
    };
    let (hot, whole) = (visit(None), visit(Some(1.0)));
    assert_eq!([whole.0[0] - hot.0[0], whole.0[1] - hot.0[1]], [5 * 32, 5 + 256]);
    assert_eq!(whole.1, hot.1);
    assert_eq!(visit(Some(0.1)), hot, "hot pages are always used");
}

/// Of 192 live pages and 64 free ones: an allocation writes a page, and each 64th at most reads the
/// live ones.
#[test]
fn the_references_of_allocation_have_a_bound() {
    let heap = Heap { rate: Mib(100.0), min_free: Mib(0.125), ..Heap::default() };
    let booted = roomy(Background { heap, ..Background::default() });
    let phone = booted.phone();
    assert_eq!([0, 1, 64, 65].map(|allocations| phone.heap_references(0, allocations)), [0, 1 + 192, 64 + 192, 65 + 2 * 192]);
}

/// Both apps have services. App 0 is killed at 3 s and its service is due at 4 s: a quarter of its
/// 512 anonymous pages is in memory again, its score is a service's, and its next launch is a cold
/// start.
#[test]
fn a_restarted_service_takes_memory_again() {
    let services = Services { restart: true, restart_share: 0.25, ..Services::default() };
    let mut experiment = small(vec![design("s", "none", "none")]);
    experiment.machine.dram = Some(Size::parse("512MiB").unwrap());
    experiment.machine.background = Background { services, ..Background::default() };
    two_apps(&mut experiment, 2.0);
    experiment.machine.limits.services = 2;
    let booted = booted(&experiment);
    let mut phone = booted.phone();
    let anonymous = |phone: &PhoneRun| {
        let anon = phone.machine.apps.layout.of(0).anon.clone();
        anon.filter(|page| phone.machine.frames.pages.is_resident(*page)).count()
    };
    launch(&mut phone, 0, 0);
    launch(&mut phone, 2, 1);
    phone.machine.deaths().kill(0, Reason::LowMemory);
    assert_eq!((anonymous(&phone), phone.machine.apps.launcher.is_live(0)), (0, false));
    launch(&mut phone, 20, 1);
    assert_eq!((anonymous(&phone), phone.machine.apps.launcher.adjustment(0)), (128, SERVICE));
    launch(&mut phone, 30, 0);
    assert_eq!((phone.machine.record.launches[3].start, anonymous(&phone)), (Start::Cold, 512));
}

/// Half of the system's anonymous pages, 20 MiB or 5,120, are used by daemons each 10 s. They were
/// in swap; the hot quarter, which the launch itself uses, is among them.
#[test]
fn daemons_use_memory_of_the_system() {
    let services = Services { daemons_every: span("10s"), daemons_share: 0.5, ..Services::default() };
    for (background, expected) in [(Background::default(), 1_280), (Background { services, ..Background::default() }, 2_560)] {
        let booted = roomy(background);
        let mut phone = booted.phone();
        launch(&mut phone, 0, 0);
        phone.machine.compact(SYSTEM, Compact::Anon, &Throttles::default(), None);
        launch(&mut phone, 20, 0);
        assert_eq!(phone.machine.record.traffic.last().unwrap().swapped_in, expected);
    }
}

/// Daemons that are due each 10 s are due for the last time at 40 s in a rest that ends at 47 s.
#[test]
fn daemons_use_memory_at_the_last_time_at_which_they_were_due() {
    let services = Services { daemons_every: span("10s"), daemons_share: 0.5, ..Services::default() };
    let booted = roomy(Background { services, ..Background::default() });
    let mut phone = booted.phone();
    launch(&mut phone, 0, 0);
    phone.machine.compact(SYSTEM, Compact::Anon, &Throttles::default(), None);
    phone.elapse(47 * S);
    let times: Vec<u64> = phone.machine.swap.stays.iter().filter_map(|(stay, _)| Some(stay.freed()?.0 / S)).collect();
    assert!(times.len() > 500 && times.iter().all(|second| (40..42).contains(second)), "{times:?}");
}

/// Apps of 16 MiB (4,096 pages; 16,384 kB are over 12,000). App 0 is cached from about 5 s on: it
/// is not yet compacted at 14 s, and is at 30 s. Its file pages stay in memory. An app of 2 MiB is
/// passed over.
#[test]
fn a_cached_app_is_compacted_after_a_while() {
    for (anon_mib, expected) in [(16.0, 4_096), (2.0, 0)] {
        let mut experiment = small(vec![design("s", "flash:size=64MiB", "none")]);
        experiment.machine.dram = Some(Size::parse("512MiB").unwrap());
        experiment.machine.background = Background { compact: Compact::Aosp, compact_after: span("10s"), ..Background::default() };
        two_apps(&mut experiment, anon_mib);
        let booted = booted(&experiment);
        let mut phone = booted.phone();
        launch(&mut phone, 0, 0);
        launch(&mut phone, 5, 1);
        launch(&mut phone, 14, 1);
        assert_eq!(phone.machine.swap.used(), 0);
        launch(&mut phone, 30, 1);
        let file = phone.machine.apps.layout.of(0).file.clone();
        let cold = file.filter(|page| phone.machine.frames.pages.is_resident(*page)).count();
        assert_eq!((phone.machine.swap.used(), cold), (expected, 256));
    }
}
