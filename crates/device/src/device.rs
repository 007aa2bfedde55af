//! A device that prices operations, made from a spec.

use crate::DeviceSpec;
use swaplab_vocab::{unknown_key, BadInput, Nanos, Result, PAGE_SIZE};

/// What the device hangs on: memory is read by loads and can be mapped; storage is read by requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    Memory,
    Storage,
}

/// Time of one operation in one direction.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// The first 4 KiB, as published rates of random operations give it, or the latency alone.
    start_ns: f64,
    /// Bytes that `start_ns` already pays for.
    included: u64,
    /// Nanoseconds for each further byte.
    per_byte_ns: f64,
}

impl Timing {
    fn of(spec: &DeviceSpec, iops: &str, latency: &str, bandwidth: &str) -> Result<Timing> {
        let positive = |key: &str, value: f64| match value > 0.0 {
            true => Ok(value),
            false => Err(BadInput::new(spec.name.as_str(), format!("{key} = 0"), "a number above 0")),
        };
        let per_byte_ns = 1e9 / positive(bandwidth, spec.need(bandwidth)?)?;
        match (spec.get(iops), spec.get(latency)) {
            (Some(rate), None) => Ok(Timing { start_ns: 1e9 / positive(iops, rate)?, included: PAGE_SIZE, per_byte_ns }),
            (None, Some(latency)) => Ok(Timing { start_ns: latency, included: 0, per_byte_ns }),
            (None, None) => Err(BadInput::new(spec.name.as_str(), format!("{iops} and {latency} are absent"), "one of the two")),
            (Some(_), Some(_)) => Err(BadInput::new(spec.name.as_str(), format!("{iops} and {latency} are both given"), "one of the two")),
        }
    }

    /// Rounded to whole nanoseconds once an operation, so that sums are exact.
    fn time(&self, bytes: u64) -> Nanos {
        Nanos((self.start_ns + bytes.saturating_sub(self.included) as f64 * self.per_byte_ns).round() as u64)
    }
}

/// A priced device.
#[derive(Clone, Debug)]
pub struct Device {
    pub spec: DeviceSpec,
    pub attachment: Attachment,
    read: Timing,
    write: Timing,
}

impl Device {
    pub fn new(spec: DeviceSpec) -> Result<Device> {
        let attachment = match spec.attachment.as_str() {
            "memory" => Attachment::Memory,
            "storage" => Attachment::Storage,
            other => return Err(unknown_key(&spec.name, "attachment", other, ["memory", "storage"])),
        };
        let read = Timing::of(&spec, "time.read_iops", "time.read_latency_ns", "time.read_bytes_per_s")?;
        let write = Timing::of(&spec, "time.write_iops", "time.write_latency_ns", "time.write_bytes_per_s")?;
        Ok(Device { spec, attachment, read, write })
    }

    /// Time of one read of `bytes` (a page, or a cluster of them in one request).
    pub fn read_time(&self, bytes: u64) -> Nanos {
        self.read.time(bytes)
    }

    /// Time of one write of `bytes`.
    pub fn write_time(&self, bytes: u64) -> Nanos {
        self.write.time(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(time: &str) -> Result<Device> {
        let text = format!("what = 'x'\nattachment = 'storage'\n[time]\nsource = 'hand'\n{time}");
        Device::new(DeviceSpec::parse("my.toml", &text)?)
    }

    #[test]
    fn rates_pay_for_the_first_page_and_latencies_for_none() {
        let d = device("read_iops = 100_000\nread_bytes_per_s = 1e9\nwrite_latency_ns = 500\nwrite_bytes_per_s = 2e9").unwrap();
        assert_eq!((d.read_time(512).0, d.read_time(4096).0, d.read_time(12_288).0), (10_000, 10_000, 18_192));
        assert_eq!((d.write_time(0).0, d.write_time(4096).0), (500, 2_548));
    }

    #[test]
    fn absent_doubled_and_zero_constants_are_refused() {
        let message = |time| device(time).unwrap_err().to_string();
        assert!(message("read_iops = 1").contains("time.read_bytes_per_s is absent"));
        assert!(message("read_bytes_per_s = 1").contains("time.read_iops and time.read_latency_ns are absent"));
        assert!(message("read_iops = 1\nread_latency_ns = 1\nread_bytes_per_s = 1").contains("are both given"));
        assert!(message("read_iops = 0\nread_bytes_per_s = 1").contains("time.read_iops = 0"));
        assert!(Device::new(DeviceSpec::parse("my.toml", "what = 'x'\nattachment = 'bus'").unwrap()).is_err());
    }
}
