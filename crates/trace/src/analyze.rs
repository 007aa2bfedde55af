//! The analysis of Kim and Bahn (2019, Section II) for any trace: how accesses are distributed over
//! data.

use crate::import::partitions::SWAP;
use crate::meta::Traffic;
use crate::slt::Trace;
use crate::source::Progress;
use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_vocab::{BadInput, Result};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Analysis {
    pub accesses: u64,
    /// Distinct pages (4 KiB of data).
    pub data: u64,
    /// Share of accesses that the most accessed data take, by share of the data (Figs. 3 and 4).
    pub top_share: BTreeMap<String, f64>,
    /// The rank distribution at every percent of the data: 101 points.
    pub rank_cdf: Vec<f64>,
    /// The smallest share of the data that receives 80 % of the accesses.
    pub share_for_80_percent: f64,
    /// Share of the data that is accessed once (Fig. 6).
    pub single_access_ratio: f64,
    pub multi_access_ratio: f64,
    /// Bytes by partition; from a block trace alone.
    pub partitions: BTreeMap<String, Traffic>,
    /// Page accesses by partition.
    pub partition_accesses: BTreeMap<String, u64>,
    /// Accesses with and without swap (Fig. 5); null if the trace does not mark swap.
    pub swap: Option<SwapShare>,
    /// Address over time (Fig. 2): a sample of (access, page number, written, partition).
    pub scatter: Vec<(u64, u64, bool, u16)>,
    /// Names of the partitions (or apps) that `scatter` numbers.
    pub partition_names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwapShare {
    pub accesses: u64,
    pub other_accesses: u64,
    /// Ratio of all accesses to those that are not swap.
    pub times: f64,
}

/// Maximum number of points in the scatter.
const SCATTER: u64 = 20_000;

pub fn analyze(trace: &Trace, progress: Progress) -> Result<Analysis> {
    let table = trace.page_table()?;
    if table.is_empty() {
        return Err(BadInput::new(trace.place(), "no page or block references", "a page or block trace"));
    }
    let names: Vec<String> = trace.meta.apps.iter().map(|a| a.name.clone()).collect();
    let (mut counts, mut by_app, mut scatter) = (vec![0u64; table.len()], vec![0u64; names.len().max(1)], Vec::new());
    let stride = trace.meta.references().div_ceil(SCATTER).max(1);
    let mut number = 0u64;
    trace.for_each_block(progress, |block| {
        for access in &block.accesses {
            let page = access.page() as usize;
            counts[page] += 1;
            by_app[usize::from(table.apps[page])] += 1;
            if number % stride == 0 {
                scatter.push((number, table.numbers[page], access.is_write(), table.apps[page]));
            }
            number += 1;
        }
        Ok(())
    })?;
    let swap_app = names.iter().position(|n| n == SWAP);
    let swap = swap_app.map(|app| {
        let (accesses, other_accesses) = (by_app[app], number - by_app[app]);
        SwapShare { accesses, other_accesses, times: number as f64 / other_accesses.max(1) as f64 }
    });
    let mut analysis = spread(counts);
    analysis.partitions = trace.meta.partitions.clone();
    analysis.partition_accesses = names.iter().cloned().zip(by_app).collect();
    analysis.swap = swap;
    analysis.scatter = scatter;
    analysis.partition_names = names;
    Ok(analysis)
}

/// The distribution of accesses, from the number of accesses to each page.
fn spread(mut counts: Vec<u64>) -> Analysis {
    let (data, single) = (counts.len(), counts.iter().filter(|c| **c == 1).count());
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let mut taken = Vec::with_capacity(data + 1);
    taken.push(0u64);
    for count in &counts {
        taken.push(taken[taken.len() - 1] + count);
    }
    let all = taken[data];
    let of_top = |share: f64| taken[(share * data as f64).round() as usize] as f64 / all as f64;
    let enough = taken.partition_point(|t| (*t as f64) < 0.8 * all as f64);
    Analysis {
        accesses: all,
        data: data as u64,
        top_share: ["0.10", "0.15", "0.50"].into_iter().map(|s| (s.to_string(), of_top(s.parse().unwrap_or_default()))).collect(),
        rank_cdf: (0..=100).map(|percent| of_top(f64::from(percent) / 100.0)).collect(),
        share_for_80_percent: enough as f64 / data as f64,
        single_access_ratio: single as f64 / data as f64,
        multi_access_ratio: (data - single) as f64 / data as f64,
        ..Analysis::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_by_hand() {
        // 20 pages: one with 50 accesses, one with 31, eight with 2, ten with 1; 107 in all.
        let mut counts = vec![2; 8];
        counts.extend([50, 31]);
        counts.extend([1; 10]);
        let a = spread(counts);
        assert_eq!((a.accesses, a.data), (107, 20));
        assert_eq!(a.top_share["0.10"], 81.0 / 107.0);
        assert_eq!(a.top_share["0.15"], 83.0 / 107.0);
        assert_eq!(a.top_share["0.50"], 97.0 / 107.0);
        // 85.6 accesses are 80 %: 50 + 31 + 2 + 2 are 85, one page more is needed.
        assert_eq!(a.share_for_80_percent, 5.0 / 20.0);
        assert_eq!((a.single_access_ratio, a.multi_access_ratio), (0.5, 0.5));
        assert_eq!((a.rank_cdf[0], a.rank_cdf[100], a.rank_cdf.len()), (0.0, 1.0, 101));
    }

    #[test]
    fn a_trace_by_hand() {
        use crate::import::{import, Options};
        let folder = tempfile::tempdir().unwrap();
        let (text, slt) = (folder.path().join("t.csv"), folder.path().join("t.slt"));
        std::fs::write(&text, "page,op,app\n7,R,mail\n9,W,swap\n7,R,mail\n8,W,mail\n9,R,swap\n7,W,mail\n").unwrap();
        import(&text, &slt, crate::Codec::Zstd, &Options::default(), &mut |_, _| true).unwrap();
        let a = analyze(&Trace::open(&slt).unwrap(), &mut |_, _| true).unwrap();
        assert_eq!((a.accesses, a.data, a.single_access_ratio), (6, 3, 1.0 / 3.0));
        assert_eq!(a.partition_accesses, BTreeMap::from([("mail".to_string(), 4), ("swap".to_string(), 2)]));
        assert_eq!(a.swap, Some(SwapShare { accesses: 2, other_accesses: 4, times: 1.5 }));
        // Three of six accesses go to a third of the data; 80 % of them to two thirds.
        assert_eq!((a.rank_cdf[33], a.share_for_80_percent), (0.5, 2.0 / 3.0));
        let scatter: Vec<_> = a.scatter.iter().map(|(number, page, written, _)| (*number, *page, *written)).collect();
        assert_eq!(scatter, [(0, 7, false), (1, 9, true), (2, 7, false), (3, 8, true), (4, 9, false), (5, 7, true)]);
    }
}
