//! The experiment file: read, checked, and its schema; sizes as it writes them.

use crate::bad;
use pyo3::prelude::*;
use swaplab_sim::experiment::Experiment;
use swaplab_vocab::{BadInput, Memory, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(experiment_from_toml, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_schema, module)?)?;
    module.add_function(wrap_pyfunction!(size_bytes, module)?)
}

fn resolved(experiment: Experiment) -> PyResult<String> {
    serde_json::to_string(&experiment).map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
}

/// The resolved experiment of a TOML text with `key=value` texts on top, as JSON; `place` names the file in errors.
#[pyfunction]
fn experiment_from_toml(place: &str, text: &str, set: Vec<String>) -> PyResult<String> {
    resolved(Experiment::parse(place, text, &set).map_err(bad)?)
}

/// The resolved experiment of a JSON text, as JSON.
#[pyfunction]
fn experiment_from_json(place: &str, text: &str) -> PyResult<String> {
    resolved(Experiment::from_json(place, text).map_err(bad)?)
}

/// JSON schema of the experiment file.
#[pyfunction]
fn experiment_schema() -> String {
    Experiment::schema().to_string()
}

/// The bytes of `64MiB` or `4096p`; `place` names the text in errors. A percentage has nothing to refer to.
#[pyfunction]
fn size_bytes(place: &str, text: &str) -> PyResult<u64> {
    match Memory::parse(text).map_err(|e| bad(e.within(place)))? {
        Memory::Bytes(bytes) => Ok(bytes),
        Memory::Pages(pages) => Ok(pages * PAGE_SIZE),
        Memory::Percent(_) => Err(bad(BadInput::new(place, format!("'{text}'"), "bytes or pages, such as 64MiB or 4096p"))),
    }
}
