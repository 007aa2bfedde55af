//! What `swaplab run` asks before it starts a program: the pager itself lives in the program, not here.

use crate::{bad, NotSupported};
use pyo3::prelude::*;
use std::path::PathBuf;
use swaplab_pager::stats::Stats;
use swaplab_pager::{parse_scheme, Place};
use swaplab_policy::PolicySpec;
use swaplab_vocab::{BadInput, Memory, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(pager_check, module)?)?;
    module.add_function(wrap_pyfunction!(pager_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(pager_counters, module)?)
}

fn missing(missing: swaplab_pager::kernel::Missing) -> PyErr {
    NotSupported::new_err(missing.to_string())
}

/// Whether a run with this scheme and policy can start here, its NVM at `nvm` (a directory, node:N or '') and its flash file in
/// `flash`; read and write latency of a page on `medium`, a device or ''.
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

/// An amount of memory in bytes; a percentage has nothing to refer to.
#[pyfunction]
fn pager_bytes(option: &str, text: &str) -> PyResult<u64> {
    match Memory::parse(text).map_err(|e| bad(e.within(option)))? {
        Memory::Bytes(bytes) => Ok(bytes),
        Memory::Pages(pages) => Ok(pages * PAGE_SIZE),
        Memory::Percent(_) => {
            Err(bad(BadInput::new(option, format!("'{text}'"), "bytes or pages: a program's need is not known before it runs")))
        }
    }
}

/// The counters of a statistics page, in its order.
#[pyfunction]
fn pager_counters() -> Vec<&'static str> {
    Stats::NAMES.to_vec()
}
