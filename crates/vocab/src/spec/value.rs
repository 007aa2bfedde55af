//! A key with parameters, and the value of a parameter, as written by a user.

use std::collections::BTreeMap;
use std::fmt;

/// A key of a registry with parameters, as written by a user. The text `KEY:name=value,name=value`
/// and the table `{ key = "KEY", name = value }` mean the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    pub key: String,
    pub values: BTreeMap<String, Value>,
}

/// The value of a parameter as written. In the text form every scalar is a [`Value::Text`]; the
/// parameter's [`Kind`](super::Kind) parses it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<Value>),
}

impl Spec {
    /// A spec without parameters.
    pub fn of(key: impl Into<String>) -> Spec {
        Spec { key: key.into(), values: BTreeMap::new() }
    }

    /// The spec with `name` set to `value`.
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

/// Characters that are only allowed in quoted texts.
const SPECIAL: [char; 6] = [',', ';', '[', ']', '"', '\\'];

impl Value {
    /// The value as text without quotes, which a parameter's kind parses.
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

/// The text form: a list is `[a;b]`, and a text with `,`, `;`, brackets or quotes is quoted.
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

/// The canonical text, with parameters in order of their names.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.key)?;
        for (at, (name, value)) in self.values.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
