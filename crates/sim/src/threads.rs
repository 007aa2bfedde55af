//! The thread pool of a run.

use std::thread::available_parallelism;
use swaplab_vocab::{BadInput, Result};

/// Start a pool of `jobs` threads (0: one per core), capped at the number of `tasks`.
pub fn pool(jobs: usize, tasks: usize) -> Result<rayon::ThreadPool> {
    let wanted = if jobs == 0 { available_parallelism().map_or(1, usize::from) } else { jobs };
    rayon::ThreadPoolBuilder::new()
        .num_threads(wanted.min(tasks).max(1))
        .build()
        .map_err(|e| BadInput::new("jobs", e.to_string(), "threads that this machine can start"))
}

#[cfg(test)]
mod tests {
    use super::pool;

    #[test]
    fn there_are_no_more_threads_than_tasks() {
        for (jobs, tasks, threads) in [(3, 2, 2), (2, 3, 2), (1_000_000, 1, 1), (4, 0, 1)] {
            assert_eq!(pool(jobs, tasks).unwrap().current_num_threads(), threads);
        }
        assert!(pool(0, 1 << 20).unwrap().current_num_threads() >= 1);
    }
}
