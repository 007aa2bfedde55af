//! The Python extension `swaplab._core`. It only converts arguments, results and errors.

mod capture;
mod compress;
mod energy;
mod experiment;
mod fit;
mod kernel;
mod pager;
mod pftrace;
mod phone;
mod policies;
mod progress;
mod python_policy;
mod registry;
mod replay;
mod storage;
mod trace;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

create_exception!(swaplab, BadInput, PyValueError, "Bad usage or input; one line that names place and expectation.");
create_exception!(swaplab, NotSupported, PyException, "This machine lacks a capability; the message names it.");

/// Convert an input error to a Python exception.
fn bad(error: swaplab_vocab::BadInput) -> PyErr {
    match error {
        swaplab_vocab::BadInput::Interrupted { .. } => progress::raised(error.to_string()),
        other => BadInput::new_err(other.to_string()),
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("BadInput", module.py().get_type::<BadInput>())?;
    module.add("NotSupported", module.py().get_type::<NotSupported>())?;
    compress::register(module)?;
    capture::register(module)?;
    energy::register(module)?;
    experiment::register(module)?;
    fit::register(module)?;
    kernel::register(module)?;
    phone::register(module)?;
    pager::register(module)?;
    pftrace::register(module)?;
    python_policy::register(module)?;
    registry::register(module)?;
    replay::register(module)?;
    storage::register(module)?;
    trace::register(module)?;
    Ok(())
}
