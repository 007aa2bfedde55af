//! `[workload]`: a page trace, launches of apps, or the apps themselves.

use crate::apps::AppModels;
use crate::quantity::Span;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use swaplab_trace::import;
use swaplab_trace::synth::{self, ranks};
use swaplab_vocab::{unknown_key, BadInput, Class};

/// One workload of each kind. Each world uses the kind that it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// The path of a page trace (`.slt` or importable), relative to the experiment file, or an
    /// address such as `s3://bucket/trace.slt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// How to read `trace` if the file does not say.
    pub reading: Reading,
    /// The sequence of launches: a generator (`zipf:apps=50,alpha=1.45`) or preset of
    /// `swaplab list launches`, the path of a trace of launches, or a table with an order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches: Option<Launches>,
    /// The apps: a preset (`assumed-2014`), the path of a fitted file, a table of app models, or a
    /// list of real programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<Apps>,
}

/// Options for the import of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reading {
    /// A key of `swaplab list formats`; by default, the format is detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Page table of the trace (format `pgcsv`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// Number of entries of the LRU filter whose hits were dropped at capture; by default taken
    /// from the file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<u64>,
    /// Page size in bytes if the trace does not give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u64>,
    /// Class of pages that are only read as data and whose class is unknown: `anonymous` or `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_read_class: Option<String>,
    /// Block traces: a file of named ranges of sectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<String>,
    /// Block traces: the extents of a swap file, as `filefrag -v` prints them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filefrag: Option<String>,
}

impl Reading {
    /// The options in the form of the importer.
    pub fn options(&self) -> swaplab_vocab::Result<import::Options> {
        let defaults = import::Options::default();
        let class = |name: &String| {
            let known = || Class::ALL.iter().map(|class| class.name());
            Class::from_name(name).ok_or_else(|| unknown_key("workload.reading.data_read_class", "class", name, known()))
        };
        let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
        Ok(import::Options {
            format: self.format.clone(),
            pages: path(&self.pages),
            page_size: self.page_size.unwrap_or(defaults.page_size),
            filter_entries: self.filter,
            ranges: path(&self.ranges),
            filefrag: path(&self.filefrag),
            data_read_class: self.data_read_class.as_ref().map(class).transpose()?.unwrap_or(defaults.data_read_class),
        })
    }
}

/// The sequence of launches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Launches {
    Named(String),
    Table(LaunchTable),
}

/// Launches of the listed apps in rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchTable {
    /// The apps of one round.
    pub order: Order,
    pub rounds: u64,
    /// Number of rounds before the first counted one.
    pub warm_up: u64,
    /// Time that an app stays in front after its launch.
    pub foreground: Span,
}

impl Default for LaunchTable {
    fn default() -> LaunchTable {
        LaunchTable { order: Order::default(), rounds: 3, warm_up: 1, foreground: Span::parse("50ms").expect("a time") }
    }
}

impl LaunchTable {
    /// The app names of a round's visits, in order, given the `names` of all apps. They are the
    /// same in every world.
    pub fn round(&self, names: &[String]) -> swaplab_vocab::Result<Vec<String>> {
        let bad = |found: String, expected: String| Err(BadInput::new("workload.launches.order", found, expected));
        if names.is_empty() && !matches!(self.order, Order::Names(_)) {
            return bad("apps without names".into(), "a list of apps' names, a list of programs, or models with by_name".into());
        }
        match &self.order {
            Order::InTurn(_) => Ok(names.to_vec()),
            Order::Names(order) => match order.iter().find(|name| !names.is_empty() && !names.contains(name)) {
                Some(stranger) => bad(format!("'{stranger}'"), format!("names of apps: {}", names.join(", "))),
                None => Ok(order.clone()),
            },
            Order::Draw(draw) => {
                let ranks = ranks(names.len(), draw.alpha, draw.launches as usize, &mut synth::Draw::new(draw.seed));
                Ok(ranks.into_iter().map(|rank| names[rank].clone()).collect())
            }
        }
    }
}

/// The order of launches in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "round-robin, a list of apps' names, or a table with launches and alpha")]
pub enum Order {
    InTurn(RoundRobin),
    Names(Vec<String>),
    Draw(Draw),
}

impl Default for Order {
    fn default() -> Order {
        Order::InTurn(RoundRobin::RoundRobin)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundRobin {
    /// Each app once, in the order of the list.
    RoundRobin,
}

/// Launches drawn by popularity 1 / rank^alpha, where the rank is the position in the list of apps.
/// No app is launched twice in a row (A2S, Table 1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    pub launches: u64,
    pub alpha: f64,
    #[serde(default = "default_one")]
    pub seed: u64,
}

fn default_one() -> u64 {
    1
}

/// The apps that are launched.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Apps {
    Named(String),
    Programs(Vec<Use>),
    Models(Box<AppModels>),
}

/// A real program: an included app, an app file, or a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// An included app file (`chromium`, `node`, `phone-app`, `python`, `redis`, `sqlite` or
    /// `swaplab-app`), or the path of an app file, relative to the experiment file.
    #[serde(default, rename = "use", skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// A command that is run to its end, instead of `use` (world `memory`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The name, instead of the one in the app file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Number of instances. They are named NAME-1, NAME-2 and so on, and each has its own seed if
    /// the app has a seed.
    #[serde(default = "default_one")]
    pub count: u64,
    /// Values of the app file's `set`, such as `footprint` and `seed`.
    #[serde(flatten)]
    pub set: BTreeMap<String, Setting>,
}

/// A value of an app's `set`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a number")]
pub enum Setting {
    Text(String),
    Integer(i64),
    Number(f64),
}

// Selects the variant by the type of the value, so that the error of an inner value is kept. With
// serde's `untagged` it would only say that no variant matches.
impl<'de> Deserialize<'de> for Launches {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Launches, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Launches;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a generator, a preset, the path of a trace of launches, or a table with an order")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Launches, E> {
                Ok(Launches::Named(text.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Launches, A::Error> {
                LaunchTable::deserialize(MapAccessDeserializer::new(map)).map(Launches::Table)
            }
        }
        from.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Apps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Apps, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Apps;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a preset of apps, the path of a fitted file, a list of programs, or a table of app models")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Apps, E> {
                Ok(Apps::Named(text.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Apps, A::Error> {
                AppModels::deserialize(MapAccessDeserializer::new(map)).map(|models| Apps::Models(Box::new(models)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Apps, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Apps::Programs)
            }
        }
        from.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_in_turn_in_an_order_and_drawn() {
        let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        let round = |order| LaunchTable { order, ..LaunchTable::default() }.round(&names);
        assert_eq!(round(Order::default()).unwrap(), names);
        assert_eq!(round(Order::Names(vec!["c".into(), "a".into()])).unwrap(), ["c", "a"]);
        assert!(round(Order::Names(vec!["d".into()])).unwrap_err().to_string().contains("'d'; expected names of apps: a, b, c"));
        let drawn = |seed| round(Order::Draw(Draw { launches: 50, alpha: 1.0, seed })).unwrap();
        assert_eq!((drawn(1).len(), drawn(1)), (50, drawn(1)));
        assert_ne!(drawn(1), drawn(2));
        assert!(drawn(1).windows(2).all(|pair| pair[0] != pair[1]), "no app twice in a row");
        let count = |name: &str| drawn(3).iter().filter(|visit| *visit == name).count();
        assert!(count("a") > count("c"), "the first is the most popular");
        assert_eq!(LaunchTable::default().round(&names[..1]).unwrap(), ["a"]);
    }
}
