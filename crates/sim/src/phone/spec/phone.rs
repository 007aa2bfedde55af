//! The phone that designs run on: the machine of an experiment in page frames and nanoseconds.

use crate::ledger::Prices;
use std::sync::Arc;
use swaplab_apps::compaction::{Compact, Throttles};
use swaplab_apps::Limits;
use swaplab_experiment::{IoOrder, KswapdCore, Machine, Mib, Span};
use swaplab_vocab::{BadInput, Result};

/// Processor time for a page, besides scans, copies and devices: to evict an anonymous page, to
/// drop a page of a file, to allocate and map one that is read again, and for the fault at the use
/// of a page without accessed bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageWork {
    pub anon_out_ns: u64,
    pub file_out_ns: u64,
    pub file_in_ns: u64,
    pub access_fault_ns: u64,
}

/// Settings of the phone that all designs share.
#[derive(Clone)]
pub struct Phone {
    pub page_bytes: u64,
    /// Size of the memory. A swap area's size in percent is a share of it.
    pub dram_bytes: u64,
    /// Number of frames that the kernel manages.
    pub frames: usize,
    /// Of these, frames that the kernel itself uses and never reclaims.
    pub kernel_frames: usize,
    /// Frames that Android keeps free on top of the kernel's watermarks.
    pub extra_free_frames: usize,
    /// Whether compressed pages take frames of the phone.
    pub pool_in_dram: bool,
    /// Size in pages of the aligned window that a fault on a file-backed page reads.
    pub read_ahead_pages: u32,
    /// Whether the next window of a file that is used in order is read while the task uses the
    /// present one.
    pub reads_ahead: bool,
    /// Number of processors. If it is 1, kswapd and the running task share it.
    pub cores: u64,
    pub kswapd_core: KswapdCore,
    /// Speed and power of a little core relative to the app's.
    pub little_speed: f64,
    pub little_power: f64,
    /// Pages of a large folio of anonymous memory; 0: there are none.
    pub folio_pages: u32,
    /// Processor time of reclaim for each page that it scans.
    pub scan_ns: u64,
    pub page_work: PageWork,
    /// Time that a killed process takes for each of its pages.
    pub exit_ns: u64,
    pub io_order: IoOrder,
    pub write_back_holds_frames: bool,
    pub display: Display,
    pub limits: Limits,
    pub background: Background,
    pub prices: Arc<Prices>,
    /// Capacity of the battery; 0 if there is none.
    pub battery_wh: f64,
}

/// Work of apps in the background. A period of 0 turns it off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Background {
    pub gc_every_ns: u64,
    pub gc_share: f64,
    pub activity_every_ns: u64,
    pub activity_share: f64,
    pub freeze_after_ns: u64,
    pub compact: Compact,
    pub compact_after_ns: u64,
    pub throttles: Throttles,
    pub heap: HeapRule,
    pub services: Services,
}

/// How a managed heap grows and when it is collected. An allocation of 0 turns it off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeapRule {
    /// Pages that an app in the foreground allocates per second, and one in the background.
    pub foreground_rate: f64,
    pub background_rate: f64,
    /// Share of an app's anonymous pages.
    pub share: f64,
    pub target_utilization: f64,
    /// Limits of the free pages after a collection.
    pub min_free: f64,
    pub max_free: f64,
    /// Factor of the free pages in the foreground.
    pub foreground_growth: f64,
    /// Time after leaving the foreground; 0: no collection then.
    pub collect_after_ns: u64,
}

impl HeapRule {
    pub fn is_on(&self) -> bool {
        self.foreground_rate > 0.0 || self.background_rate > 0.0
    }
}

/// Services of apps and native daemons. A period of 0 turns it off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Services {
    pub restart: bool,
    /// Number of apps with a restarted service, in addition to those that have the score of a
    /// service.
    pub sticky: u64,
    pub restart_share: f64,
    pub every_ns: u64,
    pub share: f64,
    pub daemons_every_ns: u64,
    pub daemons_share: f64,
}

/// How often the display shows a frame, and how long the app in front works for one. A period of 0:
/// frames are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Display {
    pub period_ns: u64,
    pub work_ns: u64,
}

/// Settings of proactive reclaim. A period of 0 turns it off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proactive {
    pub every_ns: u64,
    pub ratio: f64,
    pub threshold: f64,
}

pub fn nanoseconds(span: &Span) -> u64 {
    (span.seconds() * 1e9).round() as u64
}

impl Proactive {
    pub fn of(proactive: &swaplab_experiment::Proactive) -> Proactive {
        Proactive { every_ns: nanoseconds(&proactive.every), ratio: proactive.ratio, threshold: proactive.threshold }
    }
}

impl HeapRule {
    fn of(heap: &swaplab_experiment::Heap, page_bytes: u64) -> HeapRule {
        let pages = |size: Mib| size.bytes() as f64 / page_bytes as f64;
        HeapRule {
            foreground_rate: pages(heap.rate),
            background_rate: pages(heap.background_rate),
            share: heap.share,
            target_utilization: heap.target_utilization,
            min_free: pages(heap.min_free),
            max_free: pages(heap.max_free),
            foreground_growth: heap.foreground_growth,
            collect_after_ns: nanoseconds(&heap.collect_after),
        }
    }
}

impl Services {
    fn of(services: &swaplab_experiment::Services) -> Services {
        Services {
            restart: services.restart,
            sticky: services.sticky,
            restart_share: services.restart_share,
            every_ns: nanoseconds(&services.every),
            share: services.share,
            daemons_every_ns: nanoseconds(&services.daemons_every),
            daemons_share: services.daemons_share,
        }
    }
}

impl Background {
    fn of(background: &swaplab_experiment::Background, page_bytes: u64) -> Background {
        Background {
            gc_every_ns: nanoseconds(&background.gc_every),
            gc_share: background.gc_share,
            activity_every_ns: nanoseconds(&background.activity_every),
            activity_share: background.activity_share,
            freeze_after_ns: nanoseconds(&background.freeze_after),
            compact: background.compact,
            compact_after_ns: nanoseconds(&background.compact_after),
            throttles: background.throttles(),
            heap: HeapRule::of(&background.heap, page_bytes),
            services: Services::of(&background.services),
        }
    }
}

impl Phone {
    /// Whether kswapd and the running task have one processor.
    pub fn kswapd_shares(&self) -> bool {
        self.cores == 1 || self.kswapd_core == KswapdCore::App
    }

    /// Speed and power of kswapd's core relative to the app's.
    pub fn kswapd_speed_and_power(&self) -> (f64, f64) {
        if self.kswapd_core == KswapdCore::Little && self.cores > 1 {
            (self.little_speed, self.little_power)
        } else {
            (1.0, 1.0)
        }
    }

    pub fn of(machine: &Machine) -> Result<Phone> {
        let dram = machine.dram.as_ref().ok_or_else(|| BadInput::new("machine.dram", "no size", "a size such as 1536MiB"))?;
        let dram_bytes = dram.absolute_bytes("machine.dram")?;
        let page_bytes = machine.page_size.absolute_bytes("machine.page_size")?;
        let frames = |bytes: u64| (bytes as f64 / page_bytes as f64).round() as usize;
        let [firmware, kernel] = [machine.firmware.bytes(), machine.kernel_reserved.bytes()];
        if dram_bytes < firmware + kernel + (1 << 20) {
            let expected = format!("1MiB more than the {} bytes of machine.firmware and machine.kernel_reserved", firmware + kernel);
            return Err(BadInput::new("machine.dram", dram.text(), expected));
        }
        let read_ahead = machine.kernel.read_ahead.absolute_bytes("machine.kernel.read_ahead")?;
        Ok(Phone {
            page_bytes,
            dram_bytes,
            frames: frames(dram_bytes - firmware),
            kernel_frames: frames(kernel),
            extra_free_frames: (machine.kernel.extra_free.bytes() / page_bytes) as usize,
            pool_in_dram: machine.pool_in_dram,
            read_ahead_pages: (read_ahead / page_bytes).max(1) as u32,
            reads_ahead: false,
            cores: machine.cores,
            kswapd_core: machine.kernel.kswapd_core,
            little_speed: machine.kernel.little_speed,
            little_power: machine.kernel.little_power,
            folio_pages: machine.kernel.mthp.as_ref().map_or(0, |size| (size.bytes(0) / page_bytes) as u32),
            scan_ns: machine.kernel.scan_ns,
            page_work: PageWork {
                anon_out_ns: machine.kernel.anon_out_ns,
                file_out_ns: machine.kernel.file_out_ns,
                file_in_ns: machine.kernel.file_in_ns,
                access_fault_ns: machine.kernel.access_fault_ns,
            },
            exit_ns: machine.kernel.exit_ns,
            io_order: machine.kernel.io_order,
            write_back_holds_frames: machine.kernel.write_back_holds_frames,
            display: Display { period_ns: machine.display.period_ns(), work_ns: nanoseconds(&machine.display.frame_work) },
            limits: Limits { cached: machine.limits.cached.unwrap_or(u64::MAX), services: machine.limits.services },
            background: Background::of(&machine.background, page_bytes),
            prices: Arc::new(Prices::new(&machine.devices)?.with_pages_of(page_bytes)),
            battery_wh: machine.battery_wh,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heap_is_modeled_if_apps_allocate_anywhere() {
        let is_on = |foreground_rate, background_rate| HeapRule { foreground_rate, background_rate, ..HeapRule::default() }.is_on();
        assert_eq!([is_on(0.0, 0.0), is_on(1.0, 0.0), is_on(0.0, 1.0)], [false, true, true]);
    }
}
