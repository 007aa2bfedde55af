//! The experiment file. These types are its one source: the JSON schema, the pydantic models (`python/swaplab/config.py`) and the
//! table in the docs are made from them. A file has one model's table (`[replay]`, `[sim]`, `[bench]`) and, where it is varied,
//! `[sweep]`.

mod bench;

pub use bench::{Bench, BenchKiller, Order, Plain, PoolMemory, RoundRobin, Use, Zipf};

use crate::phone::Sim;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use swaplab_policy::{FileKey, PolicySpec};
use swaplab_swap::SchemeSpec;
use swaplab_vocab::{unknown_key, BadInput, Memory, Result};

/// One experiment: a model, what it is given, and how it is varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Experiment {
    /// Seed of everything that is drawn at random.
    pub seed: u64,
    /// A page trace replayed under reclamation policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// App launches on a simulated phone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sim: Option<Sim>,
    /// App launches on a real kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bench: Option<Bench>,
    /// Points to run in place of the one that the model's table describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

/// A page trace replayed under every policy at every memory size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// A `.slt`, or any importable file; relative to the experiment file, or an address such as `s3://bucket/trace.slt`.
    pub trace: String,
    /// Format of `trace`; detected where it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Page table of `trace` (`pgcsv`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// Hits of an LRU filter of so many entries were dropped when `trace` was captured; told from its name where it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<u64>,
    /// Bytes a page where `trace` does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u64>,
    /// Class of pages that are only read as data, where nothing gives it: `anonymous` or `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_read_class: Option<String>,
    /// Policies, such as `clock` or `spo-clock:mode=descriptor`.
    #[serde(default = "default_policy")]
    pub policy: OneOrMany,
    /// Memory sizes: `64MiB`, `4096p`, or percent of the trace's footprint, `5%`.
    #[serde(default = "default_memory")]
    pub memory: OneOrMany,
    /// Swap schemes to join, such as `zram` or `nvm-direct`; without one, swap is what `swap_device` costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<OneOrMany>,
    /// With a scheme: length of the run in seconds, for background energy and yearly wear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Device under anonymous pages: `optane-m10`, or with a scheme that of its own medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_device: Option<String>,
    /// Device under file pages.
    #[serde(default = "default_file_device")]
    pub file_device: String,
    /// What the first touch of an anonymous page costs: `charged`, or `zero-fill` with a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<FirstTouch>,
    /// Whether unmap and discard events free pages.
    #[serde(default)]
    pub mapping: Mapping,
    /// What policies see of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`.
    #[serde(default = "default_signal")]
    pub signal: String,
}

fn default_signal() -> String {
    "exact".into()
}

fn default_policy() -> OneOrMany {
    OneOrMany::One("clock".into())
}

fn default_memory() -> OneOrMany {
    OneOrMany::One("10%".into())
}

fn default_file_device() -> String {
    "ufs-3.1".into()
}

/// One text or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstTouch {
    /// A swap read: swap holds the whole footprint when the trace begins.
    Charged,
    /// Nothing: the kernel fills the page with zeros.
    ZeroFill,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Unmap and discard events free their pages.
    #[default]
    Follow,
    /// A plain list of references, as other simulators see it.
    Ignore,
}

/// Which points to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// How points are made from `vary` (`grid`, `random`) or `list`.
    #[serde(default)]
    pub design: Design,
    /// How many points a `random` design draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<u64>,
    /// A key of the experiment, such as `replay.memory`, and the values it takes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vary: BTreeMap<String, Values>,
    /// For `list`: each entry sets its keys for one point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<BTreeMap<String, serde_json::Value>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every combination of the values in `vary`.
    #[default]
    Grid,
    /// The entries of `list`.
    List,
    /// `points` draws, each key on its own and evenly over its values.
    Random,
}

/// The values of one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a list of values, or a table with low, high and steps")]
pub enum Values {
    List(Vec<serde_json::Value>),
    Range(Range),
}

/// Numbers from `low` to `high`, both included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// How many numbers a grid takes from the range; a random design draws anywhere in it.
    #[serde(default = "default_steps")]
    pub steps: u64,
    /// Written behind each number, such as `%` or `MiB`; without it, values are numbers.
    #[serde(default)]
    pub unit: String,
    /// Spaced by equal ratios in place of equal differences.
    #[serde(default)]
    pub log: bool,
}

fn default_steps() -> u64 {
    5
}

impl Experiment {
    /// Read an experiment file, TOML or by its name JSON; `set` holds `key=value` texts that are applied on top. `place` is the file's
    /// name in errors.
    pub fn parse(place: &str, text: &str, set: &[String]) -> Result<Experiment> {
        let json = place.ends_with(".json");
        let from_text: Experiment =
            if json { from_json(place, text) } else { toml::from_str(text).map_err(|e| bad_toml(place, text, &e)) }?;
        let mut table: toml::Table =
            if json { from_json(place, text) } else { toml::from_str(text).map_err(|e| bad_toml(place, text, &e)) }?;
        if set.is_empty() {
            finite(place, "", &toml::Value::Table(table))?;
            return from_text.checked(place);
        }
        let changes = set.iter().map(|one| change(one)).collect::<Result<Vec<_>>>()?;
        apart(&changes)?;
        for (key, value) in changes {
            assign(&mut table, key, value)?;
        }
        let (table, with) = (toml::Value::Table(table), format!("{place} with --set {}", set.join(" --set ")));
        finite(&with, "", &table)?;
        let changed = Experiment::deserialize(table).map_err(|e| said(&with, e.message(), "a key of `swaplab schema`"))?;
        changed.checked(place)
    }

    /// Read the JSON form, as manifests and sweeps keep it.
    pub fn from_json(place: &str, text: &str) -> Result<Experiment> {
        from_json::<Experiment>(place, text)?.checked(place)
    }

    /// The experiment, if its values can be meant.
    fn checked(self, place: &str) -> Result<Experiment> {
        let tables = [("[replay]", self.replay.is_some()), ("[sim]", self.sim.is_some()), ("[bench]", self.bench.is_some())];
        let given: Vec<&str> = tables.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        match given.len() {
            0 => return Err(BadInput::new(place, "no model's table", "[replay], [sim] or [bench]")),
            1 => (),
            _ => return Err(BadInput::new(place, given.join(" and "), "one model's table")),
        }
        self.replay.iter().try_for_each(|replay| replay.check(place))?;
        self.sim.iter().try_for_each(|sim| sim.check(place))?;
        self.bench.iter().try_for_each(|bench| bench.check(place))?;
        Ok(self)
    }

    /// JSON schema of the experiment file, for editors and for the generated models.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Experiment).to_value()
    }
}

impl Replay {
    /// Known policies, memory sizes with units.
    fn check(&self, place: &str) -> Result<()> {
        for (key, values) in [("policy", &self.policy), ("memory", &self.memory)] {
            if values.as_slice().is_empty() {
                return Err(BadInput::new(format!("{place}: replay.{key}"), "an empty list", "at least one"));
            }
        }
        for policy in self.policy.as_slice() {
            // A policy in a file is loaded when it runs, by who can.
            if FileKey::of(policy).is_none() {
                PolicySpec::parse(policy).map_err(|e| e.within(place))?;
            }
        }
        for scheme in self.scheme.iter().flat_map(OneOrMany::as_slice) {
            SchemeSpec::parse(scheme).map_err(|e| e.within(place))?;
        }
        for memory in self.memory.as_slice() {
            Memory::parse(memory).map_err(|e| e.within(place))?;
        }
        Ok(())
    }
}

fn bad_change(found: impl std::fmt::Display) -> BadInput {
    BadInput::new("--set", format!("'{found}'"), "KEY=VALUE, such as replay.memory=20%")
}

/// `replay.memory=20%`: the value is read as TOML, or else taken as text.
fn change(text: &str) -> Result<(&str, toml::Value)> {
    let (key, value) = text.split_once('=').ok_or_else(|| bad_change(text))?;
    let value = toml::from_str::<toml::Table>(&format!("v = {value}"))
        .ok()
        .and_then(|mut t| t.remove("v"))
        .unwrap_or_else(|| toml::Value::String(value.trim().into()));
    Ok((key.trim(), value))
}

/// No change sets what another one sets, so that their order says nothing.
fn apart(changes: &[(&str, toml::Value)]) -> Result<()> {
    for (at, (key, _)) in changes.iter().enumerate() {
        for (other, _) in &changes[..at] {
            let within = |one: &str, whole: &str| one.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if within(key, other) || within(other, key) {
                let found = if key == other { format!("'{key}' twice") } else { format!("'{other}' and '{key}', one inside the other") };
                return Err(BadInput::new("--set", found, "each key once"));
            }
        }
    }
    Ok(())
}

fn assign(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<()> {
    let mut at = table;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            at.insert(part.into(), value);
            return Ok(());
        }
        let inner = at.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        at = inner.as_table_mut().ok_or_else(|| bad_change(key))?;
    }
    Err(bad_change(key))
}

/// The one number that may be without end: LVSP without it is vanilla reclaim.
const ENDLESS: &str = "t_reuse";

/// TOML knows `inf` and `nan`; JSON, in which manifests keep an experiment, does not.
fn finite(place: &str, key: &str, value: &toml::Value) -> Result<()> {
    match value {
        toml::Value::Float(number) if !(number.is_finite() || key.ends_with(ENDLESS) && *number > 0.0) => {
            Err(BadInput::new(format!("{place}: {key}"), number.to_string(), "a finite number"))
        }
        toml::Value::Array(values) => values.iter().try_for_each(|value| finite(place, key, value)),
        toml::Value::Table(table) => {
            let joint = if key.is_empty() { "" } else { "." };
            table.iter().try_for_each(|(name, value)| finite(place, &format!("{key}{joint}{name}"), value))
        }
        _ => Ok(()),
    }
}

const EXPECTED: &str = "an experiment as `swaplab schema` says";

fn bad_toml(place: &str, text: &str, error: &toml::de::Error) -> BadInput {
    let place = match error.span() {
        Some(span) => format!("{place}: line {}", 1 + text[..span.start.min(text.len())].matches('\n').count()),
        None => place.into(),
    };
    said(&place, error.message(), EXPECTED)
}

fn from_json<T: for<'a> Deserialize<'a>>(place: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| said(place, &e.to_string(), EXPECTED))
}

/// What serde says of a value. Of an unknown key it lists all that it knows, in backticks: the nearest is enough.
fn said(place: &str, message: &str, expected: &str) -> BadInput {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((key, known)) if message.starts_with("unknown field") => unknown_key(place, "key", key, known.iter().copied()),
        _ => BadInput::new(place, line(message), expected),
    }
}

/// A message on one line.
fn line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHONE: &str = "[sim]\nlaunches = 'small'\n[[sim.schemes]]\nname = 'a'\n";
    const FILE: &str = "seed = 7\n[replay]\ntrace = 'a.slt'\npolicy = ['lru', 'clock']\n";

    #[test]
    fn defaults_are_filled_in_and_survive_json() {
        let one = Experiment::parse("e.toml", FILE, &[]).unwrap();
        let replay = one.replay.as_ref().unwrap();
        assert_eq!((one.seed, replay.memory.as_slice(), replay.file_device.as_str()), (7, &["10%".to_string()][..], "ufs-3.1"));
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(Experiment::from_json("m", &json).unwrap(), one);
    }

    #[test]
    fn a_key_of_two_lines_is_told_on_one() {
        let e = Experiment::from_json("e.json", r#"{"replay":{"tra\nce":1}}"#).unwrap_err().to_string();
        assert!(e.starts_with("e.json: unknown key 'tra\u{fffd}ce'; expected 'trace'") && !e.contains('\n'), "{e}");
    }

    /// LVSP with an infinite reuse distance is vanilla reclaim; JSON, which has no infinity, says null.
    #[test]
    fn a_reuse_distance_without_end_survives_json() {
        let one = Experiment::parse("e.toml", &format!("{PHONE}swap = 'flash'\nt_reuse = inf\n"), &[]).unwrap();
        assert_eq!(one.sim.as_ref().unwrap().schemes[0].t_reuse, None);
        let json = serde_json::to_string(&one).unwrap();
        assert!(json.contains("\"t_reuse\":null"));
        assert_eq!(Experiment::from_json("m", &json).unwrap(), one);
        let with_default = Experiment::parse("e.toml", &format!("{PHONE}swap = 'flash'\n"), &[]).unwrap();
        assert_eq!(with_default.sim.unwrap().schemes[0].t_reuse, Some(64.0));
    }

    #[test]
    fn set_reads_toml_values_and_plain_texts() {
        let set = ["replay.memory=20%".to_string(), "replay.policy=['fifo']".into(), "seed = 9".into(), "sweep.design=grid".into()];
        let one = Experiment::parse("e.toml", FILE, &set).unwrap();
        let replay = one.replay.unwrap();
        assert_eq!((replay.memory, replay.policy), (OneOrMany::One("20%".into()), OneOrMany::Many(vec!["fifo".into()])));
        assert_eq!((one.seed, one.sweep.unwrap().design), (9, Design::Grid));
    }

    #[test]
    fn errors_name_the_line_or_the_key() {
        let cases = [
            ("x = \n", &[][..], "e.toml: line 1"),
            ("[replay]\ntrace = 'a'\nmemry = '5%'\n", &[], "e.toml: line 3: unknown key 'memry'; expected 'memory' (did you mean that?)"),
            ("[replay]\ntrace = 'a'\npolicy = 4\n", &[], "line 3: a text or a list of texts"),
            ("[replay]\ntrace = 'a'\npolicy = []\n", &[], "replay.policy: an empty list"),
            ("[replay]\ntrace = 'a'\npolicy = 'clokc'\n", &[], "did you mean"),
            ("[replay]\ntrace = 'a'\nscheme = 'zrma'\n", &[], "did you mean"),
            ("[replay]\ntrace = 'a'\nmemory = '5'\n", &[], "such as 64MiB"),
            ("seed = 1\n", &[], "expected [replay], [sim] or [bench]"),
            ("[sim]\nlaunches = 'large'\nschemes = [{name = 'a', swap = 'flsh'}]\n", &[], "did you mean"),
            ("[sim]\nlaunches = 'large'\nschemes = []\n", &[], "sim.schemes: an empty list"),
            (
                "[replay]\ntrace = 'a'\n[sweep.vary]\n'replay.memory' = {low = nan, high = 5}\n",
                &[],
                "vary.replay.memory.low: NaN; expected a finite",
            ),
            (&format!("{PHONE}swap = 'none'\nt_live = inf\n"), &[], "sim.schemes.t_live: inf; expected a finite number"),
            (&format!("{PHONE}swap = 'none'\nt_reuse = -inf\n"), &[], "sim.schemes.t_reuse: -inf"),
            (&format!("{PHONE}swap = 'none'\n[sim.phone.killer]\nadj = [0, 900, 300, 300, 900, 900]\n"), &[], "the lowest first"),
            (
                &format!("{PHONE}swap = 'none'\n[sim.phone.proactive]\nevery_s = 1e-6\n"),
                &[],
                "proactive.every_s: 0.000001; expected 0 (never)",
            ),
            (&format!("{PHONE}swap = 'none'\n[sim.phone]\ndram = 'ufs-3.1'\n"), &[], "expected a device that is memory"),
            (FILE, &["replay.trace.x=1"], "KEY=VALUE"),
            (FILE, &["replay.memry=1"], "with --set replay.memry=1: unknown key 'memry'; expected 'memory'"),
            (FILE, &["nothing"], "KEY=VALUE"),
            (FILE, &["seed=1", "seed = 2"], "--set: 'seed' twice; expected each key once"),
            (FILE, &["replay={trace='b'}", "replay.memory=5%"], "'replay' and 'replay.memory', one inside the other"),
            (FILE, &["replay.memory=5%", "replay={trace='b'}"], "'replay.memory' and 'replay', one inside the other"),
        ];
        for (text, set, said) in cases {
            let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
            let e = Experiment::parse("e.toml", text, &set).unwrap_err().to_string();
            assert!(e.contains(said) && !e.contains('\n'), "{text:?} {set:?}: {e}");
        }
    }
}
