//! What there is: policies, schemes, devices, apps, formats, each as a JSON list of rows.

use pyo3::prelude::*;
use serde_json::{json, Value};
use swaplab_policy::{Parameter, OPT_COST, POLICIES};
use swaplab_sim::phone::kinds;
use swaplab_swap::SCHEMES;
use swaplab_trace::import::FORMATS;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(policies, module)?)?;
    module.add_function(wrap_pyfunction!(schemes, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(app_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(trace_formats, module)?)
}

/// Every registered policy, and the bound on them.
#[pyfunction]
fn policies() -> String {
    let row = |i: &&swaplab_policy::Info| json!({"key": i.key, "what": i.what, "source": i.source, "signal": i.signal.name(), "offline": i.offline, "parameters": parameters(i.parameters)});
    Value::Array(POLICIES.iter().chain([&&OPT_COST]).map(row).collect()).to_string()
}

/// Every registered swap scheme.
#[pyfunction]
fn schemes() -> String {
    let row = |i: &&swaplab_swap::Info| {
        let medium = i.medium.map(|m| m.name());
        json!({"key": i.key, "what": i.what, "source": i.source, "medium": medium, "parameters": parameters(i.parameters)})
    };
    Value::Array(SCHEMES.iter().map(row).collect()).to_string()
}

fn parameters(parameters: &[Parameter]) -> Vec<Value> {
    parameters.iter().map(|p| json!({"name": p.name, "default": p.default, "meaning": p.meaning})).collect()
}

/// Every device that comes with swaplab.
#[pyfunction]
fn devices() -> String {
    let rows = swaplab_device::summaries().into_iter();
    Value::Array(rows.map(|d| json!({"key": d.key, "what": d.what, "sources": d.sources, "assumed": d.assumed})).collect()).to_string()
}

/// Every kind of app and every workload that `sim.apps.kinds` may name.
#[pyfunction]
fn app_kinds() -> String {
    Value::Array(kinds::known().into_iter().map(|k| json!({"key": k.key, "what": k.what, "source": k.source})).collect()).to_string()
}

/// Every trace format that can be read.
#[pyfunction]
fn trace_formats() -> String {
    let rows: Vec<Value> = FORMATS.iter().map(|f| json!({"key": f.key, "what": f.what, "kind": f.kind})).collect();
    Value::Array(rows).to_string()
}
