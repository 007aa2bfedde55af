//! Memory over time and the kills of one run, in MiB and seconds.

use super::finished_run::FinishedRun;
use crate::phone::machine::record::Sample;
use swaplab_experiment::document::{Timeline, TimelineKill};

const MIB: f64 = (1u64 << 20) as f64;

/// Convert the samples and kills of `run`. `apps` are names by id.
pub fn timeline(run: &FinishedRun, apps: &[String]) -> Timeline {
    let mib = |pages: u64| (pages * run.record.page_bytes) as f64 / MIB;
    let column = |of: &dyn Fn(&Sample) -> f64| -> Vec<f64> { run.record.timeline.iter().map(of).collect() };
    Timeline {
        seed: run.seed,
        at_s: column(&|s| s.at_ns as f64 / 1e9),
        live: column(&|s| s.live as f64),
        kernel_mib: column(&|s| mib(s.kernel)),
        graphics_mib: column(&|s| mib(s.graphics)),
        file_mib: column(&|s| mib(s.file)),
        system_mib: column(&|s| mib(s.system_anon)),
        apps_mib: column(&|s| mib(s.app_anon)),
        pool_mib: column(&|s| s.pool_bytes as f64 / MIB),
        free_mib: column(&|s| mib(s.free)),
        swap_mib: column(&|s| mib(s.swap)),
        kills: run
            .record
            .kills
            .iter()
            .map(|kill| TimelineKill {
                at_s: kill.at_ns as f64 / 1e9,
                app: apps[usize::from(kill.app)].clone(),
                adjustment: kill.adjustment,
                reason: kill.reason.name().into(),
                freed_mib: mib(kill.frames),
            })
            .collect(),
    }
}
