//! What came out of an experiment: one row a world, design, point and workload, with typed groups of figures. A group or figure that a
//! world cannot know is null, never 0. All times are in nanoseconds unless a name says otherwise, all sizes in bytes.

mod detail;
mod row;

pub use detail::{
    AppRow, Calibration, Cdf, Daily, GaugeSample, KernelDetail, LifetimeShares, Lifetimes, MemoryDetail, PhoneDetail, ReplayDetail,
    StartSpread, Timeline, TimelineKill,
};
pub use row::{Classes, Energy, Kind, LaunchFigures, MediumUse, Memory, Paging, Row, SeedRow, Spread, Time, Wear};

use crate::{Experiment, Scalar};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_vocab::{BadInput, Result};

/// The schema that this version writes and reads.
pub const SCHEMA: u32 = 2;

/// The result of one run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Version of this document's form; another one is refused.
    pub schema: u32,
    /// What reports call the run.
    pub name: String,
    /// The experiment as it was run: presets, options and defaults filled in, designs crossed and named.
    pub experiment: Experiment,
    /// Every file that the run read.
    pub inputs: Vec<Input>,
    /// Versions of swaplab and of what its figures depend on.
    pub versions: BTreeMap<String, String>,
    /// The machine that measured; null where nothing was measured.
    pub machine: Option<Host>,
    /// What a reader must know before using the figures, one sentence each.
    pub warnings: Vec<String>,
    pub rows: Vec<Row>,
    /// Names of the parquet tables beside the document.
    pub tables: Vec<String>,
}

/// What a world of the core gives: rows by experiment and design, and what a reader must know of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorldResult {
    pub rows: Vec<Row>,
    pub warnings: Vec<String>,
}

/// A file that a run read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    pub path: String,
    /// What a person calls it: the name within a trace, else the file's name.
    pub name: String,
    /// `trace`, `launches`, `apps`, `app`, `device`, `policy` or `kernel`.
    pub kind: String,
    /// SHA-256 of its content.
    pub content_hash: String,
    /// For a page trace: what it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFacts>,
}

/// What a page trace holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceFacts {
    pub references: u64,
    /// Distinct pages that are referenced.
    pub footprint_pages: u64,
    pub page_bytes: u64,
    pub raw_references: Option<u64>,
    /// Least frames at which a filtered trace is valid; 0: any.
    pub valid_from_frames: u64,
}

/// The machine that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    pub kernel: String,
    pub processor: String,
    pub processors: u64,
    pub memory_bytes: u64,
    /// The disk under the swap area and the apps' files.
    pub disk: Option<String>,
    /// Pages a second of that disk by operation and queue depth, as calibration measured them.
    pub disk_rates: Vec<DiskRate>,
    pub target: String,
    pub user: String,
    /// What else is known of it, such as versions of QEMU and of the guest's kernel.
    pub facts: BTreeMap<String, String>,
}

/// Random reads or writes of pages at one queue depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskRate {
    pub operation: String,
    pub depth: u64,
    pub pages_per_s: f64,
}

impl Document {
    /// Read a document; another schema than ours is refused with what to do.
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

    /// JSON schema of the document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Document).to_value()
    }
}

/// The values that vary at a point, by key.
pub type PointValues = BTreeMap<String, Scalar>;
