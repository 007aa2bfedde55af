//! Long work tells Python how far it is, and hears of Ctrl-C, a few times a second.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What a listener or a signal's handler raised, until the call that it ended returns to Python. The core only knows that it was interrupted, and
/// may have asked on a thread of its own.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

const PERIOD: Duration = Duration::from_millis(60);

/// A callback for the core: calls `listener(done, total)` if there is one; `false` once a signal has asked to stop.
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

/// What ended work that was interrupted: the exception that was raised meanwhile, or an interrupt of the keyboard that names the place.
pub fn raised(place: String) -> PyErr {
    let raised = RAISED.lock().expect("nothing panics while it is locked").take();
    let other = raised.filter(|error| Python::attach(|py| !error.is_instance_of::<PyKeyboardInterrupt>(py)));
    other.unwrap_or_else(|| PyKeyboardInterrupt::new_err(place))
}

/// The same listener, for work that comes in two parts.
pub fn again(py: Python<'_>, listener: &Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    listener.as_ref().map(|listener| listener.clone_ref(py))
}
