//! Writes and reads 64 MiB of numbers with 16 MiB of DRAM, and prints what the pager did.

use std::sync::atomic::Ordering;
use swaplab_pager::Region;

const MIB: usize = 1 << 20;

fn main() {
    let mut region = match Region::new(64 * MIB, 16 * MIB, "nvm-direct", "refault") {
        Ok(region) => region,
        Err(missing) => {
            eprintln!("region: {missing}");
            std::process::exit(3);
        }
    };
    for (i, number) in region.as_mut_slice().chunks_exact_mut(8).enumerate() {
        number.copy_from_slice(&(i as u64).to_ne_bytes());
    }
    let sum: u64 = region.as_slice().chunks_exact(8).map(|n| u64::from_ne_bytes(n.try_into().expect("eight bytes"))).sum();
    let (n, stats) = (64 * MIB as u64 / 8, region.stats());
    let word = |condition: bool, yes: &'static str, no: &'static str| if condition { yes } else { no };
    println!(
        "sum {}, {}, {}",
        word(sum == n * (n - 1) / 2, "right", "wrong"),
        word(stats.swap_outs.load(Ordering::Relaxed) > 10000, "swapped out", "nothing swapped out"),
        word(stats.direct_reads.load(Ordering::Relaxed) > 10000, "read in place", "nothing read in place"),
    );
}
