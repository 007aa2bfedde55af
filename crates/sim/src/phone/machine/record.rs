//! The records of a run: every launch with its stalls, every kill, memory over time, traffic by
//! app. Tables and reports are made of these rows; nothing in the machine reads them.

use super::senders::Shares;
use crate::phone::user::display::FrameCounts;
use crate::phone::user::owner::{shared_number, shared_owner, SYSTEM};
use swaplab_apps::{Scores, Start};
use swaplab_swap::Medium;
use swaplab_vocab::AppId;

/// Stall times by cause, in nanoseconds. A cold start or a resume waits for their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Processor time of faults and of writes to files: exceptions, copies, mappings, block
    /// requests.
    pub fault_cpu_ns: u64,
    pub decompress_ns: u64,
    /// Reads from swap, by medium in the order of [`Medium::ALL`].
    pub swap_read_ns: [u64; Medium::ALL.len()],
    /// Lines of pages that are mapped where they lie in NVM.
    pub direct_read_ns: u64,
    /// Pages of files, from flash and from a cache in NVM.
    pub file_read_ns: u64,
    pub file_cache_ns: u64,
    /// Pages of files and of the journal that an fsync waits for.
    pub file_write_ns: u64,
    /// Queueing at devices behind other requests.
    pub queue_ns: u64,
    /// Direct reclaim: scanning for victims and copying them.
    pub direct_reclaim_ns: u64,
    /// Waiting for frames of pages under write-back.
    pub write_back_ns: u64,
    /// Waiting while kswapd has the only processor, or until it finishes the batch whose frames are
    /// needed.
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

/// One launch, from the request until the app is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    pub at_ns: u64,
    pub app: AppId,
    pub start: Start,
    /// Processor time of the app's own work.
    pub cpu_ns: u64,
    pub stalls: Stalls,
    /// Queueing times by sender; their sum is `queue_ns`.
    pub waits: Shares,
    /// The time when the app was ready.
    pub ready_at_ns: u64,
    pub faults: u64,
    /// Pages copied from swap, without readahead.
    pub swapped_in: u64,
    pub file_reads: u64,
    /// Memory stalls of any task (PSI `some`).
    pub psi_some_ns: u64,
}

impl LaunchRow {
    /// Launch time: the app's own work and all its stalls.
    pub fn ready_ns(&self) -> u64 {
        self.cpu_ns + self.stalls.total_ns()
    }
}

/// Why an app was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There were more cached apps than Android keeps.
    CachedLimit,
    /// The low-memory killer chose it.
    LowMemory,
    /// A task needed a frame and nothing could be reclaimed.
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
    /// Frames that the app had, including graphics, and its pages in swap.
    pub frames: u64,
    pub swapped: u64,
}

/// Memory at one time, in frames; `swap` in pages. `pool_bytes`: DRAM for compressed pages (of a
/// RAM disk: for all pages), which is part of the phone's frames if its pool is.
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
    /// Number of live apps, including the home screen.
    pub live: u64,
}

/// Page transfers of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub swapped_out: u64,
    /// Copies, including readahead.
    pub swapped_in: u64,
    pub direct_reads: u64,
    pub file_reads: u64,
    /// Victims that the app policy kept in memory.
    pub rejected: u64,
}

/// Totals of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub faults: u64,
    pub file_reads: u64,
    /// Reads of file-backed pages that had been in memory before.
    pub file_refaults: u64,
    /// Transactions of apps in front: writes to files with an fsync.
    pub fsyncs: u64,
    pub direct_reclaim_ns: u64,
    /// Faults on pages under write-back, which were still in memory.
    pub swap_cache_hits: u64,
    /// Pages that reclaim scanned, those of them that direct reclaim scanned, and pages that
    /// background and direct reclaim evicted.
    pub scanned: u64,
    pub scanned_direct: u64,
    pub reclaimed_background: u64,
    pub reclaimed_direct: u64,
    /// Processor time of kswapd and of proactive reclaim.
    pub background_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Stalls of launches and of the app in the foreground.
    pub stall_ns: u64,
    /// Frames of the display while an app was in front, after its launch.
    pub display: FrameCounts,
}

#[derive(Clone, Debug, Default)]
pub struct Record {
    pub launches: Vec<LaunchRow>,
    pub kills: Vec<Kill>,
    pub timeline: Vec<Sample>,
    /// Traffic of each app, then of each range of shared pages, then of system processes.
    pub traffic: Vec<Traffic>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Scores of apps by their state, by which kills are classified.
    pub scores: Scores,
    /// Names of the ranges of shared pages.
    pub shared: Vec<String>,
}

impl Record {
    pub fn new(page_bytes: u64, apps: usize, shared: Vec<String>) -> Record {
        let traffic = vec![Traffic::default(); apps + shared.len() + 1];
        Record { page_bytes, shared, traffic, ..Record::default() }
    }

    /// Append a sample to the timeline. Of two samples at the same time the later one is kept.
    pub fn sample(&mut self, sample: Sample) {
        if self.timeline.last().is_some_and(|last| last.at_ns == sample.at_ns) {
            self.timeline.pop();
        }
        self.timeline.push(sample);
    }

    /// Discard the launches, kills and traffic recorded so far.
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

    /// The owner of the traffic at index `at`.
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

    /// Three apps, two ranges of shared pages, the system.
    #[test]
    fn each_owner_has_traffic_of_its_own_and_is_found_by_its_index() {
        let mut record = Record::new(4096, 3, vec!["runtime".into(), "fonts".into()]);
        let owners = [0, 1, 2, shared_owner(0), shared_owner(1), SYSTEM];
        for (number, owner) in owners.into_iter().enumerate() {
            record.traffic_of(owner).rejected = number as u64;
        }
        assert_eq!(record.traffic.iter().map(|of| of.rejected).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!((0..6).map(|at| record.owner_at(at)).collect::<Vec<_>>(), owners);
    }

    #[test]
    fn of_two_samples_at_the_same_time_the_later_is_kept() {
        let sample = |at_ns, free| {
            let (app_anon, system_anon, file, graphics, kernel, swap, pool_bytes, live) = (0, 0, 0, 0, 0, 0, 0, 1);
            Sample { at_ns, free, app_anon, system_anon, file, graphics, kernel, swap, pool_bytes, live }
        };
        let mut record = Record::new(4096, 1, Vec::new());
        [sample(0, 9), sample(5, 8), sample(5, 7), sample(6, 6)].into_iter().for_each(|sample| record.sample(sample));
        assert_eq!(record.timeline.iter().map(|s| (s.at_ns, s.free)).collect::<Vec<_>>(), [(0, 9), (5, 7), (6, 6)]);
    }
}
