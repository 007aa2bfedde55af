//! Cases worked by hand of large folios of four pages.

use super::by_hand::{start, with_layout};
use super::small::{check, design};
use crate::phone::machine::folios::FolioCounts;
use crate::phone::machine::record::Reason;
use crate::phone::machine::Machine;
use crate::phone::user::layout::{AppPages, Layout, NO_PAGES};
use swaplab_policy::bits;
use swaplab_swap::Algorithm;
use swaplab_vocab::{Class, Op, PageId};

/// Apps 0 and 1 with a folio of four pages each, and app 2 with the pages from 8 to 20, on a phone
/// with so many frames.
fn phone(frames: usize, swap: &str) -> Machine {
    let app = |anon: std::ops::Range<PageId>| AppPages {
        hot_end: anon.end,
        warm_end: anon.end,
        file: 20..20,
        file_hot_end: 20,
        anon,
        ..NO_PAGES
    };
    let layout = Layout {
        apps: vec![app(0..4), app(4..8), app(8..20)],
        page_bytes: 4096,
        system: app(20..20),
        shared: Vec::new(),
        owners: [vec![0; 4], vec![1; 4], vec![2; 12]].concat(),
        classes: vec![Class::Anonymous; 20],
    };
    with_layout(&design("s", swap, "none"), &[], layout, &|phone, _| {
        (phone.frames, phone.pool_in_dram, phone.folio_pages) = (frames, false, 4);
    })
}

/// The pages in memory, and those whose content is in swap alone.
fn places(phone: &Machine) -> (Vec<PageId>, Vec<PageId>) {
    let with = |wanted: u8| (0..20).filter(|page| phone.frames.pages.bits(*page) & (bits::RESIDENT | bits::SLOT) == wanted).collect();
    (with(bits::RESIDENT), with(bits::SLOT))
}

#[test]
fn a_folio_moves_as_one() {
    let mut phone = phone(8, "zram");
    let counts = |phone: &Machine| (phone.frames.folios.counts, phone.counts.faults);
    // The first touch of page 0 allocates pages 0 to 3. Then four frames are free, and a folio
    // would leave none: pages 4 to 7 fault one by one.
    start(&mut phone, 0, Op::Write);
    start(&mut phone, 1, Op::Write);
    let mut expected = FolioCounts { allocated: 1, allocation_fallbacks: 1, ..FolioCounts::default() };
    assert_eq!(counts(&phone), (expected, 1 + 4));
    // Page 8 needs a frame. Page 0 is the victim, and its folio is evicted with it.
    phone.apps.launcher.launch(2);
    phone.touch(8, Op::Write);
    (expected.swapped_out, expected.allocation_fallbacks) = (1, 2);
    assert_eq!((counts(&phone), places(&phone)), ((expected, 6), (vec![4, 5, 6, 7, 8], vec![0, 1, 2, 3])));
    check(&phone).unwrap();
    // App 1 ends, so that seven frames are free: page 0 brings in its folio by one fault. All four
    // pages are decompressed; the rest of a swap-in is done once.
    phone.deaths().kill(1, Reason::LowMemory);
    phone.apps.launcher.launch(0);
    phone.clock.take_stalls();
    phone.touch(0, Op::Read);
    expected.swapped_in = 1;
    assert_eq!((counts(&phone), places(&phone)), ((expected, 7), (vec![0, 1, 2, 3, 8], vec![])));
    let (stalls, cpu) = (phone.clock.take_stalls(), phone.prices.processor());
    let expected_ns = (cpu.fault.0 + cpu.swap_in.0, 4 * cpu.decompress[Algorithm::Lz4 as usize].0);
    assert_eq!((stalls.fault_cpu_ns, stalls.decompress_ns, phone.swap.side.moves.copied_pages), (expected_ns.0, expected_ns.1, 4));
    check(&phone).unwrap();
    // Page 1 is used. When the folio is evicted again, pages 2 and 3 were read for nothing.
    phone.touch(1, Op::Read);
    (9..13).for_each(|page| phone.touch(page, Op::Write));
    let seen = counts(&phone).0;
    assert_eq!((seen.swapped_out, seen.unused_pages, places(&phone).1), (2, 2, vec![0, 1, 2, 3, 8]));
    check(&phone).unwrap();
}

/// A swap area of six slots has one aligned run of four. The second folio is split: two of its
/// pages find a slot, and the others stay.
#[test]
fn a_folio_without_adjacent_slots_is_split() {
    let mut phone = phone(12, "zram:size=6p");
    start(&mut phone, 0, Op::Write);
    start(&mut phone, 1, Op::Write);
    assert_eq!(phone.frames.folios.counts.allocated, 2);
    phone.apps.launcher.launch(2);
    (8..17).for_each(|page| phone.touch(page, Op::Write));
    let counts = phone.frames.folios.counts;
    assert_eq!((counts.swapped_out, counts.swap_out_fallbacks, phone.swap.used()), (1, 1, 6));
    assert_eq!(places(&phone).0.len(), 11);
    check(&phone).unwrap();
}

/// A use of any page counts for its folio: a second chance for page 0 is one for its folio, too.
#[test]
fn a_use_of_one_page_counts_for_its_folio() {
    let victims = |used: PageId| {
        let mut phone = phone(8, "zram");
        super::small::use_policy(&mut phone, "lru", 8);
        start(&mut phone, 0, Op::Write);
        start(&mut phone, 1, Op::Write);
        phone.touch(used, Op::Read);
        phone.apps.launcher.launch(2);
        phone.touch(8, Op::Write);
        places(&phone).1
    };
    // Pages 0 to 3 are a folio, pages 4 to 7 are not.
    assert_eq!((victims(7), victims(3)), (vec![0, 1, 2, 3], vec![4]));
}
