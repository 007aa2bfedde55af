//! The figures of one run of a design with a seed.

use crate::ledger::{wear, Prices};
use crate::phone::machine::folios::FolioCounts;
use crate::phone::machine::record::{Reason, Record};
use crate::phone::machine::stays::Stays;
use crate::phone::machine::Machine;
use crate::phone::user::display::FrameCounts;
use std::collections::BTreeMap;
use swaplab_apps::Start;
use swaplab_experiment::document::{Energy, MediumUse, Memory, Paging, Time};
use swaplab_swap::Medium;
use swaplab_vocab::Nanos;

pub struct FinishedRun {
    pub seed: u64,
    pub record: Record,
    pub stays: Stays,
    pub memory: Memory,
    pub paging: Paging,
    pub time: Time,
    pub display: FrameCounts,
    /// `None` if the machine has no large folios.
    pub folios: Option<FolioCounts>,
    pub energy: Energy,
    pub media: BTreeMap<String, MediumUse>,
    /// The swap scheme's own figures at the end of the run.
    pub gauges: BTreeMap<String, f64>,
    /// Whether memory was ever tight: reclaim ran, or an app was killed to free memory.
    pub was_tight: bool,
}

impl FinishedRun {
    /// Collect the figures of a run, which are counted from `counted_from_ns`.
    pub fn new(machine: Machine, counted_from_ns: u64, seed: u64) -> FinishedRun {
        let (counts, side) = (machine.counts, &machine.swap.side);
        let wall_ns = machine.clock.settled_ns - counted_from_ns;
        let seconds = wall_ns as f64 * 1e-9;
        let mut of_files = machine.files.ledger.media(&machine.prices, None, |_| 0);
        let files = of_files.remove(Medium::Flash.name()).unwrap_or_default();
        let moved = side.paging();
        let amount = |number: u64| Some(number as f64);
        let paging = Paging {
            faults: amount(counts.faults),
            refaults: moved.copied_pages.zip(moved.direct_reads).map(|(copied, direct)| counts.file_refaults as f64 + copied + direct),
            anon_refaults: moved.copied_pages,
            file_refaults: amount(counts.file_refaults),
            rejected_pages: amount(machine.record.traffic.iter().map(|t| t.rejected).sum()),
            swap_full: amount(machine.swap.full),
            file_reads: amount(counts.file_reads),
            file_read_bytes: amount(counts.file_reads * machine.prices.page_bytes()),
            scanned_pages: amount(counts.scanned),
            reclaimed_pages: amount(counts.reclaimed_background + counts.reclaimed_direct),
            reclaimed_direct_pages: amount(counts.reclaimed_direct),
            flash_write_bytes: moved.flash_write_bytes.map(|bytes| bytes + files.write_bytes),
            ..moved
        };
        let ((swap_read, swap_write), (file_read, file_write)) = (side.busy_ns(), machine.files.ledger.busy());
        let (system_ns, system_as_big_ns) = machine.kswapd.spent_ns(counts.system_ns);
        let time = Time {
            io_ns: amount(swap_read + swap_write + file_read.0 + file_write.0),
            swap_read_ns: amount(swap_read),
            swap_write_ns: amount(swap_write),
            file_read_ns: amount(file_read.0),
            file_write_ns: amount(file_write.0),
            stall_ns: amount(counts.stall_ns),
            direct_reclaim_ns: amount(counts.direct_reclaim_ns),
            kswapd_ns: amount(counts.background_ns),
            cpu_user_ns: amount(counts.user_ns),
            cpu_system_ns: amount(system_ns),
            cpu_swap_ns: amount(side.processor().0 .0),
            wall_ns: amount(wall_ns),
            ..Time::default()
        };
        let cpu_ns = Nanos(counts.user_ns + system_as_big_ns);
        let cpu_j = machine.prices.processor().energy(cpu_ns).0 as f64 * 1e-12;
        let flash = machine.prices.device(Medium::Flash);
        let capacity = flash.spec.get("wear.capacity_bytes").unwrap_or(0.0) as u64;
        let at_rest_j = flash.idle_watts(capacity).map(|watts| watts * wall_ns as f64 * 1e-9);
        let pool_within = machine.swap.pool_takes_frames;
        let mut of_swap = side.media();
        // File reads from a cache in NVM are part of that medium's use.
        if let Some((nvm, files)) = of_swap.get_mut(Medium::Nvm.name()).zip(of_files.remove(Medium::Nvm.name())) {
            add(nvm, &files);
        }
        let kills_for_memory = machine.record.kills.iter().any(|kill| kill.reason != Reason::CachedLimit);
        FinishedRun {
            seed,
            memory: side.memory(machine.frames.total as u64, pool_within),
            energy: energy(&of_swap, &files, at_rest_j, pool_within, cpu_j),
            media: media(of_swap, files, at_rest_j, &machine.prices, seconds),
            gauges: side.gauges(),
            was_tight: counts.background_ns > 0 || counts.direct_reclaim_ns > 0 || kills_for_memory,
            folios: machine.frames.folios.are_on().then_some(machine.frames.folios.counts),
            record: machine.record,
            stays: machine.swap.stays,
            display: counts.display,
            paging,
            time,
        }
    }

    pub fn starts(&self, start: Start) -> u64 {
        self.record.launches.iter().filter(|launch| launch.start == start).count() as u64
    }

    /// Share of the frames that were janky. `None` if none was drawn.
    pub fn janky_share(&self) -> Option<f64> {
        (self.display.drawn > 0).then(|| self.display.janky as f64 / self.display.drawn as f64)
    }

    /// The length of the counted part of the run, in seconds.
    pub fn seconds(&self) -> f64 {
        self.time.wall_ns.unwrap_or(0.0) * 1e-9
    }
}

/// Energy in joules by medium of swap, of files, of the idle flash and of the processor. A device
/// without energy figures has null and is left out of the total. Idle energy is charged to media
/// that exist only for swap; that of the flash (`at_rest_j`) is a part of every phone; that of the
/// phone's own DRAM is not counted.
fn energy(of_swap: &BTreeMap<String, MediumUse>, files: &MediumUse, at_rest_j: Option<f64>, pool_within: bool, cpu_j: f64) -> Energy {
    let mut parts_j = BTreeMap::new();
    for (name, medium) in of_swap {
        let moved = medium.read_j.zip(medium.write_j).map(|(read, write)| read + write);
        let shared = name == Medium::Flash.name() || (pool_within && name == Medium::Pool.name());
        let rest = if shared { 0.0 } else { medium.background_j.unwrap_or(0.0) };
        parts_j.insert(format!("swap_{name}"), moved.map(|moved| rest + moved));
    }
    parts_j.insert("files".into(), at_rest_j.map(|_| files.read_j.unwrap_or(0.0) + files.write_j.unwrap_or(0.0)));
    parts_j.insert("flash_idle".into(), at_rest_j);
    parts_j.insert("cpu".into(), Some(cpu_j));
    Energy { total_j: Some(parts_j.values().flatten().sum()), parts_j }
}

/// Add the operations of `more` to `medium`.
fn add(medium: &mut MediumUse, more: &MediumUse) {
    medium.reads += more.reads;
    medium.writes += more.writes;
    medium.read_bytes += more.read_bytes;
    medium.write_bytes += more.write_bytes;
    medium.busy_ns += more.busy_ns;
    medium.read_j = medium.read_j.zip(more.read_j).map(|(one, other)| one + other);
    medium.write_j = medium.write_j.zip(more.write_j).map(|(one, other)| one + other);
}

/// The use of each medium by swap and, of flash, by files, in a run of `seconds`. The flash has its
/// idle energy `at_rest_j` in every phone.
fn media(
    of_swap: BTreeMap<String, MediumUse>,
    files: MediumUse,
    at_rest_j: Option<f64>,
    prices: &Prices,
    seconds: f64,
) -> BTreeMap<String, MediumUse> {
    let mut media = of_swap;
    if !files.device.is_empty() {
        let flash = media.entry(Medium::Flash.name().into()).or_insert_with(|| MediumUse {
            device: files.device.clone(),
            read_j: files.read_j.map(|_| 0.0),
            write_j: files.write_j.map(|_| 0.0),
            ..MediumUse::default()
        });
        add(flash, &files);
        if files.write_bytes > 0.0 {
            flash.wear = wear(prices.device(Medium::Flash), flash.write_bytes as u64, Some(seconds));
        }
    }
    if let Some(flash) = media.get_mut(Medium::Flash.name()) {
        flash.background_j = at_rest_j;
    }
    media
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uses_of_a_medium_add_up() {
        let of = |first: f64, write_j: Option<f64>| MediumUse {
            reads: first,
            writes: first + 1.0,
            read_bytes: first + 2.0,
            write_bytes: first + 3.0,
            busy_ns: first + 4.0,
            read_j: Some(first + 5.0),
            write_j,
            ..MediumUse::default()
        };
        let mut swap = of(1.0, Some(6.0));
        add(&mut swap, &of(10.0, None));
        // Of an energy of which a part is not known, the sum is not known.
        let sums = MediumUse {
            reads: 11.0,
            writes: 13.0,
            read_bytes: 15.0,
            write_bytes: 17.0,
            busy_ns: 19.0,
            read_j: Some(21.0),
            ..MediumUse::default()
        };
        assert_eq!(swap, sums);
    }
}
