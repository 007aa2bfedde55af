//! Launches of a design's runs: counts, delays with their intervals, and classes of user
//! experience.

use super::finished_run::FinishedRun;
use super::interval::pooled;
use super::quantiles::{mean, quantile};
use crate::phone::machine::record::{LaunchRow, Reason};
use swaplab_apps::Start;
use swaplab_experiment::document::{Classes, LaunchFigures, Spread, StartSpread};

/// Upper bounds of Tolia's classes in ms (A2S, Section 5.4). A delay above the last one is
/// unusable.
const BOUNDS_MS: [f64; 4] = [150.0, 1000.0, 2000.0, 5000.0];

/// Compute the figures of launches. Counts are means over the runs. Delays are of all launches; if
/// runs are users (`users`), they have intervals clustered by user.
pub fn figures(runs: &[FinishedRun], users: bool) -> LaunchFigures {
    let each = |count: &dyn Fn(&FinishedRun) -> u64| mean(runs.iter().map(|run| count(run) as f64));
    let kills = |reason: Reason| each(&|run| run.record.kills.iter().filter(|kill| kill.reason == reason).count() as u64);
    let of_start = |start: Start| delays(runs, |l| (l.start == start).then(|| l.ready_ns()));
    let all = delays(runs, |l| Some(l.ready_ns()));
    LaunchFigures {
        count: each(&|run| run.record.launches.len() as u64),
        cold: each(&|run| run.starts(Start::Cold)),
        resumes: each(&|run| run.starts(Start::Resume)),
        kills: each(&|run| run.record.kills.len() as u64),
        kill_reasons: Reason::ALL.into_iter().map(|reason| (reason.name().to_string(), kills(reason))).collect(),
        ux: classes(&all.concat(), runs.len()),
        delay_ms: spread(&all, users),
        cold_ms: spread(&of_start(Start::Cold), users),
        resume_ms: spread(&of_start(Start::Resume), users),
        stall_ms: spread(&delays(runs, |l| Some(l.stalls.total_ns())), users),
    }
}

/// By run, the times in ms of the launches for which `of` gives a time in ns.
fn delays(runs: &[FinishedRun], of: impl Fn(&LaunchRow) -> Option<u64>) -> Vec<Vec<f64>> {
    runs.iter().map(|run| run.record.launches.iter().filter_map(&of).map(|ns| ns as f64 / 1e6).collect()).collect()
}

/// Launch times in ms of the `wanted` launches of all runs, in ascending order.
pub fn sorted_ms(runs: &[FinishedRun], wanted: impl Fn(&LaunchRow) -> bool) -> Vec<f64> {
    let mut all = delays(runs, |l| wanted(l).then(|| l.ready_ns())).concat();
    all.sort_by(f64::total_cmp);
    all
}

/// Mean and percentiles (nearest rank) of all values. `None` if there are none.
pub fn spread(by_user: &[Vec<f64>], users: bool) -> Option<Spread> {
    let mut values = by_user.concat();
    values.sort_by(f64::total_cmp);
    let [mean_interval, p50_interval, p95_interval] = pooled(by_user).filter(|_| users).map_or([None; 3], |bounds| bounds.map(Some));
    Some(Spread {
        n: values.len() as u64,
        mean: mean(values.iter().copied()),
        p50: quantile(&values, 0.5)?,
        p95: quantile(&values, 0.95)?,
        mean_interval,
        p50_interval,
        p95_interval,
    })
}

/// Number per run and percentiles of the `sorted` times of an app's starts. `None` if there are
/// none.
pub fn start_spread(sorted: &[f64], runs: usize) -> Option<StartSpread> {
    Some(StartSpread { n: sorted.len() as f64 / runs as f64, p50: quantile(sorted, 0.5)?, p95: quantile(sorted, 0.95)? })
}

/// Number of launches in each class, as a mean over the runs.
fn classes(times: &[f64], runs: usize) -> Classes {
    let mut counts = [0u64; 5];
    for time in times {
        counts[BOUNDS_MS.iter().position(|upto| time <= upto).unwrap_or(BOUNDS_MS.len())] += 1;
    }
    let [crisp, noticeable, annoying, unacceptable, unusable] = counts.map(|count| count as f64 / runs as f64);
    Classes { crisp, noticeable, annoying, unacceptable, unusable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_and_classes_by_hand() {
        let users = [vec![100.0, 300.0], vec![200.0]];
        let of = spread(&users, false).unwrap();
        assert_eq!((of.n, of.mean, of.p50, of.p95, of.mean_interval), (3, 200.0, 200.0, 300.0, None));
        assert!(spread(&users, true).unwrap().mean_interval.is_some());
        assert_eq!((spread(&[vec![]], true), start_spread(&[], 2)), (None, None));
        let counts = classes(&[150.0, 151.0, 2000.0, 4000.0, 5001.0, 9000.0], 2);
        assert_eq!(counts, Classes { crisp: 0.5, noticeable: 0.5, annoying: 0.5, unacceptable: 0.5, unusable: 1.0 });
    }
}
