//! The launches of a trace, and the reuse distances between launches of the same app (Kim et al.
//! 2017, Section 4.2 and Table 1).

use crate::slt::Trace;
use crate::Mark;
use serde::Serialize;
use swaplab_vocab::{AppId, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Since the start of the trace.
    pub at_ns: u64,
    pub app: AppId,
    pub foreground_ns: u64,
}

/// Every launch in `trace`, in order.
pub fn read(trace: &Trace) -> Result<Vec<Launch>> {
    let (mut launches, mut at_ns) = (Vec::new(), 0);
    trace.for_each_block(&mut |_, _| true, |block| {
        for (_, mark) in &block.marks {
            match mark {
                Mark::Time { ns } => at_ns = *ns,
                Mark::Launch { app, foreground_ns } => launches.push(Launch { at_ns, app: *app, foreground_ns: *foreground_ns }),
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(launches)
}

/// Reuse distances of apps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reuse {
    /// Mean number of launches of other apps between two successive launches of an app.
    pub average_launch_distance: Option<f64>,
    /// Mean number of distinct other apps between two successive launches of an app, as in Table 1
    /// of A2S.
    pub average_stack_distance: Option<f64>,
    pub unique_apps: Option<u64>,
    /// Number of cold starts if the `n` most recently used apps stay alive, by `n` from 0: the miss
    /// curve of launches.
    pub cold_starts_by_live_apps: Vec<u64>,
}

/// The reuse distances of a sequence of launches.
pub fn reuse(apps: impl Iterator<Item = AppId>) -> Reuse {
    // Apps in order of their last launch, latest last, each with the index of that launch.
    let mut recent: Vec<(AppId, u64)> = Vec::new();
    let (mut distances, mut stack, mut pairs, mut launches) = (0u64, 0u64, 0u64, 0u64);
    // Number of launches by stack distance.
    let mut hits: Vec<u64> = Vec::new();
    for app in apps {
        if let Some(at) = recent.iter().rposition(|(a, _)| *a == app) {
            let since = recent.len() - 1 - at;
            stack += since as u64;
            hits.resize(hits.len().max(since + 1), 0);
            hits[since] += 1;
            distances += launches - recent[at].1 - 1;
            pairs += 1;
            recent.remove(at);
        }
        recent.push((app, launches));
        launches += 1;
    }
    let mean = |sum: u64| (pairs > 0).then(|| sum as f64 / pairs as f64);
    Reuse {
        average_launch_distance: mean(distances),
        average_stack_distance: mean(stack),
        unique_apps: (launches > 0).then_some(recent.len() as u64),
        cold_starts_by_live_apps: cold_starts(launches, &hits, recent.len()),
    }
}

/// The miss curve: `launches` minus the hits at each distance up to `apps`. Empty if there is no
/// launch.
fn cold_starts(launches: u64, hits: &[u64], apps: usize) -> Vec<u64> {
    let mut left = launches;
    let alive = (0..apps).map(|at| {
        left -= hits.get(at).copied().unwrap_or(0);
        left
    });
    std::iter::once(launches).filter(|all| *all > 0).chain(alive).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_by_hand() {
        // a b c b a: b comes back over c; a over b, c, b, which are two distinct apps. a a: no
        // distance.
        let distances = reuse([0, 1, 2, 1, 0, 0].into_iter());
        assert_eq!(distances.average_launch_distance, Some((1.0 + 3.0 + 0.0) / 3.0));
        assert_eq!(distances.average_stack_distance, Some((1.0 + 2.0 + 0.0) / 3.0));
        assert_eq!(distances.unique_apps, Some(3));
        // One app alive serves the last launch, two b's second, three the second of a; the first of
        // each is always cold.
        assert_eq!(distances.cold_starts_by_live_apps, [6, 5, 4, 3]);
        assert_eq!(reuse(std::iter::empty()), Reuse::default());
        assert_eq!(reuse([4, 5].into_iter()).average_stack_distance, None);
    }
}
