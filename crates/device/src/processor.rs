//! The processor's cost of swapping: time and energy of a fault, a copy, a request or a
//! compression, per 4 KiB page.

use crate::DeviceSpec;
use swaplab_vocab::{BadInput, Nanos, Picojoules, Result};

#[derive(Clone, Debug)]
pub struct Processor {
    pub spec: DeviceSpec,
    pub fault: Nanos,
    pub map: Nanos,
    pub copy: Nanos,
    pub swap_in: Nanos,
    pub block_request: Nanos,
    /// By algorithm: lzo-rle, lz4, zstd.
    pub compress: [Nanos; 3],
    pub decompress: [Nanos; 3],
    active_mw: f64,
}

impl Processor {
    pub fn new(spec: DeviceSpec) -> Result<Processor> {
        if spec.attachment != "processor" {
            return Err(BadInput::new(spec.name.as_str(), format!("attachment '{}'", spec.attachment), "a processor"));
        }
        let time = |key: &str| spec.need(key).map(|v| Nanos(v.round() as u64));
        Ok(Processor {
            fault: time("cpu.fault_ns")?,
            map: time("cpu.map_ns")?,
            copy: time("cpu.copy_ns")?,
            swap_in: time("cpu.swap_in_ns")?,
            block_request: time("cpu.block_request_ns")?,
            compress: [time("cpu.compress_lzo_rle_ns")?, time("cpu.compress_lz4_ns")?, time("cpu.compress_zstd_ns")?],
            decompress: [time("cpu.decompress_lzo_rle_ns")?, time("cpu.decompress_lz4_ns")?, time("cpu.decompress_zstd_ns")?],
            active_mw: spec.need("cpu.active_mw")?,
            spec,
        })
    }

    /// Energy of a core that works for `time`.
    pub fn energy(&self, time: Nanos) -> Picojoules {
        Picojoules((time.0 as f64 * self.active_mw).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core of 0.5 W uses 1 mJ in 2 ms.
    #[test]
    fn energy_is_power_times_time() {
        let mut core = crate::load_processor("phone-big").unwrap();
        core.active_mw = 500.0;
        assert_eq!(core.energy(Nanos(2_000_000)), Picojoules(1_000_000_000));
    }
}
