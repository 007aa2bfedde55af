//! Export of tracks as Perfetto files.

use crate::bad;
use crate::trace::parsed;
use pyo3::prelude::*;
use swaplab_trace::export::perfetto::{pftrace, Track};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(perfetto_trace, module)?)
}

/// The content of a `.pftrace` with `tracks`, a JSON list.
#[pyfunction]
fn perfetto_trace(py: Python<'_>, tracks: &str) -> PyResult<Vec<u8>> {
    let tracks: Vec<Track> = parsed(tracks).map_err(bad)?;
    Ok(py.detach(|| pftrace(&tracks)))
}
