//! What the kernel takes of a recorded phone's memory, from the machine's counters.

use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_trace::series::{Event, Row};
use swaplab_trace::Counter;

/// Memory that is neither free nor a process's nor page cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelMemory {
    /// What the kernel takes while nothing is swapped out.
    pub mib: f64,
    /// What it takes more for each byte in swap: zram's pool, none of a swap device's.
    pub pool_share: f64,
}

/// All that one sample needs: `MemTotal` less the next four is what the kernel takes; the last two are the swap area and what is free of it.
const COUNTERS: [Counter; 7] =
    [Counter::MemTotal, Counter::MemFree, Counter::Buffers, Counter::Cached, Counter::AnonPages, Counter::SwapTotal, Counter::SwapFree];

/// The least-squares line through what the kernel takes over what is in swap, of the samples that have every counter. None without one.
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
    let (swapped, taken) = (mean(|point| point.0), mean(|point| point.1));
    let variance: f64 = points.iter().map(|(x, _)| (x - swapped).powi(2)).sum();
    let covariance: f64 = points.iter().map(|(x, y)| (x - swapped) * (y - taken)).sum();
    let pool_share = if variance > 0.0 { (covariance / variance).clamp(0.0, 1.0) } else { 0.0 };
    (!points.is_empty()).then(|| KernelMemory { mib: (taken - pool_share * swapped).max(0.0), pool_share })
}

/// MiB in swap, and MiB that the kernel takes.
fn point(sample: &[Option<i64>; COUNTERS.len()]) -> Option<(f64, f64)> {
    let [total, free, buffers, cached, anonymous, swap, swap_free] = *sample;
    let taken = total? - free? - buffers? - cached? - anonymous?;
    Some(((swap? - swap_free?) as f64 / 1024.0, taken as f64 / 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 1000 MiB whose kernel takes 100 MiB and 0.25 of what is in swap.
    fn sample(at_ns: u64, swapped_mib: i64) -> Vec<Row> {
        let free = 1000 - 100 - swapped_mib / 4 - 10 - 90 - 300;
        let values = [1000, free, 10, 90, 300, 400, 400 - swapped_mib];
        let row = |(counter, mib): (&Counter, i64)| Row { at_ns, app: 0, event: Event::Sample(*counter, mib << 10) };
        COUNTERS.iter().zip(values).map(row).collect()
    }

    #[test]
    fn the_pool_is_told_from_the_rest_by_what_is_in_swap() {
        let rows: Vec<Row> = [0, 40, 200, 120].iter().zip(1..).flat_map(|(mib, at)| sample(at, *mib)).collect();
        let found = kernel_memory(&rows).unwrap();
        assert!((found.mib - 100.0).abs() < 1e-9 && (found.pool_share - 0.25).abs() < 1e-9, "{found:?}");
        // One sample says nothing of the pool.
        assert_eq!(kernel_memory(&sample(1, 40)), Some(KernelMemory { mib: 110.0, pool_share: 0.0 }));
        // A sample without all counters is none.
        assert_eq!(kernel_memory(&rows[..6]), None);
    }
}
