//! The threads of a run.

use std::thread::available_parallelism;
use swaplab_vocab::{BadInput, Result};

/// `jobs` threads (0: one a core), but no more than there are pieces of work for.
pub fn pool(jobs: usize, pieces: usize) -> Result<rayon::ThreadPool> {
    let wanted = if jobs == 0 { available_parallelism().map_or(1, usize::from) } else { jobs };
    rayon::ThreadPoolBuilder::new()
        .num_threads(wanted.min(pieces).max(1))
        .build()
        .map_err(|e| BadInput::new("jobs", e.to_string(), "threads that this machine can start"))
}

#[cfg(test)]
mod tests {
    use super::pool;

    #[test]
    fn no_thread_without_work() {
        for (jobs, pieces, threads) in [(3, 2, 2), (2, 3, 2), (1_000_000, 1, 1), (4, 0, 1)] {
            assert_eq!(pool(jobs, pieces).unwrap().current_num_threads(), threads);
        }
        assert!(pool(0, 1 << 20).unwrap().current_num_threads() >= 1);
    }
}
