//! A region under pressure is still plain memory. Where the kernel lacks what the pager needs, the reason is printed and
//! nothing is tested.

use swaplab_pager::{probe, Region};

const MIB: usize = 1 << 20;

/// Write a number of its own to every page of 16 units with 4 units of DRAM, change some, read all.
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
    let now = region.stats();
    let read = |name: &str| now.read().iter().find(|(n, _)| *n == name).unwrap().1;
    let pages = |units: usize| (units * unit / 4096) as u64;
    assert!(read("swap_outs") >= pages(12), "{:?}", now.read());
    assert!(read("dram_bytes") <= 4 * unit as u64, "{:?}", now.read());
    for page in region.as_mut_slice().chunks_mut(4096).skip(1).step_by(7) {
        page[4095] = 2;
    }
    for (i, page) in region.as_slice().chunks(4096).enumerate() {
        assert_eq!(u64::from_le_bytes(page[..8].try_into().unwrap()), i as u64 + 1);
        assert_eq!(page[4095], if i % 7 == 1 { 2 } else { 1 }, "page {i}");
    }
    let now = region.stats();
    let read = |name: &str| now.read().iter().find(|(n, _)| *n == name).unwrap().1;
    if scheme == "nvm-direct" {
        assert!(read("direct_reads") > pages(8) && read("copied_pages") < pages(4), "{:?}", now.read());
    } else {
        assert!(read("direct_reads") == 0 && read("copied_pages") > pages(8), "{:?}", now.read());
    }
}

#[test]
fn direct_region_holds_what_was_written() {
    round_trip("nvm-direct", MIB);
}

#[test]
fn copying_regions_hold_what_was_written() {
    for scheme in ["nvm-copy", "zram", "zram:algorithm=zstd"] {
        round_trip(scheme, MIB);
    }
    for scheme in ["flash", "nvm-cache:nvm=1MiB", "nvm-cache:nvm=1MiB,replacement=lfu"] {
        round_trip(scheme, MIB / 2);
    }
}
