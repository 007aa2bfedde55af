//! A policy that is a Python class with `referenced`, `reclaim` and `forget`. References are
//! batched and passed to Python when the policy must decide the next time: at most one call per
//! fault, none per hit.

use pyo3::exceptions::{PyIndexError, PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;
use swaplab_policy::{Backing, Entry, Factory, FileKey, Info, PageView, Policy, PolicySpec, Setup, Signal};
use swaplab_vocab::{unknown_key, BadInput, Kind, Op, PageId, Parameter, Params, Result};

/// The Python module for the other side of this interface.
const MODULE: &str = "swaplab.core.policy";
/// Maximum number of references in a batch.
const MOST: usize = 1 << 16;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PythonPages>()
}

/// Load the policy that `key` names from its file.
pub fn load(key: &FileKey) -> Result<PolicySpec> {
    Python::attach(|py| {
        let module = py.import(MODULE).map_err(|e| policy_error(py, &key.file, &e))?;
        let classes: Vec<(String, Py<PyAny>)> =
            module.call_method1("read", (&key.file,)).and_then(|answer| answer.extract()).map_err(|e| policy_error(py, &key.file, &e))?;
        let names: Vec<&str> = classes.iter().map(|(name, _)| name.as_str()).collect();
        let Some((_, class)) = classes.iter().find(|(name, _)| *name == key.name) else {
            return Err(match key.name.as_str() {
                "" => BadInput::new(&key.file, "no policy named", format!("{}:NAME, one of: {}", key.file, names.join(" "))),
                name => unknown_key(&key.file, "policy", name, names.iter().copied()),
            });
        };
        let place = format!("{}:{}", key.file, key.name);
        let (what, signal, parameters): (String, String, Vec<(String, String)>) =
            module.call_method1("describe", (class,)).and_then(|answer| answer.extract()).map_err(|e| policy_error(py, &place, &e))?;
        let signals = [Signal::Exact, Signal::ReferenceBit, Signal::FaultOnly];
        let signal = signals.into_iter().find(|s| s.name() == signal).ok_or_else(|| {
            let known = signals.map(Signal::name);
            unknown_key(&place, "signal", &signal, known)
        })?;
        let parameters: Vec<Parameter> =
            parameters.into_iter().map(|(name, default)| Parameter::new(name.leak(), Kind::Text, default.leak(), "")).collect();
        let entry: &'static Entry = Box::leak(Box::new(Entry {
            key: place.leak(),
            what: what.leak(),
            source: "",
            parameters: parameters.leak(),
            info: Info::online(signal),
        }));
        PolicySpec::external(&key.text, &key.spec, entry, Arc::new(PythonFactory { place: entry.key, class: class.clone_ref(py) }))
    })
}

/// Convert an exception of the Python side to an input error, with the expected input if the
/// exception has it.
fn policy_error(py: Python<'_>, place: &str, error: &PyErr) -> BadInput {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return BadInput::Interrupted { place: place.into() };
    }
    match error.value(py).getattr("args").and_then(|args| args.extract::<(String, String)>()) {
        Ok((found, expected)) => BadInput::new(place, found, expected),
        Err(_) => BadInput::new(place, one_line(py, error), "a Python file with a policy (docs/how-to/policy-author.md)"),
    }
}

/// An exception in one line, with the place at which it was raised.
fn one_line(py: Python<'_>, error: &PyErr) -> String {
    let asked = || py.import(MODULE)?.call_method1("one_line", (error.clone_ref(py).into_value(py),))?.extract();
    asked().unwrap_or_else(|_: PyErr| error.to_string())
}

struct PythonFactory {
    place: &'static str,
    class: Py<PyAny>,
}

impl Factory for PythonFactory {
    fn build(&self, setup: &Setup, params: &Params) -> Result<Box<dyn Policy>> {
        Python::attach(|py| {
            let built = || {
                let given = PyDict::new(py);
                for (name, value) in [("pages", setup.pages as u64), ("frames", setup.frames as u64), ("seed", setup.seed)] {
                    given.set_item(name, value)?;
                }
                let costs = setup.costs;
                for (name, value) in [
                    ("swap_read_ns", costs.swap_read_ns),
                    ("swap_write_ns", costs.swap_write_ns),
                    ("file_read_ns", costs.file_read_ns),
                    ("file_write_ns", costs.file_write_ns),
                ] {
                    given.set_item(name, value)?;
                }
                let values: Vec<(&str, &str)> = params.values().collect();
                let object = py.import(MODULE)?.call_method1("build", (&self.class, given, values))?.unbind();
                let view = Py::new(py, PythonPages { pages: AtomicPtr::default() })?;
                Ok(PythonPolicy { object, view, referenced: Vec::new(), ops: Vec::new(), forgotten: Vec::new(), failure: None })
            };
            let policy = built().map_err(|e: PyErr| policy_error(py, self.place, &e))?;
            Ok(Box::new(policy) as Box<dyn Policy>)
        })
    }
}

struct PythonPolicy {
    object: Py<PyAny>,
    view: Py<PythonPages>,
    /// The batch: references, four bytes each, and their operations; then pages that no longer
    /// exist.
    referenced: Vec<u8>,
    ops: Vec<u8>,
    forgotten: Vec<u8>,
    failure: Option<String>,
}

impl PythonPolicy {
    #[inline]
    fn note(&mut self, page: PageId, op: Op) {
        if self.ops.len() == MOST || !self.forgotten.is_empty() {
            self.deliver_batch();
        }
        self.referenced.extend_from_slice(&page.to_ne_bytes());
        self.ops.push(op as u8);
    }

    #[cold]
    fn deliver_batch(&mut self) {
        self.attached(|policy, py| policy.deliver(py));
    }

    /// Pass the batch to the object, in order.
    fn deliver(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        if !self.ops.is_empty() {
            object.call_method1("referenced", (numbers(py, &self.referenced)?, PyBytes::new(py, &self.ops)))?;
        }
        if !self.forgotten.is_empty() {
            object.call_method1("forget", (numbers(py, &self.forgotten)?,))?;
        }
        self.referenced.clear();
        self.ops.clear();
        self.forgotten.clear();
        Ok(())
    }

    /// Run Python code. An exception is the policy's failure, after which it is not called again.
    fn attached<T>(&mut self, code: impl FnOnce(&mut PythonPolicy, Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        Python::attach(|py| {
            code(self, py)
                .map_err(|error| {
                    self.failure = Some(one_line(py, &error));
                    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                        // SAFETY: we are attached to the interpreter. The signal is for `replay`,
                        // which ends with it, so no more Python code may run here.
                        unsafe { pyo3::ffi::PyErr_SetInterrupt() };
                    }
                })
                .ok()
        })
    }
}

/// Page numbers for Python: a memory view of 32-bit numbers, which needs no conversion of each
/// element.
fn numbers<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    PyMemoryView::from(PyBytes::new(py, bytes).as_any())?.call_method1("cast", ("I",))
}

impl Policy for PythonPolicy {
    #[inline]
    fn touch(&mut self, page: PageId, op: Op, _: &PageView) {
        self.note(page, op);
    }

    fn reclaim(&mut self, incoming: Option<(PageId, Op)>, pages: &mut PageView) {
        let seen: *mut PageView = pages;
        let victims = self.attached(|policy, py| {
            policy.deliver(py)?;
            let view = policy.view.get();
            view.pages.store(seen, Ordering::Relaxed);
            let answer = policy.object.bind(py).call_method1("reclaim", (incoming.map(|(page, _)| page), &policy.view));
            view.pages.store(std::ptr::null_mut(), Ordering::Relaxed);
            let answer = answer?;
            answer.extract::<PageId>().map(|page| vec![page]).or_else(|_| answer.extract::<Vec<PageId>>()).map_err(|_| {
                let shown = answer.repr().map(|r| r.to_string()).unwrap_or_default();
                PyRuntimeError::new_err(format!(
                    "reclaim returned {}, not a page or a list of pages",
                    shown.chars().take(60).collect::<String>()
                ))
            })
        });
        if victims.as_ref().is_some_and(Vec::is_empty) {
            self.failure = Some("reclaim returned no page".into());
        }
        for page in victims.unwrap_or_default() {
            if page as usize >= pages.len() || !pages.is_resident(page) {
                self.failure.get_or_insert_with(|| format!("released page {page}, which is not in memory"));
                return;
            }
            pages.release(page);
        }
    }

    #[inline]
    fn insert(&mut self, page: PageId, op: Op, _: &mut PageView) {
        self.note(page, op);
    }

    fn forget(&mut self, page: PageId) {
        self.forgotten.extend_from_slice(&page.to_ne_bytes());
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    /// The object's state is its own, so there is nothing to check. Its releases are checked when
    /// it makes them.
    fn check(&self, _: &PageView) -> std::result::Result<(), String> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

/// A view of the state of pages, valid during a call of `reclaim`.
#[pyclass(frozen, name = "Pages", module = "swaplab._core")]
struct PythonPages {
    /// Null outside of a call of `reclaim`.
    pages: AtomicPtr<PageView>,
}

impl PythonPages {
    fn look<T>(&self, page: PageId, at: impl FnOnce(&PageView) -> T) -> PyResult<T> {
        // SAFETY: `reclaim` sets the pointer before it calls Python, does not use the pages during
        // that call, and resets the pointer after it. Python calls this function only in between.
        let pages = unsafe { self.pages.load(Ordering::Relaxed).as_ref() };
        let pages = pages.ok_or_else(|| PyRuntimeError::new_err("pages can be read during reclaim only"))?;
        if page as usize >= pages.len() {
            return Err(PyIndexError::new_err(format!("page {page} is none of the {} pages", pages.len())));
        }
        Ok(at(pages))
    }
}

#[pymethods]
impl PythonPages {
    /// Whether the page is in memory.
    fn is_resident(&self, page: PageId) -> PyResult<bool> {
        self.look(page, |pages| pages.is_resident(page))
    }

    /// Whether the page was written since it was brought in.
    fn is_dirty(&self, page: PageId) -> PyResult<bool> {
        self.look(page, |pages| pages.is_dirty(page))
    }

    /// Where the page would be written to now: `swap` or `file`.
    fn backing(&self, page: PageId) -> PyResult<&'static str> {
        self.look(page, |pages| if pages.backing(page) == Backing::Swap { "swap" } else { "file" })
    }

    /// The class of the page's mapping: `anonymous`, `file` or `shared`.
    fn class_of(&self, page: PageId) -> PyResult<&'static str> {
        self.look(page, |pages| pages.class(page).name())
    }
}
