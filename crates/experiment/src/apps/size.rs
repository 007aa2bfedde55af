//! The memory and the times of an app.

use crate::quantity::{Mib, Milliseconds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory and times of an app of a kind. A share that is not given is that of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppSize {
    pub anon: Mib,
    pub file: Mib,
    /// Graphics memory while the app is in front, which is never reclaimed.
    pub graphics: Mib,
    /// Camera buffers while the app is in front. They are never reclaimed, and are freed in the
    /// background.
    #[serde(default)]
    pub camera: Mib,
    /// Processor time of a cold start and of a resume, without faults.
    pub cold: Milliseconds,
    pub resume: Milliseconds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_probability: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_hot_share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_share: Option<f64>,
    /// Share of the pages that a cold start uses until the app is ready, at least the hot ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_share: Option<f64>,
}

/// A size without its own shares. Sizes are in MiB, times in milliseconds.
pub const fn size(anon_mib: f64, file_mib: f64, graphics_mib: f64, cold_ms: f64, resume_ms: f64) -> AppSize {
    AppSize {
        anon: Mib(anon_mib),
        file: Mib(file_mib),
        graphics: Mib(graphics_mib),
        camera: Mib::ZERO,
        cold: Milliseconds(cold_ms),
        resume: Milliseconds(resume_ms),
        resume_share: None,
        warm_share: None,
        warm_probability: None,
        file_hot_share: None,
        write_share: None,
        start_share: None,
    }
}
