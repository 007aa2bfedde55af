//! The registries: policies, schemes, devices, apps, formats and others.

use crate::bad;
use crate::trace::json;
use pyo3::prelude::*;
use serde::Serialize;
use swaplab_experiment::{apps, MACHINES};
use swaplab_vocab::unknown_key;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(device_service, module)?)?;
    module.add_function(wrap_pyfunction!(device_text, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)
}

/// A row of a kind without parameters.
#[derive(Serialize)]
struct Row {
    key: &'static str,
    what: String,
    source: &'static str,
}

const KINDS: [&str; 13] = [
    "admissions",
    "app-policies",
    "apps",
    "bounds",
    "devices",
    "formats",
    "killers",
    "launches",
    "machines",
    "policies",
    "schemes",
    "victims",
    "worlds",
];

/// All entries of a kind as a JSON list of rows: `key`, `what`, `source`, `parameters` (except for
/// machines and kinds of apps), and further properties of the kind.
#[pyfunction]
fn registry(kind: &str) -> PyResult<String> {
    match kind {
        "admissions" => json(&swaplab_swap::admission::ADMISSIONS),
        "app-policies" => json(&swaplab_apps::app_policy::APP_POLICIES),
        "apps" => {
            let row = |known: apps::kinds::AppListRow| Row { key: known.key, what: known.what, source: known.source };
            json(&apps::kinds::known().into_iter().map(row).collect::<Vec<_>>())
        }
        "bounds" => json(&swaplab_policy::BOUNDS),
        "devices" => json(swaplab_device::devices()),
        "formats" => json(&swaplab_trace::import::FORMATS),
        "killers" => json(&swaplab_apps::KILLERS),
        "launches" => json(&swaplab_trace::synth::GENERATORS),
        "machines" => json(&MACHINES),
        "policies" => json(&swaplab_policy::POLICIES),
        "schemes" => json(&swaplab_swap::SCHEMES),
        "victims" => json(&swaplab_apps::VICTIMS),
        "worlds" => json(&swaplab_vocab::WORLDS),
        other => Err(bad(unknown_key("registry", "kind", other, KINDS))),
    }
}

/// The spec file of an included device.
#[pyfunction]
fn device_text(key: &str) -> PyResult<&'static str> {
    swaplab_device::text(key).map_err(bad)
}

/// The times of reading and writing a page on a device, given by key or path, and the number of
/// operations that it serves in parallel: (operations, read without transfer, read's transfer,
/// write without transfer, write's transfer), times in ns.
#[pyfunction]
fn device_service(name: &str) -> PyResult<(u64, u64, u64, u64, u64)> {
    let device = swaplab_device::load(name).map_err(bad)?;
    let [read, write] = device.service();
    Ok((device.queue_depth(), read.own.0, read.transfer.0, write.own.0, write.transfer.0))
}
