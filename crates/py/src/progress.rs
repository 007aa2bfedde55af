//! Progress of long operations: a few times per second it is reported to Python, and signals such
//! as Ctrl-C are processed.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The exception that a listener or a signal handler has raised, until the interrupted call returns
/// to Python. It is global because the core only propagates that it was interrupted, and may call
/// the listener on another thread.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

const PERIOD: Duration = Duration::from_millis(60);

/// A progress callback for the core. It calls `listener(done, total)` if there is one, and returns
/// `false` once a signal has arrived.
pub fn progress(listener: Option<Py<PyAny>>) -> impl FnMut(u64, u64) -> bool {
    let mut last = Instant::now();
    move |done, total| {
        if last.elapsed() < PERIOD {
            return true;
        }
        last = Instant::now();
        Python::attach(|py| {
            let heard = listener.as_ref().map_or(Ok(()), |listener| listener.call1(py, (done, total)).map(drop));
            match heard.and_then(|()| py.check_signals()) {
                Ok(()) => true,
                Err(error) => {
                    *RAISED.lock().expect("nothing panics while it is locked") = Some(error);
                    false
                }
            }
        })
    }
}

/// The exception for interrupted work: the one that was raised meanwhile, or a `KeyboardInterrupt`
/// that names the place.
pub fn raised(place: String) -> PyErr {
    let raised = RAISED.lock().expect("nothing panics while it is locked").take();
    let other = raised.filter(|error| Python::attach(|py| !error.is_instance_of::<PyKeyboardInterrupt>(py)));
    other.unwrap_or_else(|| PyKeyboardInterrupt::new_err(place))
}

/// Another reference to the listener, for work in two parts.
pub fn clone_listener(py: Python<'_>, listener: &Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    listener.as_ref().map(|listener| listener.clone_ref(py))
}
