//! DR.Swap's energy model, for `swaplab papers energy`.

use crate::bad;
use crate::trace::json;
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_device::energy::{compare, Activity, Energy, Mode};
use swaplab_vocab::{BadInput, Memory, PAGE_SIZE};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(energy, module)?)
}

/// Energy of a scheme in joules by the terms of equation (1), and the busy time of its devices in
/// seconds.
#[derive(Serialize)]
struct Parts {
    background_j: f64,
    activate_j: f64,
    read_j: f64,
    write_j: f64,
    io_j: f64,
    total_j: f64,
    busy_s: f64,
}

impl From<&Energy> for Parts {
    fn from(energy: &Energy) -> Parts {
        let Energy { background_j, activate_j, read_j, write_j, io_j, busy_s } = *energy;
        Parts { background_j, activate_j, read_j, write_j, io_j, total_j: energy.total_j(), busy_s }
    }
}

/// JSON of `Parts` by scheme: `dram`, `flash`, `nvm-direct`. `swap` is the area's size, `mode` is
/// `paper`, `physical` or `literal`.
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
    let swap_bytes = match Memory::parse(swap).map_err(|e| bad(e.within("--swap-size")))? {
        Memory::Bytes(bytes) => bytes,
        Memory::Pages(pages) => pages * PAGE_SIZE,
        Memory::Percent(_) => return Err(bad(BadInput::new("swap", swap, "bytes or pages: a swap area has no footprint"))),
    };
    let activity = Activity { seconds, swap_bytes, swap_ins, direct_reads, swap_outs, lines_per_direct_read };
    let schemes = compare(&activity, Mode::parse(mode).map_err(bad)?).map_err(bad)?;
    json(&schemes.iter().map(|(name, energy)| (*name, Parts::from(energy))).collect::<BTreeMap<_, _>>())
}
