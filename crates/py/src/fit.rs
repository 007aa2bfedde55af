//! Fits models to recordings.

use crate::bad;
use crate::progress::progress;
use crate::trace::Reading;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use swaplab_experiment::Experiment;
use swaplab_sim::fit;
use swaplab_trace::import::OpenTrace;
use swaplab_vocab::{BadInput, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(app_model, module)?)?;
    module.add_function(wrap_pyfunction!(recording, module)?)?;
    module.add_function(wrap_pyfunction!(recorded_phone, module)?)
}

/// The captured apps, smallest first, and the app models (`workload.apps`) fitted to them, as JSON.
#[pyfunction]
#[pyo3(signature = (sources, reading, listener=None))]
fn app_model(py: Python<'_>, sources: Vec<PathBuf>, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| {
        if sources.is_empty() {
            return Err(BadInput::new("TRACE", "no trace", "at least one"));
        }
        let mut listener = progress(listener);
        let read = |source: &PathBuf| {
            let trace = reading.open(source, None)?;
            let capture = fit::read_capture(&trace, &mut listener)?;
            let name = trace.meta.apps.first().map_or("app", |a| a.name.as_str()).to_string();
            Ok(fit::Captured { name, content_hash: trace.meta.content_hash.clone(), capture })
        };
        let mut captures = sources.iter().map(read).collect::<Result<Vec<_>>>()?;
        let models = fit::app_models(&mut captures);
        Ok(json!({"kind": "measured", "captures": captures, "apps": models}).to_string())
    })
    .map_err(bad)
}

/// A summary of a recording of launches with memory series, as JSON.
#[pyfunction]
fn recording(py: Python<'_>, source: PathBuf, reading: &str) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| Ok(json!(read(&reading.open(&source, None)?)?).to_string())).map_err(bad)
}

/// An experiment that models a recording, as JSON: its apps by name with their sizes, its memory
/// and its swap. `base` is an experiment in JSON whose machine provides missing values, `launches`
/// names the recorded launches, `swap` is the scheme of the swap area.
#[pyfunction]
fn recorded_phone(py: Python<'_>, source: PathBuf, reading: &str, launches: &str, swap: &str, base: &str) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| {
        let machine = Experiment::from_json("base", base)?.machine;
        let recording = read(&reading.open(&source, None)?)?;
        let experiment =
            fit::recorded_phone(&recording, launches, swap, machine).map_err(|e| e.within(&swaplab_vocab::path_for_message(&source)))?;
        Ok(serde_json::to_string(&experiment).expect("an experiment is plain data"))
    })
    .map_err(bad)
}

fn read(trace: &OpenTrace) -> Result<fit::Recording> {
    let names: Vec<String> = trace.meta.apps.iter().map(|a| a.name.clone()).collect();
    Ok(fit::read_recording(&swaplab_trace::series::read(trace)?, &names))
}
