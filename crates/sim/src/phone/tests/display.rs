//! Frames of the display while an app is in front.

use super::small::{booted, design, models, rows_of, small};
use swaplab_experiment::document::Row;
use swaplab_experiment::{Display, Experiment, Mib, Span};

fn drawing(experiment: &Experiment, refresh_hz: u64, work_ms: u64) -> Experiment {
    let mut of = experiment.clone();
    of.machine.display = Display { refresh_hz, frame_work: Span::parse(&format!("{work_ms}ms")).unwrap() };
    of
}

/// Frames are counted beside a run and change nothing of it. With half the time for a frame, or
/// with more work, no less of them are janky.
#[test]
fn frames_change_nothing_and_less_time_makes_more_of_them_janky() {
    let experiment = small(vec![design("s", "flash:size=64MiB", "none")]);
    let row = |refresh_hz, work_ms| rows_of(&drawing(&experiment, refresh_hz, work_ms), 1).remove(0);
    let without = |of: &Row| {
        let mut row = Row { display: None, ..of.clone() };
        row.interval.remove("display.janky_share");
        row.by_seed.iter_mut().for_each(|seed| seed.figures.retain(|path, _| path != "display.janky_share"));
        row
    };
    let off = row(0, 0);
    assert_eq!(off.display, None);
    let mut last = 0.0;
    for (refresh_hz, work_ms) in [(60, 0), (60, 6), (120, 6), (120, 8)] {
        let row = row(refresh_hz, work_ms);
        assert_eq!(without(&row), without(&off));
        let display = row.display.unwrap();
        let share = display.janky_share.unwrap();
        assert!(share > last && share < 1.0, "{refresh_hz} Hz, {work_ms} ms: {share} after {last}");
        assert!(display.frozen_frames <= display.janky_frames && display.janky_frames < display.frames);
        last = share;
    }
    let all = row(120, 9).display.unwrap();
    assert_eq!((all.janky_share, all.janky_frames), (Some(1.0), all.frames), "9 ms of work are more than 8.3 ms");
}

/// The frames of a visit are the periods that begin between the time at which the app is ready and
/// the end of its use.
#[test]
fn a_visit_draws_a_frame_in_each_of_its_periods() {
    let mut experiment = drawing(&small(vec![design("s", "flash:size=64MiB", "none")]), 50, 0);
    // An app in front collects its heap, too.
    let heap = &mut experiment.machine.background.heap;
    (heap.rate, heap.min_free, heap.max_free) = (Mib(0.5), Mib(0.2), Mib(0.5));
    models(&mut experiment).file_writes.every = Span::parse("1s").unwrap();
    let booted = booted(&experiment);
    let (mut phone, mut expected) = (booted.phone(), 0);
    for launch in &booted.sequence().launches[..40] {
        phone.elapse(launch.at_ns);
        let began_ns = phone.machine.clock.settled_ns;
        phone.launch(launch).unwrap();
        let ready_ns = phone.machine.record.launches.last().unwrap().ready_at_ns;
        expected += (began_ns + launch.foreground_ns).saturating_sub(ready_ns).div_ceil(20_000_000);
        let counted = phone.machine.counts.display;
        assert_eq!(counted.drawn, expected);
        assert!(counted.frozen <= counted.janky && counted.janky <= counted.drawn);
    }
    assert!(phone.machine.counts.display.janky > 0 && phone.machine.counts.fsyncs > 0);
}
