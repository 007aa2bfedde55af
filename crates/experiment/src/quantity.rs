//! Sizes and times as users write them (`64MiB`, `20ms`). The text is kept, so that writing a file
//! again does not change it.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use swaplab_vocab::{BadInput, Memory, Result, PAGE_SIZE};

/// An amount of memory: `64MiB`, `4096p` (pages of 4 KiB), or a percentage of an amount that
/// depends on the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Size(String);

impl Size {
    pub fn parse(text: &str) -> Result<Size> {
        Memory::parse(text).map(|_| Size(text.trim().into()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn memory(&self) -> Memory {
        Memory::parse(&self.0).expect("a size is parsed when it is made")
    }

    pub fn is_percent(&self) -> bool {
        matches!(self.memory(), Memory::Percent(_))
    }

    /// The size in bytes. A percentage refers to `total` bytes and is rounded down.
    pub fn bytes(&self, total: u64) -> u64 {
        match self.memory() {
            Memory::Bytes(bytes) => bytes,
            Memory::Pages(pages) => pages * PAGE_SIZE,
            Memory::Percent(percent) => (total as f64 * percent / 100.0 + 1e-9) as u64,
        }
    }

    /// The size in bytes, where a percentage is not allowed. `key` is the place in the error.
    pub fn absolute_bytes(&self, key: &str) -> Result<u64> {
        match self.memory() {
            Memory::Percent(_) => Err(BadInput::new(key, format!("'{}'", self.0), "bytes or pages, such as 64MiB or 4096p")),
            _ => Ok(self.bytes(0)),
        }
    }
}

impl From<Memory> for Size {
    fn from(memory: Memory) -> Size {
        Size(memory.to_string())
    }
}

impl From<Mib> for Size {
    fn from(mib: Mib) -> Size {
        Size(mib.text())
    }
}

/// A time: `20ms`, `6s`, `1.5h`, or `0` without a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Span(String);

/// Units of time in seconds. Longer names come first, so that `ms` is not parsed as `s`.
const UNITS: [(&str, f64); 7] = [("min", 60.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0), ("h", 3600.0), ("d", 86_400.0)];

impl Span {
    /// No time, written `0`.
    pub fn zero() -> Span {
        Span("0".into())
    }

    pub fn parse(text: &str) -> Result<Span> {
        seconds(text).map(|_| Span(text.trim().into()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn seconds(&self) -> f64 {
        seconds(&self.0).expect("a span is parsed when it is made")
    }
}

fn seconds(text: &str) -> Result<f64> {
    let bad = |found: String| BadInput::new("", found, "a time such as 20ms, 6s or 1.5h");
    let text = text.trim();
    if text == "0" {
        return Ok(0.0);
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let value: f64 = number.parse().map_err(|_| bad(format!("'{text}'")))?;
    match UNITS.iter().find(|(name, _)| *name == unit.trim()) {
        Some((_, scale)) => Ok(value * scale),
        None if unit.is_empty() => Err(BadInput::new("", format!("'{text}' has no unit"), format!("a time: {text}ms or {text}s?"))),
        None => Err(bad(format!("'{text}'"))),
    }
}

/// A size that is kept in MiB: `20MiB`, `1.5GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mib(pub f64);

/// A time that is kept in milliseconds: `400ms`, `2.5s`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Milliseconds(pub f64);

const MIB: f64 = (1u64 << 20) as f64;

impl Mib {
    pub const ZERO: Mib = Mib(0.0);

    pub fn bytes(self) -> u64 {
        (self.0 * MIB).round() as u64
    }

    fn parse(text: &str) -> Result<Mib> {
        if text.trim() == "0" {
            return Ok(Mib::ZERO);
        }
        Ok(Mib(Size::parse(text)?.absolute_bytes("")? as f64 / MIB))
    }

    /// The amount in MiB if it is an integer, otherwise in bytes.
    fn text(self) -> String {
        match self.0 {
            0.0 => "0".into(),
            whole if whole.fract() == 0.0 => format!("{whole}MiB"),
            _ => format!("{}B", self.bytes()),
        }
    }
}

impl Milliseconds {
    fn parse(text: &str) -> Result<Milliseconds> {
        Ok(Milliseconds(Span::parse(text)?.seconds() * 1e3))
    }

    fn text(self) -> String {
        if self.0 == 0.0 {
            "0".into()
        } else {
            format!("{}ms", self.0)
        }
    }
}

macro_rules! as_text {
    ($name:ident, $example:literal, |$value:ident| $text:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
                let $value = self;
                to.serialize_str(&$text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<$name, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str(concat!("a text such as \"", $example, "\""))
                    }
                    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<$name, E> {
                        $name::parse(text).map_err(|e| E::custom(e.to_string().trim_start_matches(": ")))
                    }
                    fn visit_i64<E: Error>(self, number: i64) -> std::result::Result<$name, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_u64<E: Error>(self, number: u64) -> std::result::Result<$name, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_f64<E: Error>(self, number: f64) -> std::result::Result<$name, E> {
                        self.visit_str(&number.to_string())
                    }
                }
                from.deserialize_any(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "examples": [$example]})
            }
        }
    };
}

as_text!(Size, "64MiB", |size| size.0);
as_text!(Span, "20ms", |span| span.0);
as_text!(Mib, "64MiB", |mib| mib.text());
as_text!(Milliseconds, "400ms", |ms| ms.text());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_keeps_its_text_and_a_percentage_is_of_the_total() {
        let size: Size = serde_json::from_str("\"1.5GiB\"").unwrap();
        assert_eq!((size.bytes(0), serde_json::to_string(&size).unwrap().as_str()), (3 << 29, "\"1.5GiB\""));
        assert_eq!(Size::parse("50%").unwrap().bytes(1001), 500);
        assert!(Size::parse("50%").unwrap().absolute_bytes("machine.dram").unwrap_err().to_string().starts_with("machine.dram: '50%'"));
    }

    #[test]
    fn times_have_units() {
        assert_eq!(["20ms", "6s", "1.5h", "0"].map(|text| Span::parse(text).unwrap().seconds()), [0.02, 6.0, 5400.0, 0.0]);
        let error = serde_json::from_str::<Span>("6").unwrap_err().to_string();
        assert!(error.contains("'6' has no unit; expected a time: 6ms or 6s?"), "{error}");
    }

    #[test]
    fn amounts_stored_as_numbers_are_written_as_they_were_read() {
        for text in ["\"20MiB\"", "\"21495809B\"", "\"0\""] {
            assert_eq!(serde_json::to_string(&serde_json::from_str::<Mib>(text).unwrap()).unwrap(), text);
        }
        assert_eq!(serde_json::from_str::<Milliseconds>("\"2.5s\"").unwrap(), Milliseconds(2500.0));
    }
}
