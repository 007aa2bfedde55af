//! Reads an experiment from TOML or JSON, fills in the machine's preset, and applies `KEY=VALUE`
//! changes.

use crate::assign::{assign, changes, Change};
use crate::design::clear_automatic_names;
use crate::experiment::Experiment;
use crate::machine::preset;
use crate::worlds::refuse_unread;
use serde::Deserialize;
use serde_path_to_error::Segment;
use swaplab_vocab::{unknown_key, BadInput, Result};
use toml::{Table, Value};

impl Experiment {
    /// Read an experiment file: JSON if `place`, the file's name, ends in `.json`, otherwise TOML.
    /// `set` are `KEY=VALUE` changes, in which designs are named (`design.zram.swap.size=1GiB`).
    /// Errors name `place`.
    pub fn parse(place: &str, text: &str, set: &[String]) -> Result<Experiment> {
        let json = place.ends_with(".json");
        // Deserialize the text first, because only this error has a line number.
        let _: Experiment = if json { from_json(place, text) } else { from_toml(place, text) }?;
        let table: Table = if json { table_of_json(place, text) } else { toml::from_str(text).map_err(|e| bad_toml(place, text, &e)) }?;
        finite(place, "", &Value::Table(table.clone()))?;
        Experiment::from_table(place, table, &changes("change", set)?)
    }

    /// Read the JSON form, which documents and sweeps contain.
    pub fn from_json(place: &str, text: &str) -> Result<Experiment> {
        Experiment::from_table(place, table_of_json(place, text)?, &[])
    }

    /// Apply `changes` to the table of a resolved experiment.
    pub(crate) fn changed(place: &str, table: Table, changes: &[Change]) -> Result<Experiment> {
        let mut table = table;
        changes.iter().try_for_each(|change| assign(&mut table, change))?;
        finite(place, "", &Value::Table(table.clone()))?;
        typed(place, table)?.resolved(place)?.checked(place)
    }

    /// Build the experiment from a table: fill in the machine's preset, cross designs, apply
    /// `changes`.
    fn from_table(place: &str, mut table: Table, changes: &[Change]) -> Result<Experiment> {
        let with = match changes {
            [] => place.to_string(),
            changes => {
                format!("{place} with {}", changes.iter().map(|c| format!("{}={}", c.key, c.value)).collect::<Vec<_>>().join(" "))
            }
        };
        // Designs get their names when they are crossed, so changes of a single design are applied
        // afterwards.
        let (of_designs, others): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| change.key.starts_with("design."));
        others.into_iter().try_for_each(|change| assign(&mut table, change))?;
        let mut table = with_preset(&with, table)?;
        let mut crossed = Vec::new();
        if !of_designs.is_empty() {
            let resolved = typed(&with, table)?.resolved(&with)?;
            table = Table::try_from(&resolved).map_err(|e| bad_value(&with, &e.to_string()))?;
            crossed = resolved.design;
            of_designs.into_iter().try_for_each(|change| assign(&mut table, change))?;
        }
        finite(&with, "", &Value::Table(table.clone()))?;
        let mut experiment = typed(&with, table)?;
        clear_automatic_names(&mut experiment.design, &crossed);
        let experiment = experiment.resolved(&with)?.checked(&with)?;
        let set: Vec<String> = changes.iter().flat_map(|change| leaves(&change.key, &change.value)).collect();
        experiment.refuse_unread(place, set.iter().map(String::as_str))?;
        Ok(experiment)
    }

    /// Refuse keys that were set, or that are varied, although no world of the run reads them.
    fn refuse_unread<'a>(&self, place: &str, set: impl Iterator<Item = &'a str>) -> Result<()> {
        let worlds = self.worlds()?;
        for key in set {
            refuse_unread(place, key, self, &worlds)?;
        }
        let varied = self.vary.iter().flat_map(|vary| vary.keys.keys().chain(vary.list.iter().flat_map(|point| point.keys())));
        for key in varied {
            refuse_unread(&format!("{place}: vary"), key, self, &worlds)?;
        }
        Ok(())
    }
}

/// The keys that a value sets: those inside of a table, otherwise `key` itself.
fn leaves(key: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Table(table) if !table.is_empty() => {
            table.iter().flat_map(|(name, value)| leaves(&format!("{key}.{name}"), value)).collect()
        }
        _ => vec![key.to_owned()],
    }
}

fn typed(place: &str, table: Table) -> Result<Experiment> {
    serde_path_to_error::deserialize(Value::Table(table))
        .map_err(|e| bad_value(&with_key(place, e.path(), e.inner().message()), e.inner().message()))
}

/// Append the path of the key to the place of an error, unless the message already names the key.
fn with_key(place: &str, key: &serde_path_to_error::Path, message: &str) -> String {
    let path = path_of(key);
    let last = path.rsplit(['.', ' ']).next().unwrap_or("");
    let named = message.starts_with("unknown field") || message.starts_with(&format!("{last}:"));
    if named || path.is_empty() {
        place.into()
    } else {
        format!("{place}: {path}")
    }
}

/// The path of a key as messages have it: `machine.dram`, or `design 1: policy` in the first item
/// of a list.
fn path_of(key: &serde_path_to_error::Path) -> String {
    let mut path = String::new();
    for segment in key {
        match segment {
            Segment::Seq { index } => path += &format!(" {}:", index + 1),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                path += match path.as_bytes().last() {
                    None => "",
                    Some(b':') => " ",
                    Some(_) => ".",
                };
                path += key;
            }
            Segment::Unknown => {}
        }
    }
    path.trim_end_matches(':').into()
}

/// Merge `[machine]` into the table of its preset.
fn with_preset(place: &str, mut table: Table) -> Result<Table> {
    let Some(machine) = table.remove("machine") else { return Ok(table) };
    let Value::Table(over) = machine else { return Err(BadInput::new(place, "machine is not a table", "[machine]")) };
    let base = over.get("base").and_then(Value::as_str).unwrap_or("plain").to_string();
    let mut machine = preset(place, &base)?;
    merge(&mut machine, over);
    table.insert("machine".into(), Value::Table(machine));
    Ok(table)
}

/// Merge `over` into `under` recursively. Values of `over` take precedence.
fn merge(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            // A spec replaces another spec completely: their parameters must not be mixed.
            (Some(Value::Table(inner)), Value::Table(value)) if !value.contains_key("key") => merge(inner, value),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Refuse `inf` and `nan`, which TOML has but JSON, the format of documents, has not. The text of a
/// spec may contain `t_reuse=inf`.
fn finite(place: &str, key: &str, value: &Value) -> Result<()> {
    match value {
        Value::Float(number) if !number.is_finite() && !endless(key, *number) => {
            Err(BadInput::new(format!("{place}: {key}"), number.to_string(), "a finite number"))
        }
        Value::Array(values) => values.iter().try_for_each(|value| finite(place, key, value)),
        Value::Table(table) => {
            let joint = if key.is_empty() { "" } else { "." };
            table.iter().try_for_each(|(name, value)| finite(place, &format!("{key}{joint}{name}"), value))
        }
        _ => Ok(()),
    }
}

/// Whether the number may be infinite: LVSP without a limit of the reuse distance is unmodified
/// reclaim.
fn endless(key: &str, number: f64) -> bool {
    number == f64::INFINITY && key.ends_with("t_reuse")
}

fn from_toml(place: &str, text: &str) -> Result<Experiment> {
    let reader = toml::Deserializer::parse(text).map_err(|e| bad_toml(place, text, &e))?;
    serde_path_to_error::deserialize(reader).map_err(|e| {
        let place = line_of(place, text, e.inner());
        bad_value(&with_key(&place, e.path(), e.inner().message()), e.inner().message())
    })
}

fn bad_toml(place: &str, text: &str, error: &toml::de::Error) -> BadInput {
    bad_value(&line_of(place, text, error), error.message())
}

/// Append the line of the error to `place`.
fn line_of(place: &str, text: &str, error: &toml::de::Error) -> String {
    match error.span() {
        Some(span) => format!("{place}: line {}", 1 + text[..span.start.min(text.len())].matches('\n').count()),
        None => place.into(),
    }
}

fn from_json<T: for<'a> Deserialize<'a>>(place: &str, text: &str) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|e| {
        let message = e.inner().to_string();
        bad_value(&with_key(place, e.path(), &message), &message)
    })?;
    reader.end().map_err(|e| bad_value(place, &e.to_string()))?;
    Ok(value)
}

/// Convert a JSON object to a TOML table. A null value is a missing key.
fn table_of_json(place: &str, text: &str) -> Result<Table> {
    fn given(value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value::{Array, Object};
        match value {
            Object(members) => {
                Object(members.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key, given(value))).collect())
            }
            Array(values) => Array(values.into_iter().map(given).collect()),
            plain => plain,
        }
    }
    let value: serde_json::Value = from_json(place, text)?;
    serde_json::from_value(given(value)).map_err(|e| bad_value(place, &e.to_string()))
}

/// The words for a type of the core in errors.
fn kind_in_words(kind: &str) -> &str {
    match kind {
        "u64" | "u32" | "usize" => "a whole number of 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        kind if kind.starts_with("struct ") => "a table",
        kind => kind,
    }
}

/// Convert an error of serde to one line. For an unknown key serde lists all known keys in
/// backticks; the nearest one suffices.
fn bad_value(place: &str, message: &str) -> BadInput {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((key, known)) if message.starts_with("unknown field") => unknown_key(place, "key", key, known.iter().copied()),
        Some((number, [_, ..] | [])) if message.starts_with("invalid value: integer") && number.starts_with('-') => {
            BadInput::new(place, *number, "0 or more")
        }
        _ => {
            let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
            let of_type = line.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
            match (line.split_once("; expected "), of_type) {
                (Some((found, expected)), _) => BadInput::new(place, found, expected),
                (None, Some((found, kind))) => BadInput::new(place, found.replace('`', ""), kind_in_words(kind)),
                (None, None) => BadInput::new(place, line, "an experiment as `swaplab schema` describes it"),
            }
        }
    }
}
