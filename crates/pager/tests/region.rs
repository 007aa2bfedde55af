//! Checks that a region much larger than its budget keeps its content. If the kernel lacks a
//! requirement of the pager, the test prints the reason and passes.

use swaplab_pager::record::{self, EventKind};
use swaplab_pager::{medium::Medium, parse_scheme, probe, Config, Place, Region, FLASH_DIRECTORY};

const MIB: usize = 1 << 20;

/// A budget and a range in bytes, with a policy whose order does not depend on uses.
fn config(scheme: &str, budget_bytes: usize, range_bytes: usize) -> Config {
    Config {
        budget_bytes,
        scheme: parse_scheme(scheme).unwrap(),
        policy: swaplab_policy::PolicySpec::parse("fifo").unwrap(),
        place: Place::Memory,
        flash: FLASH_DIRECTORY.into(),
        medium: Medium::default(),
        range_bytes,
        store_bytes: None,
        record: None,
        protect: true,
        started: |_| (),
        child_stats: None,
    }
}

/// With a region of 16 units and 4 units of DRAM: write a unique number to every page, change some
/// pages, read all.
fn round_trip(scheme: &str, unit: usize) {
    if let Err(missing) = probe() {
        eprintln!("skipped: {missing}");
        return;
    }
    let mut region = Region::new(16 * unit, 4 * unit, scheme, "fifo").unwrap();
    for (i, page) in region.as_mut_slice().chunks_mut(4096).enumerate() {
        page[..8].copy_from_slice(&(i as u64 + 1).to_le_bytes());
        page[4095] = 1;
    }
    let stats = region.stats();
    let read = |name: &str| stats.read().iter().find(|(n, _)| *n == name).unwrap().1;
    let pages = |units: usize| (units * unit / 4096) as u64;
    assert!(read("swap_outs") >= pages(12), "{:?}", stats.read());
    assert!(read("dram_bytes") <= 4 * unit as u64, "{:?}", stats.read());
    for page in region.as_mut_slice().chunks_mut(4096).skip(1).step_by(7) {
        page[4095] = 2;
    }
    for (i, page) in region.as_slice().chunks(4096).enumerate() {
        assert_eq!(u64::from_le_bytes(page[..8].try_into().unwrap()), i as u64 + 1);
        assert_eq!(page[4095], if i % 7 == 1 { 2 } else { 1 }, "page {i}");
    }
    let stats = region.stats();
    let read = |name: &str| stats.read().iter().find(|(n, _)| *n == name).unwrap().1;
    if scheme == "nvm-direct" {
        assert!(read("direct_reads") > pages(8) && read("copied_pages") < pages(4), "{:?}", stats.read());
    } else {
        assert!(read("direct_reads") == 0 && read("copied_pages") > pages(8), "{:?}", stats.read());
    }
}

#[test]
fn a_region_with_a_direct_store_keeps_its_content() {
    round_trip("nvm-direct", MIB);
}

#[test]
fn regions_with_copying_stores_keep_their_content() {
    for scheme in ["nvm-copy", "zram", "zram:algorithm=zstd"] {
        round_trip(scheme, MIB);
    }
    for scheme in ["flash", "nvm-cache:nvm=1MiB", "nvm-cache:nvm=1MiB,replacement=lfu"] {
        round_trip(scheme, MIB / 2);
    }
}

/// Every page that was written and is not in DRAM was evicted since its last write, also at its
/// second eviction, which is another path of the direct store than its first. The record has every
/// eviction that is counted.
#[test]
fn evictions_are_counted_page_by_page() {
    if let Err(missing) = probe() {
        eprintln!("skipped: {missing}");
        return;
    }
    let (pages, budget) = (16 * MIB / 4096, 4 * MIB / 4096);
    for scheme in ["nvm-direct", "nvm-copy"] {
        let record = std::env::temp_dir().join(format!("swaplab-evictions-{}-{scheme}", std::process::id()));
        let mut region = Region::with(16 * MIB, Config { record: Some(record.clone()), ..config(scheme, 4 * MIB, 16 * MIB) }).unwrap();
        let mut outs = 0;
        for pass in 1..=3 {
            region.as_mut_slice().chunks_mut(4096).for_each(|page| page[7] = pass as u8);
            outs = region.stats().read().iter().find(|(name, _)| *name == "swap_outs").unwrap().1 as usize;
            // A pass finds at most the budget in DRAM, and leaves at most the budget there.
            assert!(outs >= pass * pages - (2 * pass - 1) * budget, "{scheme}: {outs} evictions in {pass} passes");
            assert!(outs <= pass * pages + budget, "{scheme}: {outs} evictions in {pass} passes");
        }
        drop(region);
        let bytes = std::fs::read(&record).unwrap();
        std::fs::remove_file(record).unwrap();
        let evicted = |(what, _, count): (EventKind, u64, u64)| if what == EventKind::Evict { count as usize } else { 0 };
        let recorded: usize = record::read(&bytes).map(evicted).sum();
        assert!((outs..=outs + budget).contains(&recorded), "{scheme}: {recorded} evictions recorded, {outs} counted");
    }
}

/// Two threads write to pages of their own while these are evicted, and find what they wrote last.
#[test]
fn writes_during_evictions_are_kept() {
    if let Err(missing) = probe() {
        eprintln!("skipped: {missing}");
        return;
    }
    for scheme in ["nvm-direct", "nvm-copy"] {
        let mut region = Region::new(8 * MIB, 2 * MIB, scheme, "fifo").unwrap();
        std::thread::scope(|scope| {
            for half in region.as_mut_slice().chunks_mut(4 * MIB) {
                scope.spawn(move || {
                    let mut written = vec![0; 4 * MIB / 4096];
                    let mut seed = 88_172_645_463_325_252u64;
                    for _ in 0..20_000 {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        let page = seed as usize % written.len();
                        let word = &mut half[page * 4096..page * 4096 + 8];
                        assert_eq!(u64::from_le_bytes((&*word).try_into().unwrap()), written[page], "{scheme}: page {page}");
                        word.copy_from_slice(&seed.to_le_bytes());
                        written[page] = seed;
                    }
                });
            }
        });
        let outs = region.stats().read().iter().find(|(name, _)| *name == "swap_outs").unwrap().1;
        assert!(outs > 8_000, "{scheme}: {outs} evictions");
    }
}

/// What a store cannot take stays in DRAM.
#[test]
fn a_full_store_is_counted_and_loses_nothing() {
    if let Err(missing) = probe() {
        eprintln!("skipped: {missing}");
        return;
    }
    for (store_bytes, is_full) in [(2 * MIB, true), (16 * MIB, false)] {
        let config = Config { store_bytes: Some(store_bytes), ..config("nvm-direct", 2 * MIB, 8 * MIB) };
        let mut region = Region::with(8 * MIB, config).unwrap();
        for (i, page) in region.as_mut_slice().chunks_mut(4096).enumerate() {
            page[..8].copy_from_slice(&(i as u64 + 1).to_le_bytes());
        }
        assert!(region.as_slice().chunks(4096).enumerate().all(|(i, page)| page[..8] == (i as u64 + 1).to_le_bytes()));
        let stats = region.stats().read();
        let read = |name: &str| stats.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(read("store_full") > 0, is_full, "{stats:?}");
        assert!(read("nvm_bytes") <= store_bytes as u64 && (read("dram_bytes") > 2 * MIB as u64) == is_full, "{stats:?}");
    }
}
