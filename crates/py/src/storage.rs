//! The functions behind `swaplab trace analyze` and `swaplab papers nvm-cache`.

use crate::bad;
use crate::progress::progress;
use crate::trace::{json, parsed, Reading};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use swaplab_policy::PolicySpec;
use swaplab_sim::nvm_cache::{simulate, CacheResult, Fill, PointSpec};
use swaplab_swap::admission::AdmissionSpec;
use swaplab_trace::analyze::{analyze, Analysis};
use swaplab_trace::launches::{self, Reuse};
use swaplab_trace::{import, Kind, TraceInfo};
use swaplab_vocab::{BadInput, Memory, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_analyze, module)?)?;
    module.add_function(wrap_pyfunction!(nvm_cache, module)?)
}

/// The output of `trace analyze`.
#[derive(Serialize)]
struct TraceAnalysis {
    trace: TraceInfo,
    /// The distribution of accesses over data; null for a trace of launches.
    accesses: Option<Analysis>,
    /// Reuse distances of apps; empty if the trace has no launches.
    reuse: Reuse,
}

/// JSON of the trace's `TraceAnalysis`.
#[pyfunction]
#[pyo3(signature = (source, reading, listener=None))]
fn trace_analyze(py: Python<'_>, source: PathBuf, reading: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading = Reading::parse(reading).map_err(bad)?;
    let analysis = py.detach(|| {
        let trace = reading.open(&source, None)?;
        let accesses = match trace.kind {
            Kind::Launch => None,
            Kind::Page | Kind::Block => Some(analyze(&trace, &mut progress(listener))?),
        };
        let launches = if trace.meta.launches > 0 { launches::read(&trace)? } else { Vec::new() };
        Ok(TraceAnalysis { trace: TraceInfo::of(&trace)?, accesses, reuse: launches::reuse(launches.iter().map(|launch| launch.app)) })
    });
    json(&analysis.map_err(bad)?)
}

/// The arguments of a cache simulation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    sizes: Vec<String>,
    replacement: Vec<String>,
    admission: Vec<String>,
    fill: Vec<String>,
    jobs: usize,
    #[serde(default)]
    reading: swaplab_experiment::Reading,
}

/// The result of simulating an NVM cache in front of storage.
#[derive(Serialize)]
struct NvmCache {
    trace: TraceInfo,
    storage_accesses_without_nvm: u64,
    points: Vec<CacheResult>,
}

impl Request {
    fn points(&self) -> Result<Vec<PointSpec>> {
        let sizes = self.sizes.iter().map(|s| Memory::parse(s).map_err(|e| e.within("--size"))).collect::<Result<Vec<_>>>()?;
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

/// Simulate the caches of `request`, a JSON object with lists of `sizes`, `replacement`,
/// `admission` and `fill`, which are crossed, and with `jobs` and `reading`. Returns JSON of
/// `NvmCache`.
#[pyfunction]
#[pyo3(signature = (source, request, listener=None))]
fn nvm_cache(py: Python<'_>, source: PathBuf, request: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let request: Request = parsed(request).map_err(bad)?;
    let simulated = py.detach(|| {
        let points = request.points()?;
        let trace = import::open(&source, &request.reading.options()?, &mut |_, _| true)?;
        let points = simulate(&trace, &points, request.jobs, &mut progress(listener))?;
        Ok(NvmCache { storage_accesses_without_nvm: trace.meta.references(), trace: TraceInfo::of(&trace)?, points })
    });
    json(&simulated.map_err(bad)?)
}
