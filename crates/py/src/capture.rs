//! Captures: the plugin's ring and the recording.

use crate::{bad, trace};
use pyo3::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use swaplab_capture::{CacheSizes, Label, Limits, Recorded, Request, Ring, Shared};
use swaplab_vocab::{BadInput, Result};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(capture_cache_sizes, module)?)?;
    module.add_class::<Capture>()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    output: PathBuf,
    program: String,
    filter: usize,
    caches: Option<String>,
    max: Option<u64>,
    root: Option<String>,
    provenance: BTreeMap<String, String>,
}

impl Plan {
    fn request(self) -> Result<Request> {
        let caches = self.caches.as_deref().map(CacheSizes::parse).transpose()?;
        let limits = Limits { filter: self.filter, caches, max: self.max };
        let Plan { output, program, caches, root, provenance, .. } = self;
        Ok(Request { output, program, limits, caches, root, provenance })
    }
}

/// The sizes in bytes of level one and last level in a text such as `L1:32KiB,LL:2MiB`.
#[pyfunction]
fn capture_cache_sizes(text: &str) -> PyResult<(u64, u64)> {
    CacheSizes::parse(text).map(|sizes| (sizes.first, sizes.last)).map_err(bad)
}

/// A recording. `record_*` block their thread until the program has ended; the other methods are
/// for other threads.
#[pyclass(frozen)]
struct Capture {
    ring: Ring,
    shared: Shared,
}

#[pymethods]
impl Capture {
    #[new]
    fn new() -> PyResult<Capture> {
        let ring = Ring::create().map_err(|e| bad(BadInput::io("shared memory", e)))?;
        Ok(Capture { ring, shared: Shared::default() })
    }

    fn ring_path(&self) -> String {
        self.ring.path()
    }

    fn label(&self, text: &str) -> PyResult<()> {
        self.shared.request_label(Label::parse(text).map_err(bad)?, Some(&self.ring));
        Ok(())
    }

    fn program_ended(&self, crashed: bool) {
        self.shared.program_ended(crashed);
    }

    fn program_may_end(&self) -> bool {
        self.shared.program_may_end()
    }

    /// Record the plugin's events. Returns the trace's metadata, and why the trace ends early, if
    /// it does.
    fn record_ring(&self, py: Python<'_>, plan: &str) -> PyResult<(String, Option<&'static str>)> {
        self.record(py, plan, |request| swaplab_capture::record_ring(&self.ring, request, &self.shared))
    }

    /// Record what lackey, which runs as process `pid`, prints to `descriptor`. This call closes
    /// the descriptor.
    fn record_lackey(&self, py: Python<'_>, plan: &str, descriptor: RawFd, pid: u32) -> PyResult<(String, Option<&'static str>)> {
        // SAFETY: the caller hands the descriptor over and does not use it again.
        let text = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        self.record(py, plan, |request| swaplab_capture::record_lackey(text, pid, request, &self.shared))
    }
}

impl Capture {
    fn record(
        &self,
        py: Python<'_>,
        plan: &str,
        how: impl FnOnce(Request) -> Result<Recorded> + Send,
    ) -> PyResult<(String, Option<&'static str>)> {
        let plan: Plan = trace::parsed(plan).map_err(bad)?;
        let outcome = py.detach(|| how(plan.request()?)).map_err(bad)?;
        Ok((serde_json::to_string(&outcome.meta).expect("metadata is plain data"), outcome.cut))
    }
}
