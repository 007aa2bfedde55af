//! Sequences of launches: drawn by a generator for each seed, read from a trace, or from the rounds
//! of a table.

use super::phone::nanoseconds;
use std::path::Path;
use swaplab_experiment::LaunchTable;
use swaplab_trace::import::{open, Options};
use swaplab_trace::launches::{read, Launch};
use swaplab_trace::synth::{self, LaunchSpec};
use swaplab_vocab::{AppId, BadInput, Result};

/// The launches of a user, and the apps' names by id.
#[derive(Clone)]
pub struct Sequence {
    pub launches: Vec<Launch>,
    pub apps: Vec<String>,
    /// Number of launches before the first one that is counted.
    pub warm_up: usize,
    /// Shortest time from home to the next launch; 0 if launches come at their times alone.
    pub pause_ns: u64,
}

impl Sequence {
    /// By app, its number of launches.
    pub fn launches_by_app(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = Vec::new();
        for launch in &self.launches {
            let at = usize::from(launch.app);
            counts.resize(counts.len().max(at + 1), 0);
            counts[at] += 1;
        }
        counts
    }

    /// The planned time in seconds from the first counted launch, or from the boot if all launches
    /// are counted, to the end of the last use. Figures of a run count from the end of the
    /// warm-up's last launch on, which is earlier by one pause.
    pub fn counted_seconds(&self) -> f64 {
        let from_ns = self.launches.get(self.warm_up).filter(|_| self.warm_up > 0).map_or(0, |launch| launch.at_ns);
        self.launches.last().map_or(0.0, |last| (last.at_ns + last.foreground_ns - from_ns) as f64 / 1e9)
    }
}

/// The sequence of each seed.
pub struct Sequences {
    pub each: Vec<Sequence>,
    /// Whether each seed is a different user, so that intervals over users can be given.
    pub are_users: bool,
    /// Whether launches were drawn independently by popularity, which is A2S' own assumption.
    pub independent: bool,
}

/// Time from home to the next launch of a table (assumed): long enough for all write-back to end.
/// In a guest it is `run.vm.think`.
const PAUSE_NS: u64 = 3_000_000_000;

impl Sequences {
    /// Read the trace of launches at the path `text` for all seeds, or draw from the generator
    /// `text` with each seed.
    pub fn named(text: &str, seeds: &[u64]) -> Result<Sequences> {
        let path = Path::new(text);
        if path.is_file() {
            let trace = open(path, &Options::default(), &mut |_, _| true)?;
            if trace.meta.launches == 0 {
                return Err(BadInput::new(text, "no launch in it", "a trace of launches"));
            }
            let apps = trace.meta.apps.iter().map(|app| app.name.clone()).collect();
            let sequence = Sequence { launches: read(&trace)?, apps, warm_up: 0, pause_ns: 0 };
            return Ok(Sequences { each: vec![sequence; seeds.len()], are_users: false, independent: false });
        }
        let generator = LaunchSpec::parse(text).map_err(|e| e.within("workload.launches"))?;
        let each = seeds.iter().map(|seed| draw_sequence(&generator, *seed)).collect();
        Ok(Sequences { each, are_users: true, independent: generator.is_independent() })
    }

    /// The rounds of a table over the apps `names`, the same for all seeds.
    pub fn from_table(table: &LaunchTable, names: &[String], seeds: usize) -> Result<Sequences> {
        let round = table.round(names)?;
        let visits: Vec<&String> = (0..table.warm_up + table.rounds).flat_map(|_| &round).collect();
        let mut apps: Vec<String> = Vec::new();
        let foreground_ns = nanoseconds(&table.foreground);
        let mut launches = Vec::with_capacity(visits.len());
        for (number, name) in visits.into_iter().enumerate() {
            let app = apps.iter().position(|known| known == name).unwrap_or_else(|| {
                apps.push(name.clone());
                apps.len() - 1
            });
            launches.push(Launch { at_ns: number as u64 * (foreground_ns + PAUSE_NS), app: app as AppId, foreground_ns });
        }
        let sequence = Sequence { launches, apps, warm_up: round.len() * table.warm_up as usize, pause_ns: PAUSE_NS };
        Ok(Sequences { each: vec![sequence; seeds], are_users: false, independent: false })
    }
}

fn draw_sequence(generator: &LaunchSpec, seed: u64) -> Sequence {
    let ns = |s: f64| (s * 1e9).round() as u64;
    let steps = generator.steps(seed);
    let apps = (0..steps.iter().map(|s| s.rank + 1).max().unwrap_or(0)).map(|rank| format!("app{}", rank + 1)).collect();
    let launch = |s: &synth::Step| Launch { at_ns: ns(s.at_s), app: s.rank as AppId, foreground_ns: ns(s.foreground_s) };
    Sequence { launches: steps.iter().map(launch).collect(), apps, warm_up: 0, pause_ns: 0 }
}
