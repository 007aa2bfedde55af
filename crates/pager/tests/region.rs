//! Checks that a region much larger than its budget keeps its content. If the kernel lacks a
//! requirement of the pager, the test prints the reason and passes.

use swaplab_pager::{probe, Region};

const MIB: usize = 1 << 20;

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
