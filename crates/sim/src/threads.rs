//! The thread pool of a run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread::available_parallelism;
use std::time::Duration;
use swaplab_vocab::{BadInput, Result};

/// How often the caller is asked whether to go on.
const PERIOD: Duration = Duration::from_millis(100);

/// Start a pool of `jobs` threads (0: one per core), capped at the number of `tasks`.
pub fn pool(jobs: usize, tasks: usize) -> Result<rayon::ThreadPool> {
    let wanted = if jobs == 0 { available_parallelism().map_or(1, usize::from) } else { jobs };
    rayon::ThreadPoolBuilder::new()
        .num_threads(wanted.min(tasks).max(1))
        .build()
        .map_err(|e| BadInput::new("jobs", e.to_string(), "threads that this machine can start"))
}

/// Run `work` on `pool`, and call `goes_on` on this thread meanwhile. Once it has returned false,
/// the flag that `work` has is set.
pub fn run_watched<T: Send>(pool: &rayon::ThreadPool, mut goes_on: impl FnMut() -> bool, work: impl FnOnce(&AtomicBool) -> T + Send) -> T {
    let (stop, (done, ended)) = (AtomicBool::new(false), channel::<()>());
    std::thread::scope(|scope| {
        let flag = &stop;
        let worker = scope.spawn(move || {
            let _dropped_at_the_end = done;
            pool.install(|| work(flag))
        });
        while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            if !goes_on() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_tasks() {
        for (jobs, tasks, threads) in [(3, 2, 2), (2, 3, 2), (1_000_000, 1, 1), (4, 0, 1)] {
            assert_eq!(pool(jobs, tasks).unwrap().current_num_threads(), threads);
        }
        assert!(pool(0, 1 << 20).unwrap().current_num_threads() >= 1);
    }

    #[test]
    fn work_that_would_not_end_is_stopped_and_other_work_is_not() {
        let pool = pool(1, 1).unwrap();
        let turns = run_watched(&pool, || false, |stop| (1u64..).find(|_| stop.load(Ordering::Relaxed)));
        assert!(turns > Some(1));
        assert_eq!(run_watched(&pool, || true, |stop| (7, stop.load(Ordering::Relaxed))), (7, false));
    }
}
