//! The costs of a swap scheme's transfers: time, energy and wear by medium, and processor time by
//! kind of work.

use serde::Serialize;
use std::collections::BTreeMap;
use swaplab_device::{load, load_processor, Attachment, Device, Processor};
use swaplab_experiment::document::{MediumUse, Wear};
use swaplab_experiment::Devices;
use swaplab_swap::{Medium, Step, Transfers, Work};
use swaplab_vocab::{BadInput, Nanos, Picojoules, Result, PAGE_SIZE};

/// The device of each medium, and the processor. The pool of compressed pages is in DRAM.
#[derive(Clone, Debug)]
pub struct Prices {
    devices: [Device; 5],
    processor: Processor,
    page_bytes: u64,
}

impl Prices {
    pub fn new(names: &Devices) -> Result<Prices> {
        let dram = load(&names.dram)?;
        if dram.attachment != Attachment::Memory {
            return Err(BadInput::new(format!("device '{}'", names.dram), "a storage device used as DRAM", "a device that is memory"));
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

    /// Change the page size to `page_bytes`, a multiple of 4 KiB. Schemes still count a page as 4
    /// KiB.
    pub fn with_pages_of(self, page_bytes: u64) -> Prices {
        Prices { page_bytes, ..self }
    }

    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The page size in units of 4 KiB.
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

/// A cache line.
const LINE_BYTES: u64 = 64;

/// Totals of one medium.
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

/// The costs of one batch of transfers on one medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediumCharge {
    /// Time for which the medium was busy with reads, and with writes.
    pub reading: Nanos,
    pub writing: Nanos,
    /// Number of read requests, and of write requests.
    pub reads: u64,
    pub writes: u64,
    /// Bytes written.
    pub written: u64,
}

/// The costs of one batch of transfers, for a runner with a clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Processor time.
    pub cpu: Nanos,
    /// Part of `cpu`: time of decompression.
    pub decompress: Nanos,
    /// Bit `medium as usize` is set for each medium that the batch uses. Usually that is one, and
    /// the others need not be read.
    used: u8,
    media: [MediumCharge; 5],
}

impl Charge {
    /// The costs on `medium`.
    pub fn of(&self, medium: Medium) -> &MediumCharge {
        &self.media[medium as usize]
    }

    /// The costs on `medium`, to be changed; the medium counts as used.
    pub fn of_mut(&mut self, medium: Medium) -> &mut MediumCharge {
        self.used |= 1 << medium as usize;
        &mut self.media[medium as usize]
    }

    /// The used media with their costs, in the order of [`Medium::ALL`].
    #[inline]
    pub fn media(&self) -> impl Iterator<Item = (Medium, &MediumCharge)> {
        let mut left = self.used;
        std::iter::from_fn(move || {
            let medium = *Medium::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((medium, self.of(medium)))
        })
    }

    /// Time in ns that the reads of this batch on `medium` take if all are pending at once, in
    /// addition to the time of `before` other reads that are pending with them.
    pub fn read_wait(&self, medium: Medium, before: u64, prices: &Prices) -> u64 {
        let (device, of) = (prices.device(medium), self.of(medium));
        (of.reading.0 + device.read_slack(before + of.reads).0).saturating_sub(device.read_slack(before).0)
    }

    /// Move the writes to storage devices out of this charge.
    pub fn take_storage_writes(&mut self, prices: &Prices) -> Charge {
        let mut taken = Charge::default();
        for medium in Medium::ALL.into_iter().filter(|m| prices.device(*m).attachment == Attachment::Storage) {
            let (from, to) = (self.of_mut(medium), taken.of_mut(medium));
            to.writing = std::mem::take(&mut from.writing);
            to.writes = std::mem::take(&mut from.writes);
            to.written = std::mem::take(&mut from.written);
        }
        taken
    }

    /// Time in ns until the writes of this batch are done if all are pending at once, one medium
    /// after the other.
    pub fn write_wait(&self, prices: &Prices) -> u64 {
        self.media().map(|(medium, of)| of.writing.0 + prices.device(medium).write_slack(of.writes).0).sum()
    }

    /// Reset all costs to zero. Media that are not used are zero already.
    fn clear(&mut self) {
        while self.used != 0 {
            self.media[self.used.trailing_zeros() as usize] = MediumCharge::default();
            self.used &= self.used - 1;
        }
        (self.cpu, self.decompress) = (Nanos(0), Nanos(0));
    }
}

impl std::ops::AddAssign<&Charge> for Charge {
    fn add_assign(&mut self, other: &Charge) {
        self.cpu += other.cpu;
        self.decompress += other.decompress;
        for (medium, of) in other.media() {
            let sum = self.of_mut(medium);
            sum.reading += of.reading;
            sum.writing += of.writing;
            sum.reads += of.reads;
            sum.writes += of.writes;
            sum.written += of.written;
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    media: [Account; 5],
    pub cpu: Nanos,
    /// Every step, for tests that recompute the costs.
    #[cfg(test)]
    pub log: Vec<Step>,
}

impl Ledger {
    /// Add the costs of the steps of `out` to the totals, and store them in `charge`.
    pub fn charge(&mut self, out: &Transfers, prices: &Prices, charge: &mut Charge) {
        charge.clear();
        let scale = prices.scale();
        #[cfg(test)]
        self.log.extend(out.steps.iter().map(|transfer| transfer.step));
        for transfer in &out.steps {
            match transfer.step {
                Step::Cpu(work) => {
                    let time = prices.work(work);
                    charge.cpu += time;
                    if let Work::Decompress(_) = work {
                        charge.decompress += time;
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
                    let of = charge.of_mut(medium);
                    of.reading += Nanos(time);
                    of.reads += u64::from(!continues);
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
                    let of = charge.of_mut(medium);
                    of.writing += Nanos(time);
                    of.writes += u64::from(!continues);
                    of.written += bytes;
                }
            }
        }
        self.cpu += charge.cpu;
    }

    /// Charge reads of `lines` cache lines of `medium`, each by itself. Returns the time that they
    /// take, in ns.
    pub fn read_lines(&mut self, medium: Medium, lines: u64, prices: &Prices) -> u64 {
        let (device, account) = (prices.device(medium), &mut self.media[medium as usize]);
        let time = Nanos(lines * device.read_time(LINE_BYTES).0);
        account.reads += lines;
        account.read_bytes += lines * LINE_BYTES;
        account.read_time += time;
        account.read_energy += Picojoules(lines * device.read_energy(LINE_BYTES).map_or(0, |energy| energy.0));
        #[cfg(test)]
        let line = Step::Read { medium, slot: 0, bytes: LINE_BYTES as u32, continues: false };
        #[cfg(test)]
        self.log.extend((0..lines).map(|_| line));
        time.0
    }

    pub fn of(&self, medium: Medium) -> &Account {
        &self.media[medium as usize]
    }

    /// Time for which all media were busy, with reads and with writes.
    pub fn busy(&self) -> (Nanos, Nanos) {
        (self.media.iter().map(|a| a.read_time).sum(), self.media.iter().map(|a| a.write_time).sum())
    }

    /// The use of every medium that was used, by name. If the run's length in `seconds` is known,
    /// energy includes idle power with `stored_bytes` on the medium, and wear has a rate. A device
    /// whose spec has no energy figures has none here.
    pub fn media(&self, prices: &Prices, seconds: Option<f64>, stored_bytes: impl Fn(Medium) -> u64) -> BTreeMap<String, MediumUse> {
        let used = |medium: &Medium| self.of(*medium).reads + self.of(*medium).writes > 0;
        let medium_use = |medium: Medium| {
            let (account, device) = (self.of(medium), prices.device(medium));
            let idle_watts = device.idle_watts(stored_bytes(medium));
            let joules = |energy: Picojoules| idle_watts.map(|_| energy.0 as f64 * 1e-12);
            MediumUse {
                device: device.spec.name.clone(),
                reads: account.reads as f64,
                writes: account.writes as f64,
                read_bytes: account.read_bytes as f64,
                write_bytes: account.write_bytes as f64,
                busy_ns: (account.read_time + account.write_time).0 as f64,
                read_j: joules(account.read_energy),
                write_j: joules(account.write_energy),
                background_j: idle_watts.zip(seconds).map(|(watts, seconds)| watts * seconds),
                wear: wear(device, account.write_bytes, seconds),
            }
        };
        Medium::ALL.into_iter().filter(used).map(|medium| (medium.name().to_string(), medium_use(medium))).collect()
    }

    /// Energy of the charged processor time, in joules.
    pub fn cpu_j(&self, prices: &Prices) -> f64 {
        prices.processor.energy(self.cpu).0 as f64 * 1e-12
    }
}

/// Cost of a request of `bytes`, or of `bytes` that continue one.
fn extent(bytes: u64, continues: bool, cost: impl Fn(u64) -> u64) -> u64 {
    match (bytes, continues) {
        (0, _) => 0,
        (_, false) => cost(bytes),
        (_, true) => cost(2 * bytes) - cost(bytes),
    }
}

/// Wear by `written` bytes: cycles of each cell if wear is even, and the years until the rated
/// endurance is reached at that rate. `None` if the spec has no endurance.
pub fn wear(device: &Device, written: u64, seconds: Option<f64>) -> Option<Wear> {
    let constant = |key: &str| device.spec.get(key);
    let (endurance_cycles, capacity_bytes) = (constant("wear.endurance_cycles")?, constant("wear.capacity_bytes")?);
    let cycles = written as f64 * constant("wear.write_amplification").unwrap_or(1.0) / capacity_bytes;
    let cycles_per_day = seconds.map(|seconds| cycles * 86_400.0 / seconds);
    let years_to_endurance = cycles_per_day.filter(|daily| *daily > 0.0).map(|daily| endurance_cycles / daily / 365.25);
    Some(Wear { cycles, cycles_per_day, years_to_endurance, endurance_cycles, capacity_bytes })
}
