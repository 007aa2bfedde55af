//! `[vary]`: keys of the experiment and their values. Each combination is a point, which is a
//! complete experiment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The points to run: by default every combination of the values of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Vary {
    /// Draw this number of points at random instead of running every combination. Each key is drawn
    /// independently and uniformly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
    /// A list of points instead of keys: each entry gives the values of its keys at a point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<BTreeMap<String, Scalar>>,
    /// A key of the experiment, such as `machine.dram` or `design.zram.swap.size`, and its values.
    #[serde(flatten)]
    pub keys: BTreeMap<String, Values>,
}

/// The values of one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a list of values, or a table with low, high and steps")]
pub enum Values {
    List(Vec<Scalar>),
    Range(Range),
}

/// A value of a key that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, a number, true or false")]
pub enum Scalar {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Scalar::Switch(value) => write!(f, "{value}"),
            Scalar::Integer(value) => write!(f, "{value}"),
            Scalar::Number(value) => write!(f, "{value}"),
            Scalar::Text(value) => f.write_str(value),
        }
    }
}

/// Numbers from `low` to `high`, both included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Number of values in the range for combinations. A random draw may be any value in the range.
    #[serde(default = "five")]
    pub steps: u64,
    /// Unit that is appended to each number, such as `%` or `MiB`; without a unit, values are
    /// numbers.
    #[serde(default)]
    pub unit: String,
    /// Whether values are spaced by equal ratios instead of equal differences.
    #[serde(default)]
    pub log: bool,
}

fn five() -> u64 {
    5
}

/// A point: the values of the varied keys.
pub type Point = BTreeMap<String, Scalar>;
