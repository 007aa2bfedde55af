//! Summarizes a recording of a phone (Perfetto's, or samples of smaps and dumpsys): each app's
//! memory by kind, faults of cold starts and resumes, and kills by the victim's adjustment.

use super::kernel::{kernel_memory, KernelMemory};
use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_trace::series::{Event, Row};
use swaplab_trace::{Counter, MACHINE};
use swaplab_vocab::AppId;

/// Means over starts of one kind; `None` if the recording lacks the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Starts {
    pub count: u64,
    pub major_faults: Option<f64>,
    pub swapped_in_pages: Option<f64>,
}

/// An app's memory in MiB, over the samples in which it was in the foreground, or over all samples
/// if there are no such. Sizes are means, but that of file-backed pages is the largest, as no
/// counter has the pages that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AppMemory {
    pub name: String,
    pub launches: u64,
    pub cold_starts: u64,
    pub kills: u64,
    /// Resident and swapped-out pages together.
    pub anon_mib: f64,
    pub file_mib: f64,
    pub graphics_mib: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recording {
    pub seconds: f64,
    pub mem_total_mib: Option<f64>,
    pub swap_total_mib: Option<f64>,
    /// `None` if the recording lacks a counter for it.
    pub kernel: Option<KernelMemory>,
    pub cold: Starts,
    pub resumes: Starts,
    pub kills: u64,
    /// Number of kills by the victim's `oom_score_adj`.
    pub kills_by_adjustment: BTreeMap<i64, u64>,
    /// Page transfers of the whole machine, from the first sample to the last.
    pub swap_in_pages: Option<i64>,
    pub swap_out_pages: Option<i64>,
    pub kswapd_wakes: i64,
    pub direct_reclaims: i64,
    /// Apps that were launched, in the order of the trace.
    pub apps: Vec<AppMemory>,
    /// All other processes together.
    pub system: AppMemory,
    /// Share of an app's swapped-out pages at a resume that were swapped in while it was in the
    /// foreground.
    pub resume_share: Option<f64>,
}

/// Samples of one counter of one app, by time.
type Samples = Vec<(u64, i64)>;

fn value_at(samples: Option<&Samples>, ns: u64) -> Option<i64> {
    let samples = samples?;
    // The first sample is also used for times before it.
    let next = samples.partition_point(|(t, _)| *t <= ns).max(1);
    samples.get(next - 1).map(|(_, value)| *value)
}

/// Summarize a recording. `rows` must be sorted by time; `names` are names by app id.
pub fn read_recording(rows: &[Row], names: &[String]) -> Recording {
    let mut samples: BTreeMap<(AppId, Counter), Samples> = BTreeMap::new();
    let mut windows: BTreeMap<AppId, Vec<(u64, u64)>> = BTreeMap::new();
    for row in rows {
        match row.event {
            Event::Sample(counter, value) => samples.entry((row.app, counter)).or_default().push((row.at_ns, value)),
            Event::Launch(front) => windows.entry(row.app).or_default().push((row.at_ns, row.at_ns + front)),
            Event::Kill => {}
        }
    }
    let machine = names.iter().position(|n| n == MACHINE).map(|id| id as AppId);
    let of_machine = |counter| machine.and_then(|id| samples.get(&(id, counter)));
    let last = |counter| of_machine(counter).and_then(|s| s.last()).map(|(_, value)| *value);
    let moved = |counter| of_machine(counter).and_then(|s| Some(s.last()?.1 - s.first()?.1));
    let mut recording = Recording {
        seconds: rows.last().map_or(0.0, |r| r.at_ns as f64 / 1e9),
        mem_total_mib: last(Counter::MemTotal).map(|kib| kib as f64 / 1024.0),
        swap_total_mib: last(Counter::SwapTotal).map(|kib| kib as f64 / 1024.0),
        kernel: kernel_memory(rows),
        swap_in_pages: moved(Counter::PagesIn),
        swap_out_pages: moved(Counter::PagesOut),
        kswapd_wakes: last(Counter::KswapdWakes).unwrap_or(0),
        direct_reclaims: last(Counter::DirectReclaims).unwrap_or(0),
        ..Recording::default()
    };
    for (id, name) in names.iter().enumerate().filter(|(id, _)| Some(*id as AppId) != machine) {
        let fronts = windows.get(&(id as AppId)).map_or(&[][..], Vec::as_slice);
        let memory = memory(name, id as AppId, &samples, fronts);
        if fronts.is_empty() {
            recording.system.anon_mib += memory.anon_mib;
            recording.system.file_mib += memory.file_mib;
            recording.system.graphics_mib += memory.graphics_mib;
        } else {
            recording.apps.push(memory);
        }
    }
    recording.system.name = "system".into();
    starts(rows, names, &samples, &mut recording, of_machine);
    recording
}

fn memory(name: &str, id: AppId, samples: &BTreeMap<(AppId, Counter), Samples>, fronts: &[(u64, u64)]) -> AppMemory {
    let wanted = |counter: Counter| -> Vec<(u64, i64)> {
        let list = samples.get(&(id, counter)).map_or(&[][..], Vec::as_slice);
        let in_front = |t: u64| fronts.iter().any(|(from, to)| (*from..*to).contains(&t));
        let any = list.iter().any(|(t, _)| in_front(*t));
        list.iter().copied().filter(|(t, _)| !any || in_front(*t)).collect()
    };
    let swapped = |t: u64| value_at(samples.get(&(id, Counter::Swap)), t).unwrap_or(0);
    let anonymous: Vec<i64> = wanted(Counter::Anon).into_iter().map(|(t, resident)| resident + swapped(t)).collect();
    let graphics: Vec<i64> = wanted(Counter::Graphics).into_iter().map(|(_, kib)| kib).collect();
    let mean = |kib: &[i64]| kib.iter().sum::<i64>() as f64 / 1024.0 / kib.len().max(1) as f64;
    AppMemory {
        name: name.into(),
        anon_mib: mean(&anonymous),
        file_mib: wanted(Counter::File).into_iter().map(|(_, kib)| kib).max().unwrap_or(0) as f64 / 1024.0,
        graphics_mib: mean(&graphics),
        ..AppMemory::default()
    }
}

/// Add cold starts and resumes, with their faults, and kills, with the victims' adjustments, to
/// `recording`.
fn starts<'a>(
    rows: &[Row],
    names: &[String],
    samples: &'a BTreeMap<(AppId, Counter), Samples>,
    recording: &mut Recording,
    of_machine: impl Fn(Counter) -> Option<&'a Samples>,
) {
    let index = |app: AppId, recording: &Recording| recording.apps.iter().position(|a| a.name == names[usize::from(app)]);
    // If the first event of an app is a sample of its memory, it was alive when the recording
    // began.
    let mut alive: BTreeMap<AppId, bool> = BTreeMap::new();
    let mut adjustment: BTreeMap<AppId, i64> = BTreeMap::new();
    let (mut out, mut back) = (0i64, 0i64);
    let mut costs: [[(f64, u64); 2]; 2] = Default::default();
    for row in rows {
        match row.event {
            Event::Sample(Counter::Starts, _) => {
                alive.insert(row.app, false);
            }
            Event::Sample(Counter::Adjustment, value) => {
                adjustment.insert(row.app, value);
            }
            Event::Sample(Counter::Anon | Counter::File | Counter::Swap, _) => {
                alive.entry(row.app).or_insert(true);
            }
            Event::Sample(..) => {}
            Event::Kill => {
                alive.insert(row.app, false);
                recording.kills += 1;
                if let Some(adjustment) = adjustment.get(&row.app) {
                    *recording.kills_by_adjustment.entry(*adjustment).or_insert(0) += 1;
                }
                if let Some(at) = index(row.app, recording) {
                    recording.apps[at].kills += 1;
                }
            }
            Event::Launch(front) => {
                let cold = !alive.insert(row.app, true).unwrap_or(false);
                if let Some(at) = index(row.app, recording) {
                    recording.apps[at].launches += 1;
                    recording.apps[at].cold_starts += u64::from(cold);
                }
                let kind = if cold { &mut recording.cold } else { &mut recording.resumes };
                kind.count += 1;
                let end = row.at_ns + front;
                for (cost, counter) in costs[usize::from(cold)].iter_mut().zip([Counter::MajorFaults, Counter::PagesIn]) {
                    if let (Some(before), Some(after)) = (value_at(of_machine(counter), row.at_ns), value_at(of_machine(counter), end)) {
                        *cost = (cost.0 + (after - before) as f64, cost.1 + 1);
                    }
                }
                let swapped = samples.get(&(row.app, Counter::Swap));
                if let Some(before) = value_at(swapped, row.at_ns).filter(|kib| !cold && *kib > 0) {
                    let within = swapped.into_iter().flatten().filter(|(t, _)| (row.at_ns..=end).contains(t)).map(|(_, kib)| *kib);
                    out += before;
                    back += before - within.min().unwrap_or(before).min(before);
                }
            }
        }
    }
    let mean = |(sum, n): (f64, u64)| (n > 0).then(|| sum / n as f64);
    for (kind, [faults, pages]) in [(&mut recording.resumes, costs[0]), (&mut recording.cold, costs[1])] {
        (kind.major_faults, kind.swapped_in_pages) = (mean(faults), mean(pages));
    }
    recording.resume_share = (out > 0).then(|| back as f64 / out as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Two apps and a process that is never launched. `a` is resumed with 4 MiB in swap, of which 1
    /// MiB is swapped in, and killed at adjustment 900.
    #[test]
    fn a_recording_by_hand() {
        let names: Vec<String> = ["a", "daemon", MACHINE, "b"].map(String::from).to_vec();
        let sample = |at: u64, app, counter, value| Row { at_ns: at * S, app, event: Event::Sample(counter, value) };
        let launch = |at: u64, app, front: u64| Row { at_ns: at * S, app, event: Event::Launch(front * S) };
        let rows = [
            sample(0, 0, Counter::Anon, 6 << 10),
            sample(0, 0, Counter::Swap, 4 << 10),
            sample(0, 1, Counter::Anon, 3 << 10),
            sample(0, 2, Counter::MemTotal, 1 << 20),
            sample(0, 2, Counter::MajorFaults, 10),
            sample(0, 2, Counter::PagesOut, 5),
            launch(1, 0, 4),
            sample(2, 0, Counter::Swap, 3 << 10),
            sample(2, 0, Counter::Anon, 9 << 10),
            sample(4, 2, Counter::MajorFaults, 25),
            sample(5, 3, Counter::Starts, 1),
            launch(6, 3, 3),
            sample(7, 3, Counter::Anon, 2 << 10),
            sample(7, 3, Counter::File, 1 << 10),
            sample(8, 0, Counter::Adjustment, 900),
            sample(8, 2, Counter::MajorFaults, 75),
            sample(8, 2, Counter::PagesOut, 105),
            Row { at_ns: 9 * S, app: 0, event: Event::Kill },
            launch(10, 0, 1),
        ];
        let recording = read_recording(&rows, &names);
        let of = |name: &str| recording.apps.iter().find(|a| a.name == name).unwrap().clone();
        assert_eq!((of("a").anon_mib, of("a").launches, of("a").cold_starts, of("a").kills), (12.0, 2, 1, 1));
        assert_eq!((of("b").anon_mib, of("b").file_mib, of("b").cold_starts), (2.0, 1.0, 1));
        assert_eq!((recording.system.anon_mib, recording.apps.len()), (3.0, 2));
        assert_eq!(
            (recording.mem_total_mib, recording.swap_total_mib, recording.swap_out_pages, recording.swap_in_pages),
            (Some(1024.0), None, Some(100), None)
        );
        assert_eq!(recording.kills_by_adjustment, BTreeMap::from([(900, 1)]));
        assert_eq!((recording.resumes.count, recording.resumes.major_faults, recording.resume_share), (1, Some(15.0), Some(0.25)));
        // The two cold starts have 50 faults and 0 faults.
        assert_eq!((recording.cold.count, recording.cold.major_faults, recording.cold.swapped_in_pages), (2, Some(25.0), None));
        assert_eq!(recording.seconds, 10.0);
    }
}
