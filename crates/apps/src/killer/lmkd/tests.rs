use super::*;
use crate::{AdjSpread, Scanned, Watermark, KILLERS};

/// 100,000 kB of file pages, all of the swap free, 70 ms of stall: the daemon is awake, and no rule
/// applies.
const CALM: Pressure = Pressure {
    free_kb: 50_000,
    file_kb: 100_000,
    anon_kb: 60_000,
    watermark: Watermark::None,
    scanned: None,
    direct_reclaim_ms: 0,
    stall_ms: 70,
    full_avg10: 0.0,
    file_refaults_kb: 0,
    swap_total_kb: 100_000,
    swap_free_kb: 100_000,
};
const DIRECT: Option<Scanned> = Some(Scanned { direct: 1, background: 0 });
const LOW: Pressure = Pressure { watermark: Watermark::Low, ..CALM };
const MS: u64 = 1_000_000;

/// A look half a second into a window.
fn look(settings: &Settings, seen: Pressure) -> Option<u32> {
    woken(settings).look(settings, 500 * MS, &seen)
}

fn woken(settings: &Settings) -> Memory {
    let mut memory = Memory::default();
    assert_eq!(memory.look(settings, 0, &CALM), None);
    memory
}

/// Before Android 15: low memory alone kills nobody.
fn old() -> Settings {
    Settings { lowmem_min_oom_score: NOBODY, ..Settings::of(&ENTRY.defaults().params) }
}

#[test]
fn it_looks_at_stalls_alone() {
    assert_eq!(look(&Settings::of(&ENTRY.defaults().params), Pressure { stall_ms: 69, swap_free_kb: 0, ..LOW }), None);
    assert_eq!(look(&Settings::of(&ENTRY.defaults().params), Pressure { stall_ms: 700, ..CALM }), Some(1), "not responding");
}

#[test]
fn low_memory_takes_what_is_less_than_the_previous_app() {
    assert_eq!((look(&Settings::of(&ENTRY.defaults().params), LOW), look(&old(), LOW)), (Some(701), None));
    assert_eq!(
        look(&Settings::of(&ENTRY.defaults().params), Pressure { watermark: Watermark::High, ..CALM }),
        None,
        "lmkd means the low watermark"
    );
}

#[test]
fn low_memory_and_swap() {
    let swap = |swap_free_kb, seen| look(&old(), Pressure { swap_free_kb, ..seen });
    assert_eq!((swap(10_000, LOW), swap(9_999, LOW), swap(9_999, CALM)), (None, Some(201), None));
    assert_eq!(swap(9_999, Pressure { watermark: Watermark::Min, ..CALM }), Some(1), "below the minimum perceptible apps go, too");
    assert_eq!(look(&Settings { swap_free_low_percentage: 0, ..old() }, Pressure { swap_free_kb: 0, ..LOW }), None);
}

#[test]
fn free_swap_is_no_more_than_memory_allows() {
    // 4,000 + 5,000 kB are easily available, less than 10 % of the swap; at a ratio of 2 they stand
    // for 18,000.
    let seen = Pressure { free_kb: 4_000, file_kb: 5_000, ..LOW };
    let by = |swap_compression_ratio| look(&Settings { swap_compression_ratio, ..old() }, seen);
    assert_eq!([1, 2, 0].map(by), [Some(201), None, None]);
}

#[test]
fn swap_utilization() {
    // 40,000 kB swapped of 60,000 + 40,000: 40 %.
    let seen = Pressure { swap_free_kb: 60_000, ..LOW };
    let by = |swap_util_max| look(&Settings { swap_util_max, ..old() }, seen);
    assert_eq!([39, 40, 100].map(by), [Some(1), None, None]);
}

#[test]
fn thrashing_with_low_memory_swap_or_in_direct_reclaim() {
    // 101 % of 100,004 kB are 101,005 kB.
    let thrashing = |file_refaults_kb, seen| look(&old(), Pressure { file_refaults_kb, ..seen });
    assert_eq!((thrashing(101_000, LOW), thrashing(101_005, LOW), thrashing(101_005, CALM)), (None, Some(201), None));
    assert_eq!(thrashing(101_005, Pressure { swap_free_kb: 9_999, ..CALM }), Some(201));
    assert_eq!(thrashing(101_005, Pressure { scanned: DIRECT, ..CALM }), Some(201));
    assert_eq!(thrashing(300_012, LOW), Some(1), "three times the limit is critical");
    let critical = Settings { thrashing_limit_critical: 150, ..old() };
    assert_eq!(look(&critical, Pressure { file_refaults_kb: 150_006, ..LOW }), Some(1));
}

/// A direct reclaim that lasts for longer than the threshold kills any app, even if nothing was
/// scanned since the last check and memory is not low. The rules before it come first.
#[test]
fn stuck_in_direct_reclaim() {
    let stuck = Settings { direct_reclaim_threshold_ms: 50, ..old() };
    let seen = |direct_reclaim_ms| Pressure { direct_reclaim_ms, scanned: Some(Scanned::default()), ..CALM };
    assert_eq!([0, 50, 51].map(|ms| look(&stuck, seen(ms))), [None, None, Some(1)]);
    assert_eq!(look(&old(), seen(500)), None, "0, the default, is no threshold");
    assert_eq!(look(&stuck, Pressure { stall_ms: 69, ..seen(51) }), None, "only stalls wake the daemon");
    assert_eq!(look(&stuck, Pressure { file_refaults_kb: 101_005, ..seen(51) }), Some(201), "thrashing in direct reclaim");
    let reads = |text: &str| Killer::parse(text).unwrap().reads_direct_reclaim();
    assert_eq!(["lmkd", "lmkd:direct_reclaim_threshold_ms=50", "minfree"].map(reads), [false, true, false]);
}

#[test]
fn a_kill_for_thrashing_lowers_the_limit_until_a_second_passes() {
    let settings = Settings { thrashing_limit_decay: 50, ..old() };
    let at = |file_refaults_kb| Pressure { file_refaults_kb, ..LOW };
    let mut memory = woken(&settings);
    assert_eq!(memory.look(&settings, 500 * MS, &at(101_005)), Some(201));
    memory.killed(&settings);
    assert_eq!(memory.limit, 50);
    assert_eq!(memory.look(&settings, 510 * MS, &at(101_005)), None, "counted anew after a kill");
    assert_eq!(memory.look(&settings, 900 * MS, &at(101_005 + 51_003)), Some(201), "51 % are above half the limit");
    // No app was killed. The 51 % are halved over two windows to 12 %, and the limit is reset.
    assert_eq!(memory.look(&settings, 2600 * MS, &at(101_005 + 51_003)), None);
    assert_eq!((memory.carried, memory.limit), (12, 100));
}

#[test]
fn thrashing_that_found_no_victim_is_kept_for_a_window() {
    let mut memory = woken(&old());
    let seen = Pressure { file_refaults_kb: 120_005, ..LOW };
    assert_eq!(memory.look(&old(), 900 * MS, &seen), Some(201));
    assert_eq!(memory.look(&old(), 1500 * MS, &seen), Some(201), "carried over whole");
    assert_eq!(memory.look(&old(), 2600 * MS, &seen), None, "no refault in the window before");
    // What reached the limit is carried over whole, what did not is halved.
    for (file_refaults_kb, carried) in [(100_004, 100), (99_004, 49)] {
        let mut memory = woken(&old());
        memory.look(&old(), 1500 * MS, &Pressure { file_refaults_kb, ..LOW });
        assert_eq!(memory.carried, carried);
    }
}

#[test]
fn after_thrashing_the_file_cache_is_to_grow() {
    let settings = Settings { filecache_min_kb: 150_000, ..old() };
    let mut memory = woken(&settings);
    assert_eq!(look(&settings, CALM), None, "only after thrashing");
    assert_eq!(memory.look(&settings, 500 * MS, &Pressure { file_refaults_kb: 101_005, ..LOW }), Some(201));
    memory.killed(&settings);
    let grown = |file_kb| Pressure { file_kb, stall_ms: 0, file_refaults_kb: 101_005, ..CALM };
    assert_eq!(memory.look(&settings, 510 * MS, &grown(149_999)), Some(201), "a kill is followed by a look");
    memory.killed(&settings);
    assert_eq!(memory.look(&settings, 520 * MS, &grown(150_000)), None);
    assert!(!memory.checks_file_cache);
}

#[test]
fn a_kill_that_was_not_enough() {
    let settings = Settings { pressure_after_kill_min_score: 600, ..old() };
    let mut memory = woken(&settings);
    memory.killed(&settings);
    assert_eq!(memory.look(&settings, 500 * MS, &Pressure { watermark: Watermark::Min, stall_ms: 0, ..CALM }), Some(600));
    memory.killed(&settings);
    assert_eq!(memory.look(&settings, 510 * MS, &Pressure { stall_ms: 0, ..LOW }), None);
    // A kill wakes the daemon without any stall.
    let mut killer = Killer::parse("lmkd").unwrap();
    assert!(!killer.is_awake(0));
    killer.killed();
    assert!(killer.is_awake(0));
}

#[test]
fn low_memory_by_a_level_in_a_control_group() {
    let settings = Settings::of(&ENTRY.defaults().params).by_level(500);
    let from = |free_kb, file_kb, swap_free_kb| look(&settings, Pressure { free_kb, file_kb, swap_free_kb, ..CALM });
    assert_eq!((from(200, 299, 0), from(200, 300, 0), from(200, 299, 100_000)), (Some(201), None, None));
}

#[test]
fn where_all_tasks_stall_any_app_may_be_killed() {
    let settings = Settings { stall_limit_critical: 40, ..Settings::of(&ENTRY.defaults().params) };
    let at = |full_avg10, seen| look(&settings, Pressure { full_avg10, ..seen });
    assert_eq!((at(40.0, LOW), at(40.1, LOW)), (Some(701), Some(1)));
    assert_eq!(at(99.0, CALM), None, "it is no reason to kill by itself");
    let nobody = Settings { stall_limit_critical: 40, ..old() };
    assert_eq!(look(&nobody, Pressure { full_avg10: 99.0, ..LOW }), None, "low memory alone kills no app there");
    let reads_average = |text: &str| Killer::parse(text).unwrap().reads_average();
    assert_eq!(["lmkd", "lmkd:stall_limit_critical=40"].map(reads_average), [false, true]);
}

#[test]
fn as_a_user_writes_it() {
    let killer = Killer::parse("lmkd:thrashing_limit=30,poll_ms=5").unwrap();
    assert_eq!((killer.spread, killer.poll_ms), (AdjSpread::ByAge, 5.0));
    let error = KILLERS.parse("lmkd:psi_partial_stall=3").unwrap_err().to_string();
    assert_eq!(error, "lmkd: unknown parameter 'psi_partial_stall'; expected 'psi_partial_stall_ms' (did you mean that?)");
}

#[test]
fn a_control_group_has_a_share_in_place_of_the_watermark() {
    let level = |text: &str| Killer::parse(text).unwrap().in_group(100_000).low_memory_kb();
    assert_eq!((level("lmkd"), level("lmkd:min_free_percentage=2.5"), level("lmkd:low_memory_kb=700")), (6000, 2500, 700));
    assert_eq!(Killer::parse("lmkd").unwrap().in_group(1).low_memory_kb(), 1, "0 would be the watermark");
    let level = |text: &str| Killer::parse(text).unwrap().on_machine(100_000).low_memory_kb();
    assert_eq!((level("lmkd"), level("lmkd:min_free_percentage=5"), level("lmkd:min_free_percentage=5,low_memory_kb=7")), (0, 5000, 7));
}

#[test]
fn a_model_of_a_group_has_no_stalls() {
    let killer = Killer::parse("lmkd:min_free_percentage=10").unwrap();
    let seen = |free_kb, file_kb| Pressure { free_kb, file_kb, stall_ms: 0, ..CALM };
    let mut swaps = killer.clone().in_model_of_group(1000, 50, true);
    let mut swap_is_full = |free_kb, file_kb| swaps.look(0, &Pressure { swap_free_kb: 0, ..seen(free_kb, file_kb) });
    assert_eq!((swap_is_full(100, 49), swap_is_full(100, 50)), (Some(201), None));
    let mut none = killer.in_model_of_group(1000, 50, false);
    assert_eq!([(99, 99), (100, 0), (0, 100)].map(|(free, file)| none.look(0, &seen(free, file))), [Some(900), None, None]);
}

#[test]
fn its_times_stretch_with_the_phones() {
    let mut slow = Killer::parse("lmkd").unwrap().slowed(3.0);
    // 70 ms of stalls a second are 210 of a phone a third as fast, and 10 ms from look to look
    // are 30.
    assert_eq!(([slow.is_awake(209), slow.is_awake(210)], slow.poll_ms, slow.is_off()), ([false, true], 30.0, false));
    assert_eq!(slow.look(0, &Pressure { stall_ms: 210, ..LOW }), Some(701));
    assert_eq!(Killer::parse("lmkd:low_memory_kb=5000").unwrap().low_memory_kb(), 5_000);
}

#[test]
fn thrashing_counts_from_above_its_limit() {
    // 100 % of 100,000 kB and a page: at the limit nobody is killed, above it someone is.
    let of = |file_refaults_kb| look(&old(), Pressure { file_refaults_kb, scanned: DIRECT, ..CALM });
    assert_eq!((of(100_004), of(101_005)), (None, Some(201)));
}

#[test]
fn nothing_is_killed_while_nobody_reclaims_and_nothing_refaults() {
    let settings = Settings::of(&ENTRY.defaults().params);
    let mut memory = Memory::default();
    let mut at = |direct, background, file_refaults_kb| {
        memory.look(&settings, 0, &Pressure { scanned: Some(Scanned { direct, background }), file_refaults_kb, ..LOW })
    };
    // Memory is low at each check. The first one sees what kswapd scanned, the third a refault, the
    // fifth a direct reclaimer.
    let found = [at(0, 32, 0), at(0, 32, 0), at(0, 32, 4), at(0, 32, 4), at(1, 32, 4), at(1, 32, 4)];
    assert_eq!(found, [Some(701), None, Some(701), None, Some(701), None]);
}

#[test]
fn with_little_swap_thrashing_counts_from_above_its_limit_too() {
    // Nobody reclaims directly and memory is not low, so only swap that is low makes thrashing
    // count: 100 % of 100,004 kB are not above the limit.
    let of = |file_refaults_kb| look(&old(), Pressure { file_refaults_kb, swap_free_kb: 9_999, ..CALM });
    assert_eq!((of(100_004), of(101_005)), (None, Some(201)));
}
