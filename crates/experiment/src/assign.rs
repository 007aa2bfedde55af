//! Sets a key of an experiment by its path, for a `KEY=VALUE` change and for `[vary]`.

use crate::apps::AppModels;
use swaplab_vocab::{nearest, BadInput, Result, Spec};
use toml::{Table, Value};

/// A key and its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub key: String,
    pub value: Value,
}

/// Parse `KEY=VALUE` texts. Two changes of the same key, or of a key inside another, are refused,
/// so that their order does not matter.
pub fn changes(place: &str, texts: &[String]) -> Result<Vec<Change>> {
    let parsed = texts.iter().map(|text| change(place, text)).collect::<Result<Vec<_>>>()?;
    for (at, Change { key, .. }) in parsed.iter().enumerate() {
        for Change { key: other, .. } in &parsed[..at] {
            let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if within(key, other) || within(other, key) {
                let found = if key == other { format!("'{key}' twice") } else { format!("'{other}' and '{key}', one inside the other") };
                return Err(BadInput::new(place, found, "each key once"));
            }
        }
    }
    Ok(parsed)
}

/// Parse a change such as `machine.dram=20%`. A value that is not valid TOML is a text.
fn change(place: &str, text: &str) -> Result<Change> {
    let bad = || BadInput::new(place, format!("'{text}'"), "KEY=VALUE, such as machine.dram=20%");
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()).ok_or_else(bad)?;
    let value = toml::from_str::<Table>(&format!("v = {value}"))
        .ok()
        .and_then(|mut table| table.remove("v"))
        .unwrap_or_else(|| Value::String(value.trim().into()));
    Ok(Change { key: key.trim().into(), value })
}

/// Set a key. `design.NAME.KEY` is a key of the design with that name, `design.N.KEY` of the N-th
/// design, counted from 1. A key below a spec is one of its parameters.
pub fn assign(table: &mut Table, change: &Change) -> Result<()> {
    match change.key.strip_prefix("design.") {
        Some(rest) => {
            let designs = table.get_mut("design").and_then(Value::as_array_mut).map_or(&mut [][..], |list| list.as_mut_slice());
            let (at, key) = design(designs, rest)?;
            let inner = designs[at].as_table_mut().ok_or_else(|| not_a_table(&change.key, "design"))?;
            put(inner, key, &change.key, change.value.clone())
        }
        None => put(table, &change.key, &change.key, change.value.clone()),
    }
}

/// The index of the design that `rest` begins with, and the key after it. Names may contain dots:
/// the longest matching name is used.
fn design<'a>(designs: &[Value], rest: &'a str) -> Result<(usize, &'a str)> {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let names: Vec<String> = designs.iter().map(name).collect();
    let behind = |name: &str| rest.strip_prefix(name).and_then(|tail| tail.strip_prefix('.'));
    let matching = names.iter().enumerate().filter(|(_, name)| !name.is_empty()).filter_map(|(at, name)| Some((at, behind(name)?)));
    if let Some(matching) = matching.min_by_key(|(_, tail)| tail.len()) {
        return Ok(matching);
    }
    let (first, tail) =
        rest.split_once('.').ok_or_else(|| BadInput::new(format!("design.{rest}"), "no key after the design's name", "design.NAME.KEY"))?;
    match first.parse::<usize>() {
        Ok(number) if (1..=designs.len()).contains(&number) => Ok((number - 1, tail)),
        _ => {
            let expected = match nearest(first, names.iter().map(String::as_str)) {
                Some(near) => format!("'{near}' (did you mean that?)"),
                None => format!("one of: {}", names.join(", ")),
            };
            Err(BadInput::new(format!("design.{rest}"), format!("no design '{first}'"), expected))
        }
    }
}

fn put(table: &mut Table, key: &str, full_key: &str, value: Value) -> Result<()> {
    match key.split_once('.') {
        None => {
            table.insert(key.into(), value);
            Ok(())
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::String(text) = inner {
                *inner = Value::Table(match full_key.strip_suffix(rest) {
                    Some("workload.apps.") => AppModels::read(text)?.1,
                    _ => parameters(text, full_key, first)?,
                });
            }
            put(inner.as_table_mut().ok_or_else(|| not_a_table(full_key, first))?, rest, full_key, value)
        }
    }
}

/// Convert a spec's text to a table, so that a single parameter can be set.
fn parameters(text: &str, full_key: &str, part: &str) -> Result<Table> {
    let spec: Spec = text.parse().map_err(|_: BadInput| not_a_table(full_key, part))?;
    let mut table = Table::new();
    table.insert("key".into(), Value::String(spec.key));
    for (name, value) in spec.values {
        table.insert(name, Value::try_from(value).map_err(|_| not_a_table(full_key, part))?);
    }
    Ok(table)
}

fn not_a_table(full_key: &str, part: &str) -> BadInput {
    BadInput::new(full_key, format!("'{part}' has no keys below it"), "a key of `swaplab schema`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(file: &str, set: &str) -> Result<String> {
        let mut table: Table = toml::from_str(file).unwrap();
        let change = changes("change", &[set.to_string()])?.remove(0);
        assign(&mut table, &change)?;
        Ok(toml::to_string(&table).unwrap())
    }

    #[test]
    fn a_design_is_reached_by_name_and_a_parameter_below_its_spec() {
        let file = "[[design]]\nname = 'zram'\nswap = 'zram:size=64MiB'\n[[design]]\nname = 'clock · 1.5'\n";
        let set = assigned(file, "design.zram.swap.size=1GiB").unwrap();
        assert!(set.contains("key = \"zram\"") && set.contains("size = \"1GiB\"") && !set.contains("64MiB"), "{set}");
        assert!(assigned(file, "design.clock · 1.5.policy=lru").unwrap().contains("policy = \"lru\""));
        assert!(assigned(file, "design.2.policy=lru").unwrap().contains("policy = \"lru\""));
        let apps = assigned("[workload]\napps = 'assumed-2014'\n", "workload.apps.spread=0").unwrap();
        assert_eq!(apps, "[workload.apps]\nspread = 0\n");
        let error = assigned(file, "design.zrm.policy=lru").unwrap_err().to_string();
        assert_eq!(error, "design.zrm.policy: no design 'zrm'; expected 'zram' (did you mean that?)");
    }

    #[test]
    fn errors_name_what_cannot_be_set() {
        let error = |set: &[&str]| changes("change", &set.iter().map(|s| s.to_string()).collect::<Vec<_>>()).unwrap_err().to_string();
        assert_eq!(error(&["nothing"]), "change: 'nothing'; expected KEY=VALUE, such as machine.dram=20%");
        assert_eq!(error(&["a=1", "a=2"]), "change: 'a' twice; expected each key once");
        assert_eq!(error(&["a.b=1", "a={}"]), "change: 'a.b' and 'a', one inside the other; expected each key once");
        assert!(assigned("x = 3", "x.y=1").unwrap_err().to_string().contains("'x' has no keys below it"));
    }
}
