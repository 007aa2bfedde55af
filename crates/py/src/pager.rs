//! Checks before a program is started under the pager, and reading of its results. The pager itself
//! runs in that program.

use crate::{bad, NotSupported};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::PathBuf;
use swaplab_pager::record::{self, EventKind};
use swaplab_pager::stats::Stats;
use swaplab_pager::{parse_scheme, Place};
use swaplab_policy::PolicySpec;
use swaplab_trace::{ClassAndFile, Codec, FilePage, Kind, Mark, Range, TraceBuilder};
use swaplab_vocab::{BadInput, Class, Op, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(pager_check, module)?)?;
    module.add_function(wrap_pyfunction!(pager_unreachable, module)?)?;
    module.add_function(wrap_pyfunction!(pager_trace, module)?)?;
    module.add_function(wrap_pyfunction!(pager_account, module)?)?;
    module.add_function(wrap_pyfunction!(pager_counters, module)?)
}

fn missing(missing: swaplab_pager::kernel::Missing) -> PyErr {
    NotSupported::new_err(missing.to_string())
}

/// Check that a run with this scheme and policy is possible on this machine, with NVM at `nvm` (a
/// directory, node:N or '') and a flash file in `flash`. Returns the read and write latency of a
/// page on `medium`, a device or ''.
#[pyfunction]
#[pyo3(signature = (scheme, policy, medium, nvm = "", flash = None))]
fn pager_check(scheme: &str, policy: &str, medium: &str, nvm: &str, flash: Option<PathBuf>) -> PyResult<(u64, u64)> {
    let flash = flash.unwrap_or_else(|| swaplab_pager::FLASH_DIRECTORY.into());
    let spec = parse_scheme(scheme).map_err(bad)?;
    swaplab_pager::accept(&PolicySpec::parse(policy).map_err(bad)?).map_err(missing)?;
    swaplab_pager::probe_store(&spec, &Place::parse(nvm).map_err(missing)?, &flash).map_err(missing)?;
    if medium.is_empty() {
        return Ok((0, 0));
    }
    if !swaplab_pager::uses_nvm(&spec) {
        return Err(bad(BadInput::new("--medium", format!("'{medium}' with scheme '{scheme}', which has no NVM"), "plain")));
    }
    let device = swaplab_device::load(medium).map_err(bad)?;
    Ok((device.read_time(PAGE_SIZE).0, device.write_time(PAGE_SIZE).0))
}

/// Why no library can be preloaded into the program at `path`; `None` if it can, or if the file
/// cannot be read.
#[pyfunction]
fn pager_unreachable(path: PathBuf) -> Option<String> {
    let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
    swaplab_pager::program::unreachable(&path).map(|why| why.to_string())
}

/// Write a trace from the recordings of pagers. Each process is an app; they follow one another and
/// each ends with a kill, because each had its own memory. `truncated`: one of them did not end
/// normally. Returns false, and writes no file, if there is no reference.
#[pyfunction]
fn pager_trace(processes: Vec<(String, PathBuf)>, provenance: BTreeMap<String, String>, truncated: bool, out: PathBuf) -> PyResult<bool> {
    let make = || -> swaplab_vocab::Result<bool> {
        let mut references = 0;
        let mut builder = TraceBuilder::create(&out, Kind::Page, PAGE_SIZE, Codec::Zstd)?;
        builder.meta.provenance = provenance;
        builder.meta.truncated = truncated;
        for (name, path) in &processes {
            let app = builder.app(name, None)?;
            let bytes = std::fs::read(path).map_err(|e| BadInput::io(swaplab_vocab::path_for_message(path), e))?;
            for (event, first, pages) in record::read(&bytes) {
                let range = Range { app, first, pages };
                let op = match event {
                    EventKind::Write => Op::Write,
                    EventKind::Read => Op::Read,
                    EventKind::Evict => {
                        builder.mark(Mark::Evict(range))?;
                        continue;
                    }
                    EventKind::Discard => {
                        builder.mark(Mark::Discard(range))?;
                        continue;
                    }
                    EventKind::Unmap => {
                        builder.mark(Mark::Unmap(range))?;
                        continue;
                    }
                };
                references += pages;
                for page in first..first + pages {
                    let known = ClassAndFile { class: Class::Anonymous, file_page: FilePage::default() };
                    let _ = builder.access_as(app, page, op, known)?;
                }
            }
            builder.mark(Mark::Kill { app })?;
        }
        if references == 0 {
            return Ok(false);
        }
        builder.finish().map(|_| true)
    };
    make().map_err(bad)
}

/// The names of the counters of a statistics page, in order.
#[pyfunction]
fn pager_counters() -> Vec<&'static str> {
    Stats::NAMES.to_vec()
}

/// The current anonymous memory of a paged process in bytes: the part that counts against its
/// budget, the other part, and the kernel's sum. `stats` is the file of its counters. `None` if the
/// process has ended or belongs to another user.
#[pyfunction]
fn pager_account(pid: u32, stats: PathBuf) -> Option<(usize, usize, usize)> {
    let account = swaplab_pager::look(pid, &std::fs::read(stats).ok()?).ok()?;
    Some((account.managed, account.unmanaged, account.anonymous))
}
