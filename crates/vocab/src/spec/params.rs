//! The checked and typed parameter values of an entry.

use super::parameter::{Kind, Parameter, Typed};
use super::{Spec, Value};
use crate::{unknown_key, BadInput, Memory, Result};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Every parameter of an entry with its value, given or default. The accessors panic on a name or a
/// type that the entry does not have, because that is a bug, not bad input.
#[derive(Clone, Debug)]
pub struct Params {
    owner: &'static str,
    parameters: &'static [Parameter],
    /// The values, in the order of `parameters`.
    values: Vec<ParamValue>,
}

#[derive(Clone, Debug)]
struct ParamValue {
    text: String,
    typed: Typed,
    given: bool,
}

impl Params {
    /// Resolve the values of `spec`, with defaults for parameters that it does not give. `owner` is
    /// the entry's key.
    pub fn resolve(owner: &'static str, parameters: &'static [Parameter], spec: &Spec) -> Result<Params> {
        if let Some(stranger) = spec.values.keys().find(|name| !parameters.iter().any(|p| p.name == **name)) {
            return Err(unknown_key(owner, "parameter", stranger, parameters.iter().map(|p| p.name)));
        }
        let hold = |parameter: &Parameter| {
            let given = spec.values.get(parameter.name);
            match given {
                Some(value) => parameter.read(owner, value).map(|typed| ParamValue { text: value.plain(), typed, given: true }),
                None => {
                    // Defaults are in the syntax of users, including lists.
                    let value = match parameter.kind {
                        Kind::Integers { .. } => {
                            format!("default:x={}", parameter.default).parse::<Spec>()?.values.remove("x").expect("a value")
                        }
                        _ => Value::from(parameter.default),
                    };
                    parameter.read(owner, &value).map(|typed| ParamValue { text: parameter.default.into(), typed, given: false })
                }
            }
        };
        let values = parameters.iter().map(hold).collect::<Result<_>>()?;
        Ok(Params { owner, parameters, values })
    }

    fn at(&self, name: &str) -> usize {
        self.parameters.iter().position(|p| p.name == name).unwrap_or_else(|| panic!("{} has no parameter '{name}'", self.owner))
    }

    fn wrong_kind(&self, name: &str) -> ! {
        panic!("{}: parameter '{name}' is of kind {}", self.owner, self.parameters[self.at(name)].kind.name())
    }

    /// The key of the entry.
    pub fn owner(&self) -> &'static str {
        self.owner
    }

    /// Whether the user gave the parameter.
    pub fn is_given(&self, name: &str) -> bool {
        self.values[self.at(name)].given
    }

    /// Whether the entry has the parameter.
    pub fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|p| p.name == name)
    }

    pub fn integer(&self, name: &str) -> u64 {
        match self.values[self.at(name)].typed {
            Typed::Integer(number) => number,
            _ => self.wrong_kind(name),
        }
    }

    /// The value of a [`Kind::Number`](super::Kind::Number) or a
    /// [`Kind::Integer`](super::Kind::Integer).
    pub fn number(&self, name: &str) -> f64 {
        match self.values[self.at(name)].typed {
            Typed::Number(number) => number,
            Typed::Integer(number) => number as f64,
            _ => self.wrong_kind(name),
        }
    }

    /// The size; `None` is `unlimited`.
    pub fn size(&self, name: &str) -> Option<Memory> {
        match self.values[self.at(name)].typed {
            Typed::Size(size) => size,
            _ => self.wrong_kind(name),
        }
    }

    /// The index of the chosen word.
    pub fn choice(&self, name: &str) -> usize {
        match self.values[self.at(name)].typed {
            Typed::Choice(index) => index,
            _ => self.wrong_kind(name),
        }
    }

    pub fn switch(&self, name: &str) -> bool {
        match self.values[self.at(name)].typed {
            Typed::Switch(on) => on,
            _ => self.wrong_kind(name),
        }
    }

    pub fn integers(&self, name: &str) -> &[u64] {
        match &self.values[self.at(name)].typed {
            Typed::Integers(numbers) => numbers,
            _ => self.wrong_kind(name),
        }
    }

    /// The value as written, of any kind.
    pub fn text(&self, name: &str) -> &str {
        &self.values[self.at(name)].text
    }

    /// The parameters with their values as written, in the order of the entry.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.parameters.iter().zip(&self.values).map(|(parameter, held)| (parameter.name, held.text.as_str()))
    }

    /// The error for a value that is valid for its kind but not for the entry.
    pub fn bad(&self, name: &str, expected: &str) -> BadInput {
        BadInput::new(self.owner, format!("{name}={}", self.text(name)), expected)
    }

    /// Apply `change` to every limited size, including defaults.
    pub fn map_sizes(mut self, change: impl Fn(Memory) -> Result<Memory>) -> Result<Params> {
        for held in &mut self.values {
            if let Typed::Size(Some(size)) = held.typed {
                let changed = change(size).map_err(|e| e.within(self.owner))?;
                if changed != size {
                    (held.typed, held.text) = (Typed::Size(Some(changed)), changed.to_string());
                }
            }
        }
        Ok(self)
    }
}

/// Serializes a table from name to value, for documents: numbers as numbers, sizes as written,
/// `inf` as a text.
impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_map(Some(self.values.len()))?;
        for (parameter, held) in self.parameters.iter().zip(&self.values) {
            match &held.typed {
                Typed::Integer(number) => table.serialize_entry(parameter.name, number)?,
                Typed::Number(number) => table.serialize_entry(parameter.name, &Value::Number(*number))?,
                Typed::Switch(on) => table.serialize_entry(parameter.name, on)?,
                Typed::Integers(numbers) => table.serialize_entry(parameter.name, numbers)?,
                Typed::Size(_) | Typed::Choice(_) | Typed::Text => table.serialize_entry(parameter.name, &held.text)?,
            }
        }
        table.end()
    }
}
