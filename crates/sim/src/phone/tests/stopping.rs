//! A run that nobody wants any more ends.

use super::super::rows;
use super::small::{design, models, small};
use swaplab_experiment::{Launches, Span};

/// In front for 127 years, an app writes to its files some 10^12 times.
#[test]
fn a_run_of_ages_is_stopped_within_a_launch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ages.csv");
    std::fs::write(&path, "seq,t_s,app,category,fg_s\n0,0,A,,4000000000\n").unwrap();
    let mut experiment = small(vec![design("van", "flash", "none")]);
    experiment.workload.launches = Some(Launches::Named(path.to_str().unwrap().into()));
    models(&mut experiment).file_writes.every = Span::parse("1ms").unwrap();
    let mut calls = 0;
    let mut stop = |_, _| {
        calls += 1;
        calls < 3
    };
    let error = rows(&experiment, 1, &mut stop, None).unwrap_err();
    assert_eq!(error.to_string(), "interrupted at phone: design 'van', launch 1");
}
