//! Parameters: their kinds, bounds and units, and the parsing of values.

use super::Value;
use crate::{unknown_key, BadInput, Memory, Result};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A parameter of an [`Entry`](super::Entry).
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// The default value in the syntax of users.
    pub default: &'static str,
    /// A line of description for `swaplab list`.
    pub meaning: &'static str,
    /// The setting of a kernel or of Android that the parameter represents. `recommend` changes
    /// only parameters with a setting.
    pub setting: Option<Setting>,
}

/// The kind of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An integer from `low` to `high`.
    Integer {
        low: u64,
        high: u64,
    },
    /// A number from `low` to `high`. `inf` is allowed if `high` is infinite.
    Number {
        low: f64,
        high: f64,
    },
    /// `64MiB`, `4096p`, `50%` (of DRAM, unless documented otherwise) or `unlimited`.
    Size,
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// `on` or `off`, in a table also `true` or `false`.
    Switch,
    Text,
    /// `[1;2;3]`, in a table also `[1, 2, 3]`: integers from `low` to `high`.
    Integers {
        low: u64,
        high: u64,
    },
}

/// The text of a size without limit.
pub const UNLIMITED: &str = "unlimited";

/// A setting of a real machine, by its name in the kernel or in Android.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub name: &'static str,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    Sysctl,
    Sysfs,
    Property,
}

impl Parameter {
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Parameter {
        Parameter { name, kind, default, meaning, setting: None }
    }

    /// The same parameter, representing a setting of a real machine.
    pub const fn sets(self, place: Place, name: &'static str) -> Parameter {
        Parameter { setting: Some(Setting { name, place }), ..self }
    }

    /// Parse and check `value`. `owner` is the key of the entry, which is the place in errors.
    pub(super) fn read(&self, owner: &str, value: &Value) -> Result<Typed> {
        let bad = || self.refusal(owner, value);
        let numbers = |text: &str, low: u64, high: u64| text.parse::<u64>().ok().filter(|number| (low..=high).contains(number));
        let text = match (value, self.kind) {
            (Value::List(values), Kind::Integers { low, high }) => {
                let numbers: Option<Vec<u64>> = values.iter().map(|value| numbers(&value.plain(), low, high)).collect();
                return numbers.map(Typed::Integers).ok_or_else(bad);
            }
            (Value::List(_), Kind::Text) => return Ok(Typed::Text),
            (Value::List(_), _) => return Err(bad()),
            (scalar, _) => scalar.plain(),
        };
        match self.kind {
            Kind::Integer { low, high } => numbers(&text, low, high).map(Typed::Integer).ok_or_else(bad),
            Kind::Number { low, high } => {
                let number = text.parse::<f64>().ok().filter(|number| (low..=high).contains(number));
                number.map(Typed::Number).ok_or_else(bad)
            }
            Kind::Size if text == UNLIMITED => Ok(Typed::Size(None)),
            Kind::Size => {
                let size = Memory::read(&text);
                size.map(|size| Typed::Size(Some(size)))
                    .map_err(|problem| BadInput::new(owner, format!("{}: {problem}", self.name), self.kind.expected()))
            }
            Kind::Choice(choices) => {
                let chosen = choices.iter().position(|choice| *choice == text);
                chosen.map(Typed::Choice).ok_or_else(|| unknown_key(owner, self.name, &text, choices.iter().copied()))
            }
            Kind::Switch => match text.as_str() {
                "on" | "true" => Ok(Typed::Switch(true)),
                "off" | "false" => Ok(Typed::Switch(false)),
                _ => Err(bad()),
            },
            Kind::Text => Ok(Typed::Text),
            // A list of one number may be written without brackets.
            Kind::Integers { low, high } => numbers(&text, low, high).map(|number| Typed::Integers(vec![number])).ok_or_else(bad),
        }
    }

    /// The error for an invalid `value`.
    fn refusal(&self, owner: &str, value: &Value) -> BadInput {
        BadInput::new(owner, format!("{}={value}", self.name), self.kind.expected())
    }
}

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Typed {
    Integer(u64),
    Number(f64),
    /// `None` is `unlimited`.
    Size(Option<Memory>),
    /// The index of the chosen word.
    Choice(usize),
    Switch(bool),
    /// A text, which is stored with the value as written.
    Text,
    Integers(Vec<u64>),
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Integer { .. } => "integer",
            Kind::Number { .. } => "number",
            Kind::Size => "size",
            Kind::Choice(_) => "choice",
            Kind::Switch => "switch",
            Kind::Text => "text",
            Kind::Integers { .. } => "integers",
        }
    }

    /// The expected values, for errors.
    pub fn expected(self) -> String {
        match self {
            Kind::Integer { low, high: u64::MAX } => format!("a whole number of {low} or more"),
            Kind::Integer { low, high } => format!("a whole number from {low} to {high}"),
            Kind::Number { low, high } if high == f64::INFINITY => format!("a number of {low} or more, or inf"),
            Kind::Number { low, high: f64::MAX } => format!("a finite number of {low} or more"),
            Kind::Number { low, high } => format!("a number from {low} to {high}"),
            Kind::Size => "a size such as 64MiB, 4096p or 5%".into(),
            Kind::Choice(choices) => format!("one of: {}", choices.join(" ")),
            Kind::Switch => "on or off".into(),
            Kind::Text => "a text".into(),
            Kind::Integers { low, high: u64::MAX } => format!("a list of whole numbers of {low} or more, such as [1;2]"),
            Kind::Integers { low, high } => format!("a list of whole numbers from {low} to {high}, such as [1;2]"),
        }
    }
}

/// Serializes `name`, `kind`, `default` and `meaning`; `low` and `high` or `choices` if the kind
/// has them; `setting` if there is one.
impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("name", self.name)?;
        row.serialize_entry("kind", self.kind.name())?;
        match self.kind {
            Kind::Integer { low, high } | Kind::Integers { low, high } => {
                row.serialize_entry("low", &low)?;
                row.serialize_entry("high", &high)?;
            }
            Kind::Number { low, high } => {
                row.serialize_entry("low", &low)?;
                // JSON has no infinity: a missing upper bound is null.
                row.serialize_entry("high", &Some(high).filter(|high| high.is_finite()))?;
            }
            Kind::Choice(choices) => row.serialize_entry("choices", choices)?,
            Kind::Size | Kind::Switch | Kind::Text => (),
        }
        row.serialize_entry("default", self.default)?;
        row.serialize_entry("meaning", self.meaning)?;
        if let Some(setting) = &self.setting {
            row.serialize_entry("setting", setting)?;
        }
        row.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn what_is_expected_names_the_bounds_that_there_are() {
        let number = |high| Kind::Number { low: 0.5, high }.expected();
        assert_eq!(number(f64::INFINITY), "a number of 0.5 or more, or inf");
        assert_eq!(number(f64::MAX), "a finite number of 0.5 or more");
        assert_eq!(number(1.0), "a number from 0.5 to 1");
        let whole = |high| [Kind::Integer { low: 1, high }, Kind::Integers { low: 1, high }].map(Kind::expected);
        assert_eq!(whole(u64::MAX), ["a whole number of 1 or more", "a list of whole numbers of 1 or more, such as [1;2]"]);
        assert_eq!(whole(7), ["a whole number from 1 to 7", "a list of whole numbers from 1 to 7, such as [1;2]"]);
    }
}
