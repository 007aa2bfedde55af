//! DR.Swap's energy model, for `swaplab energy`.

use crate::bad;
use pyo3::prelude::*;
use serde_json::{json, Map, Value};
use swaplab_device::energy::{compare, Activity, Energy, Mode};
use swaplab_vocab::{BadInput, Memory, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(energy, module)?)
}

fn document(e: &Energy) -> Value {
    json!({
        "background_j": e.background_j, "activate_j": e.activate_j, "read_j": e.read_j, "write_j": e.write_j, "io_j": e.io_j,
        "total_j": e.total_j(), "busy_s": e.busy_s,
    })
}

/// `{scheme: {part: joules}}` as JSON text.
#[pyfunction]
#[pyo3(signature = (swap, seconds, swap_ins, direct_reads, swap_outs, lines_per_direct_read, mode))]
fn energy(
    swap: &str,
    seconds: f64,
    swap_ins: u64,
    direct_reads: u64,
    swap_outs: u64,
    lines_per_direct_read: u64,
    mode: &str,
) -> PyResult<String> {
    let swap_bytes = match Memory::parse(swap).map_err(bad)? {
        Memory::Bytes(bytes) => bytes,
        Memory::Pages(pages) => pages * PAGE_SIZE,
        Memory::Percent(_) => return Err(bad(BadInput::new("--swap", swap, "bytes or pages: a swap area has no footprint"))),
    };
    let activity = Activity { seconds, swap_bytes, swap_ins, direct_reads, swap_outs, lines_per_direct_read };
    let schemes = compare(&activity, Mode::parse(mode).map_err(bad)?).map_err(bad)?;
    let schemes: Map<String, Value> = schemes.iter().map(|(name, e)| (name.to_string(), document(e))).collect();
    Ok(Value::Object(schemes).to_string())
}
