//! The experiment file: read, checked, and its schema.

use crate::bad;
use pyo3::prelude::*;
use swaplab_sim::experiment::Experiment;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(experiment_from_toml, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_schema, module)?)
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
