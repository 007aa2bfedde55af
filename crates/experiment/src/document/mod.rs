//! The result of an experiment: one row per world, design, point and workload, with typed groups of
//! figures. A group or figure that a world cannot know is null, never 0. Unless the name has
//! another unit, times are in nanoseconds and sizes in bytes.

mod detail;
mod row;
mod spread;

pub use detail::{
    AppRow, Calibration, Cdf, Daily, GaugeSample, KernelDetail, LargeFolios, LifetimeShares, Lifetimes, MappedReads, MemoryDetail,
    PhoneDetail, ReplayDetail, StartSpread, Timeline, TimelineKill,
};
pub use row::{Classes, DisplayFigures, Energy, Kind, LaunchFigures, MediumUse, Memory, Paging, Row, SeedRow, Time, Wear};
pub use spread::Spread;

use crate::{Experiment, Scalar};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_vocab::{BadInput, Result};

/// The schema version that this version of swaplab writes and reads.
pub const SCHEMA: u32 = 2;

/// The result of a run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Version of the document's schema. Readers refuse other versions.
    pub schema: u32,
    /// The name of the run in reports.
    pub name: String,
    /// The experiment as it was run: presets, options and defaults filled in, designs crossed and
    /// named.
    pub experiment: Experiment,
    /// The files that the run has read.
    pub inputs: Vec<Input>,
    /// Versions of swaplab and of software that the figures depend on.
    pub versions: BTreeMap<String, String>,
    /// The machine on which figures were measured; null if nothing was measured.
    pub machine: Option<Host>,
    /// Caveats that a reader must know before using the figures, one sentence each.
    pub warnings: Vec<String>,
    pub rows: Vec<Row>,
    /// Names of the parquet tables in the folder of the document.
    pub tables: Vec<String>,
}

/// The result of a world of the Rust core: rows by experiment and design, and warnings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorldResult {
    pub rows: Vec<Row>,
    pub warnings: Vec<String>,
}

/// A file that a run has read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    pub path: String,
    /// The name of the input: for a trace the name that it contains, otherwise the file's name.
    pub name: String,
    /// `trace`, `launches`, `apps`, `app`, `device`, `policy` or `kernel`.
    pub kind: String,
    /// SHA-256 of the content.
    pub content_hash: String,
    /// Properties of a page trace; null for other inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFacts>,
}

/// Properties of a page trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceFacts {
    pub references: u64,
    /// Distinct pages that are referenced.
    pub footprint_pages: u64,
    pub page_bytes: u64,
    /// References of the program before any filter; null if the trace does not say.
    pub raw_references: Option<u64>,
    /// The smallest number of frames for which a replay of the filtered trace is valid; 0 for no
    /// limit.
    pub valid_from_frames: u64,
}

/// The machine on which figures were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    pub kernel: String,
    pub processor: String,
    pub processors: u64,
    pub memory_bytes: u64,
    /// The disk with the swap area and the apps' files.
    pub disk: Option<String>,
    /// Pages per second of that disk by operation and queue depth, measured by calibration.
    pub disk_rates: Vec<DiskRate>,
    /// `local`, or the other machine: `ssh:HOST` or `adb:SERIAL`.
    pub target: String,
    /// The user that ran the apps.
    pub user: String,
    /// Other properties, such as versions of QEMU and of the guest's kernel.
    pub facts: BTreeMap<String, String>,
}

/// The rate of random page reads or writes at a queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskRate {
    pub operation: String,
    pub depth: u64,
    pub pages_per_s: f64,
}

impl Document {
    /// Read a document. The error for another schema version says what to do.
    pub fn from_json(place: &str, text: &str) -> Result<Document> {
        #[derive(Deserialize)]
        struct Head {
            schema: Option<u32>,
        }
        let bad = |e: serde_json::Error| {
            let message = e.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            BadInput::new(place, message, "a document of `swaplab run`")
        };
        let head: Head = serde_json::from_str(text).map_err(bad)?;
        match head.schema {
            Some(SCHEMA) => serde_json::from_str(text).map_err(bad),
            Some(other) => {
                Err(BadInput::new(place, format!("schema {other}"), format!("schema {SCHEMA}: run the experiment again with this version")))
            }
            None => Err(BadInput::new(place, "no 'schema'", "a document of `swaplab run`")),
        }
    }

    /// The JSON schema of the document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Document).to_value()
    }
}

/// The values of the varied keys at a point.
pub type PointValues = BTreeMap<String, Scalar>;
