//! The world `replay`, and miss-ratio curves.

use crate::progress::{clone_listener, progress};
use crate::trace::{json, Reading};
use crate::{bad, policies};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use swaplab_experiment::{Experiment, Mapping};
use swaplab_sim::replay;
use swaplab_trace::TraceInfo;
use swaplab_vocab::{BadInput, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(replay_rows, module)?)?;
    module.add_function(wrap_pyfunction!(mrc, module)?)
}

/// Replay every design of `experiments` (JSON of `Experiment`, without `[vary]`) with `jobs`
/// threads (0: one per core). Returns JSON of `WorldResult`, with rows in the order of experiments
/// and designs. Experiments with the same trace and the same options of reading it share a single
/// pass over it.
#[pyfunction]
#[pyo3(signature = (experiments, jobs, listener=None))]
fn replay_rows(py: Python<'_>, experiments: Vec<String>, jobs: usize, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let replayed = py.detach(|| {
        let read = |text: &String| Experiment::from_json("experiment", text);
        let experiments = experiments.iter().map(read).collect::<Result<Vec<_>>>()?;
        replay::rows(&experiments, &policies::of, jobs, &mut progress(listener))
    });
    if replayed.is_err() && py.check_signals().is_err() {
        return Err(PyKeyboardInterrupt::new_err("interrupted in a policy's own code"));
    }
    json(&replayed.map_err(bad)?)
}

/// An LRU miss-ratio curve.
#[derive(Serialize)]
struct Curve {
    trace: TraceInfo,
    references: f64,
    /// Share of pages that were sampled; 1 if the curve is exact.
    rate: f64,
    /// Misses by frames, from 0 to the footprint.
    misses: Vec<f64>,
}

/// The exact LRU curve, or an estimate by SHARDS if `rate` is below 1, as JSON of `Curve`.
/// `mapping` is `follow` or `ignore`.
#[pyfunction]
#[pyo3(signature = (source, reading, mapping, rate, listener=None))]
fn mrc(py: Python<'_>, source: PathBuf, reading: &str, mapping: &str, rate: f64, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    let opening = clone_listener(py, &listener);
    let curve = py.detach(|| {
        let mapping = Mapping::parse("mapping", mapping)?;
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(BadInput::new("rate", rate.to_string(), "a share of pages above 0 and at most 1"));
        }
        let trace = reading.open(&source, opening)?;
        let curve = replay::lru_curve(&trace, mapping, rate, &mut progress(listener))?;
        Ok(Curve { trace: TraceInfo::of(&trace)?, references: curve.references, rate: curve.rate, misses: curve.misses })
    });
    json(&curve.map_err(bad)?)
}
