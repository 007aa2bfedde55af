//! Launches: made from a seed.

use crate::bad;
use crate::trace::about;
use pyo3::prelude::*;
use std::path::PathBuf;
use swaplab_trace::synth::Spec;
use swaplab_trace::{Codec, Trace};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_gen, module)?)
}

/// Write the trace that `spec` (a preset's name or a generator with values) makes of `seed`; its information as JSON.
#[pyfunction]
fn trace_gen(py: Python<'_>, spec: &str, seed: u64, output: PathBuf) -> PyResult<String> {
    py.detach(|| {
        Spec::parse(spec)?.write(seed, &output, Codec::Zstd)?;
        Ok(about(&Trace::open(&output)?)?.to_string())
    })
    .map_err(bad)
}
