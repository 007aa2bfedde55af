//! Rules that the world `kernel` shares with the other worlds: parameters of schemes, low-memory
//! killers, and app policies.

use crate::bad;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_apps::app_policy::{Gate, APP_POLICIES};
use swaplab_apps::{History, Killer, Owner, Pressure, KILLERS};
use swaplab_experiment::Span;
use swaplab_swap::{Reservation, SchemeSpec};
use swaplab_vocab::{Kind, Memory, Parameter, Spec, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<KillerRule>()?;
    module.add_class::<AppPolicyRule>()?;
    module.add_function(wrap_pyfunction!(scheme_resolve, module)?)?;
    module.add_function(wrap_pyfunction!(span_seconds, module)?)
}

/// Parse the JSON form of a spec, a text or a table.
fn spec(place: &str, json: &str) -> PyResult<Spec> {
    serde_json::from_str(json).map_err(|e| crate::BadInput::new_err(format!("{place}: {e}; expected a key with parameters")))
}

/// Resolve the JSON form of a scheme's spec on a machine with this much DRAM: its text and key, the
/// media on which it reserves areas, the names of the given parameters, every size in bytes (null
/// for unlimited), and every other parameter as written.
#[pyfunction]
fn scheme_resolve(place: &str, json: &str, dram_bytes: u64) -> PyResult<String> {
    #[derive(Serialize)]
    struct Scheme<'a> {
        text: &'a str,
        key: &'static str,
        areas: &'static [Reservation],
        reads_in_place: bool,
        given: Vec<&'static str>,
        sizes: BTreeMap<&'static str, Option<u64>>,
        texts: BTreeMap<&'static str, &'a str>,
    }
    let scheme = SchemeSpec::of(&spec(place, json)?).map_err(|e| bad(e.within(place)))?;
    let bytes = |size: Option<Memory>| match size? {
        Memory::Bytes(bytes) => Some(bytes),
        Memory::Pages(pages) => Some(pages * PAGE_SIZE),
        Memory::Percent(percent) => Some((dram_bytes as f64 * percent / 100.0) as u64),
    };
    let params = &scheme.params;
    let (sizes, texts): (Vec<&Parameter>, Vec<&Parameter>) =
        scheme.entry.parameters.iter().partition(|parameter| matches!(parameter.kind, Kind::Size));
    let resolved = Scheme {
        text: &scheme.text,
        key: scheme.entry.key,
        areas: scheme.entry.info.areas,
        reads_in_place: scheme.entry.info.reads_in_place,
        given: scheme.entry.parameters.iter().map(|parameter| parameter.name).filter(|name| params.is_given(name)).collect(),
        sizes: sizes.into_iter().map(|parameter| (parameter.name, bytes(params.size(parameter.name)))).collect(),
        texts: texts.into_iter().map(|parameter| (parameter.name, params.text(parameter.name))).collect(),
    };
    serde_json::to_string(&resolved).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// A time such as `20ms` in seconds.
#[pyfunction]
fn span_seconds(place: &str, text: &str) -> PyResult<f64> {
    Ok(Span::parse(text).map_err(|e| bad(e.within(place)))?.seconds())
}

/// The low-memory killer of apps in a control group of `limit_bytes`.
#[pyclass(module = "swaplab._core")]
struct KillerRule(Killer);

#[pymethods]
impl KillerRule {
    #[new]
    fn new(place: &str, json: &str, limit_bytes: u64) -> PyResult<KillerRule> {
        let resolved = KILLERS.resolve(&spec(place, json)?).map_err(|e| bad(e.within(place)))?;
        Ok(KillerRule(Killer::of(&resolved).map_err(|e| bad(e.within(place)))?.in_group(limit_bytes / 1024)))
    }

    /// Interval between checks of memory in milliseconds.
    #[getter]
    fn poll_ms(&self) -> f64 {
        self.0.poll_ms
    }

    /// Memory is low if free memory and file pages together are below this, in bytes.
    #[getter]
    fn low_memory_bytes(&self) -> u64 {
        self.0.low_memory_kb() * 1024
    }

    /// The least `oom_score_adj` that may be killed now; `None` if no app may be killed. `now_s` is
    /// the time of a monotonic clock. Stalls are those of the last second, refaults are cumulative.
    #[pyo3(signature = (now_s, *, free_kb, file_kb, anon_kb, stall_ms, full_avg10, file_refaults_kb, swap_total_kb, swap_free_kb))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments, the figures of one check of memory")]
    fn look(
        &mut self,
        now_s: f64,
        free_kb: u64,
        file_kb: u64,
        anon_kb: u64,
        stall_ms: u64,
        full_avg10: f64,
        file_refaults_kb: u64,
        swap_total_kb: u64,
        swap_free_kb: u64,
    ) -> Option<u32> {
        let stalls = Pressure { stall_ms, full_avg10, file_refaults_kb, ..Pressure::default() };
        let seen = Pressure { free_kb, file_kb, anon_kb, swap_total_kb, swap_free_kb, ..stalls };
        self.0.look((now_s * 1e9) as u64, &seen)
    }

    /// Note that an app was killed because of the last check.
    fn killed(&mut self) {
        self.0.killed();
    }
}

/// An app policy, which decides whose pages the kernel may swap out from the launches so far. Apps
/// are numbers.
#[pyclass(module = "swaplab._core")]
struct AppPolicyRule {
    gate: Gate,
    history: History,
    /// Whether the policy ever forbids a swap-out: true unless it is `none`.
    #[pyo3(get)]
    steers: bool,
}

#[pymethods]
impl AppPolicyRule {
    #[new]
    fn new(place: &str, json: &str) -> PyResult<AppPolicyRule> {
        let resolved = APP_POLICIES.resolve(&spec(place, json)?).map_err(|e| bad(e.within(place)))?;
        Ok(AppPolicyRule { gate: Gate::of(&resolved), history: History::default(), steers: resolved.entry.key != "none" })
    }

    /// Note that the user launched this app.
    fn launched(&mut self, app: u32) {
        self.history.launch(app as swaplab_vocab::AppId);
    }

    /// Whether pages of `app` may be swapped out while `live` apps are alive.
    fn may_swap_out(&self, live: usize, app: u32) -> bool {
        self.gate.may_swap_out(live, &[Owner::App(app as swaplab_vocab::AppId)], &self.history)
    }
}
