//! `trace analyze` and `nvm-cache`.

use crate::bad;
use crate::progress::progress;
use crate::trace::{about, parsed, Reading};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::path::PathBuf;
use swaplab_policy::PolicySpec;
use swaplab_sim::nvm_cache::{simulate, Fill, PointSpec};
use swaplab_swap::admission::AdmissionSpec;
use swaplab_trace::Kind;
use swaplab_vocab::{BadInput, Memory, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_analyze, module)?)?;
    module.add_function(wrap_pyfunction!(nvm_cache, module)?)
}

/// What `trace analyze` prints, as JSON text.
#[pyfunction]
#[pyo3(signature = (source, reading, listener=None))]
fn trace_analyze(py: Python<'_>, source: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    py.detach(|| {
        let trace = reading.open(&source, None)?;
        let mut document = json!({"schema": 1, "kind": "measured", "trace": about(&trace)?});
        let analysis =
            if trace.kind == Kind::Launch { Value::Null } else { json!(swaplab_trace::analyze::analyze(&trace, &mut progress(listener))?) };
        for key in [
            "accesses",
            "data",
            "top_share",
            "rank_cdf",
            "share_for_80_percent",
            "single_access_ratio",
            "multi_access_ratio",
            "partitions",
            "partition_accesses",
            "swap",
            "scatter",
            "partition_names",
        ] {
            // What a kind of trace can't say is null.
            document[key] = analysis.get(key).cloned().unwrap_or(Value::Null);
        }
        let launches = if trace.meta.launches > 0 { swaplab_trace::launches::read(&trace)? } else { Vec::new() };
        document["reuse"] = json!(swaplab_trace::launches::reuse(launches.iter().map(|l| l.app)));
        Ok(document.to_string())
    })
    .map_err(bad)
}

/// The cache simulation as the command line gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    sizes: Vec<String>,
    replacement: Vec<String>,
    admission: Vec<String>,
    fill: Vec<String>,
    jobs: usize,
    #[serde(default)]
    reading: Reading,
}

impl Request {
    fn points(&self) -> Result<Vec<PointSpec>> {
        let sizes = self.sizes.iter().map(|s| Memory::parse(s)).collect::<Result<Vec<_>>>()?;
        let replacements = self.replacement.iter().map(|r| PolicySpec::parse(r)).collect::<Result<Vec<_>>>()?;
        let admissions = self.admission.iter().map(|a| AdmissionSpec::parse(a)).collect::<Result<Vec<_>>>()?;
        let fills = self.fill.iter().map(|f| Fill::parse(f)).collect::<Result<Vec<_>>>()?;
        let mut points = Vec::new();
        for fill in &fills {
            for size in &sizes {
                for replacement in &replacements {
                    for admission in &admissions {
                        let (replacement, admission) = (replacement.clone(), admission.clone());
                        points.push(PointSpec { size: *size, replacement, admission, fill: *fill });
                    }
                }
            }
        }
        if points.is_empty() {
            return Err(BadInput::new("nvm-cache", "nothing to simulate", "a size, a replacement, an admission and a fill at least"));
        }
        Ok(points)
    }
}

/// The document of `swaplab nvm-cache --json` as text.
#[pyfunction]
#[pyo3(signature = (source, request, listener=None))]
fn nvm_cache(py: Python<'_>, source: PathBuf, request: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let request: Request = parsed(request).map_err(bad)?;
    py.detach(|| {
        let points = request.points()?;
        let trace = request.reading.open(&source, None)?;
        let outcomes = simulate(&trace, &points, request.jobs, &mut progress(listener))?;
        let document = json!({
            "schema": 1, "kind": "simulated", "trace": about(&trace)?,
            "storage_accesses_without_nvm": trace.meta.references(), "points": outcomes,
        });
        Ok(document.to_string())
    })
    .map_err(bad)
}
