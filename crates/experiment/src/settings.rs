//! Settings of a machine's kernel and of its apps' behavior that a preset fixes and a file may override.

use crate::quantity::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many apps Android keeps alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Cached apps without a service (A2S, Section 5.3: 16); without a value, no limit.
    pub cached: Option<u64>,
    /// Apps that run a service while they are in the background (A2S, Section 5.3: 3); which ones they are is drawn.
    pub services: u64,
}

/// What apps do while they are not in front. All of it is off by default: no paper publishes it with its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Background {
    /// Time from one garbage collection of a background app to the next; 0: none.
    pub gc_every: Span,
    /// Share of its anonymous pages that a collection reads, the hottest first.
    pub gc_share: f64,
    /// Time from one burst of an app's other activity to the next; 0: none.
    pub activity_every: Span,
    /// Share of its anonymous pages that a burst uses, the hottest first; the app's own share of them is written.
    pub activity_share: f64,
    /// Time after which a cached app is frozen and does nothing (Android: 10min); 0: never. Apps with a service are not frozen.
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
    /// Time from one step to the next; 0: no proactive reclaim (TMO: 6s).
    pub every: Span,
    /// Share of the frames in use that a step without stalls reclaims.
    pub ratio: f64,
    /// Share of time stalled at which nothing is reclaimed.
    pub threshold: f64,
}

impl Default for Proactive {
    fn default() -> Proactive {
        Proactive { every: Span::parse("0").expect("zero is a time"), ratio: 0.0005, threshold: 0.001 }
    }
}

/// In which order a storage device serves a read that finds it writing. What each does exactly stands in docs/models/queue.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoOrder {
    /// First come, first served: the read waits for all writes that were handed over before it.
    Noop,
    /// Linux 3.4's CFQ: the read waits for the request under way; while reads follow one another nothing is written, for 100 ms at most.
    CfqLike,
    /// MSM 3.4's ROW: the read waits for the request under way; while reads follow one another nothing is written.
    RowLike,
    /// mq-deadline: the read waits for the request under way; between two reads the next write begins.
    MqDeadlineLike,
    /// A device that interrupts a write for a read: it waits for the page under way.
    #[default]
    ReadsFirst,
}
