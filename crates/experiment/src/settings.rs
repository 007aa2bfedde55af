//! Settings of a machine's kernel and of the behavior of its apps. A preset gives them, and a file
//! may override them.

use crate::quantity::{Mib, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swaplab_apps::compaction::{Compact, Throttles};

/// Android's limits on live apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum number of cached apps without a service (A2S, Section 5.3: 16); by default no limit.
    pub cached: Option<u64>,
    /// Number of apps that run a service in the background (A2S, Section 5.3: 3). They are drawn at
    /// random.
    pub services: u64,
}

/// The core on which kswapd runs, on a machine with several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KswapdCore {
    /// A core like the app's, for itself: Linux lets kswapd run on any core, and one is idle.
    #[default]
    Own,
    /// A little core, for itself, as after `taskset -ap 0f` in start scripts of some vendors.
    Little,
    /// The app's core: they take turns.
    App,
}

/// The display, whose frames the app in front draws. A frame is janky if the app's work and its
/// stalls on memory take longer than a period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Display {
    /// Frames per second; 0: frames are not counted.
    pub refresh_hz: u64,
    /// Time that the app works for a frame, without stalls on memory.
    pub frame_work: Span,
}

impl Default for Display {
    fn default() -> Display {
        Display { refresh_hz: 0, frame_work: Span::zero() }
    }
}

impl Display {
    /// Time for a frame; 0 if frames are not counted.
    pub fn period_ns(&self) -> u64 {
        1_000_000_000u64.checked_div(self.refresh_hz).unwrap_or(0)
    }
}

/// Work of apps, services and daemons in addition to launches. All of it is off by default, because
/// no paper publishes it with its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    /// Interval between garbage collections of a background app; 0 for none. This is the simpler
    /// of two models of collections, at fixed times and without a heap that grows; the other is
    /// `heap`.
    pub gc_every: Span,
    /// Share of its anonymous pages that a collection reads, the hottest first.
    pub gc_share: f64,
    /// Interval between bursts of other activity of an app; 0 for none.
    pub activity_every: Span,
    /// Share of its anonymous pages that a burst uses, the hottest first. The app's write share of
    /// them is written.
    pub activity_share: f64,
    /// Time after which a cached app is frozen and does nothing (Android: 10min); 0 for never. Apps
    /// with a service are not frozen.
    pub freeze_after: Span,
    /// Pages of an app that are paged out once it is cached (Android's `CachedAppOptimizer`).
    pub compact: Compact,
    /// Time for which an app is cached before it is compacted.
    pub compact_after: Span,
    /// `activity_manager/compact_full_rss_throttle_kb`: `compact = "aosp"` passes over an app with
    /// less anonymous memory.
    pub compact_full_rss_throttle_kb: u64,
    /// `activity_manager/compact_full_delta_rss_throttle_kb`: `compact = "aosp"` passes over an app
    /// whose memory has changed by no more since its last compaction.
    pub compact_full_delta_rss_throttle_kb: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub heap: Heap,
    #[serde(skip_serializing_if = "is_default")]
    pub services: Services,
}

impl Background {
    /// The limits below which AOSP's compaction passes over an app.
    pub fn throttles(&self) -> Throttles {
        Throttles { full_rss_kb: self.compact_full_rss_throttle_kb, full_delta_rss_kb: self.compact_full_delta_rss_throttle_kb }
    }
}

/// Whether a table has its default values, so that a document of a machine without the mechanism
/// need not list them.
pub(crate) fn is_default<T: Default + PartialEq>(table: &T) -> bool {
    *table == T::default()
}

impl Default for Background {
    fn default() -> Background {
        let (never, throttles) = (Span::zero, Throttles::default());
        Background {
            gc_every: never(),
            gc_share: 0.0,
            activity_every: never(),
            activity_share: 0.0,
            freeze_after: never(),
            compact: Compact::Off,
            compact_after: never(),
            compact_full_rss_throttle_kb: throttles.full_rss_kb,
            compact_full_delta_rss_throttle_kb: throttles.full_delta_rss_kb,
            heap: Heap::default(),
            services: Services::default(),
        }
    }
}

/// The managed heap of apps and its garbage collections, which happen when the heap has grown.
/// Without allocation there is none. `background.gc_every` is a simpler model of collections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Heap {
    /// Allocation per second of an app in the foreground; 0 for no managed heap.
    pub rate: Mib,
    /// Allocation per second of an app in the background that is not frozen.
    pub background_rate: Mib,
    /// Share of an app's anonymous pages that are its managed heap, free memory of the heap
    /// included.
    pub share: f64,
    /// `dalvik.vm.heaptargetutilization`: share of the heap that is live after a collection.
    pub target_utilization: f64,
    /// `dalvik.vm.heapminfree` and `dalvik.vm.heapmaxfree`: least and most free memory of the heap
    /// after a collection.
    pub min_free: Mib,
    pub max_free: Mib,
    /// Factor of the free memory while the app is in the foreground (ART: 2; Dalvik: 1).
    pub foreground_growth: f64,
    /// Time after an app leaves the foreground at which its heap is collected; 0 for never.
    pub collect_after: Span,
}

impl Default for Heap {
    /// No allocation; otherwise AOSP's values for a phone of 2 GB.
    fn default() -> Heap {
        Heap {
            rate: Mib::ZERO,
            background_rate: Mib::ZERO,
            share: 0.5,
            target_utilization: 0.75,
            min_free: Mib(2.0),
            max_free: Mib(8.0),
            foreground_growth: 1.0,
            collect_after: Span::zero(),
        }
    }
}

/// Services of apps and native daemons. `limits.services` is the number of apps that have the
/// `oom_score_adj` of a service in the background, so that they never become cached apps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Services {
    /// Whether services restart after a kill of their app (`START_STICKY`).
    pub restart: bool,
    /// Number of further apps with a service that restarts. They are cached in the background,
    /// because they have shown a UI (`cch-started-ui-services`), and are drawn at random.
    pub sticky: u64,
    /// Share of its anonymous pages that the process of a restarted service writes, the hottest
    /// first.
    pub restart_share: f64,
    /// Interval at which a running service uses memory; 0 for never.
    pub every: Span,
    /// Share of its app's anonymous pages that a service uses each time, the hottest first.
    pub share: f64,
    /// Interval at which native daemons use memory; 0 for never.
    pub daemons_every: Span,
    /// Share of the system's anonymous pages that daemons use each time, the hottest first.
    pub daemons_share: f64,
}

impl Default for Services {
    fn default() -> Services {
        let never = Span::zero;
        Services { restart: false, sticky: 0, restart_share: 0.3, every: never(), share: 0.0, daemons_every: never(), daemons_share: 0.0 }
    }
}

/// Proactive reclaim by pressure stall information (TMO, Weiner et al. 2022, Section 3.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Proactive {
    /// Interval between steps; 0 for no proactive reclaim (TMO: 6s).
    pub every: Span,
    /// Share of the frames in use that a step without stalls reclaims.
    pub ratio: f64,
    /// Share of stalled time from which on nothing is reclaimed.
    pub threshold: f64,
}

impl Default for Proactive {
    fn default() -> Proactive {
        Proactive { every: Span::zero(), ratio: 0.0005, threshold: 0.001 }
    }
}

/// How a storage device schedules a read that arrives while it writes. docs/models/queue.md has the
/// details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoOrder {
    /// First come, first served: the read waits for all earlier writes.
    Noop,
    /// Linux 3.4's CFQ: the read waits for the current request. While reads follow one another,
    /// writes wait, for at most 100 ms.
    CfqLike,
    /// MSM 3.4's ROW: the read waits for the current request. While reads follow one another,
    /// writes wait.
    RowLike,
    /// mq-deadline: the read waits for the current request. The next write starts between two
    /// reads.
    MqDeadlineLike,
    /// A device that interrupts a write for a read: the read waits only for the current page.
    #[default]
    ReadsFirst,
}
