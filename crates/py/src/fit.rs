//! Models fitted from recordings.

use crate::bad;
use crate::progress::progress;
use crate::trace::{parsed, Reading};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use swaplab_sim::fit;
use swaplab_vocab::{BadInput, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(app_model, module)?)?;
    module.add_function(wrap_pyfunction!(recording, module)?)
}

/// Captured apps, the smallest first, and the `[sim.apps]` table they give, as JSON.
#[pyfunction]
#[pyo3(signature = (sources, reading, listener=None))]
fn app_model(py: Python<'_>, sources: Vec<PathBuf>, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        if !(1..=4).contains(&sources.len()) {
            return Err(BadInput::new("TRACE", format!("{} traces", sources.len()), "one to four: as many kinds of app as the phone has"));
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

/// What a recording of launches with memory series says, as JSON.
#[pyfunction]
fn recording(py: Python<'_>, source: PathBuf, reading: &str) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        let trace = reading.open(&source, None)?;
        let names: Vec<String> = trace.meta.apps.iter().map(|a| a.name.clone()).collect();
        Ok(json!(fit::read_recording(&swaplab_trace::series::read(&trace)?, &names)).to_string())
    })
    .map_err(bad)
}
