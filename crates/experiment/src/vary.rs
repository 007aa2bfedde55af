//! `[vary]`: keys of the experiment and the values that they take; each combination is a point, a whole experiment of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which points are run. Without `points` and `list`: every combination of the keys' values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Vary {
    /// Draw so many points at random, each key on its own and evenly over its values, in place of every combination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
    /// In place of keys: each entry sets its keys for one point.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<BTreeMap<String, Scalar>>,
    /// A key of the experiment, such as `machine.dram` or `design.zram.swap.size`, and the values that it takes.
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
    /// How many numbers a combination takes from the range; a random draw falls anywhere in it.
    #[serde(default = "five")]
    pub steps: u64,
    /// Written behind each number, such as `%` or `MiB`; without it, values are numbers.
    #[serde(default)]
    pub unit: String,
    /// Spaced by equal ratios in place of equal differences.
    #[serde(default)]
    pub log: bool,
}

fn five() -> u64 {
    5
}

/// One point: the values that vary, by key.
pub type Point = BTreeMap<String, Scalar>;
