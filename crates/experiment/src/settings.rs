//! Settings of a machine's kernel and of the behavior of its apps. A preset gives them, and a file may override them.

use crate::quantity::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Android's limits on live apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum number of cached apps without a service (A2S, Section 5.3: 16); by default no limit.
    pub cached: Option<u64>,
    /// Number of apps that run a service in the background (A2S, Section 5.3: 3). They are drawn at random.
    pub services: u64,
}

/// Activity of apps in the background. All of it is off by default, because no paper publishes it with its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    /// Interval between garbage collections of a background app; 0 for none.
    pub gc_every: Span,
    /// Share of its anonymous pages that a collection reads, the hottest first.
    pub gc_share: f64,
    /// Interval between bursts of other activity of an app; 0 for none.
    pub activity_every: Span,
    /// Share of its anonymous pages that a burst uses, the hottest first. The app's write share of them is written.
    pub activity_share: f64,
    /// Time after which a cached app is frozen and does nothing (Android: 10min); 0 for never. Apps with a service are not frozen.
    pub freeze_after: Span,
    /// Pages of an app that are paged out once it is cached (Android's `CachedAppOptimizer`).
    pub compact: Compact,
}

impl Default for Background {
    fn default() -> Background {
        let never = || Span::parse("0").expect("zero is a time");
        Background {
            gc_every: never(),
            gc_share: 0.0,
            activity_every: never(),
            activity_share: 0.0,
            freeze_after: never(),
            compact: Compact::Off,
        }
    }
}

/// Which pages of a cached app are paged out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compact {
    #[default]
    Off,
    File,
    Anon,
    Full,
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
        Proactive { every: Span::parse("0").expect("zero is a time"), ratio: 0.0005, threshold: 0.001 }
    }
}

/// How a storage device schedules a read that arrives while it writes. docs/models/queue.md has the details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoOrder {
    /// First come, first served: the read waits for all earlier writes.
    Noop,
    /// Linux 3.4's CFQ: the read waits for the current request. While reads follow one another, writes wait, for at most 100 ms.
    CfqLike,
    /// MSM 3.4's ROW: the read waits for the current request. While reads follow one another, writes wait.
    RowLike,
    /// mq-deadline: the read waits for the current request. The next write starts between two reads.
    MqDeadlineLike,
    /// A device that interrupts a write for a read: the read waits only for the current page.
    #[default]
    ReadsFirst,
}
