//! Synthetic launches, and the simulated phone.

use crate::bad;
use crate::progress::progress;
use crate::trace::info;
use pyo3::prelude::*;
use std::path::PathBuf;
use swaplab_experiment::{Experiment, LaunchTable};
use swaplab_trace::synth::LaunchSpec;
use swaplab_trace::Codec;
use swaplab_vocab::BadInput;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_gen, module)?)?;
    module.add_function(wrap_pyfunction!(launch_round, module)?)?;
    module.add_function(wrap_pyfunction!(phone_rows, module)?)
}

/// Write the trace of launches of `spec` (a preset or a generator with parameters) for `seed`.
/// Returns JSON of its `TraceInfo`.
#[pyfunction]
fn trace_gen(py: Python<'_>, spec: &str, seed: u64, output: PathBuf) -> PyResult<String> {
    py.detach(|| {
        LaunchSpec::parse(spec)?.write(seed, &output, Codec::Zstd)?;
        info(&output)
    })
    .map_err(bad)
}

/// The names of the apps that one round visits, in order. `table` is a table of launches in JSON,
/// and `names` are the names of all apps. Every world visits the apps in this order.
#[pyfunction]
fn launch_round(table: &str, names: Vec<String>) -> PyResult<Vec<String>> {
    let table: LaunchTable =
        serde_json::from_str(table).map_err(|e| bad(BadInput::new("workload.launches", e.to_string(), "a table with order and rounds")))?;
    table.round(&names).map_err(bad)
}

/// Run a resolved experiment in JSON on the simulated phone. Returns JSON of a `WorldResult` with
/// one row per design. With `tables`, it also writes every launch, stay in swap, kill and sample as
/// CSV files to that folder.
#[pyfunction]
#[pyo3(signature = (experiment, jobs, listener=None, tables=None))]
fn phone_rows(py: Python<'_>, experiment: &str, jobs: usize, listener: Option<Py<PyAny>>, tables: Option<PathBuf>) -> PyResult<String> {
    py.detach(|| {
        let experiment = Experiment::from_json("experiment", experiment)?;
        let result = swaplab_sim::phone::rows(&experiment, jobs, &mut progress(listener), tables.as_deref())?;
        Ok(serde_json::to_string(&result).expect("rows are plain data"))
    })
    .map_err(bad)
}
