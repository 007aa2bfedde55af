//! A key with parameters, and one parameter's value, as written.

use std::collections::BTreeMap;
use std::fmt;

/// A thing as a user writes it: a key of a registry with parameters. The text `KEY:name=value,name=value` and the table
/// `{ key = "KEY", name = value }` mean the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    pub key: String,
    pub values: BTreeMap<String, Value>,
}

/// One parameter's value as written. In the text form every scalar is a [`Value::Text`]; a parameter's [`Kind`](super::Kind) reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Value>),
}

impl Spec {
    /// `key` without parameters.
    pub fn of(key: impl Into<String>) -> Spec {
        Spec { key: key.into(), values: BTreeMap::new() }
    }

    /// The same with `name` set to `value`.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Spec {
        self.values.insert(name.into(), value.into());
        self
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Switch(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Value {
        Value::Integer(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

/// Characters that a value's text may hold only in quotes.
const SPECIAL: [char; 6] = [',', ';', '[', ']', '"', '\\'];

impl Value {
    /// The value without the quotes that its text form may need: what a parameter's kind reads.
    pub fn plain(&self) -> String {
        match self {
            Value::Switch(on) => if *on { "on" } else { "off" }.into(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::List(_) => self.to_string(),
        }
    }
}

/// The text form: a list is `[a;b]`, and a text that holds `,`, `;`, brackets or quotes stands in quotes.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Text(text) if text.is_empty() || text.trim() != text || text.contains(SPECIAL) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Value::List(values) => {
                f.write_str("[")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "" } else { ";" })?;
                }
                f.write_str("]")
            }
            scalar => f.write_str(&scalar.plain()),
        }
    }
}

/// The canonical text: parameters in the order of their names.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.key)?;
        for (at, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
