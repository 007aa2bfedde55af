//! What a swap scheme's transfers cost: time, energy and wear by medium, processor time by kind of work.

use serde::Serialize;
use serde_json::{json, Map, Value};
use swaplab_device::{load, load_processor, Attachment, Device, Processor};
use swaplab_swap::{Medium, Step, Transfers, Work};
use swaplab_vocab::{BadInput, Nanos, Picojoules, Result, PAGE_SIZE};

/// The devices behind the media, and the processor. A pool of compressed pages lies in DRAM.
#[derive(Clone, Debug)]
pub struct Prices {
    devices: [Device; 5],
    processor: Processor,
    page_bytes: u64,
}

/// Names of devices (registry keys or paths of spec files) for [`Prices`].
#[derive(Clone, Debug)]
pub struct DeviceNames {
    pub dram: String,
    pub nvm: String,
    pub flash: String,
    pub sd_card: String,
    pub processor: String,
}

impl Default for DeviceNames {
    fn default() -> DeviceNames {
        let name = |text: &str| text.to_string();
        DeviceNames {
            dram: name("lpddr2"),
            nvm: name("lpddr2-pcm"),
            flash: name("ufs-3.1"),
            sd_card: name("sd-card"),
            processor: name("x86-64"),
        }
    }
}

impl DeviceNames {
    pub fn of(&mut self, medium: Medium) -> &mut String {
        match medium {
            Medium::Dram | Medium::Pool => &mut self.dram,
            Medium::Nvm => &mut self.nvm,
            Medium::Flash => &mut self.flash,
            Medium::SdCard => &mut self.sd_card,
        }
    }
}

impl Prices {
    pub fn new(names: &DeviceNames) -> Result<Prices> {
        let dram = load(&names.dram)?;
        if dram.attachment != Attachment::Memory {
            return Err(BadInput::new(format!("device '{}'", names.dram), "storage in the place of DRAM", "a device that is memory"));
        }
        Ok(Prices {
            devices: [dram.clone(), dram, load(&names.nvm)?, load(&names.flash)?, load(&names.sd_card)?],
            processor: load_processor(&names.processor)?,
            page_bytes: PAGE_SIZE,
        })
    }

    pub fn device(&self, medium: Medium) -> &Device {
        &self.devices[medium as usize]
    }

    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// The same for larger pages: what schemes count as a page is then so many bytes, a multiple of 4 KiB.
    pub fn with_pages_of(self, page_bytes: u64) -> Prices {
        Prices { page_bytes, ..self }
    }

    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Times that a page is larger than 4 KiB.
    fn scale(&self) -> u64 {
        self.page_bytes / PAGE_SIZE
    }

    fn work(&self, work: Work) -> Nanos {
        let each = |time: Nanos| Nanos(time.0 * self.scale());
        match work {
            Work::BlockRequest => self.processor.block_request,
            Work::Copy => each(self.processor.copy),
            Work::Map => self.processor.map,
            Work::SwapIn => self.processor.swap_in,
            Work::Compress(algorithm) => each(self.processor.compress[algorithm as usize]),
            Work::Decompress(algorithm) => each(self.processor.decompress[algorithm as usize]),
        }
    }
}

/// Sums for one medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_time: Nanos,
    pub write_time: Nanos,
    pub read_energy: Picojoules,
    pub write_energy: Picojoules,
}

/// What one batch of transfers took, for a runner with a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Time that each medium was busy with reads.
    pub reading: [Nanos; 5],
    /// And with writes.
    pub writing: [Nanos; 5],
    /// Requests that read, and that wrote, by medium.
    pub reads: [u64; 5],
    pub writes: [u64; 5],
    /// Time on the processor.
    pub cpu: Nanos,
    /// Of that, decompression.
    pub decompress: Nanos,
}

impl Charge {
    /// What its reads on `medium` take if they are all there at once, after `before` others.
    pub fn read_wait(&self, medium: Medium, before: u64, prices: &Prices) -> u64 {
        let (device, reads) = (prices.device(medium), self.reads[medium as usize]);
        (self.reading[medium as usize].0 + device.read_slack(before + reads).0).saturating_sub(device.read_slack(before).0)
    }

    /// What all its writes take if they are there at once, one medium after the other.
    pub fn write_wait(&self, prices: &Prices) -> u64 {
        Medium::ALL.into_iter().map(|m| self.writing[m as usize].0 + prices.device(m).write_slack(self.writes[m as usize]).0).sum()
    }
}

impl std::ops::AddAssign for Charge {
    fn add_assign(&mut self, other: Charge) {
        self.cpu += other.cpu;
        self.decompress += other.decompress;
        self.reads.iter_mut().zip(other.reads).for_each(|(sum, count)| *sum += count);
        self.writes.iter_mut().zip(other.writes).for_each(|(sum, count)| *sum += count);
        self.reading.iter_mut().zip(other.reading).for_each(|(sum, time)| *sum += time);
        self.writing.iter_mut().zip(other.writing).for_each(|(sum, time)| *sum += time);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    media: [Account; 5],
    pub cpu: Nanos,
    /// Every step, for tests that add up on their own.
    #[cfg(test)]
    pub log: Vec<Step>,
}

impl Ledger {
    /// Charge the steps of `out`; it is left as it is.
    pub fn charge(&mut self, out: &Transfers, prices: &Prices) -> Charge {
        let (mut charge, scale) = (Charge::default(), prices.scale());
        #[cfg(test)]
        self.log.extend(out.steps.iter().map(|transfer| transfer.step));
        for transfer in &out.steps {
            match transfer.step {
                Step::Cpu(work) => {
                    charge.cpu += prices.work(work);
                    if let Work::Decompress(_) = work {
                        charge.decompress += prices.work(work);
                    }
                }
                Step::Read { medium, bytes, continues, .. } => {
                    let bytes = u64::from(bytes) * scale;
                    let (device, account) = (prices.device(medium), &mut self.media[medium as usize]);
                    let time = extent(bytes, continues, |b| device.read_time(b).0);
                    let energy = extent(bytes, continues, |b| device.read_energy(b).map_or(0, |e| e.0));
                    account.reads += u64::from(!continues);
                    account.read_bytes += bytes;
                    account.read_time += Nanos(time);
                    account.read_energy += Picojoules(energy);
                    charge.reading[medium as usize] += Nanos(time);
                    charge.reads[medium as usize] += u64::from(!continues);
                }
                Step::Write { medium, bytes, continues, .. } => {
                    let bytes = u64::from(bytes) * scale;
                    let (device, account) = (prices.device(medium), &mut self.media[medium as usize]);
                    let time = extent(bytes, continues, |b| device.write_time(b).0);
                    let energy = extent(bytes, continues, |b| device.write_energy(b).map_or(0, |e| e.0));
                    account.writes += u64::from(!continues);
                    account.write_bytes += bytes;
                    account.write_time += Nanos(time);
                    account.write_energy += Picojoules(energy);
                    charge.writing[medium as usize] += Nanos(time);
                    charge.writes[medium as usize] += u64::from(!continues);
                }
            }
        }
        self.cpu += charge.cpu;
        charge
    }

    pub fn of(&self, medium: Medium) -> &Account {
        &self.media[medium as usize]
    }

    /// Time that all media were busy, with reads and with writes.
    pub fn busy(&self) -> (Nanos, Nanos) {
        (self.media.iter().map(|a| a.read_time).sum(), self.media.iter().map(|a| a.write_time).sum())
    }

    /// Every medium that was used: traffic, busy time, energy by part, and wear. `seconds` is the run's length, where it is known;
    /// then idle power of `held` bytes on the medium is counted, and wear has a rate.
    pub fn document(&self, prices: &Prices, seconds: Option<f64>, held: impl Fn(Medium) -> u64) -> Value {
        let used = |m: &Medium| self.of(*m).reads + self.of(*m).writes > 0;
        let media: Map<String, Value> = Medium::ALL
            .into_iter()
            .filter(used)
            .map(|medium| {
                let (account, device) = (self.of(medium), prices.device(medium));
                let mut row = json!({
                    "device": device.spec.name, "reads": account.reads, "writes": account.writes, "read_bytes": account.read_bytes,
                    "write_bytes": account.write_bytes, "busy_ns": (account.read_time + account.write_time).0,
                });
                // Where the device's spec gives no energy, the document gives none.
                row["energy_j"] = device.idle_watts(held(medium)).map_or(Value::Null, |watts| {
                    let background = seconds.map(|s| watts * s);
                    let (read, write) = (account.read_energy.0 as f64 * 1e-12, account.write_energy.0 as f64 * 1e-12);
                    json!({"background": background, "read": read, "write": write, "total": background.unwrap_or(0.0) + read + write})
                });
                row["wear"] = wear(device, account.write_bytes, seconds);
                (medium.name().to_string(), row)
            })
            .collect();
        let cpu_energy = prices.processor.energy(self.cpu).0 as f64 * 1e-12;
        let (reading, writing) = self.busy();
        json!({"media": media, "busy_ns": (reading + writing).0, "cpu_ns": self.cpu.0, "cpu_energy_j": cpu_energy, "processor": prices.processor.spec.name})
    }
}

/// Cost of `bytes`, or of `bytes` more in a request that is under way.
fn extent(bytes: u64, continues: bool, cost: impl Fn(u64) -> u64) -> u64 {
    match (bytes, continues) {
        (0, _) => 0,
        (_, false) => cost(bytes),
        (_, true) => cost(2 * bytes) - cost(bytes),
    }
}

/// Cycles that `written` bytes take from each cell when wear is level, and how long the rated endurance lasts at that rate.
fn wear(device: &Device, written: u64, seconds: Option<f64>) -> Value {
    let constant = |key: &str| device.spec.get(key);
    let (Some(endurance), Some(capacity)) = (constant("wear.endurance_cycles"), constant("wear.capacity_bytes")) else {
        return Value::Null;
    };
    let cycles = written as f64 * constant("wear.write_amplification").unwrap_or(1.0) / capacity;
    let per_day = seconds.map(|s| cycles * 86_400.0 / s);
    let years = per_day.filter(|d| *d > 0.0).map(|d| endurance / d / 365.25);
    json!({"cycles": cycles, "cycles_per_day": per_day, "years_to_endurance": years, "endurance_cycles": endurance, "capacity_bytes": capacity})
}
