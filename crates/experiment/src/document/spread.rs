//! A distribution of times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of times in milliseconds, over all launches of all seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spread {
    pub n: u64,
    pub mean: f64,
    pub p50: f64,
    pub p95: f64,
    /// 95 % confidence intervals, clustered by user (phone), seed (vm) or app (kernel); null if n
    /// is 1.
    pub mean_interval: Option<[f64; 2]>,
    pub p50_interval: Option<[f64; 2]>,
    pub p95_interval: Option<[f64; 2]>,
}
