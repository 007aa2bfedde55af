//! What a run leaves behind: every launch with what it waited for, every stay in swap, every kill, memory over time, traffic by
//! app. Tables and pages are made of these rows; nothing in the machine reads them.

use super::senders::Shares;
use crate::phone::user::owner::{shared_number, shared_owner, SYSTEM};
use swaplab_apps::Start;
use swaplab_swap::Medium;
use swaplab_vocab::AppId;

/// Waiting by cause, in nanoseconds. A cold start or a resume waits for the sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// The processor's part of faults and of file writes: exceptions, copies, mappings, block requests.
    pub fault_cpu_ns: u64,
    pub decompress_ns: u64,
    /// Pages brought in from swap, by medium in the order of [`Medium::ALL`].
    pub swap_read_ns: [u64; Medium::ALL.len()],
    /// Lines of pages that are mapped where they lie in NVM.
    pub direct_read_ns: u64,
    /// Pages of files, from flash and from a cache in NVM.
    pub file_read_ns: u64,
    pub file_cache_ns: u64,
    /// Pages of files and of the journal that an fsync waits for.
    pub file_write_ns: u64,
    /// Requests of others that were ahead in a device's queue.
    pub queue_ns: u64,
    /// Reclaim by the one who needed a frame: looking for victims, and copying them.
    pub direct_reclaim_ns: u64,
    /// Pages that were being written, whose frames were needed.
    pub write_back_ns: u64,
    /// Background reclaim on the only processor.
    pub kswapd_ns: u64,
}

impl Stalls {
    pub fn total_ns(&self) -> u64 {
        let swap: u64 = self.swap_read_ns.iter().sum();
        let files = self.file_read_ns + self.file_cache_ns + self.file_write_ns;
        let reads = swap + self.direct_read_ns + files + self.queue_ns;
        self.fault_cpu_ns + self.decompress_ns + reads + self.direct_reclaim_ns + self.write_back_ns + self.kswapd_ns
    }
}

impl std::ops::AddAssign<&Stalls> for Stalls {
    fn add_assign(&mut self, other: &Stalls) {
        self.fault_cpu_ns += other.fault_cpu_ns;
        self.decompress_ns += other.decompress_ns;
        self.swap_read_ns.iter_mut().zip(&other.swap_read_ns).for_each(|(sum, ns)| *sum += ns);
        self.direct_read_ns += other.direct_read_ns;
        self.file_read_ns += other.file_read_ns;
        self.file_cache_ns += other.file_cache_ns;
        self.file_write_ns += other.file_write_ns;
        self.queue_ns += other.queue_ns;
        self.direct_reclaim_ns += other.direct_reclaim_ns;
        self.write_back_ns += other.write_back_ns;
        self.kswapd_ns += other.kswapd_ns;
    }
}

/// One launch as it went, from the request to the app's being ready.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    pub at_ns: u64,
    pub app: AppId,
    pub start: Start,
    /// The app's own work.
    pub cpu_ns: u64,
    pub stalls: Stalls,
    /// For whose requests it waited in the queues of devices; the sum is `queue_ns`.
    pub waits: Shares,
    /// The clock when the app was ready.
    pub ready_at_ns: u64,
    pub faults: u64,
    /// Pages copied from swap, readahead left out.
    pub swapped_in: u64,
    pub file_reads: u64,
}

impl LaunchRow {
    /// Launch time: the app's own work and all its waiting.
    pub fn ready_ns(&self) -> u64 {
        self.cpu_ns + self.stalls.total_ns()
    }
}

/// Why an app was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// More cached apps than Android keeps.
    CachedLimit,
    /// The low-memory killer's rule.
    LowMemory,
    /// Nothing could be reclaimed for whoever needed a frame.
    OutOfMemory,
}

impl Reason {
    pub const ALL: [Reason; 3] = [Reason::CachedLimit, Reason::LowMemory, Reason::OutOfMemory];

    pub fn name(self) -> &'static str {
        match self {
            Reason::CachedLimit => "cached-limit",
            Reason::LowMemory => "low-memory",
            Reason::OutOfMemory => "out-of-memory",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    pub at_ns: u64,
    pub app: AppId,
    /// `oom_score_adj` at that time.
    pub adjustment: u32,
    pub reason: Reason,
    /// Frames that the app had, graphics among them, and its pages in swap.
    pub frames: u64,
    pub swapped: u64,
}

/// Memory at one time, in frames; `swap` in pages. `pool_bytes`: DRAM for compressed pages (of a RAM disk: for all), which fills up the
/// phone's frames where it is part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub at_ns: u64,
    pub free: u64,
    pub app_anon: u64,
    pub system_anon: u64,
    pub file: u64,
    pub graphics: u64,
    pub kernel: u64,
    pub swap: u64,
    pub pool_bytes: u64,
    /// Apps alive, with home.
    pub live: u64,
}

/// Pages moved for one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub swapped_out: u64,
    /// Copies, readahead included.
    pub swapped_in: u64,
    pub direct_reads: u64,
    pub file_reads: u64,
    /// Pages that the app policy held back.
    pub rejected: u64,
}

/// Sums over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub faults: u64,
    pub file_reads: u64,
    /// File pages read that had been in memory before.
    pub file_refaults: u64,
    /// Transactions of apps in front: writes to files with an fsync.
    pub fsyncs: u64,
    pub direct_reclaim_ns: u64,
    /// Pages that were found again while they were being written.
    pub swap_cache_hits: u64,
    /// Pages that reclaim scanned, those of them that whoever needed a frame scanned, and pages that it took from memory: in the background,
    /// and by whoever needed a frame.
    pub scanned: u64,
    pub scanned_direct: u64,
    pub reclaimed_background: u64,
    pub reclaimed_direct: u64,
    /// Processor time of background reclaim.
    pub background_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Stalls of launches and of the app in front.
    pub stall_ns: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Record {
    pub launches: Vec<LaunchRow>,
    pub kills: Vec<Kill>,
    pub timeline: Vec<Sample>,
    /// By app; then by range of shared pages; system processes at the end.
    pub traffic: Vec<Traffic>,
    /// Bytes of a page: what all counts of pages are in.
    pub page_bytes: u64,
    /// Names of the ranges of shared pages.
    pub shared: Vec<String>,
}

impl Record {
    pub fn new(page_bytes: u64, apps: usize, shared: Vec<String>) -> Record {
        let traffic = vec![Traffic::default(); apps + shared.len() + 1];
        Record { page_bytes, shared, traffic, ..Record::default() }
    }

    /// Memory at one more time; of two samples at the same time the later one counts.
    pub fn sample(&mut self, sample: Sample) {
        if self.timeline.last().is_some_and(|last| last.at_ns == sample.at_ns) {
            self.timeline.pop();
        }
        self.timeline.push(sample);
    }

    /// What has been recorded so far does not count.
    pub fn forget(&mut self) {
        self.launches.clear();
        self.kills.clear();
        self.traffic.fill(Traffic::default());
    }

    pub fn traffic_of(&mut self, owner: AppId) -> &mut Traffic {
        let at = match shared_number(owner) {
            _ if owner == SYSTEM => self.traffic.len() - 1,
            Some(number) => self.traffic.len() - 1 - self.shared.len() + number,
            None => usize::from(owner),
        };
        &mut self.traffic[at]
    }

    /// Whose traffic is at `at`.
    pub fn owner_at(&self, at: usize) -> AppId {
        let apps = self.traffic.len() - 1 - self.shared.len();
        match at.checked_sub(apps) {
            None => at as AppId,
            Some(number) if number < self.shared.len() => shared_owner(number),
            Some(_) => SYSTEM,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_samples_at_the_same_time_the_later_counts() {
        let sample = |at_ns, free| {
            let (app_anon, system_anon, file, graphics, kernel, swap, pool_bytes, live) = (0, 0, 0, 0, 0, 0, 0, 1);
            Sample { at_ns, free, app_anon, system_anon, file, graphics, kernel, swap, pool_bytes, live }
        };
        let mut record = Record::new(4096, 1, Vec::new());
        [sample(0, 9), sample(5, 8), sample(5, 7), sample(6, 6)].into_iter().for_each(|sample| record.sample(sample));
        assert_eq!(record.timeline.iter().map(|s| (s.at_ns, s.free)).collect::<Vec<_>>(), [(0, 9), (5, 7), (6, 6)]);
    }
}
