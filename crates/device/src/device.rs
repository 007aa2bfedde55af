//! A device that prices operations, built from a spec. A spec gives rates, latencies or the
//! constants of DR.Swap's Table II; in each case the time and the energy of an operation are a
//! fixed cost plus a cost per byte.

use crate::energy::{Ddr, Emmc, Mode};
use crate::DeviceSpec;
use swaplab_vocab::{rounded, unknown_key, BadInput, Nanos, Picojoules, Result, PAGE_SIZE};

/// Attachment: memory is accessed by loads and stores, and can be mapped; storage by requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    Memory,
    Storage,
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Select the constant of this direction.
    fn key(self, [read, write]: [&'static str; 2]) -> &'static str {
        match self {
            Direction::Read => read,
            Direction::Write => write,
        }
    }
}

/// A fixed cost, `start`, plus a cost per byte. The fixed cost covers the first `included` bytes.
#[derive(Clone, Copy, Debug)]
struct Price {
    start: f64,
    included: u64,
    per_byte: f64,
}

impl Price {
    /// The price of a cost function. All of this crate's are linear in the number of bytes.
    fn linear(cost: impl Fn(u64) -> f64) -> Price {
        Price { start: cost(0), included: 0, per_byte: (cost(PAGE_SIZE) - cost(0)) / PAGE_SIZE as f64 }
    }

    fn times(self, factor: f64) -> Price {
        Price { start: self.start * factor, included: self.included, per_byte: self.per_byte * factor }
    }

    /// The cost of an operation, rounded to an integer, so that sums over operations are exact.
    fn of(&self, bytes: u64) -> u64 {
        rounded(self.start + bytes.saturating_sub(self.included) as f64 * self.per_byte)
    }
}

/// Idle power in watts: of the whole device, and per byte in use.
#[derive(Clone, Copy, Debug)]
struct IdlePower {
    device: f64,
    per_byte: f64,
}

/// A priced device.
#[derive(Clone, Debug)]
pub struct Device {
    pub spec: DeviceSpec,
    pub attachment: Attachment,
    /// Time of a read and of a write while the queue is full, in nanoseconds of the device's time.
    time: [Price; 2],
    /// Cost in nanoseconds of an empty place in the queue during reads, and during writes.
    empty_place_ns: [f64; 2],
    /// Number of operations that are served in parallel.
    depth: u64,
    /// Energy of a read and of a write in picojoules, and idle power; `None` if the spec has none.
    energy: Option<([Price; 2], IdlePower)>,
}

/// The time of an operation on a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// The part that overlaps with other operations.
    pub own: Nanos,
    /// The transfer, which occupies the bus exclusively.
    pub transfer: Nanos,
}

impl Device {
    /// Price a spec by the hardware's costs (`Mode::Physical`). The errors of the paper only matter
    /// for its own energy table.
    pub fn new(spec: DeviceSpec) -> Result<Device> {
        let attachment = match spec.attachment.as_str() {
            "memory" => Attachment::Memory,
            "storage" => Attachment::Storage,
            "processor" => return Err(BadInput::new(spec.name, "a processor", "a memory or a storage device")),
            other => return Err(unknown_key(&spec.name, "attachment", other, ["memory", "storage", "processor"])),
        };
        let (time, energy) = match (spec.has("ddr"), spec.has("emmc"), spec.has("time")) {
            (true, false, false) => {
                let ddr = Ddr::of(&spec)?;
                let time = [Price::linear(|b| ddr.t_rd(b) * 1e9), Price::linear(|b| ddr.t_wr(b, Mode::Physical) * 1e9)];
                let energy = [Price::linear(|b| ddr.read_j(b) * 1e12), Price::linear(|b| ddr.write_j(b, Mode::Physical) * 1e12)];
                (time, Some((energy, IdlePower { device: 0.0, per_byte: ddr.idle_w_per_byte() })))
            }
            (false, true, false) => {
                let emmc = Emmc::of(&spec)?;
                let physical = Mode::Physical;
                let time = [Price::linear(|b| emmc.t_rd(b, physical) * 1e9), Price::linear(|b| emmc.t_wr(b, physical) * 1e9)];
                let energy = [Price::linear(|b| emmc.read_j(b, physical) * 1e12), Price::linear(|b| emmc.write_j(b, physical) * 1e12)];
                (time, Some((energy, IdlePower { device: emmc.idle_w(), per_byte: 0.0 })))
            }
            (false, false, true) => {
                let time = [timing(&spec, Direction::Read)?, timing(&spec, Direction::Write)?];
                let energy = match (energy(&spec, Direction::Read, time[0])?, energy(&spec, Direction::Write, time[1])?) {
                    (Some(read), Some(write)) => Some(([read, write], idle_power(&spec)?)),
                    (None, None) => None,
                    _ => return Err(BadInput::new(spec.name, "energy of only one direction", "energy of reads and of writes")),
                };
                (time, energy)
            }
            _ => return Err(BadInput::new(spec.name, "none or several of [time], [ddr], [emmc]", "one of them")),
        };
        let depth = depth(&spec)?;
        let empty_place_ns = [empty_place_ns(&spec, Direction::Read, time[0]), empty_place_ns(&spec, Direction::Write, time[1])];
        Ok(Device { spec, attachment, time, empty_place_ns, depth, energy })
    }

    /// Number of operations that the device serves in parallel (docs/models/queue.md).
    pub fn queue_depth(&self) -> u64 {
        self.depth
    }

    /// The times of a page's read and write, for a model of the queue (docs/models/queue.md).
    pub fn service(&self) -> [Service; 2] {
        [0, 1].map(|direction| {
            let (price, empty_place_ns) = (self.time[direction], self.empty_place_ns[direction]);
            let alone = price.of(PAGE_SIZE) as f64 + empty_place_ns * (self.depth - 1) as f64;
            let transfer = (price.of(2 * PAGE_SIZE) - price.of(PAGE_SIZE)) as f64;
            Service { own: Nanos((alone - transfer).max(0.0).round() as u64), transfer: Nanos(transfer as u64) }
        })
    }

    /// Time that `operations` simultaneous reads take in addition to the sum of
    /// [`read_time`](Device::read_time), because places of the queue stay empty in the last round.
    pub fn read_slack(&self, operations: u64) -> Nanos {
        self.slack(self.empty_place_ns[0], operations)
    }

    /// As [`read_slack`](Device::read_slack), for writes.
    pub fn write_slack(&self, operations: u64) -> Nanos {
        self.slack(self.empty_place_ns[1], operations)
    }

    fn slack(&self, empty_place_ns: f64, operations: u64) -> Nanos {
        match operations % self.depth {
            0 => Nanos(0),
            taken => Nanos(rounded(empty_place_ns * (self.depth - taken) as f64)),
        }
    }

    /// The device's time for one read of `bytes` (one or more pages) while its queue is full.
    pub fn read_time(&self, bytes: u64) -> Nanos {
        Nanos(self.time[0].of(bytes))
    }

    /// As [`read_time`](Device::read_time), for a write.
    pub fn write_time(&self, bytes: u64) -> Nanos {
        Nanos(self.time[1].of(bytes))
    }

    /// Energy of a read of `bytes`; `None` if the spec has no energy constants.
    pub fn read_energy(&self, bytes: u64) -> Option<Picojoules> {
        self.energy.map(|([read, _], _)| Picojoules(read.of(bytes)))
    }

    /// Energy of a write of `bytes`; `None` if the spec has no energy constants.
    pub fn write_energy(&self, bytes: u64) -> Option<Picojoules> {
        self.energy.map(|([_, write], _)| Picojoules(write.of(bytes)))
    }

    /// Idle power in watts with `bytes` in use; `None` if the spec has no energy constants.
    pub fn idle_watts(&self, bytes: u64) -> Option<f64> {
        self.energy.map(|(_, idle)| idle.device + idle.per_byte * bytes as f64)
    }
}

/// Number of operations served in parallel, by default 1.
fn depth(spec: &DeviceSpec) -> Result<u64> {
    match spec.get("time.queue_depth") {
        None => Ok(1),
        Some(depth) if (1.0..=65_536.0).contains(&depth) && depth.fract() == 0.0 => Ok(depth as u64),
        Some(depth) => Err(BadInput::new(spec.name.as_str(), format!("time.queue_depth = {depth}"), "a whole number from 1 to 65536")),
    }
}

/// The part of an operation that overlaps with others, divided by the queue depth: the fixed cost
/// without the transfer of its bytes, because the bus serves one transfer at a time.
fn empty_place_ns(spec: &DeviceSpec, direction: Direction, time: Price) -> f64 {
    let bandwidth = direction.key(["time.read_bytes_per_s", "time.write_bytes_per_s"]);
    let transfer = spec.get(bandwidth).map_or(0.0, |rate| time.included as f64 * 1e9 / rate);
    (time.start - transfer).max(0.0)
}

/// Upper limit for the time of a page: the nanoseconds of a billion of them fit into 64 bits.
const SLOWEST_PAGE_NS: f64 = 1e10;

fn timing(spec: &DeviceSpec, direction: Direction) -> Result<Price> {
    let iops = direction.key(["time.read_iops", "time.write_iops"]);
    let latency = direction.key(["time.read_latency_ns", "time.write_latency_ns"]);
    let per_byte = 1e9 / spec.positive(direction.key(["time.read_bytes_per_s", "time.write_bytes_per_s"]))?;
    let price = match (spec.get(iops), spec.get(latency)) {
        (Some(_), None) => Price { start: 1e9 / spec.positive(iops)?, included: PAGE_SIZE, per_byte },
        (None, Some(start)) => Price { start: start / depth(spec)? as f64, included: 0, per_byte },
        (given, _) => {
            let found = if given.is_some() { "both given" } else { "absent" };
            return Err(BadInput::new(spec.name.as_str(), format!("{iops} and {latency} are {found}"), "one of the two"));
        }
    };
    let page = price.start + price.per_byte * PAGE_SIZE as f64;
    if page > SLOWEST_PAGE_NS {
        let found = format!("{} takes {:?} s per page", iops.split('_').next().unwrap_or(iops), (page * 1e-6).round() / 1e3);
        return Err(BadInput::new(spec.name.as_str(), found, format!("{} s at most", SLOWEST_PAGE_NS * 1e-9)));
    }
    Ok(price)
}

/// The energy of one direction, from the power during the operation or from the energy per byte.
fn energy(spec: &DeviceSpec, direction: Direction, time: Price) -> Result<Option<Price>> {
    let power = direction.key(["energy.read_mw", "energy.write_mw"]);
    let per_byte = direction.key(["energy.read_pj_per_byte", "energy.write_pj_per_byte"]);
    match (spec.get(power), spec.get(per_byte)) {
        (Some(milliwatts), None) => Ok(Some(time.times(milliwatts))), // mW x ns = pJ
        (None, Some(per_byte)) => Ok(Some(Price { start: 0.0, included: 0, per_byte })),
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(BadInput::new(spec.name.as_str(), format!("{power} and {per_byte} are both given"), "one of the two")),
    }
}

fn idle_power(spec: &DeviceSpec) -> Result<IdlePower> {
    match (spec.get("energy.idle_mw"), spec.get("energy.idle_mw_per_gib")) {
        (Some(milliwatts), None) => Ok(IdlePower { device: milliwatts * 1e-3, per_byte: 0.0 }),
        (None, Some(per_gib)) => Ok(IdlePower { device: 0.0, per_byte: per_gib * 1e-3 / (1u64 << 30) as f64 }),
        _ => Err(BadInput::new(spec.name.as_str(), "not one of energy.idle_mw and energy.idle_mw_per_gib", "one of the two")),
    }
}

#[cfg(test)]
mod tests;
