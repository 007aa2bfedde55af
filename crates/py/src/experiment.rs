//! Functions on experiment files and documents: reading, checks, points of `[vary]`, schemas. All
//! results are JSON of the types of the crate `experiment`.

use crate::bad;
use crate::trace::json;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_experiment::{worlds, Document, Experiment, Scalar, VmLimit, VmRun};
use swaplab_vocab::{BadInput, Memory, World, PAGE_SIZE, WORLDS};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(experiment_read, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_from_document, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_points, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_at, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_check, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_refuse, module)?)?;
    module.add_function(wrap_pyfunction!(experiment_seeds, module)?)?;
    module.add_function(wrap_pyfunction!(vm_memory, module)?)?;
    module.add_function(wrap_pyfunction!(document_check, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(size_bytes, module)?)
}

/// Resolve an experiment file with `KEY=VALUE` changes applied. `place`, the file's name, is used
/// in errors; if it ends in `.json` the text is JSON, otherwise TOML.
#[pyfunction]
fn experiment_read(place: &str, text: &str, set: Vec<String>) -> PyResult<String> {
    json(&Experiment::parse(place, text, &set).map_err(bad)?)
}

/// Resolve an experiment from its JSON form.
#[pyfunction]
fn experiment_from_document(place: &str, text: &str) -> PyResult<String> {
    json(&Experiment::from_json(place, text).map_err(bad)?)
}

/// The values of each point of `[vary]` as a list of objects; a single empty object if nothing is
/// varied.
#[pyfunction]
fn experiment_points(place: &str, experiment: &str) -> PyResult<String> {
    json(&Experiment::from_json(place, experiment).and_then(|e| e.points(place)).map_err(bad)?)
}

/// The experiment at a point, without `[vary]`.
#[pyfunction]
fn experiment_at(place: &str, experiment: &str, point: &str) -> PyResult<String> {
    let point: BTreeMap<String, Scalar> = serde_json::from_str(point).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    json(&Experiment::from_json(place, experiment).and_then(|e| e.at(place, &point)).map_err(bad)?)
}

/// Which world can run which design: `[{"design": NAME, "worlds": {WORLD: true | "reason"}}]` with
/// every world of the registry.
#[pyfunction]
fn experiment_check(place: &str, experiment: &str) -> PyResult<String> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Answer {
        Runs(bool),
        Refused(String),
    }
    #[derive(Serialize)]
    struct Line {
        design: String,
        worlds: BTreeMap<&'static str, Answer>,
    }
    let experiment = Experiment::from_json(place, experiment).map_err(bad)?;
    let answer = |world: World, design: &swaplab_experiment::Design| {
        worlds::refusal(world, &experiment, design).map_or(Answer::Runs(true), Answer::Refused)
    };
    let line = |design: &swaplab_experiment::Design| Line {
        design: design.name.clone(),
        worlds: World::ALL.into_iter().map(|world| (world.name(), answer(world, design))).collect(),
    };
    json(&experiment.design.iter().map(line).collect::<Vec<_>>())
}

/// Raise if a world of `run.on` cannot run a design.
#[pyfunction]
fn experiment_refuse(place: &str, experiment: &str) -> PyResult<()> {
    Experiment::from_json(place, experiment).and_then(|e| worlds::refuse(place, &e)).map_err(bad)
}

/// The number of seeds in a world.
#[pyfunction]
fn experiment_seeds(experiment: &str, world: &str) -> PyResult<u64> {
    let world = WORLDS.entry(world).map_err(bad)?.info.world;
    Ok(Experiment::from_json("experiment", experiment).map_err(bad)?.seeds(world))
}

/// Memory in bytes of a guest in the world vm, and the limit of its apps' control group; no limit
/// if `dram` is the memory of the guest.
#[pyfunction]
fn vm_memory(vm: &str, dram: u64) -> PyResult<(u64, Option<u64>)> {
    let vm: VmRun =
        serde_json::from_str(vm).map_err(|error| bad(BadInput::new("run.vm", error.to_string(), "the settings of the world vm")))?;
    let (limit, guest) = vm.memory(dram);
    Ok((guest, (limit == VmLimit::Group).then_some(dram)))
}

/// Check that a text is a document of this version, and return it. `place` is its name in errors.
#[pyfunction]
fn document_check(place: &str, text: &str) -> PyResult<String> {
    json(&Document::from_json(place, text).map_err(bad)?)
}

/// The JSON schema of `experiment` or `document`.
#[pyfunction]
fn schema(of: &str) -> PyResult<String> {
    match of {
        "document" => json(&Document::schema()),
        _ => json(&Experiment::schema()),
    }
}

/// The bytes of a size such as `64MiB` or `4096p`, but not of a percentage. `place` is the place in
/// errors.
#[pyfunction]
fn size_bytes(place: &str, text: &str) -> PyResult<u64> {
    match Memory::parse(text).map_err(|e| bad(e.within(place)))? {
        Memory::Bytes(bytes) => Ok(bytes),
        Memory::Pages(pages) => Ok(pages * PAGE_SIZE),
        Memory::Percent(_) => Err(bad(BadInput::new(place, format!("'{text}'"), "bytes or pages, such as 64MiB or 4096p"))),
    }
}
