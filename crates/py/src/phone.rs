//! Launches made from a seed, and the simulated phone.

use crate::bad;
use crate::progress::progress;
use crate::trace::about;
use pyo3::prelude::*;
use std::path::PathBuf;
use swaplab_sim::experiment::Experiment;
use swaplab_trace::synth::Spec;
use swaplab_trace::{Codec, Trace};
use swaplab_vocab::BadInput;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_gen, module)?)?;
    module.add_function(wrap_pyfunction!(sim, module)?)
}

/// Write the trace that `spec` (a preset's name or a generator with values) makes of `seed`; its information as JSON.
#[pyfunction]
fn trace_gen(py: Python<'_>, spec: &str, seed: u64, output: PathBuf) -> PyResult<String> {
    py.detach(|| {
        Spec::parse(spec)?.write(seed, &output, Codec::Zstd)?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}

/// The document of `swaplab sim --json`, as text, for a resolved experiment in JSON; with `tables`, every launch, stay in swap, kill and
/// sample besides, as CSV files in that folder.
#[pyfunction]
#[pyo3(signature = (experiment, jobs, listener=None, tables=None))]
fn sim(py: Python<'_>, experiment: &str, jobs: usize, listener: Option<Py<PyAny>>, tables: Option<PathBuf>) -> PyResult<String> {
    py.detach(|| {
        let experiment = Experiment::from_json("experiment", experiment)?;
        let sim = experiment.sim.ok_or_else(|| BadInput::new("experiment", "no [sim] table", "an experiment of the simulated phone"))?;
        Ok(swaplab_sim::phone::simulate(&sim, experiment.seed, jobs, &mut progress(listener), tables.as_deref())?.to_string())
    })
    .map_err(bad)
}
