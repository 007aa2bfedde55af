//! Long work tells Python how far it is, and hears of Ctrl-C, a few times a second.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

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
            if let Some(listener) = &listener {
                if listener.call1(py, (done, total)).is_err() {
                    return false;
                }
            }
            py.check_signals().is_ok()
        })
    }
}

/// The same listener, for work that comes in two parts.
pub fn again(py: Python<'_>, listener: &Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    listener.as_ref().map(|listener| listener.clone_ref(py))
}
