//! What a paper gives for a scheme, so that tables and pages can show it beside what comes out. Nothing is computed from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Published {
    /// Resumes more than without swap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes_gained: Option<f64>,
    /// Read from swap and written to it, in MB (1e6 bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_in_mb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_out_mb: Option<f64>,
    /// Launches of a class in percent; `negative` are those that are annoying or worse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crisp_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noticeable_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negative_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable_percent: Option<f64>,
    /// Stays in swap whose owner died within so many seconds, and whose owner never died, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_within_60_s_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_within_1000_s_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_within_2000_s_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_dead_percent: Option<f64>,
}
