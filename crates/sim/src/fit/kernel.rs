//! The memory that the kernel of a recorded phone uses, from the machine's counters.

use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_trace::series::{Event, Row};
use swaplab_trace::Counter;

/// Memory that is neither free nor of processes nor page cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelMemory {
    /// Memory that the kernel uses while nothing is swapped out, in MiB.
    pub mib: f64,
    /// Additional bytes that it uses for each byte in swap: zRAM's pool; 0 for a swap device.
    pub pool_share: f64,
}

/// The counters of a sample. The kernel's memory is `MemTotal` less the next four; the last two are
/// size and free size of the swap area.
const COUNTERS: [Counter; 7] =
    [Counter::MemTotal, Counter::MemFree, Counter::Buffers, Counter::Cached, Counter::AnonPages, Counter::SwapTotal, Counter::SwapFree];

/// Fit the kernel's memory as a linear function of the memory in swap, by least squares over the
/// samples that have every counter. `None` if there is no such sample.
pub fn kernel_memory(rows: &[Row]) -> Option<KernelMemory> {
    let mut samples: BTreeMap<u64, [Option<i64>; COUNTERS.len()]> = BTreeMap::new();
    for row in rows {
        if let Event::Sample(counter, value) = row.event {
            if let Some(at) = COUNTERS.iter().position(|of| *of == counter) {
                samples.entry(row.at_ns).or_default()[at] = Some(value);
            }
        }
    }
    let points: Vec<(f64, f64)> = samples.values().filter_map(point).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (swapped, used) = (mean(|point| point.0), mean(|point| point.1));
    let variance: f64 = points.iter().map(|(x, _)| (x - swapped).powi(2)).sum();
    let covariance: f64 = points.iter().map(|(x, y)| (x - swapped) * (y - used)).sum();
    let pool_share = if variance > 0.0 { (covariance / variance).clamp(0.0, 1.0) } else { 0.0 };
    (!points.is_empty()).then(|| KernelMemory { mib: (used - pool_share * swapped).max(0.0), pool_share })
}

/// MiB in swap, and MiB that the kernel uses.
fn point(sample: &[Option<i64>; COUNTERS.len()]) -> Option<(f64, f64)> {
    let [total, free, buffers, cached, anonymous, swap, swap_free] = *sample;
    let used = total? - free? - buffers? - cached? - anonymous?;
    Some(((swap? - swap_free?) as f64 / 1024.0, used as f64 / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 1000 MiB whose kernel uses 100 MiB and 0.25 of the memory in swap.
    fn sample(at_ns: u64, swapped_mib: i64) -> Vec<Row> {
        let free = 1000 - 100 - swapped_mib / 4 - 10 - 90 - 300;
        let values = [1000, free, 10, 90, 300, 400, 400 - swapped_mib];
        let row = |(counter, mib): (&Counter, i64)| Row { at_ns, app: 0, event: Event::Sample(*counter, mib << 10) };
        COUNTERS.iter().zip(values).map(row).collect()
    }

    #[test]
    fn the_pool_is_the_part_that_grows_with_the_memory_in_swap() {
        let rows: Vec<Row> = [0, 40, 200, 120].iter().zip(1..).flat_map(|(mib, at)| sample(at, *mib)).collect();
        let kernel = kernel_memory(&rows).unwrap();
        assert!((kernel.mib - 100.0).abs() < 1e-9 && (kernel.pool_share - 0.25).abs() < 1e-9, "{kernel:?}");
        // The pool cannot be fitted to one sample.
        assert_eq!(kernel_memory(&sample(1, 40)), Some(KernelMemory { mib: 110.0, pool_share: 0.0 }));
        // A sample without all counters is ignored.
        assert_eq!(kernel_memory(&rows[..6]), None);
    }
}
