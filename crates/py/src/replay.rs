//! `replay` and `mrc`.

use crate::bad;
use crate::progress::{again, progress};
use crate::trace::{about, parsed, Reading};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::path::PathBuf;
use std::sync::Arc;
use swaplab_policy::Costs;
use swaplab_sim::ledger::{DeviceNames, Prices};
use swaplab_sim::replay::{lru_curve, replay as run, Delivery, FirstTouch, Mapping, Options, PointSpec, SwapSpec};
use swaplab_swap::SchemeSpec;
use swaplab_vocab::{unknown_key, BadInput, Memory, Result, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(replay, module)?)?;
    module.add_function(wrap_pyfunction!(mrc, module)?)
}

/// A replay as the command line gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    policies: Vec<String>,
    memory: Vec<String>,
    file_device: String,
    swap_device: Option<String>,
    first_touch: Option<String>,
    mapping: String,
    signal: String,
    seed: u64,
    jobs: usize,
    /// Swap schemes to join; none: swap is what `swap_device` costs.
    #[serde(default)]
    schemes: Vec<String>,
    /// Length of the run, for background energy and the rate of wear.
    #[serde(default)]
    seconds: Option<f64>,
    #[serde(default)]
    reading: Reading,
}

/// A device's page costs, and what a document says of it.
fn device(name: &str, page_size: u64) -> Result<(u64, u64, Value)> {
    let device = swaplab_device::load(name)?;
    let (read, write) = (device.read_time(page_size).0, device.write_time(page_size).0);
    let sources: Vec<&str> =
        device.spec.constants.values().map(|c| c.source.as_str()).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    Ok((
        read,
        write,
        json!({"name": name, "what": device.spec.what, "read_ns": read, "write_ns": write, "page_size": page_size, "source": sources.join("; ")}),
    ))
}

fn mapping(text: &str) -> Result<Mapping> {
    match text {
        "follow" => Ok(Mapping::Follow),
        "ignore" => Ok(Mapping::Ignore),
        other => Err(unknown_key("--mapping", "mapping", other, ["follow", "ignore"])),
    }
}

impl Request {
    fn points(&self) -> Result<Vec<PointSpec>> {
        let policies = self.policies.iter().map(|p| crate::policies::parse(p)).collect::<Result<Vec<_>>>()?;
        let sizes = self.memory.iter().map(|m| Ok((m, Memory::parse(m)?))).collect::<Result<Vec<_>>>()?;
        if policies.is_empty() || sizes.is_empty() {
            return Err(BadInput::new("replay", "no policy or no memory size", "at least one of each"));
        }
        let swaps = self.swaps()?;
        let mut points = Vec::new();
        for policy in &policies {
            for (size, memory) in &sizes {
                let point = |swap| PointSpec { policy: policy.clone(), size: size.to_string(), memory: *memory, swap };
                match swaps.as_slice() {
                    [] => points.push(point(None)),
                    swaps => points.extend(swaps.iter().map(|swap| point(Some(swap.clone())))),
                }
            }
        }
        Ok(points)
    }

    /// The schemes to join. `swap_device` is the device of a scheme's own medium, `file_device` that of flash otherwise.
    fn swaps(&self) -> Result<Vec<SwapSpec>> {
        if self.seconds.is_some_and(|s| !(s.is_finite() && s > 0.0)) {
            return Err(BadInput::new("--seconds", "no length of time", "a run of more than 0 seconds"));
        }
        let one = |text: &String| {
            let scheme = SchemeSpec::parse(text)?;
            let mut names = DeviceNames { flash: self.file_device.clone(), ..DeviceNames::default() };
            if let (Some(medium), Some(device)) = (scheme.info.medium, self.swap_device.clone()) {
                *names.of(medium) = device;
            }
            Ok(SwapSpec { scheme, prices: Arc::new(Prices::new(&names)?), seconds: self.seconds })
        };
        self.schemes.iter().map(one).collect()
    }

    fn options(&self, page_size: u64) -> Result<(Options, Value)> {
        let (swap_read_ns, swap_write_ns, swap) = device(self.swap_device.as_deref().unwrap_or("optane-m10"), page_size)?;
        let (file_read_ns, file_write_ns, file) = device(&self.file_device, page_size)?;
        let first_touch = match self.first_touch.as_deref() {
            Some("charged") => FirstTouch::Charged,
            Some("zero-fill") => FirstTouch::ZeroFill,
            // READING 002 has swap hold the whole footprint; a scheme starts empty.
            None if self.schemes.is_empty() => FirstTouch::Charged,
            None => FirstTouch::ZeroFill,
            Some(other) => return Err(unknown_key("--first-touch", "first touch", other, ["charged", "zero-fill"])),
        };
        let options = Options {
            costs: Costs { swap_read_ns, swap_write_ns, file_read_ns, file_write_ns },
            first_touch,
            mapping: mapping(&self.mapping)?,
            delivery: Delivery::parse(&self.signal)?,
            seed: self.seed,
            jobs: self.jobs,
        };
        Ok((options, json!({"swap": swap, "file": file})))
    }
}

/// Replay a trace; the document of `swaplab replay --json` as text.
#[pyfunction]
#[pyo3(signature = (source, request, listener=None))]
fn replay(py: Python<'_>, source: PathBuf, request: &str, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let request: Request = parsed(request).map_err(bad)?;
    let opening = again(py, &listener);
    let replayed = py.detach(|| {
        // What needs no trace is checked before a long import begins.
        let points = request.points()?;
        request.options(PAGE_SIZE)?;
        let trace = request.reading.open(&source, opening)?;
        let (options, devices) = request.options(trace.page_size)?;
        let outcomes = run(&trace, &points, &options, &mut progress(listener))?;
        Ok(json!({
            "schema": 1,
            "kind": "simulated",
            "trace": about(&trace)?,
            "devices": devices,
            "experiment": {
                "policies": request.policies, "memory": request.memory, "file_device": request.file_device, "swap_device": request.swap_device,
                "first_touch": if options.first_touch == FirstTouch::Charged { "charged" } else { "zero-fill" }, "mapping": request.mapping, "signal": request.signal, "seed": request.seed, "schemes": request.schemes, "seconds": request.seconds,
            },
            "points": outcomes,
        })
        .to_string())
    });
    if replayed.is_err() && py.check_signals().is_err() {
        return Err(PyKeyboardInterrupt::new_err("interrupted in a policy's own code"));
    }
    replayed.map_err(bad)
}

/// The exact LRU curve, or SHARDS' estimate of it: `{"references", "rate", "footprint_pages", "misses": [by frames, from 0]}` as JSON.
#[pyfunction]
#[pyo3(signature = (source, reading, mapping_mode, rate, listener=None))]
fn mrc(py: Python<'_>, source: PathBuf, reading: &str, mapping_mode: &str, rate: f64, listener: Option<Py<PyAny>>) -> PyResult<String> {
    let reading: Reading = parsed(reading).map_err(bad)?;
    let opening = again(py, &listener);
    py.detach(|| {
        let mapping = mapping(mapping_mode)?;
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(BadInput::new("--sample", rate.to_string(), "a rate above 0 and at most 1"));
        }
        let trace = reading.open(&source, opening)?;
        let curve = lru_curve(&trace, mapping, rate, &mut progress(listener))?;
        Ok(json!({"trace": about(&trace)?, "references": curve.references, "rate": curve.rate, "misses": curve.misses}).to_string())
    })
    .map_err(bad)
}
