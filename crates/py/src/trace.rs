//! Functions on traces: import, information, conversion, tools.

use crate::bad;
use crate::progress::progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use swaplab_trace::import::{self, OpenTrace};
use swaplab_trace::{export, tools, Codec, Trace, TraceInfo};
use swaplab_vocab::{BadInput, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_import, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_slice, module)?)?;
    module.add_function(wrap_pyfunction!(trace_merge, module)?)?;
    module.add_function(wrap_pyfunction!(trace_anonymize, module)?)
}

/// Options for importing a trace, from JSON of the experiment's `Reading`.
pub struct Reading(import::Options);

impl Reading {
    pub fn parse(text: &str) -> Result<Reading> {
        Ok(Reading(parsed::<swaplab_experiment::Reading>(text)?.options()?))
    }

    pub fn open(&self, path: &Path, listener: Option<Py<PyAny>>) -> Result<OpenTrace> {
        import::open(path, &self.0, &mut progress(listener))
    }
}

/// Parse a JSON argument.
pub fn parsed<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| BadInput::new("argument", e.to_string(), "the keys that this call takes"))
}

/// Serialize a result as JSON.
pub fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// JSON of the `TraceInfo` of the trace at `path`.
pub fn info(path: &Path) -> Result<String> {
    Ok(serde_json::to_string(&TraceInfo::of(&Trace::open(path)?)?).expect("plain data"))
}

/// Import `source` (a path, or `-`) into the `.slt` at `output`. Returns JSON of the new trace's
/// `TraceInfo`.
#[pyfunction]
#[pyo3(signature = (source, output, reading, listener=None))]
fn trace_import(py: Python<'_>, source: PathBuf, output: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| {
        import::import(&source, &output, Codec::Zstd, &reading.0, &mut progress(listener))?;
        info(&output)
    })
    .map_err(bad)
}

/// JSON of the trace's `TraceInfo`.
#[pyfunction]
#[pyo3(signature = (source, reading, listener=None))]
fn trace_info(py: Python<'_>, source: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    json(&py.detach(|| TraceInfo::of(&*reading.open(&source, listener)?)).map_err(bad)?)
}

#[pyfunction]
#[pyo3(signature = (source, reading, to, output, listener=None))]
fn trace_convert(py: Python<'_>, source: PathBuf, reading: &str, to: &str, output: PathBuf, listener: Option<Py<PyAny>>) -> PyResult<()> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| export::convert(&*reading.open(&source, None)?, to, &output, &mut progress(listener))).map_err(bad)
}

#[pyfunction]
#[pyo3(signature = (source, reading, start, count, app, output, listener=None))]
#[allow(clippy::too_many_arguments)] // a call of the command line's, one argument an option
fn trace_slice(
    py: Python<'_>,
    source: PathBuf,
    reading: &str,
    start: u64,
    count: Option<u64>,
    app: Option<String>,
    output: PathBuf,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    let slice = tools::Slice { from: start, count, app };
    py.detach(|| {
        slice.check()?;
        tools::slice(&*reading.open(&source, None)?, &slice, &output, &mut progress(listener))?;
        info(&output)
    })
    .map_err(bad)
}

/// Merge `sources`. Each is named after its file.
#[pyfunction]
#[pyo3(signature = (sources, reading, quantum, output, listener=None))]
fn trace_merge(
    py: Python<'_>,
    sources: Vec<PathBuf>,
    reading: &str,
    quantum: u64,
    output: PathBuf,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| {
        let traces = sources.iter().map(|s| reading.open(s, None)).collect::<Result<Vec<_>>>()?;
        let stem =
            |path: &PathBuf| path.file_name().map_or_else(String::new, |n| n.to_string_lossy().split('.').next().unwrap_or("").to_owned());
        let names: Vec<String> = sources.iter().map(stem).collect();
        let named: Vec<(&str, &Trace)> = names.iter().map(String::as_str).zip(traces.iter().map(|t| &t.trace)).collect();
        tools::merge(&named, quantum, &output, &mut progress(listener))?;
        info(&output)
    })
    .map_err(bad)
}

#[pyfunction]
#[pyo3(signature = (source, reading, seed, output, listener=None))]
fn trace_anonymize(
    py: Python<'_>,
    source: PathBuf,
    reading: &str,
    seed: u64,
    output: PathBuf,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    py.detach(|| {
        tools::anonymize(&*reading.open(&source, None)?, seed, &output, &mut progress(listener))?;
        info(&output)
    })
    .map_err(bad)
}
