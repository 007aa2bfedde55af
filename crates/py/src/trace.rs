//! Traces: import, information, conversion, tools.

use crate::bad;
use crate::progress::progress;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use swaplab_trace::import::{self, OpenTrace};
use swaplab_trace::{export, tools, Codec, Kind, Trace};
use swaplab_vocab::{BadInput, Class, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_import, module)?)?;
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace_slice, module)?)?;
    module.add_function(wrap_pyfunction!(trace_merge, module)?)?;
    module.add_function(wrap_pyfunction!(trace_anonymise, module)?)
}

/// How to read a trace that is not a `.slt`; absent keys have their defaults.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Reading {
    pub format: Option<String>,
    pub pages: Option<PathBuf>,
    pub page_size: Option<u64>,
    pub filter: Option<u64>,
    pub data_read_class: Option<String>,
    pub ranges: Option<PathBuf>,
    pub filefrag: Option<PathBuf>,
}

impl Reading {
    pub fn options(&self) -> Result<import::Options> {
        let defaults = import::Options::default();
        let class = match &self.data_read_class {
            Some(name) => Class::from_name(name)
                .ok_or_else(|| swaplab_vocab::unknown_key("--data-read-class", "class", name, Class::ALL.iter().map(|c| c.name())))?,
            None => defaults.data_read_class,
        };
        Ok(import::Options {
            format: self.format.clone(),
            pages: self.pages.clone(),
            page_size: self.page_size.unwrap_or(defaults.page_size),
            filter_entries: self.filter,
            ranges: self.ranges.clone(),
            filefrag: self.filefrag.clone(),
            data_read_class: class,
        })
    }

    pub fn open(&self, path: &Path, listener: Option<Py<PyAny>>) -> Result<OpenTrace> {
        import::open(path, &self.options()?, &mut progress(listener))
    }
}

/// A JSON argument of one of our own calls.
pub fn parsed<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| BadInput::new("argument", e.to_string(), "the keys that this call takes"))
}

/// What `trace info` prints, and what every document says of its trace.
pub fn about(trace: &Trace) -> Result<Value> {
    let table = trace.page_table()?;
    let (meta, anonymous) = (&trace.meta, table.anonymous());
    let path = Path::new(trace.place());
    let name = meta.provenance.get("imported_from").cloned().or_else(|| path.file_name().map(|n| n.to_string_lossy().into_owned()));
    Ok(json!({
        "name": name,
        "kind": trace.kind,
        "page_size": trace.page_size,
        "references": meta.references(),
        "reads": meta.reads,
        "writes": meta.writes,
        "ifetches": meta.ifetches,
        "raw_references": meta.raw_references,
        "filter": if meta.filter == Default::default() { Value::Null } else { json!(meta.filter) },
        "valid_from_frames": meta.filter.valid_from_frames(),
        "footprint_pages": table.len(),
        "anon_pages": anonymous,
        "file_pages": table.len() as u64 - anonymous,
        "classes_given": meta.classes_given,
        "launches": meta.launches,
        "apps": meta.apps.len().max(usize::from(trace.kind == Kind::Page)),
        "app_names": meta.apps.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(),
        "truncated": meta.truncated,
        "partitions": meta.partitions,
        "content_hash": if meta.content_hash.is_empty() { Value::Null } else { json!(meta.content_hash) },
        "provenance": meta.provenance,
    }))
}

/// Import `source` (a path, or `-`) into the `.slt` at `output`; the new trace's information as JSON.
#[pyfunction]
#[pyo3(signature = (source, output, reading, listener=None))]
fn trace_import(py: Python<'_>, source: PathBuf, output: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        import::import(&source, &output, Codec::Zstd, &reading.options()?, &mut progress(listener))?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}

#[pyfunction]
#[pyo3(signature = (source, reading, listener=None))]
fn trace_info(py: Python<'_>, source: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| Ok(about(&*reading.open(&source, listener)?)?.to_string())).map_err(bad)
}

#[pyfunction]
#[pyo3(signature = (source, reading, to, output, listener=None))]
fn trace_convert(py: Python<'_>, source: PathBuf, reading: &str, to: &str, output: PathBuf, listener: Option<Py<PyAny>>) -> PyResult<()> {
    let reading: Reading = parsed(reading).map_err(bad)?;
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
    let reading: Reading = parsed(reading).map_err(bad)?;
    let what = tools::Slice { from: start, count, app };
    py.detach(|| {
        what.check()?;
        tools::slice(&*reading.open(&source, None)?, &what, &output, &mut progress(listener))?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}

/// Merge `sources`, each of which goes by the name of its file.
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
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        let traces = sources.iter().map(|s| reading.open(s, None)).collect::<Result<Vec<_>>>()?;
        let stem =
            |path: &PathBuf| path.file_name().map_or_else(String::new, |n| n.to_string_lossy().split('.').next().unwrap_or("").to_owned());
        let names: Vec<String> = sources.iter().map(stem).collect();
        let named: Vec<(&str, &Trace)> = names.iter().map(String::as_str).zip(traces.iter().map(|t| &t.trace)).collect();
        tools::merge(&named, quantum, &output, &mut progress(listener))?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}

#[pyfunction]
#[pyo3(signature = (source, reading, seed, output, listener=None))]
fn trace_anonymise(
    py: Python<'_>,
    source: PathBuf,
    reading: &str,
    seed: u64,
    output: PathBuf,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        tools::anonymise(&*reading.open(&source, None)?, seed, &output, &mut progress(listener))?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}
